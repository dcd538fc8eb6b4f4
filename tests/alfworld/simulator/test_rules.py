"""The domain's rules, one by one."""

from __future__ import annotations

import pytest
from alfworld_kitchen import do, kitchen, problem
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.simulator import NOTHING_HAPPENS, Game
from evoharness_alfworld.words import TASK_TYPES


@pytest.fixture
def game() -> Game:
    return kitchen()


def starting(game: Game, verb: str) -> list[str]:
    return [command for command in game.admissible if command.startswith(f"{verb} ")]


class TestGoing:
    def test_one_can_go_to_everything_at_first(self, game: Game) -> None:
        assert len(starting(game, "go to")) == 7

    def test_not_to_what_shares_the_place_where_one_is(self, game: Game) -> None:
        assert do(game, "go to cabinet 1", "go to cabinet 2") == [
            "You arrive at cabinet 1. The cabinet 1 is closed.",
            NOTHING_HAPPENS,
        ]
        assert len(starting(game, "go to")) == 5

    def test_what_shares_the_place_can_be_examined_and_opened(self, game: Game) -> None:
        do(game, "go to cabinet 1")
        assert {"examine cabinet 2", "open cabinet 2"} <= set(game.admissible)


class TestOpening:
    def test_only_what_is_here_and_closed(self, game: Game) -> None:
        assert not starting(game, "open")
        do(game, "go to fridge 1")
        assert starting(game, "open") == ["open fridge 1"]
        do(game, "open fridge 1")
        assert not starting(game, "open")
        assert starting(game, "close") == ["close fridge 1"]


class TestTakingAndPutting:
    def test_nothing_can_be_taken_from_what_is_closed(self, game: Game) -> None:
        do(game, "go to fridge 1")
        assert not starting(game, "take")
        do(game, "open fridge 1")
        assert starting(game, "take") == ["take apple 1 from fridge 1"]

    def test_one_thing_at_a_time(self, game: Game) -> None:
        do(game, "go to countertop 1", "take apple 2 from countertop 1")
        assert not starting(game, "take")
        assert starting(game, "move") == ["move apple 2 to countertop 1"]

    def test_what_cannot_be_contained_anywhere_stays_in_the_hand(self, game: Game) -> None:
        do(game, "go to sidetable 1", "take teddybear 1 from sidetable 1")
        assert not starting(game, "move")

    def test_lamps_stay(self, game: Game) -> None:
        do(game, "go to sidetable 1")
        assert "take desklamp 1 from sidetable 1" not in game.admissible

    def test_what_is_put_back_is_in_its_sorted_place(self, game: Game) -> None:
        said = do(game, "go to countertop 1", "take apple 2 from countertop 1",
                  "move apple 2 to countertop 1", "examine countertop 1")  # fmt: skip
        assert said[0].endswith(said[-1])

    def test_an_object_in_two_receptacles_leaves_only_one(self) -> None:
        game = kitchen(problem(facts="(inReceptacle Knife_bar_1 SideTable_bar_1)"))
        do(game, "go to countertop 1", "take knife 1 from countertop 1")
        assert "knife 1" in do(game, "go to sidetable 1")[0]

    def test_an_object_that_lies_elsewhere_is_taken_where_its_receptacle_is(self) -> None:
        away = problem(
            facts="(objectAtLocation Apple_bar_1 loc_6)",
            without="(objectAtLocation Apple_bar_1",
        )
        game = kitchen(away)
        do(game, "go to countertop 1", "take apple 2 from countertop 1",
           "move apple 2 to countertop 1", "take knife 1 from countertop 1")  # fmt: skip
        assert "slice apple 2 with knife 1" in game.admissible
        do(game, "go to sidetable 1")
        assert "slice apple 2 with knife 1" in game.admissible


class TestTreating:
    def test_the_machine_need_not_be_open(self, game: Game) -> None:
        said = do(game, "go to countertop 1", "take apple 2 from countertop 1",
                  "go to microwave 1", "heat apple 2 with microwave 1")  # fmt: skip
        assert said[2] == "You arrive at microwave 1. The microwave 1 is closed."
        assert said[3] == "You heat the apple 2 using the microwave 1."

    def test_only_what_is_in_the_hand(self, game: Game) -> None:
        do(game, "go to fridge 1", "open fridge 1")
        assert not starting(game, "cool")

    def test_again_and_again(self, game: Game) -> None:
        heat = "heat apple 2 with microwave 1"
        said = do(game, "go to countertop 1", "take apple 2 from countertop 1",
                  "go to microwave 1", heat, heat)  # fmt: skip
        assert said[-1] == said[-2]

    def test_heat_and_cold_undo_each_other_and_clean_stays(self, game: Game) -> None:
        do(game, "go to countertop 1", "take apple 2 from countertop 1",
           "go to sinkbasin 1", "clean apple 2 with sinkbasin 1",
           "go to microwave 1", "heat apple 2 with microwave 1",
           "go to fridge 1", "cool apple 2 with fridge 1")  # fmt: skip
        [apple] = game.state.cool
        assert game.state.clean == {apple}
        assert not game.state.hot

    def test_what_cannot_be_cooled(self, game: Game) -> None:
        do(game, "go to cabinet 1", "open cabinet 2", "open cabinet 1", "take mug 1 from cabinet 2",
           "go to fridge 1")  # fmt: skip
        assert not starting(game, "cool")


class TestUsingAndSlicing:
    def test_a_lamp_here_can_be_used_again_and_again(self, game: Game) -> None:
        said = do(game, "use desklamp 1", "go to sidetable 1", "use desklamp 1", "use desklamp 1")
        assert said[0] == NOTHING_HAPPENS
        assert said[2] == said[3] == "You turn on the desklamp 1."

    def test_slicing_takes_a_knife_in_the_hand_and_the_thing_here(self, game: Game) -> None:
        do(game, "go to countertop 1")
        assert not starting(game, "slice")
        do(game, "take knife 1 from countertop 1")
        assert starting(game, "slice") == ["slice apple 2 with knife 1"]
        do(game, "go to fridge 1")
        assert starting(game, "slice") == ["slice apple 1 with knife 1"]


class TestExamining:
    def test_objects_only_in_the_hand(self, game: Game) -> None:
        do(game, "go to countertop 1")
        assert starting(game, "examine") == ["examine countertop 1"]
        do(game, "take apple 2 from countertop 1")
        assert starting(game, "examine") == ["examine apple 2", "examine countertop 1"]


class TestWinning:
    @pytest.mark.parametrize("kind", TASK_TYPES)
    @pytest.mark.parametrize("number", range(5))
    def test_the_walkthrough_wins_with_its_last_command(self, kind: str, number: int) -> None:
        generated = generate(Recipe(number=number, kind=kind))
        game = Game(generated.house)
        won: list[bool] = [game.won]
        for command in generated.game["walkthrough"]:
            assert command in game.admissible
            game.step(command)
            won.append(game.won)
        assert won == [False] * (len(won) - 1) + [True]

    def test_a_goal_can_be_undone(self, game: Game) -> None:
        do(game, "go to countertop 1", "take apple 2 from countertop 1", "go to sidetable 1",
           "move apple 2 to sidetable 1")  # fmt: skip
        assert game.won
        do(game, "take apple 2 from sidetable 1")
        assert not game.won

    def test_heat_undone_by_cold_does_not_win(self) -> None:
        generated = generate(Recipe(kind="pick_heat_then_place_in_recep"))
        game = Game(generated.house)
        *before, last = generated.game["walkthrough"]
        heated = next(i for i, command in enumerate(before) if command.startswith("heat"))
        thing = before[heated].removeprefix("heat ").partition(" with")[0]
        do(game, *before[: heated + 1], "go to fridge 1", f"cool {thing} with fridge 1")
        do(game, *before[heated + 1 :], last)
        assert not game.won


def test_commands_are_stripped_and_otherwise_exact(game: Game) -> None:
    assert do(game, " \n look\t")[0] != NOTHING_HAPPENS
    for command in (
        "LOOK",
        "look around",
        "go to  fridge 1",
        "go to fridge",
        "",
        "go to fridge 1.",
    ):
        assert do(game, command) == [NOTHING_HAPPENS]


def test_what_cannot_be_done_changes_nothing(game: Game) -> None:
    do(game, "go to countertop 1")
    before = game.state
    do(game, "heat apple 2 with microwave 1", "take apple 1 from fridge 1")
    assert game.state is before
