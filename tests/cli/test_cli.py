"""The command line as people and scripts meet it: real processes, real exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest

from evoharness.cli import main

TOY = "evoharness.testing:ToyAdapter"


def evoharness(
    *arguments: str | Path, folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    plain = {"COLUMNS": "100", "NO_COLOR": "1"}
    return processes.run(main, arguments, folder=folder, variables={**plain, **variables})


def test_run_shows_turns_and_the_three_parts() -> None:
    done = evoharness("run", TOY, "--policy", "expert")
    assert done.returncode == 0, done.stderr
    for shown in (
        "recall where is the key",
        "Belief",
        "Progress",
        "Experience",
        "solved (success)",
    ):
        assert shown in done.stdout


def test_run_with_json_prints_one_object_and_nothing_else() -> None:
    done = evoharness("run", TOY, "--task", "door-02", "--json")
    result = json.loads(done.stdout)
    assert result["task"] == "door-02"
    assert result["outcome"]["success"]
    assert result["measures"]["meta_calls"] == {"commit": 1, "note": 1, "recall": 1, "track": 1}
    assert result["trace"]["schema_version"] == "ATIF-v1.7"
    assert done.stderr == ""


def test_an_unsolved_episode_has_an_exit_code_of_its_own() -> None:
    done = evoharness("run", TOY, "--max-steps", "2")
    assert done.returncode == 3
    assert "not solved (budget)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "alfwrld"], "Did you mean 'alfworld'?"),
        (["run", "nowhere:Adapter"], "cannot be imported"),
        (["run", "evoharness.testing:ScriptedModel"], "not a subclass of evoharness.Adapter"),
        (["run", TOY, "--task", "door-99"], "no task 'door-99'; `evoharness tasks` lists"),
        (["run", TOY, "--split", "attic"], "no split 'attic'"),
        (["run", TOY, "--policy", "genius"], "no policy 'genius'; it has expert, random"),
        (["run", TOY, "--policy", "nowhere:act"], "cannot be imported"),
        (["run", TOY, "--policy", "expert", "--model", "openai:x"], "exclude each other"),
        (["run", TOY, "--base-url", "http://localhost:1/v1"], "needs --model"),
        (["run", TOY, "--model", "nobody:x"], "nobody"),
        (["eval", TOY, "--out", "/dev/null"], "/dev/null is a file"),
        (["run", TOY, "--set", "size"], "--set 'size' is not of the form NAME=VALUE"),
        (["run", "alfworld", "--set", "engin=x"], "its settings are workers, timeout_s, data, eng"),
        (["run", "alfworld", "--set", "engine=unity"], "no engine 'unity'"),
        (["compare", "/nonexistent"], "holds no evaluation"),
        (["eval", TOY, "--out", "/etc"], "holds files that are no evaluation's"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(arguments: list[str], told: str) -> None:
    done = evoharness(*arguments)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--checkpoint", "--bank"])
def test_a_broken_file_of_ours_is_named(tmp_path: Path, option: str) -> None:
    broken = tmp_path / "chroma.sqlite3"
    broken.write_text("not a database")
    done = evoharness("run", TOY, option, tmp_path if option == "--bank" else broken)
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["run", TOY, "--max-steps", "0"], ["run"], ["dance"]])
def test_a_usage_error_names_the_help(arguments: list[str]) -> None:
    done = evoharness(*arguments)
    assert done.returncode == 2
    assert "--help" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_told_in_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nfrom evoharness.testing import open_in_order\n"
        "def act(view):\n    time.sleep(0.1)\n    return open_in_order(view)\n"
    )
    command = [sys.executable, "-m", "evoharness.cli", "eval", TOY, "--policy", "slow:act"]
    command += ["--out", str(tmp_path / "out"), "--limit", "8", "--workers", "2", "--json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    records = tmp_path / "out" / "records"
    deadline = time.monotonic() + 60
    while not (records.exists() and list(records.glob("[!.]*.json"))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.strip().startswith("error: interrupted")
    assert len(told.strip().splitlines()) == 1
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["episodes"] == 8


def test_a_terminal_that_knows_ascii_only_is_no_obstacle() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evoharness.cli", "run", TOY],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_server_that_is_down_ends_the_episode_and_says_so() -> None:
    done = evoharness("run", TOY, "--model", "openai:x", "--base-url", "http://localhost:9/v1")
    assert done.returncode == 3
    assert "policy_error" in done.stdout


def test_ablated_parts_are_neither_shown_nor_used() -> None:
    done = evoharness("run", TOY, "--ablate", "experience", "--ablate", "belief", "--json")
    result = json.loads(done.stdout)
    assert set(result["measures"]["meta_calls"]) == {"commit"}
    system = result["trace"]["steps"][0]["message"]
    assert "commit" in system
    assert not any(verb in system for verb in ("track [", "recall [", "note ["))


def test_a_durable_run_that_is_finished_can_be_played_again(tmp_path: Path) -> None:
    file = tmp_path / "episodes.sqlite"
    first = evoharness("run", TOY, "--checkpoint", file, "--json")
    second = evoharness("run", TOY, "--checkpoint", file, "--json")
    assert first.returncode == second.returncode == 0
    assert json.loads(first.stdout) == json.loads(second.stdout)


@pytest.mark.stock
def test_an_adapter_s_settings_are_part_of_an_evaluation(tmp_path: Path) -> None:
    out = ("--limit", "1", "--out", tmp_path / "a")
    assert evoharness("eval", "alfworld", *out).returncode == 0
    done = evoharness("eval", "alfworld", "--set", "engine=textworld", *out)
    assert done.returncode == 2
    assert "other settings" in done.stderr
    assert "textworld" in done.stderr


def test_eval_and_compare_work_together(tmp_path: Path) -> None:
    expert, chance = tmp_path / "expert", tmp_path / "chance"
    done = evoharness("eval", TOY, "--out", expert, "--limit", "6", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert "100.0 %" in done.stdout
    done = evoharness(
        "eval",
        TOY,
        "--out",
        chance,
        "--limit",
        "6",
        "--policy",
        "random",
        "--max-steps",
        "4",
        "--json",
    )
    summary = json.loads(done.stdout)
    assert summary == json.loads((chance / "summary.json").read_text())
    assert done.stderr == ""
    done = evoharness("compare", expert, chance)
    assert done.returncode == 0
    assert "Paired over shared tasks" in done.stdout
    pair = json.loads(evoharness("compare", expert, chance, "--json").stdout)["pairs"][0]
    assert pair["shared_tasks"] == 6


def test_eval_refuses_another_evaluation_in_the_folder(tmp_path: Path) -> None:
    evoharness("eval", TOY, "--out", tmp_path, "--limit", "2")
    done = evoharness("eval", TOY, "--out", tmp_path, "--limit", "2", "--mode", "env_only")
    assert done.returncode == 2
    assert "config.mode: 'inline' there, 'env_only' now" in done.stderr


def test_adapters_lists_alfworld() -> None:
    [alfworld] = [
        facts
        for facts in json.loads(evoharness("adapters", "--json").stdout)
        if facts["name"] == "alfworld"
    ]
    assert alfworld["splits"] == ["demo", "train", "valid_seen", "valid_unseen"]
    assert "expert" in alfworld["policies"]
    assert "alfworld" in evoharness("adapters").stdout


def test_tasks_lists_the_ids_that_run_takes() -> None:
    lines = evoharness("tasks", TOY).stdout.splitlines()
    assert lines[0] == "door-00\tOpen the door."
    listed = json.loads(evoharness("tasks", "alfworld", "--json").stdout)
    assert len(listed) == 12
    assert all(task["id"].startswith("demo/") for task in listed)
    assert evoharness("tasks", TOY, "--split", "attic").returncode == 2


def test_an_adapter_that_cannot_be_loaded_is_listed_with_what_to_do() -> None:
    program = (
        "import sys; sys.modules['evoharness_alfworld.scene'] = None; sys.argv = ['evoharness', 'adapters']; "
        "from evoharness.cli import main; main()"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert "adapter 'alfworld' of evoharness cannot be loaded" in done.stdout


def test_help_teaches() -> None:
    top = evoharness("--help").stdout
    for word in ("evoharness demo", "run", "eval", "compare", "adapters", "alfworld", "Exit codes"):
        assert word in top
    assert "evoharness eval alfworld --split valid_unseen" in evoharness("eval", "--help").stdout


def test_a_policy_of_the_users_own_is_found_in_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def act(view):\n    return f'<action>{view.admissible[0]}</action>'\n"
    )
    own = ("run", TOY, "--policy", "mine:act", "--json", "--max-steps", "3")
    done = evoharness(*own, folder=tmp_path)
    assert json.loads(done.stdout)["measures"]["env_actions"] == 3, done.stderr
