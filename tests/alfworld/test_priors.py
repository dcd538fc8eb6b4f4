"""The shipped table of where things are, and how it is counted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from evoharness_alfworld import priors
from evoharness_alfworld.games import find, path_of

PROBLEM = """(define (problem p) (:objects Mug_bar_1 - object)
(:init
    (receptacleAtLocation CounterTop_bar_1 loc_1) (receptacleAtLocation Fridge_bar_1 loc_2)
    (receptacleAtLocation CounterTop_bar_2 loc_3) (receptacleAtLocation Sink_bar_1_bar_SinkBasin l)
    (openable Fridge_bar_1) (openable Microwave_bar_9)
    (pickupable Mug_bar_1) (pickupable Mug_bar_2) (toggleable DeskLamp_bar_1)
    (inReceptacle Mug_bar_1 CounterTop_bar_1) (inReceptacle Mug_bar_2 CounterTop_bar_1)
    (inReceptacle Mug_bar_1 CounterTop_bar_1) (inReceptacle DeskLamp_bar_1 Fridge_bar_1)
    (inReceptacle Curtains_bar_1 Fridge_bar_1) (inReceptacle Mug_bar_2 Nowhere_bar_1)
)
(:goal (and (inReceptacle ?o ?r) (inReceptacle Mug_bar_9 Fridge_bar_1))))
"""


def test_only_the_initial_placements_of_useful_objects_are_read() -> None:
    pairs, places, opening = priors.placements(PROBLEM)
    assert pairs == {
        ("Mug_bar_1", "CounterTop_bar_1"),
        ("Mug_bar_2", "CounterTop_bar_1"),
        ("DeskLamp_bar_1", "Fridge_bar_1"),
    }
    assert opening == {"Fridge_bar_1"}
    assert len(places) == 4


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("Mug_bar__minus_01_dot_57_bar_2", "mug"),
        ("Sink_bar__plus_00_dot_1_bar_SinkBasin", "sinkbasin"),
        ("CounterTop_bar_1", "countertop"),
    ],
)
def test_classes_are_those_that_the_game_shows(raw: str, shown: str) -> None:
    assert priors.class_of(raw) == shown


def test_a_probability_is_the_share_of_receptacles_that_hold_the_class(tmp_path: Path) -> None:
    games = [tmp_path / f"{index}.tw-pddl" for index in range(priors.FEWEST)]
    for game in games:
        game.write_text(json.dumps({"pddl_problem": PROBLEM}))
    table = priors.build(games)
    assert table["about"]["games"] == priors.FEWEST
    assert table["holds"] == {"desklamp": {"fridge": 1.0}, "mug": {"countertop": 0.5}}
    assert table["openable"] == {"fridge": 1.0}
    assert json.loads(priors.dumps(table)) == table


def test_a_pair_seen_once_is_left_out(tmp_path: Path) -> None:
    game = tmp_path / "game.tw-pddl"
    game.write_text(json.dumps({"pddl_problem": PROBLEM}))
    assert priors.build([game])["holds"] == {}


@pytest.mark.parametrize("content", ["not json", "{}", "[]"])
def test_a_file_that_is_no_game_is_named(tmp_path: Path, content: str) -> None:
    game = tmp_path / "odd.tw-pddl"
    game.write_text(content)
    with pytest.raises(ValueError, match=r"odd\.tw-pddl is not an ALFWorld game"):
        priors.build([game])


def test_the_shipped_table_is_small_and_sound() -> None:
    table = priors.load()
    assert table["about"]["games"] == 3553
    assert set(table["openable"]) == {"cabinet", "drawer", "fridge", "microwave", "safe"}
    shares = [p for where in table["holds"].values() for p in where.values()]
    assert all(0 < share <= 1 for share in shares)
    assert len(priors.dumps(table)) < 30_000


def test_ranking_weighs_the_chance_against_the_steps() -> None:
    assert priors.chance("apple", "fridge") > priors.chance("apple", "sidetable")
    ranked = priors.ranked("apple")
    assert ranked.index("sidetable") < ranked.index("fridge")
    assert priors.ranked("apple", 2) == ranked[:2]
    assert priors.ranked("unheard-of") == []


@pytest.mark.official
def test_the_table_is_rebuilt_exactly_from_the_training_games() -> None:
    if "ALFWORLD_DATA" not in os.environ:
        pytest.skip("needs the official games; set ALFWORLD_DATA")
    games = [path_of(task.id) for task in find("train").tasks]
    shipped = Path(priors.__file__).with_name("priors.json").read_text(encoding="utf-8")
    assert priors.dumps(priors.build(games)) == shipped
