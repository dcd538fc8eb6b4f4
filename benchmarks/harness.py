"""What the harness itself costs: a turn, a checkpoint, an import.

The policy is scripted and the environment trivial, so that what is left is the harness. Beside it
LangChain's own ReAct agent takes the same number of turns with a scripted model and a trivial
tool. A turn's time is the time between two decisions of the policy.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from rich.console import Console

from evoharness import HarnessConfig, create_harness
from evoharness.core.view import View
from evoharness.testing import ScriptedModel, ToyAdapter

TURNS = 50
LONG = 400
LATE = slice(190, 211)
ROUNDS = 8
STARTS = 5
_SETTLED = 20
"""Turns after which an episode's checkpoints are counted."""


def measure(screen: Console) -> dict[str, float]:
    """Run the benchmark.

    Returns:
        turn_ms_p50: milliseconds a turn, episodes of 50 turns, no checkpointer.
        turn_ms_p50_at_turn_200: the same around turn 200 of episodes of 400 turns.
        react_agent_turn_ms_p50: milliseconds a turn (model and tool) of LangChain's agent.
        checkpoint_bytes_per_turn: bytes that the SQLite checkpointer stores a turn.
        import_s: seconds to import evoharness in a fresh interpreter.
        help_s: seconds of `evoharness --help`, start of the interpreter included.
    """
    early: list[float] = []
    late: list[float] = []
    react: list[float] = []
    with screen.status("playing") as status:
        _harness_turns(TURNS)
        _react_turns(TURNS)
        for number in range(ROUNDS):
            # Side by side, so that a busy moment of the machine meets all of them.
            status.update(f"playing, round {number + 1} of {ROUNDS}")
            early += _harness_turns(TURNS)
            react += _react_turns(TURNS)
            late += _harness_turns(LONG)[LATE]
        status.update("counting checkpoints")
        stored = _checkpoint_bytes(150)
        status.update("starting interpreters")
        imported = [_import_seconds() for _ in range(STARTS)]
        helped = [_help_seconds() for _ in range(STARTS)]
    return {
        "turn_ms_p50": 1000 * median(early),
        "turn_ms_p50_at_turn_200": 1000 * median(late),
        "react_agent_turn_ms_p50": 1000 * median(react),
        "checkpoint_bytes_per_turn": stored,
        "import_s": median(imported),
        "help_s": median(helped),
    }


def _harness_turns(turns: int) -> list[float]:
    times: list[float] = []

    def policy(view: View) -> str:
        times.append(time.perf_counter())
        return f"<action>open box {1 + len(view.turns) % 2}</action>"

    harness = create_harness(policy, ToyAdapter(), config=HarnessConfig(max_steps=turns))
    harness.invoke({"task": "door-02"})
    return _gaps(times)


def _react_turns(turns: int) -> list[float]:
    times: list[float] = []

    def script(messages: list[BaseMessage]) -> AIMessage:
        times.append(time.perf_counter())
        if len(times) > turns:
            return AIMessage("done")
        call = {"name": "open_box", "args": {"number": 1}, "id": str(len(times))}
        return AIMessage("", tool_calls=[call])

    def open_box(number: int) -> str:
        """Open a box."""
        return f"Box {number} is empty."

    agent = cast(Any, create_agent)(ScriptedModel(script), [open_box])
    agent.invoke({"messages": [("user", "Open the door.")]})
    return _gaps(times)


def _gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(times)]


def _checkpoint_bytes(turns: int) -> float:
    """Return the median number of bytes that one turn adds to the tables of checkpoints."""
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoints.sqlite"

        def policy(view: View) -> str:
            sizes.append(_stored(path))
            return f"<action>open box {1 + len(view.turns) % 2}</action>"

        with SqliteSaver.from_conn_string(str(path)) as saver:
            config = HarnessConfig(max_steps=turns)
            harness = create_harness(policy, ToyAdapter(), checkpointer=saver, config=config)
            settings: Any = {"configurable": {"thread_id": "benchmark"}}
            harness.invoke({"task": "door-02"}, settings, durability="sync")
    grown = [after - before for before, after in pairwise(sizes)]
    return float(median(grown[_SETTLED:]))


def _stored(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        tables = (
            "select coalesce(sum(length(checkpoint) + length(metadata)), 0) from checkpoints",
            "select coalesce(sum(length(value)), 0) from writes",
        )
        total = sum(connection.execute(query).fetchone()[0] for query in tables)
    connection.close()
    return int(total)


def _import_seconds() -> float:
    program = (
        "import time; t = time.perf_counter(); import evoharness; print(time.perf_counter() - t)"
    )
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _help_seconds() -> float:
    command = [sys.executable, "-m", "evoharness.cli", "--help"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start
