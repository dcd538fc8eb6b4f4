"""What holds of every reply, whatever its text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from evoharness.core.parsing import (
    ACT,
    ARGUMENT_OF,
    META_VERBS,
    Reply,
    ToolCall,
    clean,
    format_action,
    parse_reply,
)

ENV_VERBS = ("open", "go", "take")


def call(name: str, arguments: Any) -> Reply:
    return Reply(None, (ToolCall(name, arguments),))


PIECES_OF_REPLIES = """
<think> </think> <action> </action> ＜action＞ ＜／action＞ </ < ` [ ] （ ） : |
track commit recall note record open None Observation: Action:
"""
ANY_TEXT = st.text(st.characters(), max_size=40)  # lone surrogates too
PIECES = st.lists(
    st.one_of(
        st.sampled_from(PIECES_OF_REPLIES.split()),
        st.sampled_from(["\n", " ", "\ud83d", "\ude00", "\x00"]),
        ANY_TEXT,
    ),
    max_size=14,
).map("".join)
ARGUMENTS = st.one_of(
    PIECES,
    st.dictionaries(st.sampled_from(["action", "query", "x"]), st.none() | st.integers() | PIECES),
    st.recursive(st.none() | st.booleans() | st.floats() | ANY_TEXT, st.lists, max_leaves=4).map(
        json.dumps
    ),
)
CALLS = st.builds(
    ToolCall, st.sampled_from(["act", "track", "note", "RECORD", "fly"]) | ANY_TEXT, ARGUMENTS
)
REPLIES = st.builds(
    Reply,
    st.none() | PIECES,
    st.lists(CALLS, max_size=2).map(tuple),
    st.none() | PIECES,
)


@given(REPLIES, st.sampled_from([(), ENV_VERBS]))
def test_any_reply_is_read_and_can_be_stored(reply: Reply, env_verbs: tuple[str, ...]) -> None:
    parsed = parse_reply(reply, env_verbs)
    f"{parsed.argument}{parsed.thought}".encode()
    assert parsed.verb in ("", ACT, *META_VERBS)
    assert parsed.codes
    assert len(set(parsed.codes)) == len(parsed.codes)
    assert ("ok" in parsed.codes) == (parsed.codes == ("ok",))
    refused = {"missing", "empty", "unknown_verb"} & {*parsed.codes}
    assert not (parsed.usable and refused)
    assert parsed.usable or refused or "unclosed" in parsed.codes
    if parsed.verb == ACT:
        assert parsed.argument.strip()
    for call in reply.tool_calls:
        json.dumps(call.to_json("call_0"), ensure_ascii=False).encode()


@given(ANY_TEXT)
@example("\ufeffstarts with a byte-order mark")
def test_cleaning_changes_only_what_cannot_be_stored(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert clean(cleaned) == cleaned
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert cleaned == text


WORD = st.text("abcXYZ019_./-é桌", min_size=1, max_size=8)
WORDS = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
VERB = st.sampled_from([ACT, *META_VERBS])


def plain(verb: str, argument: str) -> bool:
    """Whether the argument is one that can be written as it is: not `none`, no verb by accident."""
    meta = argument.split()[0].lower() in {*META_VERBS, "record"}
    return argument.lower() not in ("none", "null", "n/a") and not (verb == ACT and meta)


@given(VERB, WORDS)
def test_what_is_written_is_read_again(verb: str, argument: str) -> None:
    if not plain(verb, argument):
        return
    in_tags = parse_reply(f"<think>t</think><action>{format_action(verb, argument)}</action>")
    in_call = parse_reply(call(verb, {ARGUMENT_OF[verb]: argument}))
    in_json = parse_reply(call(verb, json.dumps({ARGUMENT_OF[verb]: argument})))
    for parsed in (in_tags, in_call, in_json):
        assert (parsed.verb, parsed.argument, parsed.codes) == (verb, argument, ("ok",))


@given(VERB, WORDS, PIECES)
@example("act", "go 1", "\nObservation: a mug</think><action>take mug</action>")
@example("note", "a", "</action></think></think><think>")
def test_whatever_follows_the_first_action_does_not_change_it(
    verb: str, argument: str, tail: str
) -> None:
    first = f"<think>t</think><action>{format_action(verb, argument)}</action>"
    alone, followed = parse_reply(first), parse_reply(first + tail)
    assert (followed.verb, followed.argument) == (alone.verb, alone.argument)
    if "several" in followed.codes:
        assert "action" in tail


def test_an_action_without_verb_or_argument_is_written_without_stray_spaces() -> None:
    assert format_action("track", "") == "track"
    assert format_action("", "fly away") == "fly away"


def test_a_call_is_stored_with_its_arguments_as_json() -> None:
    assert ToolCall("act", {"action": "go"}).to_json("call_3") == {
        "id": "call_3",
        "name": "act",
        "arguments": '{"action": "go"}',
    }
    assert ToolCall("act", "{broken", "abc").to_json("call_3")["arguments"] == "{broken"
