"""A LangChain chat model as a policy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall as LangChainCall
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from evoharness.core.environment import Task
from evoharness.core.episode import begin, look
from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.core.view import View
from evoharness.policies import as_policy
from evoharness.policies.chat import ChatPolicy, as_reply
from evoharness.rollouts import rollout
from evoharness.testing import ScriptedModel, ToyAdapter

DOOR = ToyAdapter().task("door-12")
OPEN = AIMessage("", tool_calls=[LangChainCall(name="act", args={"action": "open box 1"}, id="a")])


def view(task: Task = DOOR, **settings: Any) -> View:
    """Return what a policy sees first."""
    adapter, config = ToyAdapter(), HarnessConfig(**settings)
    return look(begin(task, adapter.make(task).reset(), adapter, config, None), adapter, config)


def play(model: ScriptedModel, **settings: Any) -> Episode:
    config = HarnessConfig(**settings)
    return rollout(ChatPolicy(model), ToyAdapter(), [DOOR], config=config)[0]


def reason(state: Episode) -> str:
    assert state["outcome"] is not None
    return state["outcome"]["reason"]


def invalid(arguments: str | None) -> AIMessage:
    call = InvalidToolCall(
        type="invalid_tool_call", name="act", args=arguments, id="bad", error="no JSON"
    )
    return AIMessage("", invalid_tool_calls=[call])


# --- from a message to a reply ---------------------------------------------------------------


def test_text() -> None:
    assert as_reply(AIMessage("<action>open door</action>")) == Reply("<action>open door</action>")


def test_blocks_are_joined_and_thinking_is_kept_apart() -> None:
    message = AIMessage(
        [
            {"type": "thinking", "thinking": "I go."},
            {"type": "reasoning", "reasoning": "Really."},
            {"type": "text", "text": "<action>"},
            "open door",
            {"type": "text", "text": "</action>"},
            {"type": "image_url", "image_url": "https://example.org/a.png"},
        ]
    )
    assert as_reply(message) == Reply("<action>open door</action>", (), "I go.\nReally.")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_of_a_server_is_kept_apart(key: str) -> None:
    message = AIMessage("<action>open door</action>", additional_kwargs={key: "I go."})
    assert as_reply(message).reasoning == "I go."


def test_reasoning_that_is_no_text_is_left_out() -> None:
    assert as_reply(AIMessage("x", additional_kwargs={"reasoning": {"id": 1}})).reasoning is None


def test_tool_calls() -> None:
    assert as_reply(OPEN).tool_calls == (ToolCall("act", {"action": "open box 1"}, "a"),)


def test_tool_calls_with_broken_arguments_are_kept_as_they_came() -> None:
    assert as_reply(invalid('{"action": ')).tool_calls == (ToolCall("act", '{"action": ', "bad"),)
    assert as_reply(invalid(None)).tool_calls == (ToolCall("act", "", "bad"),)


def test_token_counts() -> None:
    usage = UsageMetadata(input_tokens=9, output_tokens=2, total_tokens=11)
    assert as_reply(AIMessage("x", usage_metadata=usage)).usage == {
        "input_tokens": 9,
        "output_tokens": 2,
    }


# --- deciding --------------------------------------------------------------------------------


def test_the_model_reads_the_rendered_prompt() -> None:
    model, seen = ScriptedModel(["<action>open door</action>"]), view()
    assert ChatPolicy(model).decide(seen).text == "<action>open door</action>"
    [[system, user]] = model.calls
    assert (system.type, system.text) == ("system", seen.system)
    assert (user.type, user.text) == ("human", seen.prompt)
    assert model.tools == []


def test_tools_are_bound_in_the_tools_format() -> None:
    model, seen = ScriptedModel([OPEN]), view(reply_format="tools")
    assert ChatPolicy(model).decide(seen).tool_calls[0].name == "act"
    assert model.tools == seen.tools


async def test_asynchronously_it_decides_the_same() -> None:
    policy = ChatPolicy(ScriptedModel([OPEN]))
    seen = view(reply_format="tools")
    assert await policy.adecide(seen) == policy.decide(seen)


def by_boxes(messages: list[BaseMessage]) -> str:
    """Fail where there are eight boxes, else open the door."""
    if "8 closed boxes" in messages[-1].text:
        raise TimeoutError("the server is slow")
    return "<action>open door</action>"


def test_in_a_batch_one_failure_does_not_touch_the_others() -> None:
    tasks = [ToyAdapter().task(name) for name in ("door-00", "door-07", "door-12")]
    replies = ChatPolicy(ScriptedModel(by_boxes)).decide_batch([view(task) for task in tasks])
    assert [type(reply) for reply in replies] == [Reply, TimeoutError, Reply]
    assert ChatPolicy(ScriptedModel(by_boxes)).decide_batch([]) == []


def test_in_a_rollout_one_failure_does_not_touch_the_others() -> None:
    tasks = [ToyAdapter().task(name) for name in ("door-00", "door-07", "door-12")]
    config = HarnessConfig(max_steps=2)
    states = rollout(ChatPolicy(ScriptedModel(by_boxes)), ToyAdapter(), tasks, config=config)
    assert [reason(state) for state in states] == ["budget", "policy_error", "budget"]
    outcome = states[1]["outcome"]
    assert outcome is not None
    assert outcome["detail"] == "TimeoutError: the server is slow"


def test_a_conversation_with_tools_goes_on_after_a_broken_call() -> None:
    model = ScriptedModel(
        [
            invalid('{"action": "open'),
            OPEN,
            AIMessage("", tool_calls=[LangChainCall(name="track", args={}, id="b")]),
            AIMessage("", tool_calls=[LangChainCall(name="fly", args={"to": "moon"}, id="c")]),
            AIMessage("", tool_calls=[LangChainCall(name="act", args={"x": "open door"}, id="d")]),
        ]
    )
    state = play(model, reply_format="tools", context="accumulated")
    assert reason(state) == "success"
    assert [turn["codes"] for turn in state["turns"]] == [
        ["unclosed"],
        ["ok"],
        ["ok"],
        ["unknown_verb"],
        ["ok"],
    ]
    last = model.calls[-1]
    assert [m.type for m in last] == ["system", "human", "ai", "human", *["ai", "tool"] * 3]
    answered = [message.tool_call_id for message in last if isinstance(message, ToolMessage)]
    assert answered == ["a", "b", "c"]
    json.dumps(state)


@pytest.mark.parametrize("arguments", ['"open box 1"', "", "[]", "null", '{"action": "\\udc00"}'])
def test_a_call_with_odd_arguments_does_not_break_the_conversation(arguments: str) -> None:
    model = ScriptedModel([invalid(arguments)])
    state = play(model, reply_format="tools", context="accumulated", max_steps=3)
    assert reason(state) == "budget"
    for messages in model.calls:
        for message in messages:
            message.model_dump_json()


# --- names and strings -----------------------------------------------------------------------


def test_a_model_without_a_name_is_named_by_its_class() -> None:
    assert ChatPolicy(ScriptedModel(["x"])).name == "ScriptedModel"
    assert ChatPolicy(ScriptedModel(["x"]), "mine").name == "mine"


def test_a_model_string_makes_a_policy() -> None:
    pytest.importorskip("langchain_openai")
    policy = ChatPolicy.from_string("openai:qwen", base_url="http://localhost:1/v1", temperature=0)
    assert policy.name == "openai:qwen"
    assert ChatPolicy(policy.model).name == "qwen"
    assert getattr(policy.model, "openai_api_base", None) == "http://localhost:1/v1"


def test_a_missing_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ValueError, match=r"openai:gpt-4\.1-mini.*OPENAI_API_KEY"):
        as_policy("openai:gpt-4.1-mini")


def test_an_unknown_provider_is_told() -> None:
    pytest.importorskip("langchain")
    with pytest.raises(ValueError, match="no chat model can be made from 'nobody:x'"):
        ChatPolicy.from_string("nobody:x")
    with pytest.raises(ValueError, match="no chat model can be made from 'x'"):
        ChatPolicy.from_string("x")


def test_a_provider_s_missing_package_is_told() -> None:
    pytest.importorskip("langchain")
    try:
        import langchain_groq  # noqa: F401  # pyright: ignore
    except ImportError:
        with pytest.raises(ImportError, match="langchain-groq"):
            ChatPolicy.from_string("groq:llama")
    else:
        pytest.skip("langchain-groq is installed")


# --- seeds -----------------------------------------------------------------------------------


class Sampled(ScriptedModel):
    """Remembers the seed of each request, by its prompt."""

    def __init__(self) -> None:
        super().__init__(["<action>open box 1</action>"])

    _seeds: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._seeds[str(messages[-1].content)] = kwargs.pop("seed", None)
        return super()._generate(messages, *args, **kwargs)


def test_each_request_has_a_seed_of_its_own_that_can_be_repeated() -> None:
    def seeds(seed: int | None, lock_step: bool) -> dict[str, Any]:
        model = Sampled()
        policy = ChatPolicy(model, seed=seed)
        tasks = [ToyAdapter().task(f"door-{number:02}") for number in range(3)]
        config = HarnessConfig(max_steps=3)
        for group in [tasks] if lock_step else [[task] for task in tasks]:
            rollout(policy, ToyAdapter(), group, config=config)
        return model._seeds

    alone, together = seeds(7, lock_step=False), seeds(7, lock_step=True)
    assert alone == together
    assert len(set(alone.values())) > 3
    assert all(0 <= seed < 2**31 for seed in alone.values())
    assert set(seeds(8, lock_step=True).values()).isdisjoint(alone.values())
    assert set(seeds(None, lock_step=True).values()) == {None}
