"""Environments for the tests of worker processes; imported by name in the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from evoharness.core.environment import Environment, Step


class Obedient(Environment):
    """Does what the action says, to itself."""

    def __init__(self, start: int, closing: str) -> None:
        self._count = start
        self._closing = closing

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
        if action == "start a process":
            return Step(f"pid {subprocess.Popen(['sleep', '3600']).pid}")
        if action == "nap":
            time.sleep(1)
        if action == "raise":
            raise LookupError("no such thing \ud83d")
        self._count += 1
        return Step(f"{action}: {self._count}", None, score=0.5)

    def close(self) -> None:
        if self._closing:
            Path(self._closing).touch()

    def snapshot(self) -> dict[str, Any]:
        return {"count": self._count}


def make(task: dict[str, Any]) -> Environment:
    return Obedient(task["data"].get("start", 0), task["data"].get("closing", ""))
