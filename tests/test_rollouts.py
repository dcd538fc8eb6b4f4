"""Many episodes in lock-step, and the environments behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from evoharness.core.environment import JSON, Environment, EnvironmentFault, Step, Task
from evoharness.core.episode import begin
from evoharness.core.parsing import Reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, merge
from evoharness.core.view import View
from evoharness.nodes import HarnessNodes, LiveEnvironments
from evoharness.policies import FunctionPolicy, Policy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment

EXPERT = FunctionPolicy(open_in_order, "expert")
TASKS = ToyAdapter().tasks("default")[:6]


def reasons(states: Sequence[Episode]) -> list[str]:
    return [state["outcome"]["reason"] for state in states if state["outcome"]]


class Counted(ToyEnvironment):
    """Counts its openings and closings; `trouble` is what goes wrong."""

    def __init__(self, task: Task, log: list[str], trouble: str) -> None:
        super().__init__(task)
        self._log = log
        self._trouble = trouble
        log.append("made")

    def reset(self) -> Step:
        if self._trouble == "reset":
            raise EnvironmentFault("no reset")
        return super().reset()

    def step(self, action: str) -> Step:
        if self._trouble == "step":
            raise EnvironmentFault("no step")
        return super().step(action)

    def close(self) -> None:
        self._log.append("closed")
        if self._trouble == "close":
            raise EnvironmentFault("no close")


class Counting(ToyAdapter):
    def __init__(self, trouble: str = "") -> None:
        self.log: list[str] = []
        self.trouble = trouble

    def make(self, task: Task) -> Environment:
        return Counted(task, self.log, self.trouble)


def test_episodes_come_back_in_the_order_of_the_tasks() -> None:
    states = rollout(EXPERT, ToyAdapter(), TASKS)
    assert [state["task"]["id"] for state in states] == [task.id for task in TASKS]
    assert reasons(states) == ["success"] * len(TASKS)


def test_together_they_are_what_they_are_alone() -> None:
    together = rollout(EXPERT, ToyAdapter(), TASKS)
    alone = [rollout(EXPERT, ToyAdapter(), [task])[0] for task in TASKS]
    assert json.dumps(together) == json.dumps(alone)


def test_a_task_may_appear_more_than_once() -> None:
    states = rollout(EXPERT, ToyAdapter(), [TASKS[3]] * 4)
    assert reasons(states) == ["success"] * 4
    assert all(state == states[0] for state in states)


def test_no_tasks_are_no_episodes() -> None:
    assert rollout(EXPERT, ToyAdapter(), []) == []


def test_the_policy_is_asked_for_all_running_episodes_at_once() -> None:
    sizes: list[int] = []

    class Asked(Policy):
        def decide(self, view: View) -> Reply:
            return Reply(open_in_order(view))

        def decide_batch(self, views: Sequence[View]) -> list[Reply | Exception]:
            sizes.append(len(views))
            return super().decide_batch(views)

    states = rollout(Asked(), ToyAdapter(), TASKS)
    lengths = [len(state["turns"]) for state in states]
    assert len(sizes) == max(lengths)
    assert sum(sizes) == sum(lengths)
    assert sizes[0] == len(TASKS)


def test_a_policy_whose_batch_fails_ends_the_episodes_with_a_reason() -> None:
    class Broken(Policy):
        def decide(self, view: View) -> Reply:
            raise AssertionError

        def decide_batch(self, views: Sequence[View]) -> list[Reply | Exception]:
            raise NotImplementedError("no tools")

    assert reasons(rollout(Broken(), ToyAdapter(), TASKS)) == ["policy_error"] * len(TASKS)


def test_a_policy_that_answers_with_text_instead_of_a_reply_is_told() -> None:
    class Wrong(Policy):
        def decide(self, view: View) -> Reply:
            return "<action>open door</action>"  # pyright: ignore[reportReturnType]

    [state] = rollout(Wrong(), ToyAdapter(), TASKS[:1])
    assert state["outcome"] is not None
    assert state["outcome"]["reason"] == "policy_error"
    assert "answers with a Reply" in state["outcome"]["detail"]


@pytest.mark.parametrize("runs", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_runs_must_name_each_episode_apart(runs: list[str]) -> None:
    with pytest.raises(ValueError, match="2 distinct names"):
        rollout(EXPERT, ToyAdapter(), TASKS[:2], runs=runs)


def test_cancelled_episodes_end_and_finished_ones_stay() -> None:
    rounds: list[int] = []

    def cancelled() -> bool:
        rounds.append(1)
        return len(rounds) > 4

    states = rollout(EXPERT, ToyAdapter(), TASKS, cancelled=cancelled)
    assert set(reasons(states)) == {"success", "cancelled"}


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("", "success"),
        ("reset", "environment_error"),
        ("step", "environment_error"),
        ("close", "success"),
    ],
)
def test_every_environment_is_closed_once_whatever_happens(trouble: str, reason: str) -> None:
    adapter = Counting(trouble)
    states = rollout(EXPERT, adapter, TASKS)
    assert reasons(states) == [reason] * len(TASKS)
    assert adapter.log.count("made") == adapter.log.count("closed") == len(TASKS)


def test_environments_are_closed_when_the_process_is_interrupted() -> None:
    def interrupted(view: View) -> str:
        raise KeyboardInterrupt

    adapter = Counting()
    with pytest.raises(KeyboardInterrupt):
        rollout(FunctionPolicy(interrupted), adapter, TASKS)
    assert adapter.log.count("made") == adapter.log.count("closed") == len(TASKS)


# --- live environments -----------------------------------------------------------------------


def played(
    adapter: ToyAdapter, live: LiveEnvironments, *boxes: int
) -> tuple[HarnessNodes, Episode]:
    """Open boxes in a run named `run`."""

    nodes = HarnessNodes(adapter, HarnessConfig(), None, live)
    state = nodes.reset(TASKS[4], "run")
    for box in boxes:
        view = nodes.look(state)
        reply = Reply(f"<action>open box {box}</action>")
        state = merge(state, nodes.read(state, view, reply))
        state = merge(state, nodes.execute(state, "run"))
    return nodes, state


def test_a_live_environment_is_taken_as_it_is() -> None:
    adapter = Counting()
    live = LiveEnvironments(adapter)
    _, state = played(adapter, live, 1, 2)
    live.take("run", state)
    assert adapter.log == ["made"]


def test_an_environment_that_is_not_here_is_restored() -> None:
    adapter = Counting()
    _, state = played(adapter, LiveEnvironments(adapter), 1, 2, 3)
    environment = LiveEnvironments(adapter).take("run", state)
    assert environment.step("open door").success == any(
        "holds the key" in turn["result"] for turn in state["turns"]
    )


def test_an_environment_in_another_state_is_closed_and_restored() -> None:
    adapter = Counting()
    live = LiveEnvironments(adapter)
    _, earlier = played(adapter, live)
    _, _ = played(adapter, live, 1, 2, 3)
    assert adapter.log == ["made", "made", "closed"]
    environment = live.take("run", earlier)
    assert adapter.log == ["made", "made", "closed", "closed", "made"]
    assert not environment.step("open door").success


def test_the_longest_unused_environment_makes_room() -> None:
    adapter = Counting()
    live = LiveEnvironments(adapter, limit=2)
    for run in "abc":
        live.start(run, adapter.make(TASKS[0]))
    assert adapter.log.count("closed") == 1
    for run in "abc":
        live.close(run)
        live.close(run)
    assert adapter.log.count("closed") == 3


class Saved(ToyEnvironment):
    """Restores from its snapshot alone."""

    def snapshot(self) -> JSON:
        return {"key": self._has_key}

    def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
        self.reset()
        self._has_key = bool(snapshot and snapshot["key"])


class Saving(ToyAdapter):
    def make(self, task: Task) -> Environment:
        return Saved(task)


def test_a_snapshot_is_kept_with_each_step_and_restored() -> None:
    adapter = Saving()
    _, state = played(adapter, LiveEnvironments(adapter), 1, 2, 3)
    assert state["snapshot"] == {"key": True}
    assert LiveEnvironments(adapter).take("run", state).step("open door").success


def test_a_restore_that_fails_is_an_environment_error_and_leaves_nothing_open() -> None:
    adapter = Counting()
    nodes, state = played(adapter, LiveEnvironments(adapter), 1)
    nodes.finish("run")
    view = nodes.look(state)
    state = {**state, **nodes.read(state, view, Reply("<action>open box 2</action>"))}
    adapter.trouble = "step"
    update = nodes.execute(state, "run")  # pyright: ignore[reportArgumentType]
    assert update["outcome"]["reason"] == "environment_error"
    assert adapter.log.count("made") == adapter.log.count("closed") == 2


def test_state_begins_as_plain_json() -> None:
    adapter = ToyAdapter()
    state = begin(TASKS[0], adapter.make(TASKS[0]).reset(), adapter, HarnessConfig(), None)
    assert json.loads(json.dumps(state)) == state
