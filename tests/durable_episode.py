"""Plays or resumes one durable episode; a process of its own in the tests of durability.

    python durable_episode.py DATABASE NOTES KILL_AT

KILL_AT names where the process kills itself with SIGKILL: `policy:3`, `before-step:1`,
`after-step:1`, `note`, or `never`. The final state is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from evoharness import ExperienceBank, Task, create_harness
from evoharness.core.environment import Environment, Step
from evoharness.core.view import View
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment

DATABASE, NOTES, KILL_AT = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]


def die_at(place: str) -> None:
    if place == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)


def policy(view: View) -> str:
    die_at(f"policy:{len(view.turns)}")
    return open_in_order(view)


class Room(ToyEnvironment):
    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._steps = 0

    def step(self, action: str) -> Step:
        self._steps += 1
        die_at(f"before-step:{self._steps}")
        step = super().step(action)
        die_at(f"after-step:{self._steps}")
        return step


class Rooms(ToyAdapter):
    def make(self, task: Task) -> Environment:
        return Room(task)


class Bank:
    """The real bank, with a place to die right after a note was written."""

    def __init__(self, bank: ExperienceBank) -> None:
        self._bank = bank

    def recall(self, query: str, *, task_type: str, limit: int) -> Any:
        return self._bank.recall(query, task_type=task_type, limit=limit)

    def note(self, text: str, *, source: str, task_type: str) -> None:
        self._bank.note(text, source=source, task_type=task_type)
        die_at("note")


with (
    ExperienceBank.open(NOTES, "toy") as bank,
    SqliteSaver.from_conn_string(str(DATABASE)) as saver,
):
    bank.seed(Rooms().experience())
    harness = create_harness(policy, Rooms(), Bank(bank), checkpointer=saver)
    settings: Any = {"configurable": {"thread_id": "episode"}}
    begun = bool(harness.get_state(settings).next)
    final: Any = harness.invoke(None if begun else {"task": "door-02"}, settings, durability="sync")
    notes = [entry.text for entry in bank.entries(status="pending")]
    print(json.dumps({"begun": begun, "notes": notes, "state": final}))
