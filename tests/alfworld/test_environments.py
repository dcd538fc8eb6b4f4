"""Both engines behind the contract say the same; the native one can also be forked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from evoharness_alfworld import AlfworldAdapter
from evoharness_alfworld.environments import NativeEnvironment
from evoharness_alfworld.expert import expert

from evoharness import HarnessConfig, Task
from evoharness.core.environment import EnvironmentFault, Step
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout

ENGINES = ["native", pytest.param("textworld", marks=pytest.mark.stock)]


@pytest.fixture(params=ENGINES)
def either(request: pytest.FixtureRequest) -> Iterator[AlfworldAdapter]:
    adapter = AlfworldAdapter(engine=request.param)
    yield adapter
    adapter.close()


def walkthrough(adapter: AlfworldAdapter, task: Task) -> list[str]:
    [state] = rollout(FunctionPolicy(expert), adapter, [task])
    return [turn["argument"] for turn in state["turns"] if turn["kind"] == "env"]


def play(adapter: AlfworldAdapter, task: Task, *replies: str) -> list[str]:
    """Return the results of these actions."""
    said = [f"<action>{reply}</action>" for reply in replies]
    policy = FunctionPolicy(lambda view: said[len(view.turns)])
    [state] = rollout(policy, adapter, [task], config=HarnessConfig(max_steps=len(said)))
    return [turn["result"] for turn in state["turns"]]


def test_the_first_observation_is_the_room_and_nothing_else(either: AlfworldAdapter) -> None:
    environment = either.make(either.tasks("demo")[1])
    step = environment.reset()
    environment.close()
    assert step.observation.startswith("You are in the middle of a room.")
    assert "task" not in step.observation.lower()
    assert step.admissible
    assert step.admissible == tuple(sorted(step.admissible))


def test_both_wordings_upper_case_and_full_stops_work(either: AlfworldAdapter) -> None:
    task = either.tasks("demo")[1]
    take = next(c for c in walkthrough(either, task) if c.startswith("take"))
    thing, _, place = take.removeprefix("take ").partition(" from ")
    there = ("take", "open")
    way = [c for c in walkthrough(either, task) if place in c and not c.startswith(there)][:1]
    opened = [f"open {place}"]
    results = play(
        either,
        task,
        f"{way[0].title()}.",
        *opened,
        f"take {thing} from {place}",
        f"put {thing} in/on {place}",
        f"pick up {thing} from {place}",
        f"place {thing} on {place}",
    )
    assert results[0].startswith(f"You arrive at {place}")
    assert [result.split(".")[0] for result in results[-4:]] == [
        f"You pick up the {thing} from the {place}",
        f"You move the {thing} to the {place}",
        f"You pick up the {thing} from the {place}",
        f"You move the {thing} to the {place}",
    ]


def test_an_impossible_action_says_so_and_costs_a_step(either: AlfworldAdapter) -> None:
    policy = FunctionPolicy(lambda view: "<action>heat fridge 1 with bed 1</action>")
    [task] = either.tasks("demo")[:1]
    [state] = rollout(policy, either, [task], config=HarnessConfig(max_steps=2))
    assert state["spent"] == 2
    assert [turn["result"] for turn in state["turns"]] == ["Nothing happens."] * 2
    assert not any(turn["valid"] for turn in state["turns"])


def test_stepping_after_the_end_is_refused(either: AlfworldAdapter) -> None:
    task = either.tasks("demo")[4]
    actions = walkthrough(either, task)
    environment = either.make(task)
    environment.reset()
    last = [environment.step(action) for action in actions][-1]
    assert last.done
    assert last.success
    after = environment.step("look")
    environment.close()
    assert "over" in after.observation
    assert not after.valid
    assert after.done


def test_stepping_before_the_start_is_refused() -> None:
    adapter = AlfworldAdapter()
    with pytest.raises(RuntimeError, match="before reset"):
        adapter.make(adapter.tasks("demo")[0]).step("look")


@pytest.mark.stock
@pytest.mark.parametrize("number", range(12))
def test_both_engines_give_the_same_steps(
    adapter: AlfworldAdapter, stock: AlfworldAdapter, number: int
) -> None:
    task = adapter.tasks("demo")[number]
    actions = [
        *walkthrough(adapter, task)[:-1],
        "dance",
        "look",
        walkthrough(adapter, task)[-1],
        "x",
    ]

    def steps(adapter: AlfworldAdapter) -> list[Step]:
        environment = adapter.make(task)
        try:
            return [environment.reset(), *map(environment.step, actions)]
        finally:
            environment.close()

    assert steps(adapter) == steps(stock)


class TestNative:
    @pytest.fixture
    def task(self, adapter: AlfworldAdapter) -> Task:
        return adapter.tasks("demo")[3]

    def test_a_fork_goes_its_own_way(self, adapter: AlfworldAdapter, task: Task) -> None:
        actions = walkthrough(adapter, task)
        environment = NativeEnvironment(adapter.house(task))
        environment.reset()
        for action in actions[:-1]:
            environment.step(action)
        fork = environment.fork()
        assert fork.step(actions[-1]).success
        assert not environment.step("look").done
        assert environment.step(actions[-1]).success

    @pytest.mark.parametrize("at", [0, 3, -1])
    def test_a_restored_game_goes_on_and_also_knows_that_it_is_over(
        self, adapter: AlfworldAdapter, task: Task, at: int
    ) -> None:
        actions = walkthrough(adapter, task)
        done = actions[: len(actions) + 1 + at if at < 0 else at]
        environment = adapter.make(task)
        environment.reset()
        for action in done:
            environment.step(action)
        snapshot = json.loads(json.dumps(environment.snapshot()))
        other = adapter.make(task)
        other.restore(snapshot, done)
        assert other.step("inventory") == environment.step("inventory")

    def test_a_snapshot_of_another_game_is_refused(
        self, adapter: AlfworldAdapter, task: Task
    ) -> None:
        snapshot = adapter.make(adapter.tasks("demo")[0]).snapshot()
        with pytest.raises(ValueError, match="another game"):
            adapter.make(task).restore(snapshot, [])


@pytest.mark.stock
def test_a_game_that_takes_too_long_is_a_fault() -> None:
    adapter = AlfworldAdapter(engine="textworld", timeout_s=0.2)
    try:
        environment = adapter.make(adapter.tasks("demo")[0])
        with pytest.raises(EnvironmentFault, match=r"longer than 0\.2 s"):
            environment.reset()
    finally:
        adapter.close()
