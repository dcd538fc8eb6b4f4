"""How a bank changes: edits that an evolver proposes, each checked before it is made.

An edit names what should become of one entry, why, and the evidence for it. What is not possible is
rejected with a reason, one edit at a time, so that a model that is wrong once is not wrong at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from evoharness.experience.entries import (
    Content,
    Entry,
    Kind,
    Label,
    Line,
    Plain,
    with_sources,
)
from evoharness.experience.evidence import FinishedEpisode, Note, like_an_instruction

PROTECTED_USES = 5
"""Uses from which an entry that mostly helped can no longer be archived, only merged or updated."""


class Limits(Plain):
    """How large a bank may become: recallable entries by kind."""

    skill: int = Field(default=60, ge=1)
    mistake: int = Field(default=60, ge=1)
    hint: int = Field(default=400, ge=1)

    def of(self, kind: Kind) -> int:
        """Return the most entries of a kind."""
        return int(getattr(self, kind))


class _Edit(Plain):
    reason: Line = ""
    evidence: tuple[str, ...] = ()
    """Ids of the notes and episodes that speak for it."""


class Add(_Edit):
    """Write a new entry."""

    op: Literal["add"] = "add"
    content: Annotated[Content, Field(discriminator="kind")]
    task_type: Label = ""
    context: Label = ""


class Modify(_Edit):
    """Give an entry another content, which settles a dispute about it."""

    op: Literal["update"] = "update"
    id: str
    content: Annotated[Content, Field(discriminator="kind")]


class Merge(_Edit):
    """Keep the first of several entries that say the same, and archive the others."""

    op: Literal["merge"] = "merge"
    ids: tuple[str, ...] = Field(min_length=2)
    content: Annotated[Content, Field(discriminator="kind")] | None = None
    """What the kept one says; as it was when not given."""


class Archive(_Edit):
    """Let an entry no longer be recalled."""

    op: Literal["archive"] = "archive"
    id: str


class Restore(_Edit):
    """Let an archived entry be recalled again."""

    op: Literal["restore"] = "restore"
    id: str


class Skip(_Edit):
    """Set evidence aside that shows nothing new."""

    op: Literal["skip"] = "skip"


Edit = Add | Modify | Merge | Archive | Restore | Skip
EDIT: TypeAdapter[Edit] = TypeAdapter(Annotated[Edit, Field(discriminator="op")])

Op = Literal["add", "update", "merge", "archive", "restore", "skip", "dispute", "remove"]


class Change(Plain):
    """What was done to one entry, for the journal."""

    op: Op
    entry: Entry
    """The entry afterwards; for `remove` as it was."""
    reason: Line = ""
    evidence: tuple[str, ...] = ()


class Rejected(Plain):
    """An edit that was not made."""

    edit: dict[str, Any]
    why: str


class Editor:
    """Makes edits on a copy of a bank's entries, one after the other.

    Attributes:
        entries: the entries by id, as they are after the edits so far.
        changes: what was done.
        rejected: what was not, and why.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        evidence: Sequence[Note | FinishedEpisode],
        limits: Limits,
        episodes: int,
    ) -> None:
        """Begin.

        Args:
            entries: the bank's entries.
            evidence: the notes and episodes that edits may refer to.
            limits: the capacity.
            episodes: how many episodes the bank has seen.
        """
        self.entries = {entry.id: entry for entry in entries}
        self.changes: list[Change] = []
        self.rejected: list[Rejected] = []
        self._evidence = {piece.id: piece for piece in evidence}
        self._limits = limits
        self._episodes = episodes

    def make_all(self, edits: Iterable[Edit]) -> None:
        """Make the edits that are possible; keep the others with the reason."""
        for edit in edits:
            if why := self._check(edit):
                self.rejected.append(Rejected(edit=edit.model_dump(mode="json"), why=why))
            else:
                self._make(edit)

    def _make(self, edit: Edit) -> None:
        match edit:
            case Add():
                entry = self._new(edit)
                self._set("add", entry.changed(**self._from(entry, edit)), edit)
            case Modify():
                self._set("update", self._with(edit.id, edit.content, edit), edit)
            case Merge():
                first, *others = edit.ids
                kept = self._with(first, edit.content or self.entries[first].content, edit)
                gone = [self.entries[other] for other in others]
                kept = kept.changed(
                    uses=max(entry.uses for entry in (kept, *gone)),
                    wins=max(entry.wins for entry in (kept, *gone)),
                    last_used=max(entry.last_used for entry in (kept, *gone)),
                    sources=with_sources(kept.sources, [s for e in gone for s in e.sources]),
                    status="active",
                )
                self._set("merge", kept, edit)
                for entry in gone:
                    into = edit.model_copy(update={"reason": f"merged into {first}"})
                    self._set("archive", entry.changed(status="archived"), into)
            case Archive():
                self._set("archive", self.entries[edit.id].changed(status="archived"), edit)
            case Restore():
                entry = self.entries[edit.id].changed(status="active", last_used=self._episodes)
                self._set("restore", entry.changed(**self._from(entry, edit)), edit)
            case Skip():
                pass

    def _check(self, edit: Edit) -> str:
        """Return why an edit is not possible; empty when it is."""
        if unknown := [id_ for id_ in edit.evidence if id_ not in self._evidence]:
            return f"there is no evidence {unknown[0]!r}"
        content = getattr(edit, "content", None)
        pieces = [self._evidence[id_] for id_ in edit.evidence]
        vouched = bool(pieces) and all(piece.released for piece in pieces)
        if content is not None and not vouched and like_an_instruction(content.text):
            return "its text looks like an instruction to the reader"
        named = _named(edit)
        if unknown := [id_ for id_ in named if id_ not in self.entries]:
            return f"there is no entry {unknown[0]!r}"
        match edit:
            case Add():
                return self._check_add(edit)
            case Modify():
                return self._check_update(edit)
            case Merge():
                return self._check_merge(edit)
            case Archive():
                return self._check_archive(self.entries[edit.id])
            case Restore():
                entry = self.entries[edit.id]
                return (
                    self._full(entry.kind) if entry.status == "archived" else "it is not archived"
                )
            case Skip():
                return ""

    def _check_update(self, edit: Modify) -> str:
        entry = self.entries[edit.id]
        if entry.kind != edit.content.kind:
            return f"a {entry.kind} cannot become a {edit.content.kind}"
        if entry.content == edit.content and entry.status != "disputed":
            return "it changes nothing"
        return ""

    def _check_archive(self, entry: Entry) -> str:
        if entry.status == "archived":
            return "it is archived already"
        if protected(entry):
            return f"it helped in {entry.wins} of {entry.uses} episodes and is kept"
        return ""

    def _check_add(self, edit: Add) -> str:
        known = self.entries.get(self._new(edit).id)
        if known is not None:
            return f"entry {known.id!r} says this already ({known.status})"
        return self._full(edit.content.kind)

    def _check_merge(self, edit: Merge) -> str:
        merged = [self.entries[id_] for id_ in edit.ids]
        if len(set(edit.ids)) < len(edit.ids):
            return "it names an entry twice"
        if len({(e.kind, e.task_type, e.context) for e in merged}) > 1:
            return "the entries are of several kinds, task types or contexts"
        if any(entry.status == "archived" for entry in merged):
            return "one of them is archived"
        if edit.content is not None and edit.content.kind != merged[0].kind:
            return f"a {merged[0].kind} cannot become a {edit.content.kind}"
        return ""

    def _full(self, kind: Kind) -> str:
        held = sum(e.kind == kind and e.status != "archived" for e in self.entries.values())
        most = self._limits.of(kind)
        return f"the bank holds its {most} {kind}s: archive or merge one first" * (held >= most)

    def _new(self, edit: Add) -> Entry:
        return Entry(
            content=edit.content,
            task_type=edit.task_type,
            context=edit.context,
            last_used=self._episodes,
        )

    def _with(self, id_: str, content: Content, edit: Edit) -> Entry:
        entry = self.entries[id_]
        version = entry.version + (entry.content != content)
        status = "archived" if entry.status == "archived" else "active"
        fields: Mapping[str, Any] = self._from(entry, edit)
        return entry.changed(content=content, version=version, status=status, **fields)

    def _from(self, entry: Entry, edit: Edit) -> dict[str, Any]:
        new = [self._evidence[id_].episode for id_ in edit.evidence]
        return {"sources": with_sources(entry.sources, new)}

    def _set(self, op: Op, entry: Entry, edit: Edit) -> None:
        self.entries[entry.id] = entry
        self.changes.append(Change(op=op, entry=entry, reason=edit.reason, evidence=edit.evidence))


def _named(edit: Edit) -> tuple[str, ...]:
    """Return the ids of the entries that an edit is about."""
    match edit:
        case Merge():
            return edit.ids
        case Modify() | Archive() | Restore():
            return (edit.id,)
        case Add() | Skip():
            return ()


def protected(entry: Entry) -> bool:
    """Return whether an entry was recalled often and mostly with success."""
    return entry.uses >= PROTECTED_USES and 2 * entry.wins >= entry.uses
