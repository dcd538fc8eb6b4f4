from __future__ import annotations

import json
from pathlib import Path

import pytest
from evoharness_alfworld import games
from evoharness_alfworld.generator import Recipe, generate, habits, write
from evoharness_alfworld.words import TASK_TYPES


def test_the_shipped_table_knows_every_room_and_task() -> None:
    table = habits.load()
    assert set(table["rooms"]) == set(habits.ROOMS.values())
    assert set(table["tasks"]) == set(TASK_TYPES)
    for room in table["rooms"].values():
        for counts in [
            *room["receptacles"].values(),
            *(o["count"] for o in room["objects"].values()),
        ]:
            assert sum(counts.values()) == pytest.approx(1, abs=0.01)


def test_what_a_task_asks_for_is_possible() -> None:
    table = habits.load()
    for kind, found in table["tasks"].items():
        for quest in found:
            room, thing, target = quest.split("|")
            assert room in table["rooms"]
            assert "pickupable" in table["abilities"][thing]
            if kind == "look_at_obj_in_light":
                assert "toggleable" in table["abilities"][target]
            else:
                assert target in table["fits"]


def test_a_table_can_be_learned_from_games_that_were_made_with_it(tmp_path: Path) -> None:
    """What is learned from many new games is what they were made from."""
    paths = [write(generate(Recipe(1, n)), tmp_path) for n in range(400)]
    learned, shipped = habits.build(paths), habits.load()
    assert learned["about"]["games"] == 400
    for room, counts in shipped["rooms"].items():
        joined = learned["rooms"][room]["joined"]
        assert joined == pytest.approx(counts["joined"], abs=0.04)
    fridge = learned["rooms"]["kitchen"]["receptacles"]["Fridge"]
    assert fridge == {"1": 1.0}
    apple = shipped["rooms"]["kitchen"]["objects"]["Apple"]["on"]
    again = learned["rooms"]["kitchen"]["objects"]["Apple"]["on"]
    assert max(again, key=lambda kind: again[kind]) == max(apple, key=lambda kind: apple[kind])
    assert habits.dumps(learned) == habits.dumps(json.loads(habits.dumps(learned)))


@pytest.mark.official
def test_the_shipped_table_is_what_the_training_games_teach() -> None:
    paths = [games.path_of(task.id) for task in games.find("train").tasks]
    assert habits.build(paths) == habits.load()
