"""The evolver that asks a chat model what notes teach.

The model proposes, and this module decides what of it the bank is asked to do. A model may believe
what it reads, so nothing that matters rests on its judgement alone:

- it reads of each note only what notes of `support` episodes say, sentence by sentence (see
  `corroboration`), nothing of quarantined notes, and no hints, which are counted;
- a text comes into the bank, an entry comes back or leaves it, only on the word of notes of at least
  `support` episodes. One episode, whatever it says, is not enough;
- an entry changes once in a consolidation, and by evidence that the model was shown.

The reply is read as text with JSON in it. `with_structured_output` is not used: some chat models lack
it, some refuse a choice of several shapes, and with all of them one wrong edit loses the whole reply.
Whoever wants a server to enforce JSON can bind that to the model, e.g.
`model.bind(response_format={"type": "json_object"})`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from evoharness.experience.corroboration import ABOUT, corroborated
from evoharness.experience.edits import (
    PROTECTED_USES,
    Add,
    Archive,
    Edit,
    Editor,
    Limits,
    Merge,
    Modify,
    Rejected,
    Restore,
    Skip,
    protected,
)
from evoharness.experience.entries import LINE_WIDTH, Entry, clean_text, first_problem
from evoharness.experience.evidence import Note
from evoharness.experience.evolver import EvolutionError, Proposal, Situation, quarantine
from evoharness.experience.hints import hint_edits
from evoharness.experience.model_prompt import (
    LEAST_BUDGET,
    Likeness,
    Prompt,
    Shown,
    note_groups,
    proposed_edits,
)
from evoharness.experience.upkeep import arranged, doubt_is_over, tidied

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

_OPS: Mapping[str, type[Edit]] = {
    "add": Add,
    "update": Modify,
    "merge": Merge,
    "archive": Archive,
    "restore": Restore,
    "skip": Skip,
}
_NO_LIMITS = Limits(skill=10**9, mistake=10**9, hint=10**9)
"""The bank's own limits are kept to by making room, when all edits are known."""


@dataclass(frozen=True)
class ModelEvolver:
    """A chat model as evolver.

    Raises:
        ValueError: the budget is too small for the instructions and one note.
    """

    model: Runnable[Any, Any]
    """Any LangChain chat model, also one with bound arguments."""
    support: int = 2
    """Episodes whose notes must speak for a change. 1 lets a single episode write to the bank."""
    patience: int = 20
    """Consolidations that a note waits for others that say so, or for the model to use it."""
    fade_after: int = 300
    """Episodes after which a skill or mistake that none of them used is archived."""
    budget: int = 6000
    """Tokens, about, of one prompt; notes and entries share it."""
    calls: int = 8
    """The most prompts of one consolidation. Notes that do not fit wait, however long."""

    def __post_init__(self) -> None:
        if self.budget < LEAST_BUDGET:
            raise ValueError(
                f"a budget of {self.budget} tokens has no room for the instructions and a note: "
                f"give at least {LEAST_BUDGET}"
            )

    @property
    def name(self) -> str:
        """`model`, with the model's own name."""
        names = (getattr(self.model, key, None) for key in ("model_name", "model"))
        own = next((name for name in names if isinstance(name, str)), type(self.model).__name__)
        return f"model {own}"

    def evolve(self, situation: Situation) -> Proposal:
        """Propose edits; without notes that several episodes agree on the model is not asked.

        Raises:
            EvolutionError: the model failed, or answered without a list of edits.
        """
        made = Proposal(quarantined=quarantine(situation.evidence))
        evidence = [piece for piece in situation.evidence if piece.id not in made.quarantined]
        evidence.sort(key=lambda piece: piece.id)
        hints = {entry.id for entry in situation.entries if entry.kind == "hint"}
        notes = [
            piece
            for piece in evidence
            # What the episode found settles a doubt about hints.
            if isinstance(piece, Note) and not (piece.disputes and hints.issuperset(piece.disputes))
        ]
        session = _Session(self, situation, notes)
        session.judge()
        made.rejected = session.rejected
        made.waiting = session.waiting()
        over = [doubt_is_over(entry) for entry in session.undoubted(made.waiting)]
        changed = session.changed
        rest = [entry for entry in situation.entries if entry.id not in changed]
        tidy = tidied(replace(situation, entries=rest), self.fade_after)
        tidy += [edit for edit in session.edits if isinstance(edit, Archive | Merge)]
        others = [edit for edit in session.edits if not isinstance(edit, Archive | Merge)]
        counted = hint_edits(situation.entries, evidence)
        made.edits = arranged(situation, tidy, [*counted, *over, *others], keep=changed)
        return made


class _Session:
    """The calls of one consolidation, and what is taken from the replies."""

    def __init__(self, settings: ModelEvolver, situation: Situation, notes: Sequence[Note]) -> None:
        self.edits: list[Edit] = []
        self.rejected: list[Rejected] = []
        self.changed: set[str] = set()
        """Ids of the entries that the edits are about."""
        self._settings = settings
        self._situation = situation
        self._notes = notes
        self._unseen: set[str] = set()
        """Ids of the notes that the prompts had no room for."""
        self._used: set[str] = set()
        self._likeness = Likeness(situation.embed)
        # Edits are made here at once, so that the next call sees what the last one decided.
        self._editor = Editor(situation.entries, notes, _NO_LIMITS, situation.episodes)

    def judge(self) -> None:
        """Show the model the notes, as many as its prompts hold, and take its edits."""
        settings = self._settings
        embed = self._situation.embed
        texts = corroborated(self._notes, embed, settings.support)
        notes = [note for note in self._notes if note.id in texts]
        self._unseen = {note.id for note in notes}
        prompt = Prompt(self._situation, texts, notes, settings.support, settings.budget)
        groups = note_groups(notes, embed, settings.patience)
        for notes in prompt.batches(groups)[: settings.calls]:
            entries = [e for e in self._editor.entries.values() if e.kind != "hint"]
            shown = prompt.shown(notes, entries, self._likeness)
            reply = self._ask(prompt.system, shown.text)
            self._unseen.difference_update(note.id for note in notes)
            for raw in reply:
                self._take(raw, shown)

    def waiting(self) -> set[str]:
        """Return the notes to look at again: those that did not fit, however long they wait, and
        for a while those that nobody said too and those that nothing was made of.
        """
        return {
            note.id
            for note in self._notes
            if note.id in self._unseen
            or (note.id not in self._used and note.waited < self._settings.patience)
        }

    def undoubted(self, waiting: set[str]) -> list[Entry]:
        """Return the disputed skills and mistakes that no waiting note disputes any more."""
        doubted = {id_ for note in self._notes if note.id in waiting for id_ in note.disputes}
        return [
            entry
            for entry in self._situation.entries
            if entry.kind != "hint"
            and entry.status == "disputed"
            and entry.id not in doubted | self.changed
        ]

    def _ask(self, system: str, user: str) -> list[Any]:
        try:
            reply = self._settings.model.invoke([("system", system), ("human", user)])
        except Exception as error:
            first = clean_text(str(error), 200) or "no message"
            raise EvolutionError(
                f"the {self._settings.name} could not be asked what the notes teach "
                f"({type(error).__name__}: {first}); all evidence waits for the next consolidation"
            ) from error
        text = reply if isinstance(reply, str) else str(getattr(reply, "text", ""))
        edits = proposed_edits(text)
        if edits is None:
            raise EvolutionError(
                f"the {self._settings.name} answered without a list of edits in JSON "
                f"({clean_text(text, 80)!r}); all evidence waits for the next consolidation"
            )
        return edits

    def _take(self, raw: Any, shown: Shown) -> None:
        edit: Edit | None = None
        try:
            given = _resolved(raw, shown)
            edit = _OPS[given["op"]].model_validate(given)
            allowed = self._checked(edit)
        except (ValueError, RecursionError) as error:
            record = edit.model_dump(mode="json") if edit else {"proposed": _as_line(raw)}
            why = first_problem(error) if isinstance(error, ValidationError) else str(error)
            self.rejected.append(Rejected(edit=record, why=clean_text(why, LINE_WIDTH)))
        else:
            self.edits.append(allowed)
            self._used.update(allowed.evidence)
            self.changed.update(_entries_of(allowed))

    def _checked(self, edit: Edit) -> Edit:
        """Return the edit with the evidence that speaks for it.

        Raises:
            ValueError: it is not allowed, and why.
        """
        content = getattr(edit, "content", None)
        if content is not None and content.kind == "hint":
            raise ValueError("hints are counted from what episodes found: leave them alone")
        edit = self._supported(edit)
        if again := self.changed & set(_entries_of(edit)):
            raise ValueError(f"entry {min(again)!r} changes in this consolidation already")
        self._editor.make_all([edit])
        if self._editor.rejected:
            raise ValueError(self._editor.rejected.pop().why)
        return edit

    def _supported(self, edit: Edit) -> Edit:
        entries = self._editor.entries
        match edit:
            case Add():
                return self._labelled(self._backed(edit))
            case Modify() if edit.content != entries[edit.id].content:
                return self._backed(edit)
            case Merge():
                first, *others = (entries[id_] for id_ in edit.ids)
                if any(
                    self._likeness.between(first.content.text, e.content.text) < ABOUT
                    for e in others
                ):
                    raise ValueError("the entries do not say the same")
                return edit if edit.content in (None, first.content) else self._backed(edit)
            case Archive() if not _serves_badly(entries[edit.id]):
                return self._backed(edit)
            case Restore():
                return self._backed(edit)
            case _:
                return edit

    def _backed(self, edit: Edit) -> Edit:
        """Return the edit if its notes are of enough episodes."""
        episodes = {note.episode for note in self._notes if note.id in edit.evidence}
        if len(episodes) < self._settings.support:
            raise ValueError(
                f"it needs notes of {self._settings.support} episodes that say so, and names "
                f"those of {len(episodes)}"
            )
        return edit

    def _labelled(self, edit: Edit) -> Edit:
        """Return a new entry with labels that its notes have: the model may widen them to all."""
        notes = [note for note in self._notes if note.id in edit.evidence]
        update: dict[str, str] = {}
        for label in ("task_type", "context"):
            known = {getattr(note, label) for note in notes}
            if label not in edit.model_fields_set:
                update[label] = known.pop() if len(known) == 1 else ""
            elif (said := getattr(edit, label)) and said not in known:
                raise ValueError(f"{label} {said!r} is that of none of its notes")
        return edit.model_copy(update=update)


def _resolved(raw: Any, shown: Shown) -> dict[str, Any]:
    """Return a proposed edit with ids for aliases, without empty and unknown fields.

    Raises:
        ValueError: it is no edit, or names what was not shown.
    """
    if not isinstance(raw, dict):
        raise ValueError("it is no JSON object")
    given = _given(cast("dict[str, Any]", raw))
    op = given.get("op")
    if not isinstance(op, str) or op not in _OPS:
        raise ValueError(f"there is no op {_as_line(op)}: use one of {', '.join(_OPS)}")
    known = {key: value for key, value in given.items() if key in _OPS[op].model_fields}
    if "id" in known:
        known["id"] = shown.entry(known["id"])
    if isinstance(known.get("ids"), list):
        known["ids"] = tuple(shown.entry(alias) for alias in known["ids"])
    if isinstance(known.get("content"), dict):
        known["content"] = _given(known["content"])
    evidence = known.get("evidence", [])
    if not isinstance(evidence, list):
        evidence = [evidence]
    aliases = cast("list[Any]", evidence)
    known["evidence"] = tuple(dict.fromkeys(shown.note(alias) for alias in aliases))
    return known


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value: models write null for what they leave out."""
    return {key: value for key, value in fields.items() if value is not None}


def _as_line(value: Any) -> str:
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, default=str), LINE_WIDTH)
    except (ValueError, RecursionError):
        return "too deep to be shown"


def _entries_of(edit: Edit) -> tuple[str, ...]:
    match edit:
        case Merge():
            return edit.ids
        case Modify() | Archive() | Restore():
            return (edit.id,)
        case Add():
            made = Entry(content=edit.content, task_type=edit.task_type, context=edit.context)
            return (made.id,)
        case Skip():
            return ()


def _serves_badly(entry: Entry) -> bool:
    return entry.uses >= PROTECTED_USES and not protected(entry)
