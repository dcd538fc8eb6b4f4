"""The native engine says what the stock engine says, byte for byte.

`evoharness alfworld compare-engines` does the same for all official games; its report is kept in
`benchmarks/results/alfworld_engines.jsonl`.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import pytest
from evoharness_alfworld import games
from evoharness_alfworld.equality import Comparison, Report, compare, compare_one, digest
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.words import TASK_TYPES

from evoharness.core.environment import Task

REPORT = Path(__file__).parents[2] / "benchmarks" / "results" / "alfworld_engines.jsonl"
OFFICIAL_SAMPLE = 60
GENERATED_SAMPLE = 8


@cache
def official_sample() -> list[Task]:
    """Return ten games of each type: of ninety drawn, those with the fewest receptacles, which the
    stock engine plays several times faster than large kitchens.
    """
    tasks = [task for split in games.SPLITS for task in games.find(split).tasks]
    chosen: list[Task] = []
    for kind in TASK_TYPES:
        drawn = random.Random(60).sample([task for task in tasks if task.type == kind], 90)
        drawn.sort(key=lambda task: len(games.house(task.id).receptacles))
        chosen += drawn[: OFFICIAL_SAMPLE // len(TASK_TYPES)]
    return chosen


@pytest.mark.stock
@pytest.mark.parametrize("number", range(GENERATED_SAMPLE))
def test_a_generated_game_is_the_same_in_both_engines(number: int) -> None:
    kinds = ("", "pick_two_obj_and_place", "look_at_obj_in_light")
    recipe = Recipe(11, number, kind=kinds[number % 3], moved=(number % 2))
    result = compare(f"generated {number}", json.dumps(generate(recipe).game))
    assert result.differences == []
    assert result.steps > 30


@pytest.mark.stock
@pytest.mark.official
@pytest.mark.parametrize("number", range(OFFICIAL_SAMPLE))
def test_an_official_game_is_the_same_in_both_engines(number: int) -> None:
    task = official_sample()[number]
    result = compare(task.id, games.path_of(task.id).read_text())
    assert result.differences == []
    assert result.steps > 30


@pytest.mark.official
@pytest.mark.skipif(not REPORT.exists(), reason="there is no report")
def test_the_native_engine_still_says_what_the_stock_engine_said_in_the_report() -> None:
    """Every game of the report, without the stock engine."""
    settings, *lines = (json.loads(line) for line in REPORT.read_text().splitlines())
    assert lines
    for line in lines:
        text = games.path_of(line["game"]).read_text()
        again = digest(line["game"], text, settings["seed"], settings["steps"])
        assert again == line["digest"], line["game"]


@pytest.mark.stock
def test_the_comparison_sees_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    from evoharness_alfworld.simulator import phrases

    text = json.dumps(generate(Recipe(11, 0)).game)
    monkeypatch.setattr(phrases, "HELP", "Help yourself.")
    result = compare("a game", text, steps=60)
    assert {difference["what"] for difference in result.differences} == {"feedback"}
    assert {difference["native"] for difference in result.differences} == {"Help yourself."}


@pytest.mark.stock
def test_what_cannot_be_compared_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_text("{")
    result = compare_one(("torn", path), 0, 1)
    assert "not JSON" in result.problem


def test_the_digest_depends_on_all_that_is_said() -> None:
    one, other = (json.dumps(generate(Recipe(12, number)).game) for number in (0, 1))
    assert digest("x", one) == digest("x", one)
    assert len({digest("x", one), digest("x", other), digest("y", one), digest("x", one, 1)}) == 4


class TestReport:
    @pytest.fixture(autouse=True)
    def _(self) -> None:
        pytest.importorskip("textworld", reason="a report names the stock engine's version")

    def test_it_goes_on_where_it_was_and_ends_in_order(self, tmp_path: Path) -> None:
        path = tmp_path / "report.jsonl"
        Report(path, 0, 30).add(Comparison("b", steps=3))
        with path.open("a") as file:
            file.write('{"game": "cut')
        again = Report(path, 0, 30)
        assert set(again.lines) == {"b"}
        again.add(Comparison("a", steps=4, differences=[{"step": 1}]))
        totals = again.finish(["a", "b"])
        assert (totals["games"], totals["steps"], totals["differences"]) == (2, 7, 1)
        assert [json.loads(line).get("game") for line in path.read_text().splitlines()] == [
            None,
            "a",
            "b",
        ]

    def test_other_settings_need_another_file(self, tmp_path: Path) -> None:
        Report(tmp_path / "report.jsonl", 0, 30)
        with pytest.raises(ValueError, match="other settings"):
            Report(tmp_path / "report.jsonl", 1, 30)

    def test_what_could_not_be_compared_is_tried_again(self, tmp_path: Path) -> None:
        path = tmp_path / "report.jsonl"
        Report(path, 0, 30).add(Comparison("a", problem="torn"))
        again = Report(path, 0, 30)
        assert again.lines == {}
        again.add(Comparison("a", steps=3))
        again.add(Comparison("b", steps=9, differences=[{}]))
        assert (again.finish(["a"])["steps"], again.finish(["a"])["differences"]) == (3, 0)

    def test_an_empty_file_is_begun(self, tmp_path: Path) -> None:
        path = tmp_path / "report.jsonl"
        path.touch()
        assert Report(path, 0, 30).lines == {}

    @pytest.mark.parametrize("text", ["buy milk\n", '{"a": 1}\n', "3\n", '[1]\n{"b": 2}\n'])
    def test_another_kind_of_file_is_left_alone(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "notes.txt"
        path.write_text(text)
        with pytest.raises(ValueError, match="no report"):
            Report(path, 0, 30)
        assert path.read_text() == text
