"""A bank that learns across an evaluation, and one that an evaluation leaves as it is."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import processes
import pytest

from evoharness.core.view import View
from evoharness.evaluation import evaluate, load_records
from evoharness.experience import (
    EvolutionError,
    ExperienceBank,
    FinishedEpisode,
    Hint,
    StatisticalEvolver,
)
from evoharness.experience.evolver import Proposal, Situation
from evoharness.experience.journal import Cycle
from evoharness.policies import FunctionPolicy
from evoharness.testing import ToyAdapter, open_in_order

EXPERT = FunctionPolicy(open_in_order, "expert")


def learn(out: Path, bank: ExperienceBank, **settings: Any) -> dict[str, Any]:
    if not bank.cycles():
        bank.seed(ToyAdapter().experience())
    given: dict[str, Any] = {"limit": 12, "evolve_every": 4, **settings}
    policy = given.pop("policy", EXPERT)
    return evaluate(policy, ToyAdapter(), split="default", out=out, experience=bank, **given)


def recalled(out: Path) -> list[str]:
    """What each episode was told of the key, in the order of the tasks."""
    _, records = load_records(out)
    steps = [records[task].trace["steps"] for task in sorted(records)]
    return [step[2]["observation"]["results"][0]["content"] for step in steps]


def test_without_evolving_a_bank_stays_as_it_is(tmp_path: Path) -> None:
    with ExperienceBank.in_memory("toy") as bank:
        learn(tmp_path, bank, evolve_every=None)
        assert not bank.evidence()
        assert len(bank.cycles()) == 1
    assert len(set(recalled(tmp_path))) == 1


def test_a_bank_learns_after_every_batch_and_not_within_one(tmp_path: Path) -> None:
    cycles: list[Cycle] = []
    with ExperienceBank.in_memory("toy") as bank:
        summary = learn(tmp_path, bank, on_cycle=cycles.append)
        hints = [entry.content for entry in bank.entries() if isinstance(entry.content, Hint)]
        assert bank.cycles()[1:] == cycles
    assert [cycle.episodes for cycle in cycles] == [4, 8, 12]
    told = recalled(tmp_path)
    batches = [set(told[first : first + 4]) for first in (0, 4, 8)]
    assert [len(batch) for batch in batches] == [1, 1, 1]
    assert len(set.union(*batches)) == 3
    for hint in hints:
        assert sum(place.found for place in hint.places) == summary["episodes"] == 12


def test_what_is_learned_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    learned: list[Any] = []
    for workers in (1, 3):
        with ExperienceBank.in_memory("toy") as bank:
            learn(tmp_path / str(workers), bank, workers=workers)
            learned.append(bank.entries())
    assert learned[0] == learned[1]
    for product in ("summary.json", "traces.jsonl"):
        one, three = (tmp_path / str(workers) / product for workers in (1, 3))
        assert one.read_bytes() == three.read_bytes()


def test_a_finished_one_is_neither_played_nor_learned_again(tmp_path: Path) -> None:
    with ExperienceBank.in_memory("toy") as bank:
        first = learn(tmp_path, bank)
        before = bank.entries(), bank.cycles(), bank.evidence()

        def never(view: View) -> str:
            raise AssertionError("played again")

        assert learn(tmp_path, bank, policy=FunctionPolicy(never, "expert")) == first
        assert (bank.entries(), bank.cycles(), bank.evidence()) == before


def test_the_same_tasks_again_are_other_episodes_to_the_bank(tmp_path: Path) -> None:
    with ExperienceBank.in_memory("toy") as bank:
        learn(tmp_path / "first", bank)
        learn(tmp_path / "second", bank)
        ended = [piece for piece in bank.evidence() if isinstance(piece, FinishedEpisode)]
        assert len(ended) == 24
        assert bank.cycles()[-1].episodes == 24


def test_the_bank_has_to_be_the_one_that_it_began_with(tmp_path: Path) -> None:
    with ExperienceBank.in_memory("toy") as bank:
        learn(tmp_path, bank)
    with ExperienceBank.in_memory("toy") as other:
        other.seed([{"kind": "skill", "text": "Open the door."}])
        with pytest.raises(
            ValueError, match=r"other settings \(experience\.digest: .* there.*--out"
        ):
            learn(tmp_path, other)
    with (
        ExperienceBank.in_memory("toy") as bank,
        pytest.raises(ValueError, match=r"experience.evolve_every: 4 there, 5 now"),
    ):
        learn(tmp_path, bank, evolve_every=5)


def test_an_evolver_that_cannot_decide_loses_nothing(tmp_path: Path) -> None:
    class Moody(StatisticalEvolver):
        asked = 0

        def evolve(self, situation: Situation) -> Proposal:
            Moody.asked += 1
            if Moody.asked == 2:
                raise EvolutionError("the model is down")
            return super().evolve(situation)

    with ExperienceBank.in_memory("toy") as bank:
        whole = learn(tmp_path / "whole", bank)
        expected = bank.entries()
    with ExperienceBank.in_memory("toy") as bank:
        with pytest.raises(EvolutionError, match="the model is down"):
            learn(tmp_path / "moody", bank, evolver=Moody())
        assert learn(tmp_path / "moody", bank, evolver=Moody()) == whole
        assert bank.entries() == expected


def test_only_a_bank_can_evolve(tmp_path: Path) -> None:
    given: Any = {"split": "default", "out": tmp_path}
    with pytest.raises(ValueError, match="needs an ExperienceBank"):
        evaluate(EXPERT, ToyAdapter(), evolve_every=4, **given)
    with (
        ExperienceBank.in_memory("toy") as bank,
        pytest.raises(ValueError, match="after 1 task or more, not after 0"),
    ):
        evaluate(EXPERT, ToyAdapter(), evolve_every=0, experience=bank, **given)
    assert not any(tmp_path.iterdir())


def learn_in_a_folder() -> None:
    """Learn in a process that kills itself at a decision of the policy."""
    folder, kill_at = Path(sys.argv[1]), int(sys.argv[2])
    decisions = 0

    def decide(view: View) -> str:
        nonlocal decisions
        decisions += 1
        if decisions == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return open_in_order(view)

    with ExperienceBank.open(folder / "bank", "toy") as bank:
        learn(folder / "out", bank, policy=FunctionPolicy(decide, "expert"))
        entries = [entry.model_dump(mode="json") for entry in bank.entries()]
        print(json.dumps({"entries": entries, "evidence": len(bank.evidence())}))


def test_killed_again_and_again_it_learns_the_same(tmp_path: Path) -> None:
    whole = processes.run(learn_in_a_folder, [tmp_path / "whole", "0"])
    assert whole.returncode == 0, whole.stderr
    for kill_at in ("3", "40", "40"):
        killed = processes.run(learn_in_a_folder, [tmp_path / "killed", kill_at])
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = processes.run(learn_in_a_folder, [tmp_path / "killed", "0"])
    assert resumed.stdout == whole.stdout
    for product in ("summary.json", "traces.jsonl"):
        one, other = (tmp_path / name / "out" / product for name in ("whole", "killed"))
        assert one.read_bytes() == other.read_bytes()
