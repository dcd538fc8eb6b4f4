"""The graph: the same episode as the rollout loop's, in every way LangGraph can be called."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from evoharness import ExperienceBank, HarnessConfig, HarnessContext, Task, create_harness
from evoharness.core.environment import Environment, Step
from evoharness.core.view import View
from evoharness.experience import FinishedEpisode, Note
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ScriptedModel, ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment

TASKS = ToyAdapter().tasks("default")


@pytest.fixture(scope="module")
def bank() -> Iterator[ExperienceBank]:
    with ExperienceBank.in_memory("toy") as bank:
        bank.seed(ToyAdapter().experience())
        yield bank


class CountingAdapter(ToyAdapter):
    """Counts what really happens to its environments."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.made = 0
        self.open = 0

    def make(self, task: Task) -> Environment:
        self.made += 1
        counter = self

        class Counted(ToyEnvironment):
            def reset(self) -> Step:
                counter.open += 1
                return super().reset()

            def step(self, action: str) -> Step:
                counter.steps.append(action)
                return super().step(action)

            def close(self) -> None:
                counter.open -= 1

        return Counted(task)


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def as_bytes(state: Any) -> bytes:
    """The state as JSON, without the run's name, which is made up anew each time."""
    return json.dumps({k: v for k, v in state.items() if k != "run"}, sort_keys=True).encode()


def sloppy(view: View) -> str:
    """A policy of every kind of reply: good, malformed, several, switched off."""
    return (
        "<action>recall keys</action>",
        "no action here",
        "<action>track</action>",
        "<think>x</think><action>open box 1</action><action>open door</action>",
        "<action>jump</action>",
        "<action>note the box was empty</action>",
        "<action>commit a | b</action>",
        "<action>open door",
        "<action></action>",
    )[len(view.turns) % 9]


CONFIGS = {
    "inline": HarnessConfig(max_steps=12),
    "always_on": HarnessConfig(mode="always_on", max_steps=12),
    "env_only": HarnessConfig(mode="env_only", max_steps=12),
    "no belief": HarnessConfig(belief=False, max_steps=12),
    "no progress": HarnessConfig(progress=False, max_steps=12),
    "no experience": HarnessConfig(experience=False, max_steps=12),
    "accumulated": HarnessConfig(context="accumulated", max_steps=12),
    "tools": HarnessConfig(reply_format="tools", free_meta=2, max_steps=12),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("policy", [open_in_order, sloppy])
def test_the_graph_and_the_batched_loop_play_the_same_episodes_byte_for_byte(
    bank: ExperienceBank, config: HarnessConfig, policy: Callable[[View], str]
) -> None:
    adapter = ToyAdapter()
    harness = create_harness(policy, adapter, bank, config=config)
    graph = [harness.invoke({"task": task}) for task in TASKS]
    loop = rollout(FunctionPolicy(policy), adapter, TASKS, experience=bank, config=config)
    assert list(map(as_bytes, graph)) == list(map(as_bytes, loop))


class TestCalling:
    @pytest.fixture(scope="class")
    @classmethod
    def expected(cls, bank: ExperienceBank) -> list[bytes]:
        loop = rollout(FunctionPolicy(open_in_order), ToyAdapter(), TASKS[:4], experience=bank)
        return list(map(as_bytes, loop))

    @pytest.fixture(params=[False, True], ids=["plain", "checkpointed"])
    def harness(self, request: pytest.FixtureRequest, bank: ExperienceBank) -> Any:
        saver = InMemorySaver() if request.param else None
        return create_harness(open_in_order, ToyAdapter(), bank, checkpointer=saver)

    def test_invoke(self, harness: Any, expected: list[bytes]) -> None:
        assert as_bytes(harness.invoke({"task": TASKS[0]}, thread("a"))) == expected[0]

    async def test_ainvoke(self, harness: Any, expected: list[bytes]) -> None:
        assert as_bytes(await harness.ainvoke({"task": TASKS[0]}, thread("a"))) == expected[0]

    def test_batch(self, harness: Any, expected: list[bytes]) -> None:
        inputs = [{"task": task} for task in TASKS[:4]]
        threads = [thread(task.id) for task in TASKS[:4]]
        assert list(map(as_bytes, harness.batch(inputs, threads))) == expected

    async def test_abatch(self, harness: Any, expected: list[bytes]) -> None:
        inputs = [{"task": task} for task in TASKS[:4]]
        threads = [thread(task.id) for task in TASKS[:4]]
        assert list(map(as_bytes, await harness.abatch(inputs, threads))) == expected

    def test_a_task_is_named_by_id_object_or_json(
        self, harness: Any, expected: list[bytes]
    ) -> None:
        for number, task in enumerate((TASKS[1], TASKS[1].id, TASKS[1].to_json())):
            assert as_bytes(harness.invoke({"task": task}, thread(str(number)))) == expected[1]

    def test_streams_of_updates_and_turns(self, harness: Any) -> None:
        modes = ["updates", "custom"]
        events = list(harness.stream({"task": TASKS[0].id}, thread("s"), stream_mode=modes))
        assert json.loads(json.dumps(events)) == [list(event) for event in events]
        nodes = [name for kind, event in events if kind == "updates" for name in event]
        assert nodes[:3] == ["reset", "policy", "recall"]
        assert nodes[-1] == "finish"
        custom = [event for kind, event in events if kind == "custom"]
        assert [event["type"] for event in custom] == ["turn"] * (len(custom) - 1) + ["outcome"]
        assert [event["turn"]["index"] for event in custom[:-1]] == list(range(len(custom) - 1))

    async def test_an_asynchronous_stream(self, harness: Any) -> None:
        stream = harness.astream({"task": TASKS[0]}, thread("s"), stream_mode="custom")
        assert [event["type"] async for event in stream][-1] == "outcome"

    def test_a_second_episode_on_the_same_thread_starts_clean(
        self, harness: Any, expected: list[bytes]
    ) -> None:
        harness.invoke({"task": TASKS[2]}, thread("same"))
        assert as_bytes(harness.invoke({"task": TASKS[0]}, thread("same"))) == expected[0]

    def test_notes_name_the_episode_they_come_from(self) -> None:
        """A given source holds for its episode; the next one on the thread has its own name."""
        with ExperienceBank.in_memory("toy") as own:
            harness = create_harness(open_in_order, ToyAdapter(), own, checkpointer=InMemorySaver())
            for source in ({"source": "mine"}, {"source": "mine"}, {}, {"source": ""}):
                given: Any = {"task": TASKS[0], **source}
                harness.invoke(given, thread("same"))
            told = own.evidence()
        for kind in (Note, FinishedEpisode):
            sources = [piece.episode for piece in told if type(piece) is kind]
            assert len(sources) == len(set(sources)) == 3
            assert "mine" in sources

    def test_experience_is_told_how_an_episode_ended(self) -> None:
        with ExperienceBank.in_memory("toy") as own:
            own.seed(ToyAdapter().experience())
            harness = create_harness(open_in_order, ToyAdapter(), own)
            harness.invoke({"task": "door-04", "source": "mine"})
            [ended] = [piece for piece in own.evidence() if isinstance(piece, FinishedEpisode)]
            [seed] = own.entries()
        assert (ended.source, ended.task_type) == ("mine", "door")
        assert (ended.success, ended.reason, ended.steps) == (True, "success", 7)
        assert ended.recalled == (seed.id,)
        assert [(each.place, each.found) for each in ended.findings] == [("box 1", 0), ("box 2", 1)]

    def test_threads_share_one_graph(self, harness: Any, expected: list[bytes]) -> None:
        def play(number: int) -> bytes:
            return as_bytes(harness.invoke({"task": TASKS[number % 4]}, thread(f"t{number}")))

        with ThreadPoolExecutor(16) as threads:
            assert list(threads.map(play, range(48))) == expected * 12


def test_a_model_s_messages_are_streamed() -> None:
    model = ScriptedModel(["<action>open box 1</action>", "<action>open door</action>"])
    harness = create_harness(model, ToyAdapter())
    events = list(harness.stream({"task": "door-00"}, stream_mode="messages"))
    texts = [cast(AIMessageChunk, event[0]).content for event in cast(Any, events)]
    assert texts == ["<action>open box 1</action>", "<action>open door</action>"]


def test_what_is_no_task_is_refused() -> None:
    harness = create_harness(open_in_order, ToyAdapter())
    with pytest.raises(KeyError, match="door-99"):
        harness.invoke({"task": "door-99"})
    with pytest.raises(ValueError, match="give a task id, a Task"):
        harness.invoke({"source": "nothing else"})


@pytest.mark.parametrize("adapter", [ToyAdapter, None, 3])
def test_what_is_no_adapter_is_refused(adapter: Any) -> None:
    with pytest.raises(TypeError, match="give an instance of an Adapter"):
        create_harness(open_in_order, adapter)


def test_an_environment_that_answers_with_no_step_is_named() -> None:
    class Mute(ToyEnvironment):
        def step(self, action: str) -> Any:
            return "Box 1 is empty."

    class Adapter(ToyAdapter):
        def make(self, task: Task) -> Environment:
            return Mute(task)

    outcome = create_harness(open_in_order, Adapter()).invoke({"task": "door-00"})["outcome"]
    assert outcome["reason"] == "environment_error"
    assert "`reset` and `step` return a Step" in outcome["detail"]


def test_the_picture_has_a_node_for_each_meta_action() -> None:
    picture = create_harness(open_in_order, ToyAdapter()).get_graph().draw_mermaid()
    for node in ("policy", "track", "commit", "recall", "note", "act", "reject", "finish"):
        assert f"{node}({node})" in picture


def test_the_form_of_the_input_can_be_asked_for() -> None:
    schema = create_harness(open_in_order, ToyAdapter()).get_input_jsonschema()
    assert set(schema["properties"]) == {"task", "source"}


def ask_a_human(view: View) -> str:
    return f"<action>{interrupt(len(view.turns))}</action>"


class TestAskingAHuman:
    """A policy may be a person: it interrupts, and the answer is the resumed value."""

    ANSWERS = ("open box 1", "open box 2", "open door")

    @pytest.mark.parametrize("subgraph", [False, True], ids=["alone", "subgraph"])
    def test_each_question_is_asked_once_and_each_answer_used_once(self, subgraph: bool) -> None:
        adapter = CountingAdapter()
        saver = InMemorySaver()
        app: Any = (
            embedded(create_harness(ask_a_human, adapter), saver)
            if subgraph
            else create_harness(ask_a_human, adapter, checkpointer=saver)
        )
        result = app.invoke({"task": "door-04"}, thread("h"))
        for turn, answer in enumerate(self.ANSWERS):
            assert [question.value for question in result["__interrupt__"]] == [turn]
            result = app.invoke(Command(resume=answer), thread("h"))
        assert result["outcome"]["success"]
        assert adapter.steps == list(self.ANSWERS)

    async def test_asynchronously(self) -> None:
        app = create_harness(ask_a_human, ToyAdapter(), checkpointer=InMemorySaver())
        final: Any = await app.ainvoke({"task": "door-04"}, thread("h"))
        for answer in self.ANSWERS:
            final = await app.ainvoke(Command(resume=answer), thread("h"))
        assert final["outcome"]["success"]


class TestContext:
    def test_a_policy_of_the_invocation_is_asked_instead(self) -> None:
        harness = create_harness(sloppy, ToyAdapter())
        context = HarnessContext(policy=FunctionPolicy(open_in_order))
        assert harness.invoke({"task": "door-00"}, context=context)["outcome"]["success"]

    def test_a_bank_of_the_invocation_is_used_instead(self, bank: ExperienceBank) -> None:
        with ExperienceBank.in_memory("tenant") as own:
            own.seed([{"kind": "skill", "text": "Keys of this tenant are in box 2."}])
            harness = create_harness(open_in_order, ToyAdapter(), bank)
            before = bank.evidence()
            final = harness.invoke({"task": "door-04"}, context=HarnessContext(experience=own))
            assert "this tenant" in final["turns"][0]["result"]
            assert {piece.kind for piece in own.evidence()} == {"note", "episode"}
            assert not any("tenant" in entry.text for entry in bank.entries())
            assert bank.evidence() == before

    def test_a_bank_of_the_invocation_switches_experience_on(self, bank: ExperienceBank) -> None:
        harness = create_harness(open_in_order, ToyAdapter())
        verbs = [turn["verb"] for turn in harness.invoke({"task": "door-00"})["turns"]]
        assert "recall" not in verbs
        final = harness.invoke({"task": "door-00"}, context=HarnessContext(experience=bank))
        assert final["turns"][0]["verb"] == "recall"

    @pytest.mark.parametrize("after", [0, 3])
    def test_a_wish_to_stop_ends_the_episode(self, after: int) -> None:
        asked: list[int] = []

        def cancelled() -> bool:
            asked.append(1)
            return len(asked) > after

        adapter = CountingAdapter()
        harness = create_harness(open_in_order, adapter)
        final = harness.invoke({"task": "door-02"}, context=HarnessContext(cancelled=cancelled))
        assert final["outcome"]["reason"] == "cancelled"
        assert len(final["turns"]) == after
        assert adapter.open == 0


class Parent(TypedDict, total=False):
    task: str
    outcome: dict[str, Any]
    log: Annotated[list[str], operator.add]


@dataclass
class ParentContext:
    """What a parent graph hands to its own nodes."""

    user: str = "someone"


def after(state: Parent) -> Parent:
    return {"log": [f"after {state.get('outcome', {})['reason']}"]}


def embedded(harness: Any, saver: Any = None, context: Any = None) -> Any:
    parent = StateGraph(Parent, context_schema=context)
    parent.add_node("before", lambda state: {"log": ["before"]})
    parent.add_node("harness", harness)
    parent.add_node("after", after)
    parent.add_edge(START, "before")
    parent.add_edge("before", "harness")
    parent.add_edge("harness", "after")
    parent.add_edge("after", END)
    return parent.compile(checkpointer=saver)


class TestEmbedded:
    @pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["plain", "checkpointed"])
    def test_the_parent_gets_the_outcome_and_keeps_its_own_lists(self, saver: Any) -> None:
        app = embedded(create_harness(open_in_order, ToyAdapter()), saver)
        final = app.invoke({"task": "door-00", "log": ["in"]}, thread("p"))
        assert final["outcome"]["success"]
        assert final["log"] == ["in", "before", "after success"]

    @pytest.mark.parametrize("context", [ParentContext(), {"user": "someone"}])
    async def test_the_parent_s_own_context_is_none_of_its_business(self, context: Any) -> None:
        schema = ParentContext if isinstance(context, ParentContext) else None
        app = embedded(create_harness(open_in_order, ToyAdapter()), context=schema)
        assert app.invoke({"task": "door-00"}, context=context)["outcome"]["success"]
        final = await app.ainvoke({"task": "door-00"}, context=context)
        assert final["outcome"]["success"]

    def test_the_harness_s_context_may_come_through_the_parent(self) -> None:
        app = embedded(create_harness(sloppy, ToyAdapter()), context=HarnessContext)
        context = HarnessContext(policy=FunctionPolicy(open_in_order))
        assert app.invoke({"task": "door-00"}, context=context)["outcome"]["success"]

    async def test_an_asynchronous_parent(self) -> None:
        app = embedded(create_harness(open_in_order, ToyAdapter()))
        assert (await app.ainvoke({"task": "door-00"}))["outcome"]["success"]

    def test_turns_are_streamed_through_the_parent(self) -> None:
        app = embedded(create_harness(open_in_order, ToyAdapter()))
        stream = app.stream(
            {"task": "door-00"}, stream_mode=["custom", "updates"], subgraphs=True, version="v2"
        )
        events = list(stream)
        turns = [e for e in events if e["type"] == "custom" and e["data"]["type"] == "turn"]
        assert turns
        assert all(event["ns"][0].startswith("harness:") for event in turns)

    @pytest.mark.parametrize("subgraph", [False, True], ids=["alone", "subgraph"])
    def test_actions_can_be_approved_and_happen_once(self, subgraph: bool) -> None:
        adapter = CountingAdapter()
        saver = InMemorySaver()
        if subgraph:
            harness = create_harness(open_in_order, adapter, interrupt_before=["act"])
            app = embedded(harness, saver)
        else:
            app = create_harness(
                open_in_order, adapter, interrupt_before=["act"], checkpointer=saver
            )
        app.invoke({"task": "door-04"}, thread("approve"))
        approved = 0
        while app.get_state(thread("approve")).next:
            assert len(adapter.steps) == approved
            approved += 1
            app.invoke(None, thread("approve"))
        assert adapter.steps == ["open box 1", "open box 2", "open door"]
        assert app.get_state(thread("approve")).values["outcome"]["success"]
        assert adapter.open == 0
