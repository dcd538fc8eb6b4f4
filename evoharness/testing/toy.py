"""A small real environment, for tests and as the example of an adapter.

A key lies in one of several boxes, and the door opens with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evoharness.core.environment import (
    JSON,
    Adapter,
    Capabilities,
    Environment,
    Step,
    Task,
    Words,
)
from evoharness.core.view import View


class ToyEnvironment(Environment):
    """Boxes numbered from 1, one of which holds the key."""

    def __init__(self, task: Task) -> None:
        self._boxes = int(task.data["boxes"])
        self._key = int(task.data["key"])
        self._has_key = False
        self._done = False

    def reset(self) -> Step:
        """Close all boxes."""
        self._has_key = self._done = False
        return self._step(f"A locked door and {self._boxes} closed boxes.")

    def step(self, action: str) -> Step:
        """Open a box or the door."""
        if self._done:
            return self._step("The episode is over.", valid=False)
        if action == "open door" and self._has_key:
            self._done = True
            return self._step("The door swings open.")
        if action == "open door":
            return self._step("The door is locked.")
        number = action.removeprefix("open box ")
        if action.startswith("open box ") and number in map(str, range(1, self._boxes + 1)):
            if int(number) == self._key:
                self._has_key = True
                return self._step(f"Box {number} holds the key. You take it.")
            return self._step(f"Box {number} is empty.")
        return self._step("Nothing happens.", valid=False)

    def _step(self, observation: str, *, valid: bool = True) -> Step:
        boxes = tuple(f"open box {number}" for number in range(1, self._boxes + 1))
        return Step(
            observation=observation,
            admissible=(*boxes, "open door"),
            done=self._done,
            success=self._done,
            score=float(self._done),
            valid=valid,
        )


class ToyAdapter(Adapter):
    """Doors, each with one box to eight."""

    name = "toy"
    words = Words(
        domain="You stand before a locked door. Its key lies in one of the boxes.",
        actions="open box N\nopen door",
        track="what the boxes held",
        commit="find the key",
        recall="where is the key",
    )
    capabilities = Capabilities(lists_admissible=True)
    verbs = ("open",)

    def tasks(self, split: str) -> Sequence[Task]:
        """Return the doors."""
        if split != "default":
            raise ValueError(f"toy has no split {split!r}; it has 'default'")
        return [
            Task(f"door-{n:02}", "Open the door.", "door", {"boxes": 1 + n % 8, "key": 1 + n % 3})
            for n in range(40)
            if n % 3 <= n % 8
        ]

    def make(self, task: Task) -> Environment:
        """Make the room."""
        return ToyEnvironment(task)

    def experience(self) -> Sequence[Mapping[str, Any]]:
        """Say where keys were found."""
        places = ["box 1", "box 2", "box 3"]
        return [{"kind": "hint", "thing": "key", "places": places, "task_type": "door"}]

    def findings(self, task: Task, first: str, steps: Sequence[tuple[str, str]]) -> Sequence[JSON]:
        """Return which boxes were opened, and which held the key."""
        opened = {
            action.removeprefix("open "): observation
            for action, observation in steps
            if action.startswith("open box ") and observation.startswith("Box ")
        }
        return [
            {"thing": "key", "place": box, "looked": 1, "found": int("holds the key" in seen)}
            for box, seen in opened.items()
        ]

    def policies(self) -> Mapping[str, Callable[[View], str]]:
        """Return the policy that looks into one box after another."""
        return {"expert": open_in_order}


def open_in_order(view: View) -> str:
    """Plan, recall, open boxes in order, note where the key was, open the door."""
    done = [turn["verb"] for turn in view.turns]
    opened = [turn["argument"] for turn in view.turns if turn["kind"] == "env"]
    if "recall" in view.verbs and "recall" not in done:
        return "<think>I may know such doors.</think><action>recall where is the key</action>"
    if "commit" in view.verbs and "commit" not in done:
        return "<think>I plan.</think><action>commit find the key | open the door</action>"
    found = any("holds the key" in turn["result"] for turn in view.turns)
    if not found:
        number = len(opened) + 1
        return f"<think>I look into the next box.</think><action>open box {number}</action>"
    if "track" in view.verbs and "track" not in done:
        return "<think>I check what I have.</think><action>track key</action>"
    if "note" in view.verbs and "note" not in done:
        return f"<think>Worth keeping.</think><action>note The key was in {opened[-1]}.</action>"
    return "<think>I have the key.</think><action>open door</action>"
