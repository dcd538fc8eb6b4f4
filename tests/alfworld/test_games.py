from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from evoharness_alfworld import AlfworldAdapter, games
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.index import GAME
from evoharness_alfworld.simulator import Game, GameError

MADE = generate(Recipe(kind="pick_heat_then_place_in_recep"))
OBJECTIVE = MADE.house.objective


def write_game(
    data: Path, split: str, kind: str, trial: str, text: str = "", **changes: Any
) -> Path:
    folder = data / games.FOLDER / split / kind / trial
    folder.mkdir(parents=True)
    (folder / GAME).write_text(text or json.dumps({**MADE.game, **changes}))
    return folder


@pytest.mark.official
@pytest.mark.parametrize(("split", "number"), games.SPLITS.items())
def test_official_splits_have_exactly_the_official_number_of_games(split: str, number: int) -> None:
    found = games.find(split)
    assert len(found.tasks) == number
    assert not found.skipped
    assert len({task.id for task in found.tasks}) == number
    assert len({task.type for task in found.tasks}) == 6
    assert all(task.objective.endswith(".") for task in found.tasks)


@pytest.mark.official
def test_every_official_game_is_won_by_its_walkthrough() -> None:
    for split in games.SPLITS:
        for task in games.find(split).tasks:
            path = games.path_of(task.id)
            game = Game(games.house(task.id))
            for command in json.loads(path.read_text())["walkthrough"]:
                assert command in game.admissible
                assert not game.won
                game.step(command)
            assert game.won


def test_copies_with_and_without_traj_data_are_read_alike(tmp_path: Path) -> None:
    kind = "pick_heat_then_place_in_recep-Mug-None-Cabinet-3"
    write_game(tmp_path, "train", kind, "trial_1")
    (write_game(tmp_path, "train", kind, "trial_2") / "traj_data.json").write_text("{}")
    first, second = games.find("train", tmp_path).tasks
    assert (first.id, second.id) == (f"train/{kind}/trial_1", f"train/{kind}/trial_2")
    assert first.objective == second.objective == OBJECTIVE
    assert first.type == "pick_heat_then_place_in_recep"
    assert games.path_of(first.id, tmp_path).is_file()


def test_what_is_no_game_is_skipped_with_a_reason(tmp_path: Path) -> None:
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-1", "good")
    only_json = write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-2", "bare")
    (only_json / GAME).rename(only_json / "traj_data.json")
    write_game(tmp_path, "train", "pick_and_place_with_movable_recep-Mug-Box-Desk-3", "movable")
    write_game(tmp_path, "train", "pick_cool_then_place_in_recep-AppleSliced-None-Desk-4", "cut")
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-5", "no", solvable=False)
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-6", "torn", text="{")
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-7", "odd", pddl_domain="()")
    found = games.find("train", tmp_path)
    assert len(found.tasks) == 1
    reasons = {id.split("/")[-1]: reason for id, reason in found.skipped}
    assert reasons.pop("torn").startswith("it is not JSON: ")
    assert reasons == {
        "bare": "no game.tw-pddl",
        "no": "it is not marked as solvable",
        "movable": "of an unsupported kind",
        "cut": "of an unsupported kind",
        "odd": "its domain is not ALFWorld's",
    }


def test_a_folder_without_any_game_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-2", "bare")
    (folder / GAME).rename(folder / "traj_data.json")
    with pytest.raises(FileNotFoundError, match=r"no game\.tw-pddl.*ALFWORLD_DATA.*download"):
        games.find("train", tmp_path)


def test_a_missing_split_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"valid_seen.*ALFWORLD_DATA"):
        AlfworldAdapter(data=tmp_path).tasks("valid_seen")


@pytest.mark.parametrize("split", ["..", "a/b", "", "/etc"])
def test_a_split_is_a_folder_s_name(tmp_path: Path, split: str) -> None:
    with pytest.raises(ValueError, match="no split"):
        AlfworldAdapter(data=tmp_path).tasks(split)


def test_a_task_says_nothing_of_this_machine(tmp_path: Path) -> None:
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-1", "good")
    [task] = games.find("train", tmp_path).tasks
    assert str(tmp_path) not in json.dumps(task.to_json())


def test_a_game_of_any_folder_is_found_by_its_id(tmp_path: Path) -> None:
    write_game(tmp_path, "mine", "pick_and_place_simple-Mug-None-Desk-1", "good")
    adapter = AlfworldAdapter(data=tmp_path)
    [task] = adapter.tasks("mine")
    assert adapter.task(task.id) == task
    with pytest.raises(KeyError, match="no task 'mine/x'"):
        adapter.task("mine/x")


def test_folders_that_cannot_be_looked_into_are_skipped_with_the_reason(tmp_path: Path) -> None:
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-1", "good")
    split = tmp_path / games.FOLDER / "train"
    (split / "circle").symlink_to(split / "circle")
    (split / "pick_and_place_simple-Mug-None-Desk-1" / "circle").symlink_to("circle")
    (split / ".ipynb_checkpoints").mkdir()
    os.makedirs(os.fsencode(split) + b"/pick_and_place_simple-\xff-None-Desk-2/trial")
    found = games.find("train", tmp_path)
    assert len(found.tasks) == 1
    assert [reason for _, reason in found.skipped] == ["its name is not UTF-8 text"]


def test_a_new_adapter_sees_new_games_and_an_old_one_keeps_its_list(tmp_path: Path) -> None:
    write_game(tmp_path, "mine", "pick_and_place_simple-Mug-None-Desk-1", "one")
    old = AlfworldAdapter(data=tmp_path)
    assert len(old.tasks("mine")) == 1
    write_game(tmp_path, "mine", "pick_and_place_simple-Mug-None-Desk-1", "two")
    assert len(old.tasks("mine")) == 1
    assert len(AlfworldAdapter(data=tmp_path).tasks("mine")) == 2


def test_another_game_in_the_place_of_a_listed_one_is_noticed(tmp_path: Path) -> None:
    folder = write_game(tmp_path, "mine", "pick_and_place_simple-Mug-None-Desk-1", "one")
    adapter = AlfworldAdapter(data=tmp_path)
    [task] = adapter.tasks("mine")
    (folder / GAME).write_text(generate(Recipe(number=5)).text)
    with pytest.raises(GameError, match="another one than when it was listed"):
        adapter.make(task)


@pytest.mark.parametrize(("name", "told"), [("file", "is a file"), (games.FOLDER, "not json_2")])
def test_a_folder_that_is_named_wrongly_is_told(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=told):
        games.find("train", tmp_path / name)


def test_games_of_one_file_share_their_house(tmp_path: Path) -> None:
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-1", "good")
    [task] = games.find("train", tmp_path).tasks
    adapter = AlfworldAdapter(data=tmp_path)
    assert adapter.house(task) is adapter.house(task)
