"""Durable episodes: killed with -9 anywhere, they go on in another process as if nothing was."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from evoharness import HarnessConfig, create_harness
from evoharness.core.view import View
from evoharness.testing import ToyAdapter, open_in_order

PROGRAM = Path(__file__).parent / "durable_episode.py"


def play(folder: Path, kill_at: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            PROGRAM,
            folder / "episode.sqlite",
            folder / "bank",
            kill_at,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


def finished(folder: Path) -> dict[str, Any]:
    done = play(folder, "never")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    del result["state"]["run"]
    return result


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return finished(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(
    "kill_at",
    ["policy:0", "policy:3", "before-step:1", "after-step:2", "note", "policy:7", "after-step:4"],
)
def test_killed_and_resumed_it_equals_the_episode_that_was_left_alone(
    tmp_path: Path, whole: dict[str, Any], kill_at: str
) -> None:
    killed = play(tmp_path, kill_at)
    assert killed.returncode == -signal.SIGKILL
    resumed = finished(tmp_path)
    assert resumed.pop("begun")
    assert resumed == {key: value for key, value in whole.items() if key != "begun"}
    assert len(resumed["notes"]) == 1


def test_killed_again_and_again_it_still_ends_the_same(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    for kill_at in ("policy:1", "before-step:1", "after-step:2", "note"):
        assert play(tmp_path, kill_at).returncode == -signal.SIGKILL
    assert finished(tmp_path)["state"] == whole["state"]


def test_state_survives_strict_msgpack(tmp_path: Path, whole: dict[str, Any]) -> None:
    strict = {"LANGGRAPH_STRICT_MSGPACK": "true"}
    assert play(tmp_path, "policy:4", **strict).returncode == -signal.SIGKILL
    done = play(tmp_path, "never", **strict)
    assert done.returncode == 0, done.stderr
    assert "msgpack" not in done.stderr
    state = json.loads(done.stdout)["state"]
    del state["run"]
    assert state == whole["state"]


async def test_an_episode_begun_synchronously_can_end_asynchronously(tmp_path: Path) -> None:
    database = str(tmp_path / "episode.sqlite")
    settings: Any = {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(database) as saver:
        harness = create_harness(
            open_in_order, ToyAdapter(), checkpointer=saver, interrupt_before=["act"]
        )
        harness.invoke({"task": "door-02"}, settings)
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        harness = create_harness(open_in_order, ToyAdapter(), checkpointer=saver)
        final = await harness.ainvoke(None, settings)
    alone = create_harness(open_in_order, ToyAdapter()).invoke({"task": "door-02"})
    assert final["turns"] == alone["turns"]


def test_checkpoints_stay_flat_as_the_episode_grows(tmp_path: Path) -> None:
    """What a turn adds to the database is the same late as early; every hundredth turn is kept
    whole, so that reading a thread back stays quick.
    """
    path = tmp_path / "episode.sqlite"
    sizes: list[int] = []

    def policy(view: View) -> str:
        with sqlite3.connect(path) as connection:
            queries = (
                "select total(length(checkpoint) + length(metadata)) from checkpoints",
                "select total(length(value)) from writes",
            )
            sizes.append(sum(int(connection.execute(query).fetchone()[0]) for query in queries))
        connection.close()
        return f"<action>open box {1 + len(view.turns) % 2}</action>"

    config = HarnessConfig(max_steps=260)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        harness = create_harness(policy, ToyAdapter(), checkpointer=saver, config=config)
        settings: Any = {"configurable": {"thread_id": "t"}}
        final = harness.invoke({"task": "door-02"}, settings, durability="sync")
        assert len(harness.get_state(settings).values["turns"]) == len(final["turns"]) == 260
    added = [after - before for before, after in pairwise(sizes)]
    assert median(added[200:250]) < 1.05 * median(added[20:70])
