"""The labeller knows what to do in any state, whoever brought it about."""

from __future__ import annotations

import random

import pytest
from evoharness_alfworld import AlfworldAdapter
from evoharness_alfworld.environments import NativeEnvironment
from evoharness_alfworld.expert import expert
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.labeller import Labeller
from evoharness_alfworld.simulator import Game, House
from hypothesis import given
from hypothesis import strategies as st

from evoharness.core.environment import Task
from evoharness.core.settings import HarnessConfig
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout

RECIPES = st.builds(
    Recipe,
    seed=st.integers(0, 10**6),
    moved=st.floats(0, 1),
    receptacles=st.floats(0.1, 2),
    distractors=st.floats(0, 5),
)


def solve(
    objective: str, house: House, *, slips: int = 0, seed: int = 0, shown: bool = False
) -> list[str]:
    """Let a learner slip so many times at first, then follow the labels; return the labels."""
    rng = random.Random(seed)
    environment = NativeEnvironment(house)
    step = environment.reset()
    labeller = Labeller(objective, step.observation)
    labels: list[str] = []
    for turn in range(slips + 250):
        if step.done:
            break
        possible = step.admissible or ()
        label = labeller.label(possible if shown else None)
        assert not shown or label in possible
        labels.append(label)
        slip = rng.choice([*possible, "go to the moon", "take everything"])
        action = slip if turn < slips else label
        step = environment.step(action)
        labeller.see(action, step.observation)
    assert step.success, objective
    return labels


def droppable(house: House) -> bool:
    """Whether everything that can be taken can be put somewhere: else a wrong take is for ever."""
    return all(
        any(o in house.fits[kind] for kind in house.receptacle_types)
        for o in house.pickupable
        if any(o in inside for inside in house.start.inside)
    )


@given(RECIPES, st.booleans())
def test_it_wins_every_game_that_is_made(recipe: Recipe, shown: bool) -> None:
    house = generate(recipe).house
    solve(house.objective, house, shown=shown)


@given(RECIPES, st.integers(0, 25), st.integers(0, 99), st.booleans())
def test_it_wins_from_whatever_state_a_learner_got_into(
    recipe: Recipe, slips: int, seed: int, shown: bool
) -> None:
    house = generate(recipe).house
    if droppable(house):
        solve(house.objective, house, slips=slips, seed=seed, shown=shown)


@pytest.mark.parametrize("number", range(12))
def test_it_labels_as_the_expert_plays(adapter: AlfworldAdapter, number: int) -> None:
    task = adapter.tasks("demo")[number]
    config = HarnessConfig(mode="env_only")
    [state] = rollout(FunctionPolicy(expert), adapter, [task], config=config)
    played = [turn["argument"] for turn in state["turns"]]
    assert solve(task.objective, adapter.house(task), shown=True) == played


def test_it_reads_the_engine_s_own_first_text_as_well() -> None:
    house = generate(Recipe()).house
    shown = NativeEnvironment(house).reset().observation
    labels = {Labeller(house.objective, text).label() for text in (shown, Game(house).reset())}
    assert len(labels) == 1
    assert labels.pop().startswith("go to ")


def test_an_objective_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="none of the ALFWorld objectives"):
        Labeller("make tea", "You are in the middle of a room.")


@pytest.mark.official
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen", "train"])
def test_it_wins_every_official_game_within_fifty_steps(
    adapter: AlfworldAdapter, split: str
) -> None:
    def steps(task: Task) -> int:
        return len(solve(task.objective, adapter.house(task)))

    assert max(map(steps, adapter.tasks(split))) <= 50
