"""What the game says, sentence by sentence."""

from __future__ import annotations

import pytest
from alfworld_kitchen import do, kitchen, problem
from evoharness_alfworld.simulator import Game

TAKE = ("go to countertop 1", "take apple 2 from countertop 1")
CLEAN = ("go to sinkbasin 1", "clean apple 2 with sinkbasin 1")
HEAT = ("go to microwave 1", "heat apple 2 with microwave 1")
COOL = ("go to fridge 1", "cool apple 2 with fridge 1")


@pytest.fixture
def game() -> Game:
    return kitchen()


def test_the_start_lists_the_receptacles_and_tells_the_task(game: Game) -> None:
    assert game.reset() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly "
        "around you, you see a cabinet 2, a cabinet 1, a countertop 1, a fridge 1, a microwave 1, "
        f"a sidetable 1, and a sinkbasin 1.\n\nYour task is to: {game.house.objective}"
    )


def test_looking_around_at_the_start_shows_nothing(game: Game) -> None:
    said = "You are in the middle of a room. Looking quickly around you, you see nothing."
    assert do(game, "look") == [said]


def test_looking_around_names_all_that_is_here(game: Game) -> None:
    said = do(game, "go to cabinet 2", "look")
    assert said[1] == "You are facing the cabinet 2, and cabinet 1. Next to it, you see nothing."


def test_what_was_moved_between_neighbours_is_next_to_them(game: Game) -> None:
    said = do(game, "go to cabinet 2", "open cabinet 2", "open cabinet 1",
              "take mug 1 from cabinet 2", "move mug 1 to cabinet 1", "look",
              "take mug 1 from cabinet 1", "move mug 1 to cabinet 2", "look")  # fmt: skip
    assert said[5].endswith("Next to it, you see a mug 1.")
    assert said[8].endswith("Next to it, you see a mug 1.")


@pytest.mark.parametrize(
    ("facts", "listing"),
    [
        ("", "a apple 2, and a knife 1"),
        ("(inReceptacle Mug_bar_1 CounterTop_bar_1)", "a apple 2, a knife 1, and a mug 1"),
    ],
)
def test_lists_have_a_comma_before_the_last(facts: str, listing: str) -> None:
    said = do(kitchen(problem(facts=facts)), "go to countertop 1")[0]
    assert said == f"You arrive at countertop 1. On the countertop 1, you see {listing}."


def test_open_closed_and_empty(game: Game) -> None:
    assert do(game, "go to microwave 1", "open microwave 1", "examine microwave 1",
              "close microwave 1", "examine microwave 1", "go to sinkbasin 1") == [
        "You arrive at microwave 1. The microwave 1 is closed.",
        "You open the microwave 1. The microwave 1 is open. In it, you see nothing.",
        "The microwave 1 is open. In it, you see nothing.",
        "You close the microwave 1.",
        "The microwave 1 is closed.",
        "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.",
    ]  # fmt: skip


def test_the_hand(game: Game) -> None:
    said = do(game, "inventory", *TAKE, "inventory")
    assert (said[0], said[-1]) == (
        "You are not carrying anything.",
        "You are carrying: a apple 2.",
    )


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ((), "There's nothing special about apple 2."),
        (CLEAN, "This is a clean apple 2."),
        (HEAT, "This is a hot apple 2."),
        (COOL, "This is a cold apple 2."),
        ((*CLEAN, *HEAT), "This is a hot and clean apple 2."),
        ((*CLEAN, *COOL), "This is a cool and clean apple 2."),
        ((*HEAT, *COOL), "This is a cold apple 2."),
    ],
)
def test_an_object_in_the_hand(game: Game, before: tuple[str, ...], sentence: str) -> None:
    assert do(game, *TAKE, *before, "examine apple 2")[-1] == sentence


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ((), "This is a sliced apple 2."),
        (CLEAN, "This is a clean sliced apple 2."),
        (HEAT, "This is a hot sliced apple 2."),
        (COOL, "This is a cool sliced apple 2."),
        ((*CLEAN, *HEAT), "This is a hot and clean sliced apple 2."),
        ((*CLEAN, *COOL), "This is a cool and clean sliced apple 2."),
    ],
)
def test_a_sliced_object_in_the_hand(game: Game, before: tuple[str, ...], sentence: str) -> None:
    said = do(game, "go to countertop 1", "take knife 1 from countertop 1",
              "slice apple 2 with knife 1", "move knife 1 to countertop 1",
              "take apple 2 from countertop 1", *before, "examine apple 2")  # fmt: skip
    assert said[2] == "You sliced the apple 2 with the knife 1."
    assert said[-1] == sentence


def test_a_container_shows_what_was_in_it_at_the_start() -> None:
    filled = problem(facts="(inReceptacleObject Knife_bar_1 Box_bar_1)")
    for game, inside in ((kitchen(), "nothing"), (kitchen(filled), "a knife 1")):
        said = do(game, "go to sidetable 1", "take box 1 from sidetable 1", "examine box 1")
        assert said[-1] == f"This is a normal box 1. In it, you see {inside}."


def test_help_lists_the_commands(game: Game) -> None:
    said = do(game, "help")[0]
    assert said.startswith("Available commands:\n  look: ")
    assert said.endswith("sharp object\n")


def test_who_starts_at_a_receptacle_sees_it() -> None:
    there = problem(facts="(atLocation agent1 loc_1)", without="(atLocation")
    said = kitchen(there).reset()
    assert "You are facing the countertop 1. Next to it, you see nothing." in said
