"""The stock engine behind the contract: packaged games everywhere, official ones where they are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from evoharness_alfworld import AlfworldAdapter, games, houses
from evoharness_alfworld.expert import expert

from evoharness import HarnessConfig, Task
from evoharness.core.environment import EnvironmentFault
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout


def play(adapter: AlfworldAdapter, *replies: str, task: Task | None = None) -> list[str]:
    """Return the results of these actions, then of looking around."""
    said = [f"<action>{reply}</action>" for reply in replies]
    policy = FunctionPolicy(lambda view: said[len(view.turns)])
    config = HarnessConfig(max_steps=len(said))
    [state] = rollout(policy, adapter, [task or houses.tasks()[1]], config=config)
    return [turn["result"] for turn in state["turns"]]


def test_the_first_observation_is_the_room_and_nothing_else(adapter: AlfworldAdapter) -> None:
    environment = adapter.make(houses.tasks()[1])
    step = environment.reset()
    environment.close()
    assert step.observation.startswith("You are in the middle of a room.")
    assert "task" not in step.observation.lower()
    assert step.admissible
    assert step.admissible == tuple(sorted(step.admissible))


def test_both_wordings_upper_case_and_full_stops_work(adapter: AlfworldAdapter) -> None:
    results = play(
        adapter,
        "Go to DiningTable 1.",
        "take apple 1 from diningtable 1",
        "goto countertop 1",
        "put apple 1 in/on countertop 1",
        "take apple 1 from countertop 1",
        "move apple 1 to countertop 1",
    )
    assert [result.split(".")[0] for result in results] == [
        "You arrive at diningtable 1",
        "You pick up the apple 1 from the diningtable 1",
        "You arrive at countertop 1",
        "You move the apple 1 to the countertop 1",
        "You pick up the apple 1 from the countertop 1",
        "You move the apple 1 to the countertop 1",
    ]


def test_an_impossible_action_says_so_and_costs_a_step(adapter: AlfworldAdapter) -> None:
    policy = FunctionPolicy(lambda view: "<action>heat fridge 1 with bed 1</action>")
    [state] = rollout(policy, adapter, houses.tasks()[:1], config=HarnessConfig(max_steps=2))
    assert state["spent"] == 2
    assert [turn["result"] for turn in state["turns"]] == ["Nothing happens."] * 2
    assert not any(turn["valid"] for turn in state["turns"])


def test_stepping_after_the_end_is_refused(adapter: AlfworldAdapter) -> None:
    [state] = rollout(FunctionPolicy(expert), adapter, [houses.tasks()[1]])
    actions = [turn["argument"] for turn in state["turns"] if turn["kind"] == "env"]
    environment = adapter.make(houses.tasks()[1])
    environment.reset()
    last = [environment.step(action) for action in actions][-1]
    assert last.done
    assert last.success
    after = environment.step("look")
    environment.close()
    assert "over" in after.observation
    assert not after.valid
    assert after.done


def test_a_game_that_cannot_be_loaded_is_an_environment_error(tmp_path: Path) -> None:
    trial = tmp_path / games.FOLDER / "train" / "pick_and_place_simple-A-None-B-1" / "trial"
    trial.mkdir(parents=True)
    grammar = '\\"rhs\\": \\"Your task is to: do it.\\"'
    text = f'{{"pddl_domain": "(", "grammar": "{grammar}", "pddl_problem": "(", "solvable": true}}'
    (trial / games.GAME).write_text(text)
    adapter = AlfworldAdapter(data=tmp_path)
    try:
        [state] = rollout(FunctionPolicy(expert), adapter, adapter.tasks("train"))
    finally:
        adapter.close()
    assert state["outcome"] is not None
    assert state["outcome"]["reason"] == "environment_error"


def test_a_game_that_takes_too_long_is_a_fault() -> None:
    adapter = AlfworldAdapter(timeout_s=0.2)
    try:
        environment = adapter.make(houses.tasks()[0])
        with pytest.raises(EnvironmentFault, match=r"longer than 0\.2 s"):
            environment.reset()
    finally:
        adapter.close()


@pytest.mark.official
def test_twelve_official_games_in_four_threads_are_all_right() -> None:
    adapter = AlfworldAdapter(workers=2)
    tasks = games.find("valid_unseen").tasks[::12][:12]

    def solve(task: Task) -> str:
        [state] = rollout(FunctionPolicy(expert), adapter, [task])
        return state["outcome"]["reason"] if state["outcome"] else ""

    try:
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(solve, tasks)) == ["success"] * 12
    finally:
        adapter.close()
