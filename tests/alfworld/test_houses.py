from __future__ import annotations

import re
from collections import Counter

import pytest
from evoharness_alfworld import AlfworldAdapter, houses
from evoharness_alfworld.expert import expert
from evoharness_alfworld.words import TASK_TYPES

from evoharness import Task
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout


def test_there_are_two_houses_of_each_task_type() -> None:
    assert Counter(task.type for task in houses.tasks()) == dict.fromkeys(TASK_TYPES, 2)


@pytest.mark.parametrize("task", houses.tasks(), ids=lambda task: task.id)
def test_every_house_can_be_solved(adapter: AlfworldAdapter, task: Task) -> None:
    [state] = rollout(FunctionPolicy(expert), adapter, [task])
    assert state["outcome"] is not None
    assert state["outcome"]["reason"] == "success", state["outcome"]
    assert state["first_observation"].startswith("You are in the middle of a room.")
    assert 10 <= len(re.findall(r"\ba \w+ \d+", state["first_observation"])) <= 35


def test_neighbours_share_places_as_in_official_games(adapter: AlfworldAdapter) -> None:
    environment = adapter.make(houses.tasks()[1])
    environment.reset()
    answers = [environment.step(f"go to stoveburner {n}").observation for n in (1, 2)]
    seen = environment.step("examine stoveburner 2").observation
    environment.close()
    assert answers[0].startswith("You arrive at stoveburner 1.")
    assert answers[1] == "Nothing happens."
    assert seen.startswith("On the stoveburner 2, you see")


def test_an_unknown_house_is_named() -> None:
    with pytest.raises(KeyError, match="castle"):
        houses.compose("castle")
