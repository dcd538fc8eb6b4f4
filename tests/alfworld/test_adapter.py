"""The ALFWorld adapter keeps the contract, and its expert wins through the harness."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evoharness_alfworld import AlfworldAdapter, scene

from evoharness.core.environment import Adapter, Task
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.experience import ExperienceBank
from evoharness.experience.entries import seed_entry
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing.contract import EnvironmentContract


@pytest.fixture(scope="module")
def alfworld() -> Iterator[AlfworldAdapter]:
    adapter = AlfworldAdapter(workers=1)
    yield adapter
    adapter.close()


class TestContract(EnvironmentContract):
    @classmethod
    def make_adapter(cls) -> Adapter:
        return AlfworldAdapter()


def play(adapter: AlfworldAdapter, task: Task, config: HarnessConfig) -> Episode:
    policy = FunctionPolicy(adapter.policies()["expert"])
    with ExperienceBank.in_memory("alfworld") as bank:
        bank.seed(adapter.experience())
        return rollout(policy, adapter, [task], experience=bank, config=config)[0]


def kinds(episode: Episode) -> list[str]:
    return [turn["kind"] for turn in episode["turns"]]


def test_the_expert_wins_a_demo_game_with_and_without_the_harness(
    alfworld: AlfworldAdapter,
) -> None:
    task = alfworld.tasks("demo")[0]
    alone = play(alfworld, task, HarnessConfig(mode="env_only"))
    harnessed = play(alfworld, task, HarnessConfig())
    assert alone["outcome"] is not None
    assert alone["outcome"]["success"]
    assert set(kinds(alone)) == {"env"}
    assert harnessed["outcome"] is not None
    assert harnessed["outcome"]["success"]
    assert [turn["verb"] for turn in harnessed["turns"][:2]] == ["recall", "commit"]


def test_belief_is_a_scene_that_track_reads(alfworld: AlfworldAdapter) -> None:
    task = alfworld.tasks("demo")[0]
    episode = play(alfworld, task, HarnessConfig(mode="env_only"))
    assert json.loads(json.dumps(episode["belief"])) == episode["belief"]
    assert "You hold" in alfworld.answer_belief(episode["belief"], "")


def test_progress_is_told_without_any_commit(alfworld: AlfworldAdapter) -> None:
    task = alfworld.tasks("demo")[0]
    environment = alfworld.make(task)
    belief = alfworld.first_belief(task, environment.reset())
    environment.close()
    subgoals = alfworld.progress(task, belief)
    assert len(subgoals) >= 2
    assert {item["status"] for item in subgoals} == {"open"}


def test_the_first_experience_is_short_and_of_known_kinds(alfworld: AlfworldAdapter) -> None:
    entries = [seed_entry(n, mapping) for n, mapping in enumerate(alfworld.experience())]
    assert {entry.kind for entry in entries} == {"skill", "mistake", "hint"}
    assert all(0 < len(entry.text) <= 200 for entry in entries)
    assert len({entry.text for entry in entries}) == len(entries)
    types = {task.type for task in alfworld.tasks("demo")}
    assert types <= {entry.task_type for entry in entries}


def test_the_context_of_experience_is_the_kind_of_room(alfworld: AlfworldAdapter) -> None:
    def context(*places: str) -> str:
        listed = ", ".join(f"a {place} 1" for place in places)
        room = f"You are in the middle of a room. Looking quickly around you, you see {listed}."
        return alfworld.context(dict(scene.first("put a mug in desk.", room)))

    assert context("countertop", "fridge") == "kitchen"
    assert context("bed", "desk") == "bedroom"
    assert context("toilet", "countertop") == "bathroom"
    assert context("sofa", "sidetable") == "living room"
    assert alfworld.context(dict(scene.first("put a mug in desk.", "Nothing."))) == ""


def test_an_episode_finds_every_class_it_saw_in_the_places_it_looked_into(
    alfworld: AlfworldAdapter,
) -> None:
    """What the agent itself put down is no find, and a second look is none."""
    room = (
        "You are in the middle of a room. Looking quickly around you, "
        "you see a drawer 1, a drawer 2, and a desk 1."
    )
    steps = [
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."),
        ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
        ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed."),
        ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a pen 2."),
        ("move mug 1 to drawer 1", "You move the mug 1 to the drawer 1."),
        ("go to drawer 2", "You arrive at drawer 2. On the drawer 2, you see nothing."),
        ("go to drawer 1", "You arrive at drawer 1. On the drawer 1, you see a mug 1, a pen 2."),
    ]
    task = Task("t", "put a mug in drawer.", "pick_and_place_simple")
    assert alfworld.findings(task, room, steps) == [
        {"thing": "mug", "place": "desk", "looked": 1, "found": 1},
        {"thing": "mug", "place": "drawer", "looked": 2, "found": 0},
        {"thing": "pen", "place": "desk", "looked": 1, "found": 1},
        {"thing": "pen", "place": "drawer", "looked": 2, "found": 1},
    ]


def test_missing_games_are_told_with_the_way_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="evoharness alfworld download"):
        AlfworldAdapter(data=tmp_path).tasks("valid_seen")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no engine 'unity'"):
        AlfworldAdapter(engine="unity")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "settings", [{"workers": 0}, {"workers": "abc"}, {"timeout_s": -1}, {"timeout_s": "x"}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is "):
        AlfworldAdapter(**settings)


def test_a_missing_engine_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textworld", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"pip install \"evoharness\[alfworld\]\""):
        AlfworldAdapter(engine="textworld")


@pytest.mark.official
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_the_expert_wins_official_games_within_the_budget(
    alfworld: AlfworldAdapter, split: str
) -> None:
    for task in random.Random(3).sample(list(alfworld.tasks(split)), 3):
        outcome = play(alfworld, task, HarnessConfig())["outcome"]
        assert outcome is not None
        assert outcome["success"], task.id
