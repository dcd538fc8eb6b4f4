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


def test_no_house_is_solved_from_the_start(adapter: AlfworldAdapter) -> None:
    for task in houses.tasks()[:2]:
        environment = adapter.make(task)
        step = environment.reset()
        environment.close()
        assert not step.done
        assert not step.success


def test_an_unknown_house_is_named() -> None:
    with pytest.raises(KeyError, match="castle"):
        houses.compose("castle")
