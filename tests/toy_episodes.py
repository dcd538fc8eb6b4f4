"""Episodes of the toy door from scripted replies, for several tests of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
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


_NUMBERS = count(1)


@dataclass
class Memory:
    """One remembered entry."""

    kind: str
    text: str
    score: float = 0.5
    disputed: bool = False
    id: str = field(default_factory=lambda: f"entry {next(_NUMBERS)}")


class Shelf:
    """An Experience that recalls what it is made with and keeps notes."""

    def __init__(self, *entries: Memory) -> None:
        self.entries = entries
        self.asked: list[tuple[str, str, int]] = []
        self.notes: list[tuple[str, str, str]] = []
        self.told: list[dict[str, Any]] = []
        """All that was said of each question, note and ended episode."""

    def recall(self, query: str, *, task_type: str, limit: int, **more: Any) -> Sequence[Memory]:
        self.asked.append((query, task_type, limit))
        self.told.append(more)
        return self.entries[:limit]

    def note(self, text: str, *, source: str, task_type: str, **more: Any) -> None:
        self.notes.append((text, source, task_type))
        self.told.append(more)

    def finished(self, episode: dict[str, Any]) -> None:
        self.told.append(episode)


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
