"""Plays or resumes one durable episode; a process of its own in the tests of durability.

    python durable_episode.py DATABASE NOTES KILL_AT HOW

KILL_AT names where the process kills itself with SIGKILL: `reset`, `policy:3`, `before-step:1`,
`after-step:1`, `note`, `finished`, `close`, `put:3` (before the third checkpoint is stored), or `never`.
HOW is `sync`; `async` for the asynchronous graph and saver; or `lagging` for checkpoints stored in
the background, as LangGraph does by default. The final state is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from evoharness import ExperienceBank, Task, create_harness
from evoharness.core.environment import Environment, Step
from evoharness.core.view import View
from evoharness.experience import FinishedEpisode, Note
from evoharness.graph import unfinished
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment

SETTINGS: Any = {"configurable": {"thread_id": "episode"}}


def die_at(place: str) -> None:
    if place == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)


def policy(view: View) -> str:
    die_at(f"policy:{len(view.turns)}")
    return open_in_order(view)


class Room(ToyEnvironment):
    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._steps = 0

    def reset(self) -> Step:
        die_at("reset")
        return super().reset()

    def close(self) -> None:
        die_at("close")

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

    def recall(self, query: str, **more: Any) -> Any:
        return self._bank.recall(query, **more)

    def note(self, text: str, **more: Any) -> None:
        self._bank.note(text, **more)
        die_at("note")

    def finished(self, episode: dict[str, Any]) -> None:
        self._bank.finished(episode)
        die_at("finished")


class Saver(SqliteSaver):
    puts = 0

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self.puts += 1
        die_at(f"put:{self.puts}")
        return super().put(config, checkpoint, metadata, new_versions)


def start(begun: bool, source: dict[str, str]) -> Any:
    return None if begun else {"task": Rooms().task("door-02"), **source}


def play(database: str, bank: Bank, lagging: bool) -> tuple[bool, Any]:
    # Begun anew because nothing was stored yet, an episode notes under the source it is given.
    source = {"source": "episode"} if lagging else {}
    with Saver.from_conn_string(database) as saver:
        harness = create_harness(policy, Rooms(), bank, checkpointer=saver)
        begun = unfinished(harness.get_state(SETTINGS))
        durability = "async" if lagging else "sync"
        return begun, harness.invoke(start(begun, source), SETTINGS, durability=durability)


async def aplay(database: str, bank: Bank) -> tuple[bool, Any]:
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        harness = create_harness(policy, Rooms(), bank, checkpointer=saver)
        begun = unfinished(await harness.aget_state(SETTINGS))
        return begun, await harness.ainvoke(start(begun, {}), SETTINGS, durability="sync")


def main() -> None:
    database, notes, _, how = sys.argv[1:]
    with ExperienceBank.open(Path(notes), "toy") as bank:
        bank.seed(Rooms().experience())
        if how == "async":
            begun, final = asyncio.run(aplay(database, Bank(bank)))
        else:
            begun, final = play(database, Bank(bank), how == "lagging")
        told = bank.evidence()
        notes = [piece.text for piece in told if isinstance(piece, Note)]
        ends = [piece.text for piece in told if isinstance(piece, FinishedEpisode)]
        print(json.dumps({"begun": begun, "notes": notes, "ends": ends, "state": final}))


if __name__ == "__main__":
    main()
