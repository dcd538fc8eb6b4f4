from __future__ import annotations

import json
from pathlib import Path

import pytest
from evoharness_alfworld import AlfworldAdapter, games

OBJECTIVE = "put a hot mug in cabinet."


def write_game(
    data: Path, split: str, kind: str, trial: str, *, solvable: bool = True, text: str = ""
) -> Path:
    folder = data / games.FOLDER / split / kind / trial
    folder.mkdir(parents=True)
    grammar = f'"task": [{{"rhs": "Your task is to: {OBJECTIVE}"}}]'
    game = {"pddl_domain": "", "grammar": grammar, "pddl_problem": "", "solvable": solvable}
    (folder / games.GAME).write_text(text or json.dumps(game))
    return folder


@pytest.mark.official
@pytest.mark.parametrize(("split", "number"), games.SPLITS.items())
def test_official_splits_have_exactly_the_official_number_of_games(split: str, number: int) -> None:
    tasks = games.find(split).tasks
    assert len(tasks) == number
    assert len({task.id for task in tasks}) == number
    assert len({task.type for task in tasks}) == 6
    assert all(task.objective.endswith(".") for task in tasks)


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
    (only_json / games.GAME).rename(only_json / "traj_data.json")
    write_game(tmp_path, "train", "pick_and_place_with_movable_recep-Mug-Box-Desk-3", "movable")
    write_game(tmp_path, "train", "pick_cool_then_place_in_recep-AppleSliced-None-Desk-4", "cut")
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-5", "no", solvable=False)
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-6", "torn", text="{")
    found = games.find("train", tmp_path)
    assert len(found.tasks) == 1
    reasons = [reason for _, reason in found.skipped]
    assert sorted(reasons) == [
        "no game.tw-pddl",
        "not solvable",
        "not solvable",
        "of an unsupported kind",
        "of an unsupported kind",
    ]


def test_a_folder_without_any_game_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-2", "bare")
    (folder / games.GAME).rename(folder / "traj_data.json")
    with pytest.raises(FileNotFoundError, match=r"no game\.tw-pddl.*ALFWORLD_DATA.*download"):
        games.find("train", tmp_path)


def test_a_missing_split_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"valid_seen.*ALFWORLD_DATA"):
        AlfworldAdapter(data=tmp_path).tasks("valid_seen")


def test_a_task_says_nothing_of_this_machine(tmp_path: Path) -> None:
    write_game(tmp_path, "train", "pick_and_place_simple-Mug-None-Desk-1", "good")
    [task] = games.find("train", tmp_path).tasks
    assert str(tmp_path) not in json.dumps(task.to_json())
