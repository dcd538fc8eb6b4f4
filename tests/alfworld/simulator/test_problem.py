"""A game file is understood, or refused with the reason."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from alfworld_kitchen import file, problem
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.simulator import Game, GameError, interpret, open_game
from evoharness_alfworld.simulator.problem import Goal
from evoharness_alfworld.words import TASK_TYPES
from hypothesis import given
from hypothesis import strategies as st


def text(contents: Any) -> str:
    return json.dumps(contents)


@pytest.mark.parametrize("kind", TASK_TYPES)
def test_each_of_the_six_goals_is_known(kind: str) -> None:
    generated = generate(Recipe(kind=kind))
    goal = open_game(text(generated.game)).goal
    quest = generated.quest
    types = f"{quest.thing.lower()}type", f"{quest.target.lower()}type"
    assert goal == Goal(kind, *types)


def test_the_sentence_of_the_task_is_kept_as_it_is() -> None:
    generated = generate(Recipe(number=3))
    assert open_game(text(generated.game)).objective == generated.task("x").objective


def test_what_is_said_twice_holds_once() -> None:
    again = "(openable Fridge_bar_1) (openable Fridge_bar_1)"
    assert interpret(file(problem(facts=again))).openable == interpret(file()).openable


def test_case_and_white_space_do_not_matter() -> None:
    odd = problem().replace("(:init", "(:init  \n\t ").replace("openable", "OPENABLE ")
    assert interpret(file(odd)).openable == interpret(file()).openable


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ("{", "it is not JSON"),
        ("[]", "no text 'pddl_domain'"),
        (text(file(grammar=3)), "no text 'grammar'"),
        (text(file(grammar="")), "names no task"),
        (text(file(pddl_domain="(define (domain blocks))")), "its domain is not ALFWorld's"),
        (text(file(grammar="Your task is to: x. and more")), "its grammar is not ALFWorld's"),
        (text(file("(:init)")), "lacks objects, init and goal"),
        (text(file(problem()[:-1])), "parentheses do not match"),
        (text(file(problem(facts="(flies Mug_bar_1)"))), r"\(flies mug_bar_1\)"),
        (text(file(problem(facts="(openable Mug_bar_1 Mug_bar_1)"))), "no fact of"),
        (text(file(problem(facts="(openable Ghost_bar_1)"))), "ghost_bar_1, which is not declared"),
        (text(file(problem(facts="(pickupable Fridge_bar_1)"))), "cannot be said of it"),
        (text(file(problem(facts="(objectType Mug_bar_1 AppleType)"))), "more than one type"),
        (text(file(problem(facts="(receptacleAtLocation Fridge_bar_1 loc_1)"))), "more than one pl"),
        (text(file(problem(without="(receptacleAtLocation Fridge"))), "has no type or no place"),
        (text(file(problem(without="(atLocation"))), "one agent"),
        (text(file(problem(facts="(holds agent1 Mug_bar_1)"))), "one hand"),
        (text(file(problem(facts="(receptacleType Mug_bar_1 FridgeType)"))), "mug_bar_1 has no type"),
        (text(file(problem(facts="(atLocation agent1 Mug_bar_1)", without="(atLocation"))), "said of"),
        (text(file(problem("(holds agent1 Mug_bar_1)"))), "none of ALFWorld's six"),
    ],
)  # fmt: skip
def test_what_is_no_game_is_refused_with_the_reason(contents: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason):
        open_game(contents)


SLIPS = st.sampled_from(['"', "(", ")", "\\", "x", "", "?", "\x00", " ", "agent1", "mug_bar_1"])


@given(st.data())
def test_a_damaged_file_is_refused_or_played_but_never_breaks(data: st.DataObject) -> None:
    """Any cut, and any one character changed: of the file, and of the problem in it."""
    whole, inner = text(file()), problem()
    at = data.draw(st.integers(0, len(whole) - 1))
    within = data.draw(st.integers(0, len(inner) - 1))
    other = data.draw(SLIPS)
    for damaged in (
        whole[:at],
        whole[:at] + other + whole[at + 1 :],
        text(file(inner[:within] + other + inner[within + 1 :])),
    ):
        with suppress(GameError):
            game = Game(open_game(damaged))
            game.reset()
            for command in game.admissible:
                game.fork().step(command)


@given(st.data())
def test_words_of_a_problem_may_stand_anywhere(data: st.DataObject) -> None:
    """Facts with their words swapped are refused or played."""
    words = problem().split(" ")
    one, other = data.draw(st.tuples(*[st.integers(0, len(words) - 1)] * 2))
    words[one], words[other] = words[other], words[one]
    with suppress(GameError):
        Game(open_game(text(file(" ".join(words))))).reset()
