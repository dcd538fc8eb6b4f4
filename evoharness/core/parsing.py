"""What a reply says, decided in one place for evaluation, SFT rows and RL rollouts alike.

Both formats end in the same `Parsed`: tags (`<think>…</think><action>verb argument</action>`)
and native tool calls. The first action counts; whatever follows it, imagined observations
included, is dropped and flagged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

MetaVerb = Literal["track", "commit", "recall", "note"]
META_VERBS: tuple[MetaVerb, ...] = get_args(MetaVerb)
ACT = "act"
"""The verb of an environment action: the tool's name in the `tools` format."""
ARGUMENT_OF: dict[str, str] = {
    "track": "query",
    "commit": "subgoal",
    "recall": "query",
    "note": "insight",
    ACT: "action",
}
"""The one argument of each tool."""

Code = Literal["ok", "missing", "several", "unclosed", "empty", "unknown_verb"]
"""Why a reply is what it is.

- `ok`: one action, nothing else to say.
- `missing`: there is text, but no action in it.
- `several`: more than one action; the first counts.
- `unclosed`: a tag or a JSON argument was not closed (usually the token limit).
- `empty`: the reply, or its action, has no content.
- `unknown_verb`: a tool, or an action's first word, that this domain does not have.
"""

_ALIASES = {"record": "note"}
_OPEN = re.compile(r"[<＜]\s*action\s*[>＞]", re.IGNORECASE)
_CLOSE = re.compile(r"[<＜]\s*[/／]\s*action\s*[>＞]", re.IGNORECASE)
_CLOSE_CUT = re.compile(r"[<＜]\s*[/／]\s*[a-z]*\s*$", re.IGNORECASE)
_THINK = re.compile(r"[<＜]\s*([/／])?\s*think(?:ing)?\s*[>＞]", re.IGNORECASE)
_META = re.compile(r"(track|commit|recall|note|record)(?=$|[\s\[(:：［（])", re.IGNORECASE)
_NEXT_TURN = re.compile(r"\n[^\S\n]*(?:observation|action|thought)\b.*", re.IGNORECASE | re.DOTALL)
_NOTHING = {"", "none", "null", "n/a"}
_BRACKETS = {"[": "]", "［": "］", "(": ")", "（": "）", "【": "】"}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native tool call, as the model sent it."""

    name: str
    arguments: str | Mapping[str, Any]
    """A JSON string or its decoded form; clients send either."""
    id: str = ""

    def to_json(self, default_id: str) -> dict[str, str]:
        """Return the call with its arguments as a JSON string, as conversations hold it."""
        arguments = self.arguments
        if not isinstance(arguments, str):
            arguments = json.dumps(dict(arguments), ensure_ascii=True, default=str)
        return {
            "id": clean(self.id or default_id),
            "name": clean(self.name or ""),
            "arguments": clean(arguments),
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy answered, before anything was read into it."""

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    """Thinking that the server returned apart from the text."""
    usage: dict[str, int] = field(default_factory=dict[str, int])
    """Token counts: `input_tokens`, `output_tokens`, where the server tells them."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The one action of a reply."""

    verb: str
    """A meta-verb, `act`, or "" when no action could be established."""
    argument: str
    thought: str
    codes: tuple[Code, ...]

    @property
    def usable(self) -> bool:
        """Whether there is an action to execute."""
        return self.verb != ""


def clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that text can be stored."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse_reply(reply: Reply | str | None, env_verbs: Sequence[str] = ()) -> Parsed:
    """Establish the one action of a reply.

    Args:
        reply: the policy's reply; a string stands for its text.
        env_verbs: first words of environment actions; when given, others are `unknown_verb`.

    Returns:
        The action with its reason codes. Case is preserved in the argument.
    """
    if not isinstance(reply, Reply):
        reply = Reply(reply)
    text = clean(reply.text or "")
    reasoning = clean(reply.reasoning or "").strip()
    if reply.tool_calls:
        thought, rest, _ = _split_thought(text)
        return _parse_calls(reply.tool_calls, reasoning or thought or rest.strip(), env_verbs)
    if not text.strip():
        if not reasoning:
            return Parsed("", "", "", ("empty",))
        # The server moved the whole answer into the reasoning.
        text, reasoning = reasoning, ""
        if not _THINK.search(text):
            return _parse_open_thought("", text, env_verbs)
    thought, rest, open_thought = _split_thought(text)
    thought = _joined(reasoning, thought)
    if open_thought is not None and not _OPEN.search(rest):
        return _parse_open_thought(thought, open_thought, env_verbs)
    flags: tuple[Code, ...] = ("unclosed",) if open_thought is not None else ()
    return _parse_blocks(thought, rest, env_verbs, flags)


def format_action(verb: str, argument: str) -> str:
    """Return the action as the `tags` format writes it, without its tags."""
    return argument if verb == ACT else f"{verb} {argument}".strip()


def _split_thought(text: str) -> tuple[str, str, str | None]:
    """Split into closed thinking, the rest, and the text of a thinking block left open."""
    marks = list(_THINK.finditer(text))
    # A template may eat the opening tag; then all before a single closing tag is thought. In a
    # text that opens with its thinking, a single closing tag is noise of an imagined next turn.
    eaten = bool(marks) and bool(marks[0][1] or text[: marks[0].start()].strip())
    thoughts: list[str] = []
    rest = ""
    position = index = 0
    while index < len(marks):
        mark = marks[index]
        rest += text[position : mark.start()]
        if mark[1]:
            if eaten:
                thoughts.append(rest.strip())
                rest = ""
        else:
            index = _closing(marks, index)
            if index < 0:
                return _joined(*thoughts), rest, text[mark.end() :]
            thoughts.append(text[mark.end() : marks[index].start()].strip())
        position = marks[index].end()
        index += 1
    return _joined(*thoughts), rest + text[position:], None


def _closing(marks: Sequence[re.Match[str]], opening: int) -> int:
    """Return which mark closes a thinking block, or -1: the one that balances it, because thinking
    may quote the reply's format; the next one where none does (an opening tag written twice).
    """
    depth = 0
    for index in range(opening, len(marks)):
        depth += -1 if marks[index][1] else 1
        if depth == 0:
            return index
    return next((i for i in range(opening, len(marks)) if marks[i][1]), -1)


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _parse_open_thought(thought: str, text: str, env_verbs: Sequence[str]) -> Parsed:
    """Read an unclosed thinking block: an action in it may be a quotation, so it counts only
    when it is the only one and ends the text.
    """
    blocks = list(_OPEN.finditer(text))
    ends = bool(blocks) and bool(_CLOSE.search(text)) and not _CLOSE.split(text)[-1].strip()
    if len(blocks) != 1 or not ends:
        return Parsed("", "", _joined(thought, text.strip()), ("missing", "unclosed"))
    before = text[: blocks[0].start()].strip()
    return _parse_blocks(
        _joined(thought, before), text[blocks[0].start() :], env_verbs, ("unclosed",)
    )


def _parse_blocks(
    thought: str, text: str, env_verbs: Sequence[str], flags: tuple[Code, ...]
) -> Parsed:
    """Read the first `<action>` block of a text that has no thinking in it."""
    before, *blocks = _OPEN.split(text)
    thought = thought or before.strip()
    if not blocks:
        return Parsed("", "", thought, ("missing", *flags))
    content, *after = _CLOSE.split(blocks[0], maxsplit=1)
    codes = list(flags)
    if len(blocks) > 1:
        codes.append("several")
    if not after:
        if "unclosed" not in codes:
            codes.append("unclosed")
        content = _cut(content)
    verb, argument = _verb_and_argument(content)
    return _checked(verb, argument, thought, codes, env_verbs)


def _cut(content: str) -> str:
    """End an action whose closing tag is missing: at the line's end, or for a note, which may
    have several lines, where the model goes on to imagine the next turn.
    """
    content = _CLOSE_CUT.sub("", content.strip()).strip()
    if _META.match(content):
        return _NEXT_TURN.sub("", content)
    return content.partition("\n")[0]


def _verb_and_argument(content: str) -> tuple[str, str]:
    """Split an action's content; an environment action has the verb `act`."""
    content = content.strip()
    while len(content) > 1 and content[0] == content[-1] == "`":
        content = content[1:-1].strip()
    content = _unwrap(content)
    match = _META.match(content)
    if match is None:
        return ACT, content
    verb = match[1].lower()
    argument = content[match.end() :].lstrip(" \t:：").strip()
    return _ALIASES.get(verb, verb), _nothing(_unwrap(argument))


def _unwrap(text: str) -> str:
    """Strip one pair of brackets when it encloses the whole text."""
    closing = _BRACKETS.get(text[:1])
    if closing is None or not text.endswith(closing):
        return text
    depth = 0
    for index, character in enumerate(text):
        depth += (character == text[0]) - (character == closing)
        if depth == 0:
            return text[1:-1].strip() if index == len(text) - 1 else text
    return text


def _nothing(text: str) -> str:
    return "" if text.lower() in _NOTHING else text


def _checked(
    verb: str, argument: str, thought: str, codes: list[Code], env_verbs: Sequence[str]
) -> Parsed:
    if verb == ACT:
        argument = _nothing(argument)
        if not argument:
            return Parsed("", "", thought, ("empty", *codes))
        if env_verbs and argument.split()[0].lower() not in env_verbs:
            return Parsed("", argument, thought, ("unknown_verb", *codes))
    return Parsed(verb, argument, thought, tuple(codes) or ("ok",))


def _parse_calls(calls: Sequence[ToolCall], thought: str, env_verbs: Sequence[str]) -> Parsed:
    call = calls[0]
    codes: list[Code] = ["several"] if len(calls) > 1 else []
    name = clean(call.name or "").strip().lower()
    verb = _ALIASES.get(name, name)
    if verb not in ARGUMENT_OF:
        return Parsed("", clean(call.name or ""), thought, ("unknown_verb", *codes))
    arguments: Any = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return Parsed("", "", thought, ("unclosed", *codes))
    argument = clean(_first_text(arguments, ARGUMENT_OF[verb])).strip()
    return _checked(verb, _nothing(argument), thought, codes, env_verbs)


def _first_text(arguments: Any, key: str) -> str:
    """Return the named argument; small models misname it, so a single other one will do."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        return ""
    named = cast(Mapping[str, Any], arguments)
    value = named.get(key, next(iter(named.values())) if len(named) == 1 else None)
    return "" if value is None else str(value)
