"""What an Experience bank that evolves is worth, beside memories that only grow.

A scripted player that knows nothing of where things are plays ALFWorld training games and learns
in three banks: one that evolves, one that keeps every note as it was written, and one that keeps
all that each batch of games taught and changes nothing of it. Frozen, they are taken to games in
houses that were never seen. Without ALFWORLD_DATA the games are generated ones.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from evoharness_alfworld import AlfworldAdapter, games
from evoharness_alfworld.generator import Recipe, generate, write
from rich.console import Console
from rich.progress import Progress

from evoharness import HarnessConfig
from evoharness.evaluation import compare, evaluate
from evoharness.experience import ExperienceBank, Limits, Note
from evoharness.experience.edits import Add
from evoharness.experience.entries import Skill
from evoharness.experience.evolver import Evolver, Proposal, Situation
from evoharness.experience.hints import hint_edits
from evoharness.policies import FunctionPolicy

LEARN = 200
"""Training games that the banks are compared after."""
LONG = 1000
"""Training games of the curve of the bank's size."""
TEST: int | None = None
"""Games in unseen houses; None for all of them."""
BATCH = 10
"""Games between consolidations."""
SEED = 0
_PIECE = 100
"""Episodes that one figure of the curve stands for."""
_ENDLESS = Limits(skill=1_000_000, mistake=1_000_000, hint=1_000_000)


class EveryNote:
    """Keeps each note as it was written: an append-only memory."""

    name = "every note"

    def evolve(self, situation: Situation) -> Proposal:
        """Add all notes."""
        return Proposal(edits=[*_noted(situation)])


class EveryLesson:
    """Keeps each note, and what each batch of episodes taught, and never changes any of it."""

    name = "every lesson"

    def evolve(self, situation: Situation) -> Proposal:
        """Add all notes, and the counts of this batch alone."""
        # With its numbers in the text, each is an entry of its own.
        lessons = [
            Add(content=Skill(principle=edit.content.text), context=edit.context)
            for edit in hint_edits((), situation.evidence)
            if isinstance(edit, Add)
        ]
        return Proposal(edits=[*_noted(situation), *lessons])


def _noted(situation: Situation) -> list[Add]:
    return [
        Add(content=Skill(principle=piece.text), context=piece.context, evidence=(piece.id,))
        for piece in situation.evidence
        if isinstance(piece, Note)
    ]


MEMORIES: dict[str, tuple[Evolver | None, Limits | None]] = {
    "evolved": (None, None),
    "notes": (EveryNote(), _ENDLESS),
    "unforgetting": (EveryLesson(), _ENDLESS),
}


def measure(screen: Console) -> dict[str, float]:
    """Run the benchmark.

    Returns:
        steps_NAME: mean steps an episode on the unseen houses: `none` without Experience,
            `evolved`, `notes` and `unforgetting` with the bank of that name, frozen.
        success_NAME: the share of episodes that were solved.
        entries_NAME: entries that the bank can recall after the training games.
        evolved_less_NAME, …_low, …_high: mean steps with the evolved bank less those of the other,
            over the same games, with the 95 % interval of a bootstrap over the games.
        size_at_N: entries of the evolving bank after N training games.
        add_to_N, update_to_N, merge_to_N, archive_to_N: its changes in the 100 games up to N.
        official: whether the games were the official ones.
    """
    with tempfile.TemporaryDirectory() as folder, Progress(console=screen) as bars:
        root = Path(folder)
        data, train, test = _games(root)
        bench = _Bench(AlfworldAdapter(data=data), root, bars)
        bench.play("none", test, TEST, config=HarnessConfig(experience=False))
        figures: dict[str, float] = {}
        for name, (evolver, limits) in MEMORIES.items():
            with ExperienceBank.open(root / "banks" / name, "alfworld", limits=limits) as bank:
                bench.play(f"{name}-learns", train, LEARN, bank, every=BATCH, evolver=evolver)
                figures[f"entries_{name}"] = float(bank.count())
                bench.play(name, test, TEST, bank)
        for name in ("none", *MEMORIES):
            figures[f"steps_{name}"] = bench.summaries[name]["mean_steps"]
            figures[f"success_{name}"] = bench.summaries[name]["success_rate"]
        for name in ("none", *list(MEMORIES)[1:]):
            [pair] = compare([root / name, root / "evolved"])["pairs"]
            low, high = pair["steps_difference_95"]
            figures[f"evolved_less_{name}"] = pair["steps_difference"]
            figures |= {f"evolved_less_{name}_low": low, f"evolved_less_{name}_high": high}
        with ExperienceBank.in_memory("alfworld") as bank:
            bench.play("long", train, LONG, bank, every=BATCH)
            figures |= _curve(bank)
    return {**figures, "official": float(bool(os.environ.get(games.VARIABLE)))}


class _Bench:
    """Plays evaluations, each with a bar of its own."""

    def __init__(self, adapter: AlfworldAdapter, root: Path, bars: Progress) -> None:
        self.summaries: dict[str, dict[str, Any]] = {}
        self._adapter = adapter
        self._root = root
        self._bars = bars

    def play(
        self,
        name: str,
        split: str,
        limit: int | None,
        bank: ExperienceBank | None = None,
        *,
        every: int | None = None,
        evolver: Evolver | None = None,
        config: HarnessConfig | None = None,
    ) -> None:
        bar = self._bars.add_task(name, total=None)
        self.summaries[name] = evaluate(
            FunctionPolicy(self._adapter.policies()["newcomer"], "newcomer"),
            self._adapter,
            split=split,
            out=self._root / name,
            config=config,
            experience=bank,
            evolve_every=every,
            evolver=evolver,
            limit=limit,
            shuffle=True,
            seed=SEED,
            on_start=lambda total, _: self._bars.update(bar, total=total),
            on_record=lambda _: self._bars.advance(bar),
        )


def _games(root: Path) -> tuple[Path | None, str, str]:
    """Return the data folder, and the splits to learn and to test on."""
    if os.environ.get(games.VARIABLE):
        return None, "train", "valid_unseen"
    sizes = {"learn": max(LEARN, LONG), "unseen": TEST or 134}
    first = 1
    for split, size in sizes.items():
        for number in range(first, first + size):
            write(generate(Recipe(number=number)), root / games.FOLDER / split)
        first += size
    learn, unseen = sizes
    return root, learn, unseen


def _curve(bank: ExperienceBank) -> dict[str, float]:
    sizes: dict[int, int] = {}
    changes: Counter[tuple[str, int]] = Counter()
    for cycle in bank.cycles():
        piece = -(-cycle.episodes // _PIECE) * _PIECE
        sizes[piece] = cycle.size
        changes.update((change.op, piece) for change in cycle.changes)
    figures = {f"size_at_{piece}": float(size) for piece, size in sizes.items()}
    for op in ("add", "update", "merge", "archive"):
        figures |= {f"{op}_to_{piece}": float(changes[op, piece]) for piece in sizes}
    return figures
