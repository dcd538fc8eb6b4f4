"""What game files say, kept in a small SQLite file, so that each is read once.

The index lies in the user's cache folder, one file for each folder of games. A game file that has
another size or another time than when it was read is read again. Where the index cannot be written
it is kept in memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from evoharness_alfworld.simulator import GameError, House, archive, interpret, parse

GAME = "game.tw-pddl"
VERSION = 100 + archive.FORMAT
"""Changes whenever what is kept of a file does; an index of another version is made anew."""

HOUSES = 512
"""Houses that are kept in memory for the next game of the same file; each takes some 30 kB."""

_TABLE = """CREATE TABLE IF NOT EXISTS games (
    id TEXT PRIMARY KEY, size INTEGER, time INTEGER, objective TEXT, house BLOB, problem TEXT
)"""
_log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """What is known of one trial folder."""

    id: str
    objective: str
    """Empty where there is no game."""
    problem: str
    """Why there is no game; empty where there is one."""


class Index:
    """The games below one folder, such as `json_2.1.1`. May be used from several threads."""

    def __init__(self, root: Path, *, keep: bool = True) -> None:
        """Open the index of a folder.

        Args:
            root: the folder with the splits.
            keep: in the user's cache folder, for other processes; else in memory.
        """
        self.root = root
        self._lock = threading.Lock()
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        file = user_cache_path("evoharness") / "alfworld" / f"{name}.sqlite"
        self._base = _connect(file) if keep else _prepared(":memory:")
        self._load = lru_cache(maxsize=HOUSES)(self._loaded)

    def entries(self, trials: Sequence[str]) -> list[Entry]:
        """Return what is known of trial folders, after reading those that are new or changed.

        Args:
            trials: their ids, `split/kind/trial`.
        """
        with self._lock:
            known = {
                id: (size, time, Entry(id, objective, problem))
                for id, size, time, objective, problem in self._base.execute(
                    "SELECT id, size, time, objective, problem FROM games"
                )
            }
        found: dict[str, Entry] = {}
        changed: list[str] = []
        for id in trials:
            stamp = _stamp(f"{self.root}/{id}/{GAME}")
            if stamp is None:
                found[id] = Entry(id, "", f"no {GAME}")
            elif id in known and known[id][:2] == stamp:
                found[id] = known[id][2]
            else:
                changed.append(id)
        found.update((entry.id, entry) for entry in self._read(changed))
        return [found[id] for id in trials]

    def house(self, id: str) -> House:
        """Return the house of a game.

        Raises:
            FileNotFoundError: there is no such game file.
            GameError: it cannot be played; says which file, and why.
        """
        path = f"{self.root}/{id}/{GAME}"
        stamp = _stamp(path)
        if stamp is None:
            raise FileNotFoundError(f"there is no game {path}")
        return self._load(id, *stamp)

    def _loaded(self, id: str, size: int, time: int) -> House:
        row = self._row(id)
        if row is None or row[:2] != (size, time):
            self._read([id])
            row = self._row(id)
        if row is None or row[3]:
            why = row[3] if row else "it is gone"
            raise GameError(f"{self.root}/{id}/{GAME} cannot be played: {why}")
        return archive.loads(zlib.decompress(row[2]).decode())

    def _row(self, id: str) -> tuple[int, int, bytes, str] | None:
        with self._lock:
            return self._base.execute(
                "SELECT size, time, house, problem FROM games WHERE id = ?", (id,)
            ).fetchone()

    def _read(self, ids: Sequence[str]) -> list[Entry]:
        """Read game files and keep what they say."""
        rows = [_row_of(id, self.root / id / GAME) for id in _shown(ids)]
        with self._lock, self._base:
            self._base.executemany("INSERT OR REPLACE INTO games VALUES (?, ?, ?, ?, ?, ?)", rows)
        return [Entry(row[0], row[3], row[5]) for row in rows]


@lru_cache(maxsize=8)
def index_of(root: Path) -> Index:
    """Return this process's index of a folder."""
    return Index(root)


def _row_of(id: str, path: Path) -> tuple[str, int, int, str, bytes, str]:
    # The stamp is taken first: a file that changes while it is read is read again next time.
    size, time = _stamp(str(path)) or (0, 0)
    try:
        game = parse(path.read_text(encoding="utf-8"))
        house = interpret(game)
        if game.get("solvable") is not True:
            raise GameError("it is not marked as solvable")
    except GameError as error:
        return id, size, time, "", b"", str(error)
    except (OSError, UnicodeDecodeError) as error:
        return id, size, time, "", b"", f"it cannot be read: {error}"
    return id, size, time, house.objective, zlib.compress(archive.dumps(house).encode()), ""


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _shown(ids: Sequence[str]) -> Sequence[str]:
    """Show progress where someone waits for it: the training games take some seconds, once."""
    if len(ids) < 500:
        return ids
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    note = "reading games, once"
    return list(ids) if not screen.is_terminal else track(ids, note, console=screen, transient=True)  # pyright: ignore[reportReturnType]


def _connect(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _prepared(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            path.unlink()  # It is no database, or a damaged one.
            return _prepared(path)
    except (OSError, sqlite3.Error) as error:
        _log.warning("the index of games cannot be kept in %s (%s); it is made anew", path, error)
        return _prepared(":memory:")


def _prepared(path: Path | str) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=60, check_same_thread=False)
    with base:
        if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            base.execute("DROP TABLE IF EXISTS games")
            base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute(_TABLE)
    return base
