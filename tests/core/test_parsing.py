"""The table of replies: what each is read as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from evoharness.core.parsing import Reply, ToolCall, parse_reply

ENV_VERBS = ("open", "go", "take")


@dataclass
class Case:
    """One line of the table: what a reply is read as."""

    id: str
    reply: Reply | str | None
    verb: str
    argument: str
    codes: tuple[str, ...] = ("ok",)
    thought: str | None = None
    """None where the line says nothing about it."""
    env_verbs: tuple[str, ...] = ()


def call(name: str, arguments: Any) -> Reply:
    return Reply(None, (ToolCall(name, arguments),))


MISSING, EMPTY = ("missing",), ("empty",)
T = "<think>t</think>"

TAGS = [
    Case("act", f"{T}<action>open box 1</action>", "act", "open box 1", thought="t"),
    Case("track", f"{T}<action>track mug 1</action>", "track", "mug 1", thought="t"),
    Case("commit", f"{T}<action>commit find a mug</action>", "commit", "find a mug"),
    Case("recall", f"{T}<action>recall where are mugs</action>", "recall", "where are mugs"),
    Case("note", f"{T}<action>note mugs are on desks</action>", "note", "mugs are on desks"),
    Case("record is note", "<action>record a mug</action>", "note", "a mug"),
    Case("no argument", "<action>track</action>", "track", ""),
    Case("no thinking", "<action>open box 1</action>", "act", "open box 1", thought=""),
    Case("thinking without tags", "I go.\n<action>go 1</action>", "act", "go 1", thought="I go."),
    Case("upper case", "<THINK>t</THINK><ACTION>TRACK Mug 1</ACTION>", "track", "Mug 1"),
    Case("thinking", "<thinking>t</thinking><action>go 1</action>", "act", "go 1", thought="t"),
    Case("spaces in tags", "< think >t</ think >< action > go 1 < /action >", "act", "go 1"),
    Case("path keeps its case", "<action>open src/README.md</action>", "act", "open src/README.md"),
    Case("newlines around", "<action>\n track mug \n</action>", "track", "mug"),
    Case("newlines inside a note", "<action>note a\nb\n c</action>", "note", "a\nb\n c"),
    Case("commit of several", "<action>commit a | b</action>", "commit", "a | b"),
    Case("tracker is no track", "<action>tracker 1</action>", "act", "tracker 1"),
    Case("noteworthy is no note", "<action>noteworthy</action>", "act", "noteworthy"),
    Case("recall-all is no recall", "<action>recall-all</action>", "act", "recall-all"),
    Case("backticks", "<action>`open box 1`</action>", "act", "open box 1"),
    Case("fence", "<action>\n```\nopen box 1\n```\n</action>", "act", "open box 1"),
    Case("backticks inside", "<action>note use `ls`</action>", "note", "use `ls`"),
    Case("brackets in the grammar's way", "<action>track [mug 1]</action>", "track", "mug 1"),
    Case("brackets without space", "<action>track[mug 1]</action>", "track", "mug 1"),
    Case("brackets around all", "<action>[track mug 1]</action>", "track", "mug 1"),
    Case("call-like", "<action>track(mug 1)</action>", "track", "mug 1"),
    Case("colon", "<action>track: mug 1</action>", "track", "mug 1"),
    Case("nested brackets", "<action>note [a [b] c]</action>", "note", "a [b] c"),
    Case("two brackets", "<action>note [a] and [b]</action>", "note", "[a] and [b]"),
    Case("open bracket", "<action>note [a</action>", "note", "[a"),
    Case("full width", "＜think＞t＜／think＞＜action＞track ［mug］＜／action＞", "track", "mug"),
    Case("full-width colon", "<action>note：桌上有杯子</action>", "note", "桌上有杯子"),
    Case("CJK brackets around all", "<action>【open box 1】</action>", "act", "open box 1"),
]

MALFORMED = [
    Case("None", None, "", "", EMPTY),
    Case("empty string", "", "", "", EMPTY),
    Case("whitespace", " \n\t\u3000 ", "", "", EMPTY),
    Case("empty Reply", Reply(), "", "", EMPTY),
    Case("prose", "I would open box 1.", "", "", MISSING, "I would open box 1."),
    Case("Action: None", "Action: None", "", "", MISSING),
    Case("only thinking", "<think>hm</think>", "", "", MISSING, "hm"),
    Case("action None", "<action>None</action>", "", "", EMPTY),
    Case("action empty", "<action> </action>", "", "", EMPTY),
    Case("action n/a", "<action>[N/A]</action>", "", "", EMPTY),
    Case("note none", "<action>note None</action>", "note", ""),
    Case("first empty", "<action></action><action>go 1</action>", "", "", ("empty", "several")),
    Case(
        "several",
        f"{T}<action>go 1</action><action>go 2</action><action>track</action>",
        "act",
        "go 1",
        ("several",),
    ),
    Case(
        "imagined observation",
        f"{T}<action>go 1</action>\nObservation: You are there, and see a mug.",
        "act",
        "go 1",
    ),
    Case(
        "imagined next turn",
        f"{T}<action>go 1</action>\nObservation: a mug\n{T}<action>take mug</action>",
        "act",
        "go 1",
        ("several",),
    ),
    Case(
        "stray closing tag of an imagined turn",
        f"{T}<action>go 1</action>\nObservation: a mug\nI take it</think><action>take mug</action>",
        "act",
        "go 1",
        ("several",),
    ),
    Case("cut by a stop string", f"{T}<action>go 1", "act", "go 1", ("unclosed",)),
    Case("cut within the tag", f"{T}<action>go 1</act", "act", "go 1", ("unclosed",)),
    Case("cut at the tag", f"{T}<action>go 1</", "act", "go 1", ("unclosed",)),
    Case("cut, first line", "<action>go 1\nObservation: a mug", "act", "go 1", ("unclosed",)),
    Case(
        "cut note, several lines",
        "<action>note a\nb\n\nObservation: c\nd",
        "note",
        "a\nb",
        ("unclosed",),
    ),
    Case(
        "second opening in place of the closing",
        "<action>go 1<action>go 2</action>",
        "act",
        "go 1",
        ("several", "unclosed"),
    ),
    Case("closing only", "go 1</action>", "", "", MISSING),
]

THINKING = [
    Case("opening tag eaten", "I go.</think><action>go 1</action>", "act", "go 1", thought="I go."),
    Case(
        "opening tag eaten, action quoted",
        "Not <action>go 2</action>, no.</think><action>go 1</action>",
        "act",
        "go 1",
    ),
    Case(
        "opening tag eaten, format quoted",
        "The form is <think>r</think><action>a</action>. So.</think><action>go 1</action>",
        "act",
        "go 1",
    ),
    Case(
        "format quoted",
        "<think>The form is <think>r</think><action>a</action>. So.</think><action>go 1</action>",
        "act",
        "go 1",
    ),
    Case(
        "action quoted in closed thinking",
        "<think>Not <action>go 2</action>.</think><action>go 1</action>",
        "act",
        "go 1",
    ),
    Case("action only in closed thinking", "<think><action>go 1</action></think>", "", "", MISSING),
    Case("opening tag twice", "<think>\n<think>t</think><action>go 1</action>", "act", "go 1"),
    Case(
        "thinking twice", f"<think>s</think>{T}<action>go 1</action>", "act", "go 1", thought="s\nt"
    ),
    Case("thinking after", f"<action>go 1</action>{T}", "act", "go 1", thought="t"),
    Case("unclosed", "<think>I go", "", "", ("missing", "unclosed"), "I go"),
    Case(
        "unclosed, ends in the one action",
        "<think>I go <action>go 1</action>\n",
        "act",
        "go 1",
        ("unclosed",),
        "I go",
    ),
    Case(
        "unclosed, action quoted",
        "<think>Perhaps <action>go 1</action> or rather",
        "",
        "",
        ("missing", "unclosed"),
    ),
    Case(
        "unclosed, two actions",
        "<think><action>go 1</action> or <action>go 2</action>",
        "",
        "",
        ("missing", "unclosed"),
    ),
    Case("unclosed, cut action", "<think>I <action>go", "", "", ("missing", "unclosed")),
    Case(
        "unclosed after the action",
        "<action>go 1</action><think>and then",
        "act",
        "go 1",
        ("unclosed",),
    ),
    Case(
        "apart", Reply("<action>go 1</action>", reasoning="I go."), "act", "go 1", thought="I go."
    ),
    Case(
        "apart, and quoted there",
        Reply("<action>go 1</action>", reasoning="<action>go 2</action>"),
        "act",
        "go 1",
    ),
    Case(
        "all of it apart",
        Reply(None, reasoning="I go. <action>go 1</action>"),
        "act",
        "go 1",
        ("unclosed",),
        "I go.",
    ),
    Case(
        "all of it apart, with its tags",
        Reply("", reasoning="<think>I go.</think><action>go 1</action>"),
        "act",
        "go 1",
        ("ok",),
        "I go.",
    ),
    Case(
        "all of it apart, quoted",
        Reply(" ", reasoning="Perhaps <action>go 1</action>? No."),
        "",
        "",
        ("missing", "unclosed"),
    ),
    Case(
        "apart, without action", Reply(None, reasoning="hm"), "", "", ("missing", "unclosed"), "hm"
    ),
]

SURROGATES = [
    Case("lone surrogate", "<action>open \ud83d</action>", "act", "open \ufffd"),
    Case("surrogate pair", "<action>open \ud83d\ude00</action>", "act", "open 😀"),
    Case("in a tool's argument", call("act", {"action": "go \udc00"}), "act", "go \ufffd"),
    Case("escaped in JSON", call("act", '{"action": "go \\ud83d"}'), "act", "go \ufffd"),
    Case("in a tool's name", call("\ud800", {}), "", "\ufffd", ("unknown_verb",)),
]

TOOLS = [
    Case("mapping", call("act", {"action": "go 1"}), "act", "go 1"),
    Case("JSON string", call("act", '{"action": "go 1"}'), "act", "go 1"),
    Case("track", call("track", {"query": "mug"}), "track", "mug"),
    Case("record", call("record", {"insight": "a mug"}), "note", "a mug"),
    Case("name's case", call(" Track ", {"query": "Mug"}), "track", "Mug"),
    Case("misnamed argument", call("track", {"object": "mug"}), "track", "mug"),
    Case("two misnamed arguments", call("track", {"object": "mug", "in": "box"}), "track", ""),
    Case("more arguments", call("track", {"why": "x", "query": "mug"}), "track", "mug"),
    Case("number", call("track", {"query": 7}), "track", "7"),
    Case("null", call("track", {"query": None}), "track", ""),
    Case("bare string", call("act", '"go 1"'), "act", "go 1"),
    Case("list", call("act", '["go 1"]'), "", "", EMPTY),
    Case("no arguments", call("commit", {}), "commit", ""),
    Case("empty JSON string", call("track", ""), "track", ""),
    Case("act of nothing", call("act", {}), "", "", EMPTY),
    Case("act of None", call("act", {"action": "None"}), "", "", EMPTY),
    Case("brackets stay", call("note", {"insight": "[a] b"}), "note", "[a] b"),
    Case("broken JSON", call("act", '{"action": "go'), "", "", ("unclosed",)),
    Case("endlessly nested JSON", call("act", "[" * 100_000), "", "", ("unclosed",)),
    Case("unknown tool", call("fly", {"to": "moon"}), "", "fly", ("unknown_verb",)),
    Case("nameless tool", call("", {}), "", "", ("unknown_verb",)),
    Case(
        "several",
        Reply(None, (ToolCall("track", {"query": "mug"}), ToolCall("act", {"action": "go 1"}))),
        "track",
        "mug",
        ("several",),
    ),
    Case(
        "several, the first broken",
        Reply(None, (ToolCall("act", "{"), ToolCall("act", {"action": "go 1"}))),
        "",
        "",
        ("unclosed", "several"),
    ),
    Case(
        "the call counts, not the text",
        Reply(f"{T}<action>go 2</action>", (ToolCall("act", {"action": "go 1"}),)),
        "act",
        "go 1",
        thought="t",
    ),
    Case(
        "text is the thought",
        Reply("I go.", (ToolCall("track", {}),)),
        "track",
        "",
        thought="I go.",
    ),
    Case(
        "reasoning is the thought",
        Reply("", (ToolCall("track", {}),), reasoning="I go."),
        "track",
        "",
        thought="I go.",
    ),
]

KNOWN_VERBS = [
    Case("known", "<action>Open box 1</action>", "act", "Open box 1", env_verbs=ENV_VERBS),
    Case("meta", "<action>track mug</action>", "track", "mug", env_verbs=ENV_VERBS),
    Case(
        "unknown",
        "<action>fly away</action>",
        "",
        "fly away",
        ("unknown_verb",),
        env_verbs=ENV_VERBS,
    ),
    Case(
        "unknown in a call",
        call("act", {"action": "opens x"}),
        "",
        "opens x",
        ("unknown_verb",),
        env_verbs=ENV_VERBS,
    ),
    Case(
        "unknown and several",
        "<action>fly</action><action>go 1</action>",
        "",
        "fly",
        ("unknown_verb", "several"),
        env_verbs=ENV_VERBS,
    ),
]

TABLE = {
    "tags": TAGS,
    "malformed": MALFORMED,
    "thinking": THINKING,
    "surrogates": SURROGATES,
    "tools": TOOLS,
    "verbs": KNOWN_VERBS,
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{group}: {case.id}".encode("ascii", "replace").decode())
        for group, cases in TABLE.items()
        for case in cases
    ],
)
def test_the_table(case: Case) -> None:
    parsed = parse_reply(case.reply, case.env_verbs)
    assert (parsed.verb, parsed.argument, parsed.codes) == (case.verb, case.argument, case.codes)
    assert parsed.usable == (case.verb != "")
    if case.thought is not None:
        assert parsed.thought == case.thought
