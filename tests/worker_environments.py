"""Environments for the tests of worker processes; imported by name in the workers."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from evoharness.core.environment import Environment, Step


class Obedient(Environment):
    """Does what the action says, to itself."""

    def __init__(self, start: int) -> None:
        self._count = start

    def reset(self) -> Step:
        print("chatter that must not disturb", flush=True)
        os.write(1, b"more of it\n")
        return Step(f"pid {os.getpid()}", ("wait",), events=({"count": self._count},))

    def step(self, action: str) -> Step:
        if action == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "exit":
            sys.exit(7)
        if action == "leave":
            os._exit(7)
        if action == "hang":
            time.sleep(3600)
        if action == "raise":
            raise LookupError("no such thing \ud83d")
        self._count += 1
        return Step(f"{action}: {self._count}", None, score=0.5)

    def snapshot(self) -> dict[str, Any]:
        return {"count": self._count}


def make(task: dict[str, Any]) -> Environment:
    return Obedient(task["data"].get("start", 0))
