"""What the steps of an episode do to the world: environments are closed, faults become reasons."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt
from toy_episodes import BOX, Shelf

from evoharness.core.environment import JSON, Environment, Step, Task
from evoharness.core.parsing import META_VERBS, Reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, Update, merge
from evoharness.graph import create_harness
from evoharness.nodes import HarnessNodes, LiveEnvironments
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment

TASKS = ToyAdapter().tasks("default")
RUN = "run"


@dataclass
class Log:
    """What really happened to the environments of an adapter."""

    made: int = 0
    closed: int = 0
    steps: list[str] = field(default_factory=list[str])


class Watched(ToyAdapter):
    """A toy whose environments keep a log and, where told to, break with `error`."""

    def __init__(self, place: str = "", error: BaseException | None = None) -> None:
        self.log = Log()
        self.place = place
        self.error = error or OSError("the lamp fell over")

    def breaks(self, place: str) -> None:
        if place == self.place:
            raise self.error

    def make(self, task: Task) -> Environment:
        self.breaks("make")
        watcher = self

        class Room(ToyEnvironment):
            def reset(self) -> Step:
                watcher.breaks("reset")
                return super().reset()

            def step(self, action: str) -> Step:
                watcher.log.steps.append(action)
                watcher.breaks("step")
                return super().step(action)

            def snapshot(self) -> JSON | None:
                watcher.breaks("snapshot")
                return None

            def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
                watcher.breaks("restore")
                super().restore(snapshot, actions)

            def close(self) -> None:
                watcher.log.closed += 1
                watcher.breaks("close")

        self.log.made += 1
        return Room(task)

    def first_belief(self, task: Task, step: Step) -> JSON:
        self.breaks("first_belief")
        return super().first_belief(task, step)

    def update_belief(self, belief: JSON, action: str, step: Step) -> JSON:
        self.breaks("update_belief")
        return super().update_belief(belief, action, step)

    def answer_belief(self, belief: JSON, query: str) -> str:
        self.breaks("answer_belief")
        return super().answer_belief(belief, query)

    def normalise(self, action: str) -> str:
        self.breaks("normalise")
        return super().normalise(action)


def nodes_of(
    adapter: ToyAdapter, experience: Shelf | None = None, **given: Any
) -> tuple[HarnessNodes, Episode]:
    """Return the nodes and the state after the reset."""
    nodes = HarnessNodes(adapter, HarnessConfig(**given), experience, LiveEnvironments(adapter))
    return nodes, nodes.reset(TASKS[2], RUN)


def answered(nodes: HarnessNodes, state: Episode, reply: str) -> Episode:
    """Return the state in which the reply is pending."""
    return merge(state, nodes.read(state, nodes.look(state), Reply(reply)))


def reason(update: Any) -> tuple[str, str]:
    return update["outcome"]["reason"], update["outcome"]["detail"]


class TestFaults:
    @pytest.mark.parametrize("place", ["make", "reset", "first_belief"])
    def test_an_episode_that_cannot_begin_ends_with_the_reason(self, place: str) -> None:
        adapter = Watched(place)
        _, state = nodes_of(adapter)
        assert reason(state) == ("environment_error", "OSError: the lamp fell over")
        assert state["turns"] == []
        assert adapter.log.closed == adapter.log.made
        assert json.loads(json.dumps(state)) == state

    def test_panels_that_cannot_be_shown_are_found_at_once(self) -> None:
        adapter = Watched("answer_belief")
        _, state = nodes_of(adapter, mode="always_on")
        assert reason(state)[0] == "environment_error"
        assert adapter.log.closed == adapter.log.made == 1

    @pytest.mark.parametrize("place", ["step", "snapshot", "update_belief"])
    def test_a_step_that_breaks_ends_the_episode_and_closes_its_environment(
        self, place: str
    ) -> None:
        adapter = Watched()
        nodes, state = nodes_of(adapter)
        adapter.place = place
        update = nodes.act(answered(nodes, state, BOX(1)), RUN)
        assert reason(update) == ("environment_error", "OSError: the lamp fell over")
        assert update["pending"] is None
        assert adapter.log.closed == 1
        nodes.finish(RUN)
        assert adapter.log.closed == 1

    def test_an_action_that_cannot_be_spelled_ends_the_episode(self) -> None:
        adapter = Watched("normalise")
        nodes, state = nodes_of(adapter)
        assert reason(nodes.act(answered(nodes, state, BOX(1)), RUN))[0] == "environment_error"
        nodes.finish(RUN)
        assert adapter.log.closed == 1

    def test_a_belief_that_cannot_answer_ends_the_episode(self) -> None:
        adapter = Watched("answer_belief")
        nodes, state = nodes_of(adapter)
        update = nodes.track(answered(nodes, state, "<action>track key</action>"))
        assert reason(update)[0] == "environment_error"

    def test_an_environment_that_cannot_be_restored_is_closed(self) -> None:
        adapter = Watched()
        nodes, state = nodes_of(adapter)
        nodes.finish(RUN)
        adapter.place = "restore"
        assert reason(nodes.act(answered(nodes, state, BOX(1)), RUN))[0] == "environment_error"
        assert adapter.log.closed == adapter.log.made == 2

    def test_an_environment_that_cannot_be_closed_does_not_take_finished_work_along(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        adapter = Watched("close")
        final = create_harness(open_in_order, adapter).invoke({"task": "door-00"})
        assert final["outcome"]["success"]
        assert "failed to close" in caplog.text
        assert caplog.records[0].levelno == logging.WARNING

    @pytest.mark.parametrize("answer", [None, "<action>open door</action>", 3])
    def test_a_policy_that_answers_with_no_reply_is_told(self, answer: Any) -> None:
        nodes, state = nodes_of(ToyAdapter())
        kind, detail = reason(nodes.read(state, nodes.look(state), answer))
        assert kind == "policy_error"
        assert "a policy answers with a Reply" in detail

    def test_a_policy_that_breaks_is_quoted(self) -> None:
        def broken(view: Any) -> str:
            raise ConnectionError("no route to the model")

        final = create_harness(broken, Watched()).invoke({"task": "door-00"})
        assert reason(final) == ("policy_error", "ConnectionError: no route to the model")

    async def test_asynchronously_too(self) -> None:
        adapter = Watched("step")
        final = await create_harness(open_in_order, adapter).ainvoke({"task": "door-00"})
        assert reason(final) == ("environment_error", "OSError: the lamp fell over")
        assert adapter.log.closed == adapter.log.made == 1


class TestWhatIsNoFault:
    """LangGraph's control flow and the user's Ctrl-C are not reasons to end an episode."""

    @pytest.mark.parametrize("error", [GraphInterrupt(()), KeyboardInterrupt()])
    def test_they_pass_through_a_step_and_leave_nothing_open(self, error: BaseException) -> None:
        adapter = Watched(error=error)
        nodes, state = nodes_of(adapter)
        adapter.place = "step"
        with pytest.raises(type(error)):
            nodes.act(answered(nodes, state, BOX(1)), RUN)
        assert adapter.log.closed == adapter.log.made == 1

    def test_the_step_can_be_taken_again_afterwards(self) -> None:
        adapter = Watched(error=KeyboardInterrupt())
        nodes, state = nodes_of(adapter)
        state = answered(nodes, state, BOX(1))
        state = answered(nodes, merge(state, nodes.act(state, RUN)), BOX(2))
        adapter.place = "step"
        with pytest.raises(KeyboardInterrupt):
            nodes.act(state, RUN)
        adapter.place = ""
        state = merge(state, nodes.act(state, RUN))
        assert [turn["result"] for turn in state["turns"]] == ["Box 1 is empty.", "Box 2 is empty."]


class TestVerbs:
    @pytest.mark.parametrize("verb", META_VERBS)
    def test_execute_is_the_node_of_the_pending_action(self, verb: str) -> None:
        nodes, state = nodes_of(ToyAdapter(), Shelf())
        state = answered(nodes, state, f"<action>{verb} keys</action>")
        node: dict[str, Callable[[], Update]] = {
            "track": lambda: nodes.track(state),
            "commit": lambda: nodes.commit(state),
            "recall": lambda: nodes.recall(state),
            "note": lambda: nodes.note(state, RUN),
        }
        assert nodes.execute(state, RUN) == node[verb]()

    def test_without_a_store_experience_is_switched_off(self) -> None:
        nodes, state = nodes_of(ToyAdapter())
        assert nodes.look(state).verbs == ("track", "commit")
        state = answered(nodes, state, "<action>recall keys</action>")
        [turn] = nodes.execute(state, RUN)["turns"]
        assert (turn["kind"], turn["valid"]) == ("invalid", False)

    def test_a_meta_action_never_touches_the_environment(self) -> None:
        adapter = Watched()
        nodes, state = nodes_of(adapter, Shelf())
        for verb in META_VERBS:
            state = answered(nodes, state, f"<action>{verb} keys</action>")
            state = merge(state, nodes.execute(state, RUN))
        assert len(state["turns"]) == 4
        assert adapter.log.steps == []

    def test_a_note_that_is_written_again_has_the_same_source(self) -> None:
        """So a store that tells notes apart by their source keeps one after a crash."""
        shelf = Shelf()
        nodes, state = nodes_of(ToyAdapter(), shelf)
        state = answered(nodes, state, "<action>note keys are in boxes</action>")
        assert nodes.note(state, RUN) == nodes.note(state, RUN)
        assert shelf.notes == [("keys are in boxes", "run#0", "door")] * 2


class TestEnvironments:
    def test_a_finished_episode_leaves_none_open(self) -> None:
        adapter = Watched()
        harness = create_harness(open_in_order, adapter)
        for task in TASKS:
            harness.invoke({"task": task})
        assert adapter.log.made == adapter.log.closed == len(TASKS)

    def test_a_run_that_is_put_back_twice_keeps_the_later_one(self) -> None:
        """As when two of its checkpoints are continued at once."""
        adapter = Watched()
        live = LiveEnvironments(adapter)
        first, second = adapter.make(TASKS[0]), adapter.make(TASKS[0])
        live.keep(RUN, first, "")
        live.keep(RUN, second, "")
        assert adapter.log.closed == 1
        _, state = nodes_of(ToyAdapter())
        assert live.take(RUN, state) is second

    def test_more_episodes_than_environments_may_live_play_on_all_the_same(self) -> None:
        """Those that had to make room are restored when it is their turn."""
        adapter = Watched()
        nodes = HarnessNodes(adapter, HarnessConfig(), None, LiveEnvironments(adapter, limit=3))

        def play(number: int) -> Episode:
            run = f"run-{number}"
            state = nodes.reset(TASKS[number % len(TASKS)], run)
            while state["outcome"] is None:
                state = answered(nodes, state, open_in_order(nodes.look(state)))
                if state["outcome"] is None:
                    state = merge(state, nodes.execute(state, run))
            nodes.finish(run)
            return state

        alone = [play(number) for number in range(40)]
        before = adapter.log.made
        with ThreadPoolExecutor(16) as threads:
            together = list(threads.map(play, range(40)))
        assert together == alone
        assert adapter.log.made == adapter.log.closed
        assert adapter.log.made >= before + 40

    def test_a_hundred_episodes_at_once_on_one_graph(self) -> None:
        """More than live at once by default."""
        harness = create_harness(open_in_order, ToyAdapter())
        inputs: list[Any] = [{"task": TASKS[number % len(TASKS)]} for number in range(100)]
        finals: list[Any] = harness.batch(inputs, {"max_concurrency": 100})
        assert all(final["outcome"]["success"] for final in finals)
