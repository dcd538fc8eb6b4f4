from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import processes
import pytest
from evoharness_alfworld import download, games
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.index import GAME

from evoharness.cli import main


def evoharness(*arguments: str | Path, data: Path | str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        main, ("alfworld", *arguments), variables={"NO_COLOR": "1", games.VARIABLE: str(data)}
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


@pytest.mark.stock
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


def test_the_checksum_depends_on_every_word_of_a_game(tmp_path: Path) -> None:
    evoharness("generate", "--n", "3", "--out", tmp_path, data="")
    paths = sorted(tmp_path.rglob(GAME))
    whole = download.digest(paths)
    assert download.digest(paths) == whole
    text = paths[1].read_text()
    paths[1].write_text(re.sub(r"\(openable (\w+_bar)", r"(checked \1", text, count=1))
    assert download.digest(paths) != whole
    paths[1].write_text(json.dumps(json.loads(text), indent=4))
    assert download.digest(paths) == whole


def test_an_incomplete_download_is_told(tmp_path: Path) -> None:
    evoharness("generate", "--n", "3", "--out", tmp_path, data="")
    (tmp_path / games.FOLDER / "generated").rename(tmp_path / games.FOLDER / "train")
    with pytest.raises(OSError, match="train has 3 games instead of 3553"):
        download.check(tmp_path)


@pytest.mark.official
def test_games_counts_the_splits() -> None:
    done = evoharness("games", "--split", "valid_seen", "--json", data=games.home(None))
    assert json.loads(done.stdout)["splits"]["valid_seen"]["games"] == 140


def test_generated_games_are_played_by_name(tmp_path: Path) -> None:
    done = evoharness("generate", "--n", "6", "--seed", "7", "--out", tmp_path, data="")
    assert done.returncode == 0, done.stderr
    assert f"6 games are in {tmp_path / games.FOLDER / 'generated'}" in done.stdout
    counted = evoharness("games", "--split", "generated", "--json", data=tmp_path)
    assert json.loads(counted.stdout)["splits"]["generated"] == {
        "games": 6,
        "official": None,
        "skipped": {},
    }


def test_the_same_options_generate_the_same_files(tmp_path: Path) -> None:
    def files(name: str, *options: str) -> dict[str, str]:
        folder = tmp_path / name
        done = evoharness("generate", "--seed", "3", "--out", folder, *options, data="")
        assert done.returncode == 0, done.stderr
        return {
            str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.*") if p.is_file()
        }

    whole = files("a", "--n", "5", "--moved", "0.5")
    assert len(whole) == 10
    files("b", "--n", "2", "--moved", "0.5")
    assert files("b", "--n", "3", "--first", "2", "--moved", "0.5") == whole
    assert files("c", "--n", "5", "--moved", "1") != whole


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--moved", "2"], "moved is 2.0; it goes from 0 to 1"),
        (["--type", "juggle"], "no task type 'juggle'"),
        (["--split", "train"], "'train' is no name for generated games"),
        (["--split", "../x"], "'../x' is no name for generated games"),
        (["--split", ".."], "'..' is no name for generated games"),
        (["--split", "demo"], "'demo' is no name for generated games"),
    ],
)
def test_impossible_games_are_refused(tmp_path: Path, options: list[str], told: str) -> None:
    done = evoharness("generate", "--out", tmp_path, *options, data="")
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_games_tells_of_splits_that_have_none(tmp_path: Path) -> None:
    evoharness("generate", "--n", "2", "--out", tmp_path, data="")
    (tmp_path / games.FOLDER / "empty").mkdir()
    done = evoharness("games", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["empty: 0 games", "generated: 2 games"]


def test_an_evaluation_is_not_gone_on_with_over_other_games(tmp_path: Path) -> None:
    """The same ids, another game behind one of them."""
    evoharness("generate", "--n", "2", "--out", tmp_path, data="")

    def evaluate() -> subprocess.CompletedProcess[str]:
        return processes.run(
            main,
            ["eval", "alfworld", "--split", "generated", "--policy", "expert",
             "--out", tmp_path / "run"],
            variables={games.VARIABLE: str(tmp_path)},
        )  # fmt: skip

    assert evaluate().returncode == 0
    [path, _] = sorted(tmp_path.rglob(GAME))
    path.write_text(generate(Recipe(number=50)).text)
    again = evaluate()
    assert again.returncode == 2
    assert "other settings" in again.stderr


@pytest.mark.stock
def test_engines_are_compared_and_the_report_goes_on(tmp_path: Path) -> None:
    evoharness("generate", "--n", "3", "--out", tmp_path, data="")
    report = tmp_path / "report.jsonl"
    options = ("--split", "generated", "--steps", "5", "--out", report, "--json")
    first = evoharness("compare-engines", "--games", "2", *options, data=tmp_path)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["games"] == 2
    whole = evoharness("compare-engines", *options, data=tmp_path)
    totals = json.loads(whole.stdout)
    assert (totals["games"], totals["differences"], totals["not_compared"]) == (3, 0, 0)
    other = evoharness("compare-engines", *options, "--seed", "1", data=tmp_path)
    assert other.returncode == 2
    assert "other settings" in other.stderr


@pytest.mark.official
def test_a_profile_says_how_far_new_games_are_from_official_ones(tmp_path: Path) -> None:
    done = evoharness("profile", "--n", "300", "--json", data=games.home(None))
    assert all(share < 0.3 for share in json.loads(done.stdout)["difference"].values())
    drawn = evoharness("profile", "--n", "50", "--svg", tmp_path / "a.svg", data=games.home(None))
    assert "receptacles" in drawn.stdout
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
