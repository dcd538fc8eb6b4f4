from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evoharness_alfworld import download, games
from evoharness_alfworld.index import GAME


def evoharness(*arguments: str | Path, data: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evoharness.cli", "alfworld", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", games.VARIABLE: str(data)},
        check=False,
    )


def test_games_without_data_says_what_to_do(tmp_path: Path) -> None:
    done = evoharness("games", data=tmp_path)
    assert done.returncode == 2
    assert "evoharness alfworld download" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    done = evoharness("games", "--split", "attic", data=tmp_path)
    assert done.returncode == 2
    assert "'attic'" in done.stderr


def test_a_download_does_not_replace_games_unasked(tmp_path: Path) -> None:
    (tmp_path / games.FOLDER).mkdir()
    done = evoharness("download", "--data-dir", tmp_path, data=tmp_path)
    assert done.returncode == 2
    assert "--force replaces it" in done.stderr


def test_a_download_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that nobody serves stands for a network that is down."""
    for variable in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    target = tmp_path / "data"
    done = evoharness("download", "--data-dir", target, data=tmp_path)
    assert done.returncode == 1
    assert "cannot be fetched from https://" in done.stderr
    assert list(target.iterdir()) == []


@pytest.mark.official
def test_the_official_games_pass_the_check_that_a_download_has_to_pass() -> None:
    download.check(games.home(None))


@pytest.mark.official
def test_changed_games_do_not_pass_the_check(tmp_path: Path) -> None:
    source = games.home(None) / games.FOLDER
    target = tmp_path / games.FOLDER
    for split in games.SPLITS:
        for kind in (source / split).iterdir():
            for trial in kind.iterdir():
                copy = target / split / kind.name / trial.name
                copy.mkdir(parents=True)
                (copy / GAME).symlink_to(trial / GAME)
    victim = games.path_of(games.find("train", tmp_path).tasks[7].id, tmp_path)
    text = victim.read_text()
    victim.unlink()
    victim.write_text(text.replace("(openable", "(closable", 1))
    with pytest.raises(OSError, match="checksum"):
        download.check(tmp_path)


@pytest.mark.official
def test_games_counts_the_splits() -> None:
    done = evoharness("games", "--split", "valid_seen", "--json", data=games.home(None))
    assert json.loads(done.stdout)["splits"]["valid_seen"]["games"] == 140
