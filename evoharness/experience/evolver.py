"""What decides how a bank changes: the interface of evolvers, and what all of them keep to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evoharness.experience.edits import Edit, Limits, Rejected
from evoharness.experience.entries import Entry
from evoharness.experience.evidence import FinishedEpisode, Note, like_an_instruction


@dataclass(frozen=True)
class Situation:
    """What an evolver decides on: a bank and the evidence that waits."""

    entries: Sequence[Entry]
    evidence: Sequence[Note | FinishedEpisode]
    episodes: int
    """How many episodes the bank has seen, these included."""
    limits: Limits
    embed: Callable[[Sequence[str]], list[list[float]]]
    """Returns unit vectors of texts."""


@dataclass
class Proposal:
    """What an evolver wants: edits, and what becomes of evidence that no edit settles."""

    edits: list[Edit] = field(default_factory=list[Edit])
    waiting: set[str] = field(default_factory=set[str])
    """Evidence to look at again next time."""
    quarantined: set[str] = field(default_factory=set[str])
    """Evidence that only the owner may release."""
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    """What the evolver wanted and may not, for the journal."""


class EvolutionError(RuntimeError):
    """An evolver could not decide; its evidence waits for the next consolidation."""


class Evolver(Protocol):
    """Turns evidence into edits."""

    @property
    def name(self) -> str:
        """What the journal calls it."""
        ...

    def evolve(self, situation: Situation) -> Proposal:
        """Propose edits; evidence that is named nowhere counts as used.

        Raises:
            EvolutionError: it could not decide.
        """
        ...


def quarantine(evidence: Iterable[Note | FinishedEpisode]) -> set[str]:
    """Return the ids of notes that look as if they were meant to direct a reader, unreleased ones."""
    return {
        piece.id
        for piece in evidence
        if isinstance(piece, Note) and not piece.released and like_an_instruction(piece.text)
    }
