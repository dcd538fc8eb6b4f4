"""Generated games can be won, look as the recipe says, and are files that anybody can play."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from evoharness_alfworld import games
from evoharness_alfworld.generator import Recipe, generate, habits, write
from evoharness_alfworld.generator.rooms import reversed_habit
from evoharness_alfworld.simulator import Game, House, open_game
from evoharness_alfworld.words import TASK_TYPES
from hypothesis import given
from hypothesis import strategies as st

RECIPES = st.builds(
    Recipe,
    seed=st.integers(-(2**40), 2**40),
    number=st.integers(0, 10**6),
    kind=st.sampled_from(["", *TASK_TYPES]),
    receptacles=st.floats(0.1, 2),
    distractors=st.floats(0, 5),
    moved=st.floats(0, 1),
)


def contents(house: House) -> list[tuple[str, str]]:
    """Return (object class, receptacle class) of everything that lies somewhere."""
    return [
        (house.objects[o].split()[0], house.receptacles[r].split()[0])
        for r, inside in enumerate(house.start.inside)
        for o in inside
    ]


def sizes(house: House) -> tuple[int, ...]:
    """Return how many receptacles, places, objects, doors and empty receptacles there are."""
    empty = sum(not inside for inside in house.start.inside)
    places = len(set(house.places))
    return len(house.receptacles), places, len(contents(house)), len(house.openable), empty


@given(RECIPES)
def test_every_recipe_makes_a_game_that_is_not_won_yet_and_can_be(recipe: Recipe) -> None:
    generated = generate(recipe)
    game = Game(generated.house)
    assert not game.won
    for command in generated.game["walkthrough"]:
        assert command in game.admissible
        game.step(command)
    assert game.won
    assert not recipe.kind or generated.quest.kind == recipe.kind
    assert generated.house.goal.kind == generated.quest.kind


def test_the_same_recipe_makes_the_same_game_in_every_process() -> None:
    program = (
        "import hashlib, json\n"
        "from evoharness_alfworld.generator import Recipe, generate\n"
        "games = [generate(Recipe(7, n, moved=n / 20)).game for n in range(20)]\n"
        "print(hashlib.sha256(json.dumps(games).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_whole_numbers_of_any_type_are_the_same_seed() -> None:
    """A seed that went through JSON or a table may come back as another type."""
    same = [Recipe(7, 1), Recipe(7.0, True), Recipe(np.int64(7), np.float32(1))]  # pyright: ignore[reportArgumentType]
    assert len({json.dumps(recipe.to_json()) for recipe in same}) == 1
    assert len({generate(recipe).folder for recipe in same}) == 1


def test_what_is_done_to_a_game_s_contents_does_not_reach_the_next() -> None:
    generate(Recipe(7)).game["walkthrough"].clear()
    assert generate(Recipe(7)).game["walkthrough"]


def test_games_with_other_knobs_have_other_names() -> None:
    recipes = [
        Recipe(7),
        Recipe(7, moved=1.0),
        Recipe(7, moved=0.5),
        Recipe(7, distractors=2.0),
        Recipe(7, receptacles=0.5),
    ]
    names = {generate(recipe).folder.split("/")[1] for recipe in recipes}
    assert len(names) == len(recipes)
    assert "trial_S7_000000" in names


def test_seeds_and_numbers_make_other_games() -> None:
    made = [generate(Recipe(seed, number)) for seed in range(5) for number in range(20)]
    assert len({one.game["pddl_problem"] for one in made}) == 100
    assert len({one.folder for one in made}) == 100


def test_task_types_come_as_often_as_in_the_training_games() -> None:
    table = habits.load()["tasks"]
    total = sum(sum(found.values()) for found in table.values())
    made = Counter(generate(Recipe(1, number)).quest.kind for number in range(600))
    for kind, found in table.items():
        assert made[kind] / 600 == pytest.approx(sum(found.values()) / total, abs=0.06)


@pytest.mark.parametrize(("factor", "low", "high"), [(0.5, 0.4, 0.65), (2.0, 1.7, 2.2)])
def test_the_number_of_receptacles_can_be_set(factor: float, low: float, high: float) -> None:
    def count(factor: float) -> float:
        made = [generate(Recipe(2, number, receptacles=factor)) for number in range(150)]
        return mean(len(one.house.receptacles) for one in made)

    assert low < count(factor) / count(1.0) < high


def test_distractors_can_be_left_out() -> None:
    for number in range(60):
        house = generate(Recipe(3, number, distractors=0)).house
        kinds = {house.objects[o].split()[0] for inside in house.start.inside for o in inside}
        assert len(kinds) <= 2  # the object itself, and the lamp


def test_reversed_habits_put_things_where_they_usually_are_not() -> None:
    table = habits.load()["rooms"]["kitchen"]["objects"]

    def expected(moved: float) -> float:
        """Return how usual the places of things in kitchens are, on average."""
        usual: list[float] = []
        for number in range(200):
            one = generate(Recipe(4, number, kind="pick_heat_then_place_in_recep", moved=moved))
            shown = {kind.lower(): on for kind, on in ((k, v["on"]) for k, v in table.items())}
            for thing, where in contents(one.house):
                on = {k.lower(): v for k, v in shown.get(thing, {}).items()}
                if on:
                    usual.append(on.get(where, 0.0) / max(on.values()))
        return mean(usual)

    assert expected(0.0) > 0.5
    assert expected(1.0) < 0.25
    assert expected(1.0) < expected(0.5) < expected(0.0)


@given(st.dictionaries(st.text(min_size=1), st.floats(0.01, 1), min_size=1))
def test_a_reversed_habit_keeps_its_weights_and_turns_their_order(
    weights: dict[str, float],
) -> None:
    turned = reversed_habit(weights)
    assert sorted(turned.values()) == sorted(weights.values())
    likeliest = max(weights, key=lambda kind: (weights[kind], kind))
    assert turned[likeliest] == min(weights.values())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kind": "juggle"}, "no task type 'juggle'.*pick_and_place_simple"),
        ({"receptacles": 0}, "receptacles is 0.0; it goes from 0.1 to 2"),
        ({"distractors": 9.0}, "distractors is 9.0"),
        ({"moved": float("nan")}, "moved is nan"),
        ({"number": -1}, "counted from 0"),
        ({"number": 1.5}, "number is 1.5; it is a whole number"),
        ({"seed": "a"}, "seed is 'a'; it is a whole number"),
        ({"seed": None}, "seed is None"),
        ({"moved": "much"}, "moved is 'much'; it is a number"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(settings: dict[str, float], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Recipe(**settings)  # pyright: ignore[reportArgumentType]


def test_written_games_are_found_and_are_the_same_games(tmp_path: Path) -> None:
    made = [generate(Recipe(5, number)) for number in range(8)]
    for one in made:
        path = write(one, tmp_path / games.FOLDER / "mine")
        assert open_game(path.read_text()).fingerprint == one.house.fingerprint
        facts = json.loads((path.parent / "traj_data.json").read_text())
        assert facts["task_type"] == one.quest.kind
        assert Recipe(**facts["recipe"]) == one.recipe
    found = games.find("mine", tmp_path)
    assert not found.skipped
    assert {task.objective for task in found.tasks} == {one.house.objective for one in made}
    assert {task.id for task in found.tasks} == {one.task("mine").id for one in made}


def test_written_games_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = write(generate(Recipe(5)), tmp_path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_task_carries_its_recipe_and_needs_no_file() -> None:
    task = generate(Recipe(6, 2, moved=0.5)).task("x")
    data = json.loads(json.dumps(task.to_json()))["data"]
    assert generate(Recipe(**data["recipe"])).task("x") == task


@pytest.mark.stock
def test_upstream_s_own_environment_finds_the_games_and_its_expert_wins(tmp_path: Path) -> None:
    for number in range(4):
        one = generate(Recipe(9, number, kind="pick_clean_then_place_in_recep"))
        write(one, tmp_path / games.FOLDER / "mine")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).parents[2] / "upstream_player.py", "mine"],
        env={**os.environ, games.VARIABLE: str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "games 4 won True" in done.stdout, done.stderr


@pytest.mark.official
def test_new_games_are_like_official_ones() -> None:
    """Receptacles, places, objects and walkthroughs, by kind of room, on average."""
    official = random.Random(0).sample(games.find("train").tasks, 500)
    old = [(habits.room_of(task.id.split("/")[1]), games.house(task.id)) for task in official]
    new = [(one.quest.room, one.house) for one in (generate(Recipe(8, n)) for n in range(500))]
    for room in habits.ROOMS.values():
        theirs = [sizes(house) for where, house in old if where == room]
        ours = [sizes(house) for where, house in new if where == room]
        for their, our in zip(zip(*theirs, strict=True), zip(*ours, strict=True), strict=True):
            assert mean(our) == pytest.approx(mean(their), rel=0.25, abs=0.5)
