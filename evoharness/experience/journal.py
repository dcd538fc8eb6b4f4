"""The bank's diary: every change of it, one record a cycle, from which any state can be read again.

A cycle is written before it is carried out. A process that dies in between leaves a cycle that is
not `done`, and whoever opens the bank next carries it out: what it writes is given in full, so that
doing it twice is doing it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field

from evoharness.experience.edits import Change, Rejected
from evoharness.experience.entries import Entry, Label, Plain
from evoharness.experience.storage import Record
from evoharness.experience.usage import Usage

OPEN = "open"
"""The state of a cycle that is written down and not carried out."""
COUNTED = ("add", "update", "merge", "archive", "restore", "dispute", "remove")


class Cycle(Plain):
    """One change of the bank: a consolidation, an import, an owner's hand."""

    number: int
    by: Label
    """Which evolver, or what the owner did."""
    label: str = ""
    """A name that a consolidation may be given, so that it happens once."""
    time: str
    """When, in UTC, ISO 8601."""
    changes: tuple[Change, ...] = ()
    usage: Usage = Field(default_factory=dict)
    """The entries that episodes recalled."""
    rejected: tuple[Rejected, ...] = ()
    used: tuple[str, ...] = ()
    """Ids of the evidence that was settled."""
    quarantined: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    forgets: Label = ""
    """The source that it made the bank forget."""
    forgotten: tuple[str, ...] = ()
    """Ids of the evidence that it removed."""
    again: tuple[str, ...] = ()
    """Ids of the settled evidence that waits again after it."""
    episodes: int = 0
    """How many finished episodes the bank has seen after it."""
    size: int = 0
    """How many entries can be recalled after it."""
    done: bool = False
    """Whether it was carried out."""

    @property
    def settles(self) -> bool:
        """Whether it says what becomes of evidence."""
        return bool(self.used or self.quarantined or self.waiting)

    @property
    def empty(self) -> bool:
        """Whether nothing would be different after it."""
        return not (self.changes or self.usage or self.settles or self.forgotten or self.label)

    @property
    def counts(self) -> dict[str, int]:
        """How many changes there were, by operation, all operations named."""
        found = Counter(change.op for change in self.changes)
        return {op: found[op] for op in COUNTED}

    def summary(self) -> dict[str, Any]:
        """Return the figures of the cycle as plain JSON."""
        return {
            "cycle": self.number,
            "by": self.by,
            "time": self.time,
            **self.counts,
            "rejected": len(self.rejected),
            "evidence": len(self.used),
            "quarantined": len(self.quarantined),
            "waiting": len(self.waiting),
            "episodes": self.episodes,
            "size": self.size,
        }

    def to_record(self) -> Record:
        """Return it as a record of the journal."""
        counts = ", ".join(f"{count} {op}" for op, count in self.counts.items() if count)
        data = self.model_dump(mode="json")
        text = f"cycle {self.number} by {self.by}: {counts or 'nothing changed'}"
        labels = {"label": self.label, "state": "done" if self.done else OPEN}
        return Record(record_id(self.number), text, data, labels)

    @classmethod
    def from_record(cls, record: Record) -> Cycle:
        """Build it from `to_record`'s form."""
        return cls.model_validate(record.data)


def record_id(number: int) -> str:
    """Return the id of a cycle's record; they sort by number."""
    return f"{number:08d}"


def replay(cycles: Iterable[Cycle]) -> dict[str, Entry]:
    """Return the entries by id as they are after some cycles."""
    entries: dict[str, Entry] = {}
    for cycle in cycles:
        apply(entries, cycle)
    return entries


def apply(entries: dict[str, Entry], cycle: Cycle) -> None:
    """Carry out a cycle's changes on entries by id; carrying them out again changes nothing."""
    for change in cycle.changes:
        if change.op == "remove":
            entries.pop(change.entry.id, None)
        else:
            entries[change.entry.id] = change.entry
    for id_, (uses, wins, last_used) in cycle.usage.items():
        if id_ in entries:
            entries[id_] = entries[id_].model_copy(
                update={"uses": uses, "wins": wins, "last_used": last_used}
            )


def versions(cycles: Sequence[Cycle], id_: str) -> list[tuple[Cycle, Change]]:
    """Return what happened to an entry, oldest first."""
    return [
        (cycle, change) for cycle in cycles for change in cycle.changes if change.entry.id == id_
    ]
