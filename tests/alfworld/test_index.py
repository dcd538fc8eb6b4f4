"""Game files are read once; a changed or broken one is noticed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from evoharness_alfworld import index as indexes
from evoharness_alfworld.generator import Recipe, generate, write
from evoharness_alfworld.index import GAME, Index
from evoharness_alfworld.simulator import GameError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    indexes.index_of.cache_clear()
    yield tmp_path / "cache" / "evoharness" / "alfworld"
    indexes.index_of.cache_clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(4):
        write(generate(Recipe(number=number)), tmp_path / "games" / "mine")
    return tmp_path / "games"


def trials(root: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(root)) for path in root.glob(f"*/*/*/{GAME}"))


def rewrite(path: Path, text: str) -> None:
    """Change a file and its time, as any editor does."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


def test_a_house_from_the_index_is_the_house_of_the_file(root: Path) -> None:
    index = Index(root)
    ids = trials(root)
    assert [entry.problem for entry in index.entries(ids)] == [""] * 4
    expected = {generate(Recipe(number=n)).house.fingerprint for n in range(4)}
    assert {index.house(id).fingerprint for id in ids} == expected


def test_another_process_finds_the_games_read_already(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = trials(root)
    first = Index(root).entries(ids)
    assert len(list(cache.glob("*.sqlite"))) == 1

    def read(*_: object) -> object:
        raise AssertionError("a game file was read again")

    monkeypatch.setattr(indexes, "_row_of", read)
    again = Index(root)
    assert again.entries(ids) == first
    assert again.house(ids[0]).objective == first[0].objective


def test_a_changed_game_is_read_again(root: Path) -> None:
    ids = trials(root)
    before = Index(root).entries(ids)
    other = generate(Recipe(number=99)).game
    rewrite(root / ids[2] / GAME, json.dumps(other))
    index = Index(root)
    after = index.entries(ids)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, True]
    assert index.house(ids[2]).fingerprint == generate(Recipe(number=99)).house.fingerprint


def test_a_game_that_changes_while_the_index_is_open_is_noticed(root: Path) -> None:
    index = Index(root)
    [id, *_] = trials(root)
    index.house(id)
    rewrite(root / id / GAME, json.dumps(generate(Recipe(number=77)).game))
    assert index.house(id).fingerprint == generate(Recipe(number=77)).house.fingerprint
    rewrite(root / id / GAME, "{")
    with pytest.raises(GameError, match=rf"{GAME} cannot be played: .*JSON"):
        index.house(id)
    (root / id / GAME).unlink()
    with pytest.raises(FileNotFoundError, match=str(root / id)):
        index.house(id)


@pytest.mark.parametrize(
    ("start", "end", "instead", "reason"),
    [
        (0, 10**9, "", "JSON"),
        (1000, 10**9, "", "JSON"),
        (0, 10**9, "[]", "pddl_domain"),
        ("\\n (openable", "\\n (openable", "\\n (flyable", "flyable"),
        ('"solvable": true', '"solvable": true', '"solvable": false', "solvable"),
        ("PutObject", "PutObject", "ThrowObject", "not ALFWorld's"),
    ],
)
def test_a_damaged_game_is_skipped_with_the_reason(
    root: Path, start: int | str, end: int | str, instead: str, reason: str
) -> None:
    ids = trials(root)
    index = Index(root)
    index.entries(ids)
    path = root / ids[1] / GAME
    text = path.read_text()
    cut = text.index(start) if isinstance(start, str) else start
    rest = cut + len(end) if isinstance(end, str) else end
    rewrite(path, text[:cut] + instead + text[rest:])
    entries = index.entries(ids)
    assert [bool(entry.problem) for entry in entries] == [False, True, False, False]
    assert reason in entries[1].problem


def test_a_file_that_is_not_text_is_skipped_with_the_reason(root: Path) -> None:
    path = root / trials(root)[0] / GAME
    path.write_bytes(b"\xff\xfe\x00game")
    assert "cannot be read" in Index(root).entries(trials(root))[0].problem


def test_a_missing_game_is_named(root: Path) -> None:
    [entry] = Index(root).entries(["mine/x/y"])
    assert entry.problem == f"no {GAME}"


@pytest.mark.parametrize("content", [b"this is no database", b"SQLite format 3\x00 and no more"])
def test_a_damaged_index_is_made_anew(root: Path, cache: Path, content: bytes) -> None:
    expected = Index(root).entries(trials(root))
    [file] = cache.glob("*.sqlite")
    file.write_bytes(content * 100)
    assert Index(root).entries(trials(root)) == expected


@pytest.mark.parametrize("damage", ["pages", "columns", "house"])
def test_an_index_that_is_damaged_inside_is_made_anew(root: Path, cache: Path, damage: str) -> None:
    ids = trials(root)
    expected = Index(root).entries(ids)
    [file] = cache.glob("*.sqlite")
    if damage == "pages":
        whole = file.read_bytes()
        file.write_bytes(whole[:4096] + b"\xab" * (len(whole) - 4096))
    else:
        base = sqlite3.connect(file)
        with base:
            if damage == "columns":
                base.execute("ALTER TABLE games DROP COLUMN objective")
            else:
                base.execute("UPDATE games SET house = x'00ff'")
        base.close()
    index = Index(root)
    assert index.entries(ids) == expected
    assert [index.house(id).fingerprint for id in ids] == [entry.fingerprint for entry in expected]
    assert Index(root).entries(ids) == expected


def test_an_index_that_may_only_be_read_is_left_alone(root: Path, cache: Path) -> None:
    ids = trials(root)
    Index(root).entries(ids[:2])
    [file] = cache.glob("*.sqlite")
    holder = sqlite3.connect(file)
    holder.execute("PRAGMA query_only = ON")
    before = file.read_bytes()
    index = Index(root)
    index._do("PRAGMA query_only = ON")  # as if its owner were somebody else
    assert [entry.problem for entry in index.entries(ids)] == [""] * 4
    assert index.house(ids[3]).objective
    assert file.read_bytes() == before
    holder.close()


def test_what_could_not_be_read_once_is_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    ids = trials(root)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", refuse)
        problems = {entry.problem for entry in Index(root).entries(ids)}
    assert problems == {"it cannot be read: Permission denied"}
    assert [entry.problem for entry in Index(root).entries(ids)] == [""] * 4


def test_an_index_of_another_version_is_made_anew(root: Path, cache: Path) -> None:
    expected = Index(root).entries(trials(root))
    [file] = cache.glob("*.sqlite")
    with sqlite3.connect(file) as base:
        base.execute("UPDATE games SET objective = 'old'")
        base.execute("PRAGMA user_version = 7")
    base.close()
    assert Index(root).entries(trials(root)) == expected


def test_without_a_place_for_the_index_games_are_played_all_the_same(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    index = Index(root)
    assert index.house(trials(root)[0]).objective
    assert "cannot be used" in caplog.text


def test_many_threads_may_read_at_once(root: Path) -> None:
    index, ids = Index(root), trials(root)
    with ThreadPoolExecutor(16) as threads:
        read = list(threads.map(index.house, ids * 50))
    assert [house.fingerprint for house in read] == [index.house(id).fingerprint for id in ids] * 50
