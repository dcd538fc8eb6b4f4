"""Durable episodes: killed with -9 anywhere, they go on in another process as if nothing was."""

from __future__ import annotations

import json
import operator
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypedDict

import durable_episode
import processes
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from evoharness import HarnessConfig, create_harness
from evoharness.core.view import View
from evoharness.testing import ToyAdapter, open_in_order

THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "episode.sqlite")) as saver:
        yield saver


def alternate(view: View) -> str:
    """Open boxes 1 and 2 by turns, and so never the door."""
    return f"<action>open box {1 + len(view.turns) % 2}</action>"


def same(one: Any, other: Any) -> bool:
    """Whether two states are one episode; each run has a name of its own."""
    return json.dumps({**one, "run": ""}) == json.dumps({**other, "run": ""})


def checkpoint_of(harness: Any, node: str, turns: int, task: str = "door-02") -> Any:
    """Return the newest checkpoint from which a node of the task's episode was run."""
    return next(
        saved
        for saved in harness.get_state_history(THREAD)
        if saved.next == (node,)
        and len(saved.values["turns"]) == turns
        and saved.values["task"]["id"] == task
    )


def play(folder: Path, kill_at: str, how: str = "sync") -> subprocess.CompletedProcess[str]:
    return processes.run(durable_episode.main, arguments(folder, kill_at, how))


def arguments(folder: Path, kill_at: str, how: str) -> list[str | Path]:
    return [folder / "episode.sqlite", folder / "bank", kill_at, how]


def finished(folder: Path, how: str = "sync") -> dict[str, Any]:
    done = play(folder, "never", how)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    del result["state"]["run"]
    return result


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return finished(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(
    ("kill_at", "how"),
    [
        ("reset", "sync"),
        ("policy:0", "sync"),
        ("before-step:1", "sync"),
        ("after-step:2", "sync"),
        ("note", "sync"),
        ("finished", "sync"),
        ("after-step:4", "sync"),
        ("close", "sync"),
        ("put:3", "sync"),
        ("put:5", "sync"),
        ("policy:3", "async"),
        ("after-step:2", "async"),
        ("note", "async"),
        ("note", "lagging"),
    ],
)
def test_killed_and_resumed_it_equals_the_episode_that_was_left_alone(
    tmp_path: Path, whole: dict[str, Any], kill_at: str, how: str
) -> None:
    killed = play(tmp_path, kill_at, how)
    assert killed.returncode == -signal.SIGKILL
    resumed = finished(tmp_path, how)
    assert resumed.pop("begun") or how == "lagging"
    assert json.dumps(resumed) == json.dumps({k: v for k, v in whole.items() if k != "begun"})
    assert len(resumed["notes"]) == len(resumed["ends"]) == 1


def test_killed_again_and_again_it_still_ends_the_same(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    for kill_at in ("policy:1", "before-step:1", "after-step:2", "note"):
        assert play(tmp_path, kill_at).returncode == -signal.SIGKILL
    assert finished(tmp_path)["state"] == whole["state"]


def test_state_survives_strict_msgpack(tmp_path: Path, whole: dict[str, Any]) -> None:
    """LangGraph reads the variable when it is imported: new interpreters."""

    def play_strictly(kill_at: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(sys.executable, "-W", "error", durable_episode.__file__),
                *arguments(tmp_path, kill_at, "sync"),
            ],
            env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
            capture_output=True,
            text=True,
            check=False,
        )

    killed = play_strictly("policy:4")
    assert killed.returncode == -signal.SIGKILL
    assert not killed.stderr
    done = play_strictly("never")
    assert done.returncode == 0, done.stderr
    assert "msgpack" not in done.stderr
    assert {**json.loads(done.stdout)["state"], "run": ""} == {**whole["state"], "run": ""}


async def test_an_episode_begun_synchronously_can_end_asynchronously(tmp_path: Path) -> None:
    database = str(tmp_path / "episode.sqlite")
    with SqliteSaver.from_conn_string(database) as saver:
        harness = create_harness(
            open_in_order, ToyAdapter(), checkpointer=saver, interrupt_before=["act"]
        )
        harness.invoke({"task": "door-02"}, THREAD)
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        harness = create_harness(open_in_order, ToyAdapter(), checkpointer=saver)
        final = await harness.ainvoke(None, THREAD)
    alone = create_harness(open_in_order, ToyAdapter()).invoke({"task": "door-02"})
    assert final["turns"] == alone["turns"]


class Parent(TypedDict, total=False):
    task: str
    turns: list[Any]
    log: Annotated[list[str], operator.add]


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
        return alternate(view)

    config = HarnessConfig(max_steps=260)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        harness = create_harness(policy, ToyAdapter(), checkpointer=saver, config=config)
        final = harness.invoke({"task": "door-02"}, THREAD, durability="sync")
        assert len(harness.get_state(THREAD).values["turns"]) == len(final["turns"]) == 260
    added = [after - before for before, after in pairwise(sizes)]
    assert median(added[200:250]) < 1.05 * median(added[20:70])


class TestOneThreadAfterAnother:
    def test_a_second_episode_starts_clean_in_another_process_too(self, saver: SqliteSaver) -> None:
        """Every graph here is a new one, as in another process."""
        create_harness(open_in_order, ToyAdapter(), checkpointer=saver).invoke(
            {"task": "door-02"}, THREAD
        )
        paused = create_harness(
            open_in_order, ToyAdapter(), checkpointer=saver, interrupt_before=["act"]
        )
        paused.invoke({"task": "door-04"}, THREAD)
        final = create_harness(open_in_order, ToyAdapter(), checkpointer=saver).invoke(None, THREAD)
        alone = create_harness(open_in_order, ToyAdapter()).invoke({"task": "door-04"})
        assert same(final, alone)
        assert paused.get_state(THREAD).values["turns"] == alone["turns"]

    def test_two_processes_may_take_turns(self, saver: SqliteSaver) -> None:
        graphs = [
            create_harness(
                open_in_order, ToyAdapter(), checkpointer=saver, interrupt_before=["policy"]
            )
            for _ in range(2)
        ]
        final: Any = graphs[0].invoke({"task": "door-02"}, THREAD)
        turn = 0
        while graphs[0].get_state(THREAD).next:
            turn += 1
            final = graphs[turn % 2].invoke(None, THREAD)
        assert same(final, create_harness(open_in_order, ToyAdapter()).invoke({"task": "door-02"}))

    def test_a_subgraph_goes_on_inside_its_parent(self, saver: SqliteSaver) -> None:
        def app(**given: Any) -> Any:
            parent = StateGraph(Parent)
            parent.add_node("harness", create_harness(open_in_order, ToyAdapter(), **given))
            parent.add_edge(START, "harness")
            parent.add_edge("harness", END)
            return parent.compile(checkpointer=saver)

        paused = app(interrupt_before=["act"])
        paused.invoke({"task": "door-02", "log": ["in"]}, THREAD, durability="sync")
        paused.invoke(None, THREAD, durability="sync")
        final = app().invoke(None, THREAD)
        alone = create_harness(open_in_order, ToyAdapter()).invoke({"task": "door-02"})
        assert final["turns"] == alone["turns"]
        assert final["log"] == ["in"]


class TestGoingBack:
    def test_an_earlier_checkpoint_goes_on_in_its_own_state(self, saver: SqliteSaver) -> None:
        """Around turn 100 the turns are kept whole, which must not show."""
        config = HarnessConfig(max_steps=220)
        harness = create_harness(alternate, ToyAdapter(), checkpointer=saver, config=config)
        whole = harness.invoke({"task": "door-02"}, THREAD)
        for turns in (0, 99, 100, 101, 219):
            earlier = checkpoint_of(harness, "act", turns)
            assert same(harness.invoke(None, earlier.config), whole)
            assert harness.get_state(THREAD).values["turns"] == whole["turns"]

    def test_another_action_makes_another_branch(self, saver: SqliteSaver) -> None:
        """Someone changes what the agent was about to do; the abandoned turn does not come back."""
        harness = create_harness(open_in_order, ToyAdapter(), checkpointer=saver)
        harness.invoke({"task": "door-02"}, THREAD)
        earlier = checkpoint_of(harness, "act", 2)
        pending = {**earlier.values["pending"], "argument": "open box 3"}
        changed = harness.update_state(earlier.config, {"pending": pending})
        assert len(harness.get_state(changed).values["turns"]) == 2
        final: Any = harness.invoke(None, changed)
        actions = [turn["argument"] for turn in final["turns"] if turn["kind"] == "env"]
        assert actions == ["open box 1", "open box 3", "open door"]
        assert final["outcome"]["success"]
        assert final["spent"] == len(final["turns"])
        assert harness.get_state(THREAD).values["turns"] == final["turns"]

    def test_another_policy_makes_another_branch(self, saver: SqliteSaver) -> None:
        harness = create_harness(open_in_order, ToyAdapter(), checkpointer=saver)
        first = harness.invoke({"task": "door-02"}, THREAD)
        other = create_harness(
            alternate, ToyAdapter(), checkpointer=saver, config=HarnessConfig(max_steps=6)
        )
        final: Any = other.invoke(None, checkpoint_of(harness, "policy", 3).config)
        assert final["turns"][:3] == first["turns"][:3]
        assert [turn["argument"] for turn in final["turns"][3:]] == [
            "open box 2",
            "open box 1",
            "open box 2",
        ]
        assert other.get_state(THREAD).values["turns"] == final["turns"]

    def test_the_episode_before_on_the_thread_can_be_gone_back_to(self, saver: SqliteSaver) -> None:
        harness = create_harness(open_in_order, ToyAdapter(), checkpointer=saver)
        first = harness.invoke({"task": "door-02"}, THREAD)
        harness.invoke({"task": "door-04"}, THREAD)
        earlier = checkpoint_of(harness, "act", 3, "door-02")
        assert same(harness.invoke(None, earlier.config), first)
        assert harness.get_state(THREAD).values["turns"] == first["turns"]
