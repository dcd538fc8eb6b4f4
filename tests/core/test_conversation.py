"""How turns are strung together, and that any chat server takes the conversation back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import convert_to_messages

from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.prompts import Message
from evoharness.core.settings import HarnessConfig
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter

DOOR = ToyAdapter().task("door-12")


def chats(replies: Sequence[str | Reply], **given: Any) -> list[list[Message]]:
    """Return the messages of every turn, one more than there are replies."""
    seen: list[list[Message]] = []

    def decide(view: View) -> str | Reply:
        seen.append(view.messages)
        return [*replies, "<action>open box 5</action>"][len(view.turns)]

    config = HarnessConfig(max_steps=len(replies) + 1, **given)
    rollout(FunctionPolicy(decide), ToyAdapter(), [DOOR], config=config)
    return seen


def call(name: str, arguments: Any, id: str = "", text: str | None = None) -> Reply:
    return Reply(text, (ToolCall(name, arguments, id),))


def test_per_turn_is_system_and_user() -> None:
    for chat in chats(["<action>open box 2</action>", "hm"]):
        assert [message["role"] for message in chat] == ["system", "user"]


def test_accumulated_alternates_and_only_grows() -> None:
    replies = ["<think>a</think><action>open box 2</action>", "hm", "<action>track</action>"]
    seen = chats(replies, context="accumulated")
    for before, after in pairwise(seen):
        assert after[: len(before)] == before
    roles = [message["role"] for message in seen[-1]]
    assert roles == ["system", *["user", "assistant"] * 3, "user"]
    assert [m["content"] for m in seen[-1] if m["role"] == "assistant"] == replies


def test_accumulated_tells_the_task_once_and_each_result_once() -> None:
    chat = chats(["<action>open box 2</action>", "<action>track</action>"], context="accumulated")
    users = [message["content"] for message in chat[-1] if message["role"] == "user"]
    assert ["Task:" in text for text in users] == [True, False, False]
    assert users[1].startswith("Observation: Box 2 is empty.")
    assert users[2].startswith("Result: after 'open box 2'")
    assert "Observation:" not in users[2]


def test_a_tool_message_answers_its_call() -> None:
    chat = chats(
        [call("act", {"action": "open box 2"}, "abc"), call("track", '{"query": "box"}')],
        context="accumulated",
        reply_format="tools",
    )[-1]
    assert [message["role"] for message in chat[2:]] == ["assistant", "tool", "assistant", "tool"]
    assert chat[2]["tool_calls"][0] == {
        "id": "abc",
        "type": "function",
        "function": {"name": "act", "arguments": '{"action": "open box 2"}'},
    }
    assert chat[3]["tool_call_id"] == "abc"
    assert chat[4]["tool_calls"][0]["id"] == chat[5]["tool_call_id"] == "call_1"


def test_of_several_calls_the_first_is_kept() -> None:
    both = (ToolCall("track", {}, "a"), ToolCall("act", {"action": "open box 1"}, "b"))
    chat = chats([Reply("", both)], context="accumulated", reply_format="tools")[-1]
    assert [each["id"] for each in chat[2]["tool_calls"]] == ["a"]


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (call("act", '{"action": "open box 1"}'), '{"action": "open box 1"}'),
        (call("act", '{"action": "fly"}'), '{"action": "fly"}'),
        (call("fly", {"to": "moon"}), '{"to": "moon"}'),
        (call("act", '"open box 1"'), '{"action": "open box 1"}'),
        (call("track", ""), '{"query": ""}'),
        (call("track", "7"), '{"query": ""}'),
        (call("act", '{"action": "open \\ud83d"}'), '{"action": "open \\ufffd"}'),
        (call(" act ", {"action": "open box 1"}), '{"action": "open box 1"}'),
        (call("act", '{"action": "op'), None),
        (call("act", "[" * 100_000), None),
        (call("", {}), None),
        (call("fly away", {}), None),
    ],
)
def test_a_call_is_sent_back_as_servers_take_it_or_as_text(reply: Reply, kept: str | None) -> None:
    chat = chats([reply], context="accumulated", reply_format="tools")[-1]
    if kept is None:
        assert "tool_calls" not in chat[2]
        assert chat[2]["content"]
        assert chat[3]["role"] == "user"
    else:
        assert chat[2]["tool_calls"][0]["function"]["arguments"] == kept
        assert chat[3]["role"] == "tool"


def test_an_empty_reply_stays_a_message_with_content() -> None:
    chat = chats(["", Reply(None, reasoning="hm")], context="accumulated")[-1]
    assert [m["content"] for m in chat if m["role"] == "assistant"] == ["(no answer)"] * 2


ARGUMENTS = st.one_of(
    st.text(st.characters(), max_size=8),
    st.sampled_from(['{"action": "open box 1"}', '{"query": "\\udc00"}', "[]", "null", "{", ""]),
    st.dictionaries(st.sampled_from(["action", "query"]), st.text(st.characters(), max_size=5)),
)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["act", "track", "commit", "fly", ""]) | st.text(st.characters(), max_size=3),
    ARGUMENTS,
)
REPLIES = st.builds(
    Reply,
    st.none() | st.text(st.characters(), max_size=5) | st.just("<action>open box 2</action>"),
    st.lists(CALLS, max_size=2).map(tuple),
)


@given(st.lists(REPLIES, min_size=1, max_size=4))
def test_whatever_was_replied_the_conversation_goes_on(replies: list[Reply]) -> None:
    chat = chats(replies, context="accumulated", reply_format="tools")[-1]
    json.dumps(chat, ensure_ascii=False).encode()
    assert len(convert_to_messages(chat)) == len(chat)
    assert [message["role"] for message in chat[2::2]] == ["assistant"] * len(replies)
    for said, answer in zip(chat[2::2], chat[3::2], strict=True):
        if "tool_calls" in said:
            [made] = said["tool_calls"]
            assert isinstance(json.loads(made["function"]["arguments"]), dict)
            assert answer["role"] == "tool"
            assert answer["tool_call_id"] == made["id"]
        else:
            assert said["content"].strip()
            assert answer["role"] == "user"
