"""The state of an episode as plain JSON, and how updates go into it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from evoharness.core.environment import JSON, Task
from evoharness.core.progress import Subgoal

Reason = Literal["success", "failure", "budget", "environment_error", "policy_error", "cancelled"]


class StoredReply(TypedDict):
    """A reply as plain JSON; `call` is the first tool call, arguments as a JSON string."""

    text: str
    reasoning: str
    call: dict[str, str] | None
    usage: dict[str, int]


class ReadReply(TypedDict):
    """A reply and the one action that was read into it."""

    prompt: str
    """The user message that was answered."""
    reply: StoredReply
    thought: str
    verb: str
    """A meta-verb, `act`, or "" when no action could be established."""
    argument: str
    codes: list[str]


class Pending(ReadReply):
    """A reply that waits for its node."""

    route: str


class Turn(ReadReply):
    """One finished turn, as traces and prompts read it."""

    index: int
    kind: Literal["env", "meta", "invalid"]
    """`invalid`: nothing was executed (malformed, unknown, or switched off)."""
    valid: bool
    """False for `invalid` turns, and when the environment or the meta-action refused."""
    charged: bool
    result: str
    """The observation or answer that the action brought."""
    recalled: list[str]
    """Ids of the Experience entries that the answer shows."""


class Outcome(TypedDict):
    """How an episode ended."""

    reason: Reason
    success: bool
    score: float
    detail: str
    """What broke, for the two error reasons; else empty."""


class Episode(TypedDict):
    """The state of an episode: Belief, Progress and what the turn functions need."""

    task: JSON
    first_observation: str
    observation: str
    admissible: list[str] | None
    belief: JSON
    progress: list[Subgoal]
    hints: str
    """What Experience answered to the objective, for the `always_on` panel; else empty."""
    hinted: list[str]
    """Ids of the entries in `hints`."""
    turns: list[Turn]
    pending: Pending | None
    spent: int
    """Charged turns."""
    free_used: int
    trail: str
    """Digest of the environment actions so far: which state a live environment is in."""
    snapshot: JSON | None
    score: float
    outcome: Outcome | None


Update = dict[str, Any]


def blank(task: Task) -> Episode:
    """Return the state of an episode that has not begun."""
    return Episode(
        task=task.to_json(),
        first_observation="",
        observation="",
        admissible=None,
        belief={},
        progress=[],
        hints="",
        hinted=[],
        turns=[],
        pending=None,
        spent=0,
        free_used=0,
        trail="",
        snapshot=None,
        score=0.0,
        outcome=None,
    )


def follow(trail: str, action: str) -> str:
    """Return the digest of a trail after one more environment action."""
    return hashlib.sha256(f"{trail}\n{action}".encode()).hexdigest()[:16]


def env_actions(state: Episode) -> list[str]:
    """Return the environment actions so far, in order."""
    return [turn["argument"] for turn in state["turns"] if turn["kind"] == "env"]


def recalled(state: Episode) -> list[str]:
    """Return the ids of the Experience entries that the episode was shown, each once."""
    shown = [id_ for turn in state["turns"] for id_ in turn["recalled"]]
    return list(dict.fromkeys([*state["hinted"], *shown]))


def merge_turns(turns: Sequence[Turn], new: Sequence[Turn]) -> list[Turn]:
    """Append turns, each index once: a turn that is written again is the same turn."""
    merged = list(turns)
    for turn in new:
        if turn["index"] == len(merged):
            merged.append(turn)
        elif turn["index"] < len(merged):
            merged[turn["index"]] = turn
    return merged


def merge(state: Episode, update: Update) -> Episode:
    """Return the state with an update applied; the loop's counterpart of the graph's channels."""
    merged: Any = {**state, **update}
    if "turns" in update:
        merged["turns"] = merge_turns(state["turns"], update["turns"])
    return merged
