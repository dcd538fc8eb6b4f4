"""What an evaluation does with Experience: leave it as it is, or learn batch by batch.

A batch is played with the bank as it was before it, whatever its episodes note meanwhile, and
consolidated afterwards under a label. So the same evaluation learns the same in any number of
threads, and one that was killed goes on where it was.
"""

from __future__ import annotations

from typing import Any

from evoharness.core.actions import Experience
from evoharness.core.environment import Task
from evoharness.evaluation.records import Manifest, digest_of
from evoharness.experience.bank import ExperienceBank
from evoharness.experience.evolver import Evolver
from evoharness.experience.frozen import FrozenBank
from evoharness.experience.journal import Cycle

_DIGITS = 16


class Frozen:
    """Experience that an evaluation leaves as it is."""

    def __init__(self, experience: Experience | None) -> None:
        """Freeze a bank; another kind of store is used as it is."""
        bank = isinstance(experience, ExperienceBank)
        self._view = experience.frozen(listening=False) if bank else experience

    def begin(self, manifest: Manifest, known: Manifest | None) -> dict[str, Any]:
        """Return what identifies it."""
        return _facts(self._view) if isinstance(self._view, FrozenBank) else {}

    def name(self, task: Task) -> str:
        """Return the source that a task's episode has in a store's notes."""
        return task.id

    def view(self, batch: int) -> Experience | None:
        """Return what a batch sees."""
        return self._view

    def end(self, batch: int) -> Cycle | None:
        """Learn nothing."""
        return None


class Learning:
    """A bank that is consolidated after every batch."""

    def __init__(self, bank: ExperienceBank, size: int, evolver: Evolver | None) -> None:
        """Prepare it.

        Args:
            bank: what learns.
            size: tasks in a batch.
            evolver: who decides.
        """
        self._bank = bank
        self._size = size
        self._evolver = evolver
        self._run = ""
        self._last = 0
        """The cycle that the next batch sees the bank after."""

    def begin(self, manifest: Manifest, known: Manifest | None) -> dict[str, Any]:
        """Return what identifies it, as it was when the evaluation began.

        Args:
            manifest: the evaluation, without Experience.
            known: the manifest in its folder, where it was begun before.
        """
        self._last = max((cycle.number for cycle in self._bank.cycles()), default=0)
        if known is not None:
            self._last = int(known.experience.get("cycle", self._last))
        start = {
            **_facts(self._bank.frozen(after=self._last)),
            "cycle": self._last,
            "evolve_every": self._size,
            "evolver": getattr(self._evolver, "name", "statistics"),
        }
        # It follows from all that decides the results, so that these can be had again.
        begun = manifest.model_copy(update={"experience": start, "versions": {}})
        self._run = digest_of([begun.model_dump_json()])[:_DIGITS]
        return {**start, "run": self._run}

    def name(self, task: Task) -> str:
        """Return the source of what an episode tells the bank."""
        return f"{task.id}@{self._run}"

    def view(self, batch: int) -> Experience:
        """Return the bank as it was after the batch before, listening."""
        return self._bank.frozen(after=self._last)

    def end(self, batch: int) -> Cycle:
        """Consolidate a batch, unless that was done before."""
        cycle = self._bank.consolidate(self._evolver, label=f"{self._run}/{batch}")
        self._last = cycle.number
        return cycle


def _facts(view: FrozenBank) -> dict[str, Any]:
    lines = [f"{entry.id} {entry.status} {entry.text}" for entry in view.entries]
    return {"entries": len(lines), "digest": digest_of(lines)[:_DIGITS]}
