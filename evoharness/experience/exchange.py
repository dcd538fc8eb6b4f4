"""A bank as a document: JSON for a repository, Markdown for people, and banks of other systems.

`to_json` and `from_json` keep an entry's whole record. `read` takes such a file, or the JSON bank that
SkillRL and EvoHarness-RL publish; `bring_in` writes into a bank what was read. A record that cannot be
used is refused by itself, with its place in the file and the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter, ValidationError

from evoharness.experience.entries import (
    LABEL_WIDTH,
    MAX_PLACES,
    Entry,
    Hint,
    Mistake,
    Name,
    Skill,
    clean_text,
    first_problem,
    hint,
)
from evoharness.experience.evidence import Note, like_an_instruction
from evoharness.experience.markdown import in_order, to_markdown

if TYPE_CHECKING:
    from evoharness.experience.bank import ExperienceBank
    from evoharness.experience.journal import Cycle

__all__ = [
    "Document",
    "Outcome",
    "Refused",
    "bring_in",
    "from_json",
    "in_order",
    "read",
    "to_json",
    "to_markdown",
]

FORMAT = "evoharness-experience"
VERSION = 1
SECTIONS: dict[str, type] = {
    "general_skills": list,
    "task_specific_skills": dict,
    "common_mistakes": list,
    "search_priorities": dict,
    "notes": list,
}
"""The sections of the published format, and whether each is a list or an object."""
_UNREAD = ("meta", "metadata")
_ANY_TYPE = "general"
"""What the published format calls a note that belongs to no task type."""
_MOST = 10**9
"""More episodes, or looks into a place, than any bank has seen."""
_IMPORTED = "@import"
"""Ends the source of what a file brought; `forget` takes the file's name alone."""


@dataclass(frozen=True)
class Refused:
    """A record of a file that is not used."""

    where: str
    """The file, and the path in it."""
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


@dataclass(frozen=True)
class Document:
    """What a file holds."""

    name: str
    """The file's name."""
    own: bool
    """Whether it is in our format, whose entries replace those with their ids."""
    domain: str = ""
    """Whose bank it was; empty in the published format."""
    episodes: int = 0
    """How many episodes that bank had seen, which is what `Entry.last_used` counts in."""
    entries: tuple[Entry, ...] = ()
    notes: tuple[Note, ...] = ()
    refused: tuple[Refused, ...] = ()
    unmapped: tuple[str, ...] = ()
    """Task types of the published format that were kept as they are."""


@dataclass(frozen=True)
class Outcome:
    """What an import did to a bank."""

    cycle: Cycle
    """The change of the bank; not `done` when there was nothing to write."""
    known: int
    """Entries that the bank has already."""
    notes: int
    """Notes that wait as evidence now."""


# Our own format.


def to_json(bank: ExperienceBank) -> str:
    """Return a bank's entries, archived ones too, as a JSON document.

    The same bank gives the same bytes. Evidence and history are not in it.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "domain": clean_text(bank.domain, LABEL_WIDTH),
        "episodes": _episodes(bank),
        "entries": [entry.model_dump(mode="json") for entry in in_order(bank.entries())],
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def from_json(text: str, *, name: str = "the document") -> Document:
    """Return what `to_json` wrote.

    Args:
        text: the document.
        name: what messages call it.

    Raises:
        ValueError: the text is no such document, or of a version that is not known.
    """
    return _own(_parsed(text, name), name)


def _own(data: Mapping[str, Any], name: str) -> Document:
    if data.get("format") != FORMAT:
        raise ValueError(f'{name} is no exported Experience bank: its "format" is not {FORMAT!r}')
    if data.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {clean_text(json.dumps(data.get('version')), 40)} of the format; "
            f"this evoharness reads version {VERSION}"
        )
    domain, episodes, records = data.get("domain"), data.get("episodes"), data.get("entries")
    if not isinstance(domain, str) or not isinstance(records, list):
        raise ValueError(f'{name} is damaged: it needs a "domain" and a list of "entries"')
    if type(episodes) is not int or not 0 <= episodes <= _MOST:
        raise ValueError(f'{name} is damaged: "episodes" is not how many episodes its bank saw')
    reader = _Reader(name)
    for at, record in enumerate(cast("list[Any]", records)):
        reader.take(f"entries[{at}]", partial(Entry.model_validate, record))
    return Document(
        name=name,
        own=True,
        domain=clean_text(domain, LABEL_WIDTH),
        episodes=episodes,
        entries=tuple(reader.entries.values()),
        refused=tuple(reader.refused),
    )


# Reading files, and bringing them into a bank.


def read(path: Path, types: Mapping[str, str] | None = None) -> Document:
    """Return what a file in our format or the published one holds.

    Args:
        path: the file.
        types: task types of the published format and what they are called here; the others keep
            their names.

    Raises:
        ValueError: it is in neither format, or `types` names a type that it has not.
        OSError: it cannot be read.
    """
    name = clean_text(path.name, LABEL_WIDTH)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: byte {error.start} is wrong") from None
    data = _parsed(text, name)
    if "format" not in data and data.keys() & SECTIONS.keys():
        return _published(data, name, types or {})
    if data.get("format") != FORMAT:
        raise ValueError(
            f"{name} is no Experience bank: neither an export of evoharness nor a published bank, "
            f"which has {', '.join(SECTIONS)}"
        )
    if types:
        raise ValueError(
            f"{name} is an export of evoharness, whose task types are known: leave --type away"
        )
    return _own(data, name)


def bring_in(document: Document, bank: ExperienceBank) -> Outcome:
    """Write what a file holds into a bank; once more changes nothing.

    Entries of our own format replace those with their ids. Of a published bank only what is new is
    written, so that entries which have evolved since stay as they are, and its notes wait as
    evidence: together they count as what one episode said.
    """
    held = {entry.id: entry for entry in bank.entries()}
    later = _episodes(bank) - document.episodes
    new: list[Entry] = []
    for entry in document.entries:
        known = held.get(entry.id)
        # The bank's own count of episodes goes on, so that nothing fades, or stays, by an import.
        moved = entry.changed(last_used=max(0, entry.last_used + later))
        if known is None or (document.own and known.changed(last_used=moved.last_used) != moved):
            new.append(moved)
    cycle = bank.write(new, by=f"import of {document.name}")
    noted = {
        (piece.task_type, piece.text)
        for piece in bank.evidence()
        if isinstance(piece, Note) and piece.source.endswith(_IMPORTED)
    }
    notes = [note for note in document.notes if (note.task_type, note.text) not in noted]
    for note in notes:
        bank.note(note.text, source=note.source, task_type=note.task_type)
    return Outcome(cycle=cycle, known=len(document.entries) - len(new), notes=len(notes))


def _episodes(bank: ExperienceBank) -> int:
    return max((cycle.episodes for cycle in bank.cycles()), default=0)


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{name} is no Experience bank: it holds no JSON object")
    return data  # pyright: ignore[reportUnknownVariableType]


class _Reader:
    """Collects the records of a file that can be used, and says why the others cannot."""

    def __init__(self, name: str, types: Mapping[str, str] | None = None) -> None:
        self.entries: dict[str, Entry] = {}
        self.notes: dict[str, Note] = {}
        self.refused: list[Refused] = []
        self.types: dict[str, str] = {}
        """Task types of the file, and what they are called here."""
        self.source = f"{name}{_IMPORTED}"
        self._name = name
        self._wanted = types or {}
        self._from: dict[str, str] = {}

    def take(self, where: str, make: Callable[[], Entry]) -> None:
        """Keep the entry that a record describes."""
        try:
            entry = make()
        except ValidationError as error:
            return self.refuse(where, first_problem(error).replace("Value error, ", ""))
        except ValueError as error:
            return self.refuse(where, str(error))
        if why := _unusable(entry):
            return self.refuse(where, why)
        if entry.id in self.entries:
            return self.refuse(where, f"it is the same entry as {self._from[entry.id]}")
        self._from[entry.id] = where
        self.entries[entry.id] = entry

    def take_note(self, where: str, line: Any) -> None:
        """Keep a note, before which its task type may stand in brackets."""
        if not isinstance(line, str):
            return self.refuse(where, "a note is a string")
        typed = re.match(r"\s*\[([^\[\]]+)\]\s*(.*)", line, re.DOTALL)
        kind, text = typed.groups() if typed else (_ANY_TYPE, line)
        try:
            note = Note(text=text, source=self.source, task_type=self.type_of(kind))
        except ValidationError:
            return self.refuse(where, "it has no text")
        if like_an_instruction(f"{note.text} {note.task_type}"):
            return self.refuse(where, "it looks like an instruction to the reader")
        self.notes[note.id] = note

    def refuse(self, where: str, why: str) -> None:
        """Leave a record out."""
        self.refused.append(Refused(f"{self._name}, {clean_text(where, LABEL_WIDTH)}", why))

    def type_of(self, theirs: str) -> str:
        """Return what a task type of the file is called here."""
        ours = self._wanted.get(theirs, "" if theirs == _ANY_TYPE else theirs)
        self.types[theirs] = ours
        return ours


def _unusable(entry: Entry) -> str:
    if entry.id != clean_text(entry.id, LABEL_WIDTH):
        return "its id is longer than ids are, or has characters that no id has"
    counts = [entry.uses, entry.last_used, entry.version]
    if isinstance(entry.content, Hint):
        counts += [n for place in entry.content.places for n in (place.found, place.looked)]
    if max(counts) > _MOST:
        return "one of its counts is larger than a count can be"
    if entry.wins > entry.uses:
        return f"it helped in {entry.wins} of {entry.uses} episodes"
    if like_an_instruction(f"{entry.text} {entry.task_type}"):
        return "its text looks like an instruction to the reader"
    return ""


# The published format.

_SKILL = {"title": "title", "principle": "principle", "when_to_apply": "when"}
_MISTAKE = {"description": "what", "why_it_happens": "why", "how_to_avoid": "avoid"}


def _published(data: Mapping[str, Any], name: str, types: Mapping[str, str]) -> Document:
    for section, shape in SECTIONS.items():
        if not isinstance(data.get(section, shape()), shape):
            kind = "a list" if shape is list else "an object"
            raise ValueError(f"{name} is no published bank: its {section} is not {kind}")
    reader = _Reader(name, types)
    for section in data.keys() - SECTIONS.keys() - {*_UNREAD}:
        reader.refuse(section, f"there is no such section; the sections are {', '.join(SECTIONS)}")
    _contents(reader, "general_skills", Skill, _SKILL, data.get("general_skills", []), "")
    for kind, records in data.get("task_specific_skills", {}).items():
        where, task_type = f"task_specific_skills.{kind}", reader.type_of(kind)
        if isinstance(records, list):
            _contents(reader, where, Skill, _SKILL, cast("list[Any]", records), task_type)
        else:
            reader.refuse(where, "the skills of a task type are a list")
    _contents(reader, "common_mistakes", Mistake, _MISTAKE, data.get("common_mistakes", []), "")
    for thing, places in data.get("search_priorities", {}).items():
        reader.take(f"search_priorities.{thing}", partial(_hint, thing, places, reader.source))
    for at, line in enumerate(data.get("notes", [])):
        reader.take_note(f"notes[{at}]", line)
    if missing := sorted(types.keys() - reader.types.keys()):
        has = ", ".join(map(repr, reader.types)) or "none"
        raise ValueError(f"{name} has no task type {missing[0]!r} to map; it has {has}")
    kept = [kind for kind in reader.types if kind not in types and kind != _ANY_TYPE]
    return Document(
        name=name,
        own=False,
        entries=tuple(reader.entries.values()),
        notes=tuple(reader.notes.values()),
        refused=tuple(reader.refused),
        unmapped=tuple(sorted(clean_text(kind, LABEL_WIDTH) for kind in kept)),
    )


def _contents(
    reader: _Reader,
    section: str,
    form: type[Skill] | type[Mistake],
    fields: Mapping[str, str],
    records: list[Any],
    task_type: str,
) -> None:
    for at, record in enumerate(records):
        make = partial(_entry, form, fields, record, task_type, reader.source)
        reader.take(f"{section}[{at}]", make)


def _entry(
    form: type[Skill] | type[Mistake],
    fields: Mapping[str, str],
    record: Any,
    task_type: str,
    source: str,
) -> Entry:
    """Return a published skill or mistake as an entry; how often it was shown there is no record."""
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    found = cast("dict[str, Any]", record)
    given = {ours: found[name] for name, ours in fields.items() if found.get(name) is not None}
    try:
        content = form.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = next(name for name, ours in fields.items() if ours == first["loc"][0])
        raise ValueError(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None
    return Entry(content=content, task_type=task_type, sources=(source,))


_PLACES = TypeAdapter(list[Name])


def _hint(thing: str, places: Any, source: str) -> Entry:
    """Return a search priority as a hint that nobody has checked yet."""
    try:
        named = _PLACES.validate_python([places] if isinstance(places, str) else places)
    except ValidationError:
        raise ValueError("its places are not a list of names") from None
    content = hint(thing, [*dict.fromkeys(named)][:MAX_PLACES])
    return Entry(content=content, sources=(source,))
