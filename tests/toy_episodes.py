"""Episodes of the toy door from scripted replies, for several tests of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evoharness.core.environment import Environment, Task
from evoharness.core.parsing import Reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter

DOOR = ToyAdapter().task("door-12")
"""Five boxes; the key is in the first."""
BOX = "<action>open box {}</action>".format


@dataclass
class Memory:
    """One remembered entry."""

    kind: str
    text: str
    score: float = 0.5


class Shelf:
    """An Experience that recalls what it is made with and keeps notes."""

    def __init__(self, *entries: Memory) -> None:
        self.entries = entries
        self.asked: list[tuple[str, str, int]] = []
        self.notes: list[tuple[str, str, str]] = []

    def recall(self, query: str, *, task_type: str, limit: int) -> Sequence[Memory]:
        self.asked.append((query, task_type, limit))
        return self.entries[:limit]

    def note(self, text: str, *, source: str, task_type: str) -> None:
        self.notes.append((text, source, task_type))


def play(*replies: str | Reply | Callable[[], str], **given: Any) -> Episode:
    """Play the replies in order and then `open box 5` until the end."""
    adapter = given.pop("adapter", None) or ToyAdapter()
    experience = given.pop("experience", Shelf())
    given.setdefault("max_steps", 12)
    config = HarnessConfig(**given)

    def decide(view: View) -> str | Reply:
        turn = len(view.turns)
        if turn >= len(replies):
            return "<action>open box 5</action>"
        reply = replies[turn]
        return reply() if callable(reply) else reply

    policy = FunctionPolicy(decide, "script")
    [state] = rollout(policy, adapter, [DOOR], experience=experience, config=config)
    return state


def altered(environment: type[Environment], **functions: Any) -> ToyAdapter:
    """Return a toy adapter with another environment, and with other functions."""

    class Altered(ToyAdapter):
        def make(self, task: Task) -> Environment:
            return environment(task)  # pyright: ignore[reportCallIssue]

    for name, function in functions.items():
        setattr(Altered, name, function)
    return Altered()
