"""Belief of ALFWorld says what was shown, all of it that matters, and never anything else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence

import pytest
from evoharness_alfworld import games, scene
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.simulator import Game, House
from evoharness_alfworld.wording import room_only
from hypothesis import given
from hypothesis import strategies as st

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, "
    "a cabinet 1, a desk 1, and a fridge 1."
)


def after(*observations: str) -> scene.Scene:
    return scene.fold(
        "put a hot mug in desk.", ROOM, [("any action", text) for text in observations]
    )


def test_the_first_observation_names_the_places() -> None:
    known = after()
    assert list(known["places"]) == ["cabinet 2", "cabinet 1", "desk 1", "fridge 1"]
    assert scene.unsearched(known) == ["cabinet 1", "cabinet 2", "desk 1", "fridge 1"]
    assert known["at"] is None
    assert known["held"] is None


def test_a_large_room_is_known_whole() -> None:
    names = [f"cabinet {number}" for number in range(100, 0, -1)]
    listing = ", ".join(f"a {name}" for name in names[:-1]) + f", and a {names[-1]}"
    room = f"You are in the middle of a room. Looking quickly around you, you see {listing}."
    assert list(scene.first("put a mug in desk.", room)["places"]) == names


def test_arriving_shows_what_lies_there() -> None:
    known = after("You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1.")
    assert known["at"] == "desk 1"
    assert known["here"] == ["desk 1"]
    assert known["places"]["desk 1"]["contents"] == ["mug 2", "pen 1"]
    assert scene.where(known, "mug") == {"mug 2": ["desk 1"]}


def test_a_closed_place_is_visited_but_not_searched() -> None:
    known = after("You arrive at fridge 1. The fridge 1 is closed.")
    assert known["places"]["fridge 1"] == {"visited": True, "open": False, "contents": None}
    assert "fridge 1" in scene.unsearched(known)


def test_what_was_seen_in_a_place_stays_known_after_closing_it() -> None:
    known = after(
        "You arrive at fridge 1. The fridge 1 is closed.",
        "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.",
        "You close the fridge 1.",
    )
    assert known["places"]["fridge 1"] == {"visited": True, "open": False, "contents": ["egg 1"]}


def test_an_empty_place_holds_nothing() -> None:
    known = after("You arrive at desk 1. On the desk 1, you see nothing.")
    assert known["places"]["desk 1"]["contents"] == []


def test_taking_and_putting_move_the_object() -> None:
    seen = "You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1."
    taken = after(seen, "You pick up the mug 2 from the desk 1.")
    assert taken["held"] == "mug 2"
    assert taken["places"]["desk 1"]["contents"] == ["pen 1"]
    put = scene.update(taken, "move mug 2 to desk 1", "You move the mug 2 to the desk 1.")
    assert put["held"] is None
    assert put["places"]["desk 1"]["contents"] == ["pen 1", "mug 2"]


def test_an_object_that_reaches_over_two_places_is_in_both() -> None:
    known = after(
        "You arrive at desk 1. On the desk 1, you see a bowl 1.",
        "You arrive at cabinet 1. On the cabinet 1, you see a bowl 1.",
    )
    assert scene.where(known, "bowl 1") == {"bowl 1": ["cabinet 1", "desk 1"]}


@pytest.mark.parametrize(
    ("observations", "states"),
    [
        (["You clean the mug 1 using the sinkbasin 1."], ["clean"]),
        (["You heat the mug 1 using the microwave 1."], ["hot"]),
        (["You cool the mug 1 using the fridge 1."], ["cool"]),
        (
            ["You heat the mug 1 using the microwave 1.", "You cool the mug 1 using the fridge 1."],
            ["cool"],
        ),
        (
            ["You cool the mug 1 using the fridge 1.", "You heat the mug 1 using the microwave 1."],
            ["hot"],
        ),
        (
            [
                "You clean the mug 1 using the sinkbasin 1.",
                "You heat the mug 1 using the microwave 1.",
            ],
            ["clean", "hot"],
        ),
        (["This is a hot and clean mug 1."], ["clean", "hot"]),
        (["This is a cold mug 1."], ["cool"]),
        (["This is a cool and clean sliced mug 1."], ["clean", "cool", "sliced"]),
        (["You sliced the mug 1 with the knife 1."], ["sliced"]),
        (["You turn on the mug 1."], ["on"]),
        (["This mug 1 is on."], ["on"]),
    ],
)
def test_states_follow_what_was_done(observations: list[str], states: list[str]) -> None:
    assert after(*observations)["states"] == {"mug 1": states}


def test_looking_tells_which_places_share_the_spot() -> None:
    known = after(
        "You arrive at desk 1. On the desk 1, you see nothing.",
        "You are facing the desk 1, and cabinet 1. Next to it, you see a pen 1.",
    )
    assert known["here"] == ["desk 1", "cabinet 1"]
    assert scene.where(known, "pen") == {}


def test_the_inventory_tells_what_is_held() -> None:
    assert after("You are carrying: a mug 1.")["held"] == "mug 1"
    assert after("You are carrying: a mug 1.", "You are not carrying anything.")["held"] is None


@pytest.mark.parametrize(
    "text",
    [
        "Nothing happens.",
        "There's nothing special about mug 1.",
        "This is a normal mug 1. In it, you see nothing.",
        "This desklamp 1 is off.",
        "I take the mug 1. You pick up the mug 1 from the desk 1.",
        "You pick up the mug 1 from the desk 1. Well done!",
        "Available commands: go to (receptacle): move to a receptacle",
        "",
    ],
)
def test_other_text_changes_nothing(text: str) -> None:
    before = after("You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1.")
    assert scene.update(before, "go to desk 1", text) == before


def test_track_answers_about_an_object() -> None:
    known = after(
        "You arrive at desk 1. On the desk 1, you see a mug 2, and a mug 1.",
        "You pick up the mug 1 from the desk 1.",
        "You clean the mug 1 using the sinkbasin 1.",
    )
    assert scene.answer(known, "mug") == "You hold mug 1 (clean).\nmug 2 is at desk 1."
    assert scene.answer(known, "where are the Mugs?") == scene.answer(known, "mug")
    assert scene.answer(known, "mug 2") == "mug 2 is at desk 1."
    assert scene.answer(known, "soap bar") == (
        "No soapbar seen so far. Not searched yet: cabinet 1, 2; fridge 1; sinkbasin 1."
    )


def test_track_answers_about_a_place() -> None:
    known = after(
        "You arrive at fridge 1. The fridge 1 is closed.",
        "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.",
        "You arrive at cabinet 2. The cabinet 2 is closed.",
    )
    assert scene.answer(known, "what is in the fridge") == "fridge 1: open, holds egg 1."
    assert scene.answer(known, "cabinets") == (
        "cabinet 1: not visited.\ncabinet 2: closed, not looked into."
    )


def test_track_answers_what_is_not_searched_and_what_is_held() -> None:
    known = after("You arrive at desk 1. On the desk 1, you see nothing.")
    assert scene.answer(known, "unsearched") == "Not searched yet: cabinet 1, 2; fridge 1."
    assert scene.answer(known, "inventory") == "You hold nothing."


def test_an_empty_query_gives_the_overview() -> None:
    known = after("You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1.")
    assert scene.answer(known, "").splitlines() == [
        "You are at desk 1.",
        "You hold nothing.",
        "Searched: desk 1.",
        "Not searched yet: cabinet 1, 2; fridge 1.",
        "mug 2 is at desk 1.",
    ]


def test_an_unknown_query_says_so_and_gives_the_overview() -> None:
    assert scene.answer(after(), "zebra").startswith("Nothing is known about 'zebra'.\nYou are")


name = st.tuples(st.sampled_from(["mug", "desk", "fridge"]), st.integers(1, 300)).map(
    lambda pair: f"{pair[0]} {pair[1]}"
)
names = st.lists(name, max_size=90).map(lambda many: ", ".join(f"a {one}" for one in many))
sentence = st.one_of(
    st.text(max_size=200),
    st.builds("You arrive at {0}. On the {0}, you see {1}.".format, name, names),
    st.builds("You open the {0}. The {0} is open. In it, you see {1}.".format, name, names),
    st.builds("You pick up the {} from the {}.".format, name, name),
    st.builds("You move the {} to the {}.".format, name, name),
    st.builds("You heat the {} using the {}.".format, name, name),
    st.builds("You are facing the {}, and {}. Next to it, you see {}.".format, name, name, names),
    st.just(ROOM),
)


@given(st.lists(sentence, max_size=30), st.text(max_size=60))
def test_any_text_gives_plain_bounded_json_and_leaves_the_scene_before_alone(
    texts: list[str], query: str
) -> None:
    known = scene.first("put a mug in desk.", ROOM)
    for text in texts:
        frozen = copy.deepcopy(known)
        new = scene.update(known, "look", text)
        assert known == frozen
        known = new
    assert json.loads(json.dumps(known)) == known
    assert len(known["places"]) <= scene.MAX_PLACES
    assert len(known["states"]) <= scene.MAX_STATES
    assert all(len(p["contents"] or []) <= scene.MAX_CONTENTS for p in known["places"].values())
    assert len(scene.answer(known, query).splitlines()) <= 12


def check_against_truth(known: scene.Scene, game: Game) -> int:
    """Compare every claim of the scene with what is so; return how many there were."""
    house, state = game.house, game.state
    number = {name: r for r, name in enumerate(house.receptacles)}
    held = None if state.held is None else house.objects[state.held]
    assert known["held"] == held
    claims = 1
    for name in known["here"]:
        assert house.places[number[name]] == state.place
        claims += 1
    for name, place in known["places"].items():
        receptacle = number[name]
        if place["open"] is not None:
            assert (receptacle in state.opened) == place["open"]
            claims += 1
        if place["contents"] is not None:
            inside = [house.objects[o] for o in state.inside[receptacle]]
            assert sorted(place["contents"]) == sorted(inside)
            claims += 1
    true = {"clean": state.clean, "hot": state.hot, "cool": state.cool}
    true |= {"sliced": state.sliced, "on": state.lit}
    for thing, words in known["states"].items():
        assert all(house.objects.index(thing) in true[word] for word in words)
        claims += len(words)
    return claims


def wander(house: House, walkthrough: Sequence[str], seed: int) -> int:
    """Play a walkthrough with random actions before each of its steps; return the claims."""
    rng = random.Random(seed)
    game = Game(house)
    known = scene.first("", room_only(game.reset()))
    claims = check_against_truth(known, game)
    for planned in walkthrough:
        for command in (None, None, None, planned):
            possible = game.admissible
            handling = [a for a in possible if not a.startswith(("go to", "help", "examine"))]
            chosen = command or rng.choice(handling if rng.random() < 0.6 else possible)
            known = scene.update(known, chosen, game.step(chosen))
            claims += check_against_truth(known, game)
    return claims


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0.1, 2), st.floats(0, 5))
def test_no_claim_is_ever_wrong_in_new_games(
    seed: int, moved: float, receptacles: float, distractors: float
) -> None:
    made = generate(Recipe(seed, 0, "", receptacles, distractors, moved))
    assert wander(made.house, made.walkthrough, seed) > 20


@pytest.mark.official
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_no_claim_is_ever_wrong_in_official_games(split: str) -> None:
    for seed, task in enumerate(games.find(split).tasks):
        walkthrough = json.loads(games.path_of(task.id).read_text())["walkthrough"]
        assert wander(games.house(task.id), walkthrough, seed) > 20
