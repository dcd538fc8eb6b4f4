"""The one renderer: what a policy reads, in evaluation, SFT rows and RL rollouts alike."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evoharness.core.actions import describe
from evoharness.core.parsing import ARGUMENT_OF, MetaVerb, format_action

if TYPE_CHECKING:
    from evoharness.core.environment import Words
    from evoharness.core.settings import HarnessConfig
    from evoharness.core.state import Turn
    from evoharness.core.view import View

Message = dict[str, Any]
"""A chat message in the OpenAI form: `role`, `content`, and for tools `tool_calls` or
`tool_call_id`."""

_SHORT = 240
_SILENT = "(no answer)"
"""Stands for an empty reply: some servers refuse a message without content."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FORMAT = {
    "tags": (
        "Answer with one or two sentences of reasoning and then exactly one action:\n"
        "<think>your reasoning</think><action>your action</action>"
    ),
    "tools": "Answer with exactly one tool call; environment actions go through `act`.",
}


def system_prompt(words: Words, config: HarnessConfig, verbs: Sequence[MetaVerb]) -> str:
    """Return the system message: the domain, the actions on offer, the reply's format."""
    parts = [
        words.domain,
        f"You have {config.max_steps} steps. Every turn you take exactly one action.",
        f"Environment actions:\n{words.actions}",
    ]
    if verbs:
        price = "Each costs one step, like any action"
        if config.free_meta:
            price = f"The first {config.free_meta} are free, each later one costs one step"
        lines = "\n".join(describe(verb, words) for verb in verbs)
        parts.append(
            f"Harness actions. They never touch the environment; their result comes with the next "
            f"turn. {price}, so use one when it saves more than it costs.\n{lines}"
        )
    return "\n\n".join([*parts, _FORMAT[config.reply_format]])


def user_prompt(view: View) -> str:
    """Return the user message of the present turn."""
    config = view.config
    last = view.turns[-1] if view.turns else None
    parts: list[str] = []
    if config.context == "per_turn" or last is None:
        parts.append(f"Task: {view.task.objective}")
    if config.context == "per_turn" and config.history and view.turns:
        shown = view.turns[-config.history :]
        parts.append("Last turns:\n" + "\n".join(_one_line(turn) for turn in shown))
    if last is not None and last["kind"] != "env":
        parts.append(f"Result: {last['result']}")
    if config.context == "per_turn" or last is None or last["kind"] == "env":
        parts.append(f"Observation: {view.observation}")
    parts += [f"{title}:\n{text}" for title, text in view.panels]
    if view.admissible is not None:
        parts.append("Possible actions: " + "; ".join(view.admissible))
    parts.append(f"Step {view.spent + 1} of {config.max_steps}.")
    return "\n\n".join(parts)


def messages(view: View) -> list[Message]:
    """Return the whole prompt of the present turn as chat messages."""
    system: Message = {"role": "system", "content": view.system}
    if view.config.context == "per_turn":
        return [system, {"role": "user", "content": view.prompt}]
    chat = [system]
    for turn in view.turns:
        chat += [_incoming(turn["prompt"], chat), reply_message(turn)]
    return [*chat, _incoming(view.prompt, chat)]


def reply_message(turn: Turn) -> Message:
    """Return a past turn's reply as an assistant message that every server takes back.

    Of several tool calls only the first is kept, because each call in a conversation must have
    its result. A call that no server would take back is shown as text.
    """
    reply = turn["reply"]
    call = reply["call"]
    if call is None:
        return {"role": "assistant", "content": reply["text"] if reply["text"].strip() else _SILENT}
    name = call["name"].strip()
    arguments = _sendable(call["arguments"])
    if arguments is None and turn["verb"]:
        arguments = json.dumps(tool_arguments(turn["verb"], turn["argument"]))
    if arguments is None or not _TOOL_NAME.fullmatch(name):
        shown = f"{call['name']}({call['arguments']})"
        return {"role": "assistant", "content": "\n".join(filter(None, (reply["text"], shown)))}
    function = {"name": name, "arguments": arguments}
    kept = {"id": call["id"], "type": "function", "function": function}
    return {"role": "assistant", "content": reply["text"], "tool_calls": [kept]}


def tool_arguments(verb: str, argument: str) -> dict[str, str]:
    """Return an action's arguments as its tool takes them."""
    return {ARGUMENT_OF[verb]: argument}


def _sendable(arguments: str) -> str | None:
    """Return a call's arguments when they are a JSON object of text that UTF-8 can hold."""
    try:
        decoded = json.loads(arguments)
        json.dumps(decoded, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(decoded, dict) else None


def _incoming(text: str, chat: Sequence[Message]) -> Message:
    """Return what the policy reads next: a tool's result after a call, else a user message."""
    calls = chat[-1].get("tool_calls")
    if calls:
        return {"role": "tool", "tool_call_id": calls[0]["id"], "content": text}
    return {"role": "user", "content": text}


def _one_line(turn: Turn) -> str:
    action = format_action(turn["verb"], turn["argument"]) or "(no action)"
    result = " ".join(turn["result"].split())
    return f"{turn['index'] + 1}. {_short(action)} -> {_short(result)}"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
