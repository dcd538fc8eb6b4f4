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
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from evoharness_alfworld.simulator import GameError, House, archive, interpret, parse

GAME = "game.tw-pddl"
VERSION = 200 + archive.FORMAT
"""Changes whenever what is kept of a file does; an index of another version is made anew."""

HOUSES = 512
"""Houses that are kept in memory for the next game of the same file; each takes some 30 kB."""

_TABLE = """CREATE TABLE IF NOT EXISTS games (
    id TEXT PRIMARY KEY, size INTEGER, time INTEGER, objective TEXT, fingerprint TEXT,
    problem TEXT, house BLOB
)"""
_UNUSABLE = tuple(
    f"SQLITE_{kind}" for kind in ("READONLY", "BUSY", "LOCKED", "FULL", "IOERR", "CANTOPEN", "PERM")
)
"""Errors that are not the index's own fault: it may serve others, so it is left alone."""
_log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """What is known of one trial folder."""

    id: str
    objective: str
    """Empty where there is no game."""
    fingerprint: str
    """Of its house; empty where there is none."""
    problem: str
    """Why there is no game; empty where there is one."""


class _Row(NamedTuple):
    """What the index keeps of one game file; size and time tell whether it is still that file."""

    id: str
    size: int
    time: int
    objective: str
    fingerprint: str
    problem: str
    house: bytes

    def entry(self) -> Entry:
        return Entry(self.id, self.objective, self.fingerprint, self.problem)


class Index:
    """The games below one folder, such as `json_2.1.1`. May be used from several threads."""

    def __init__(self, root: Path, *, keep: bool = True) -> None:
        """Open the index of a folder.

        Args:
            root: the folder with the splits.
            keep: in the user's cache folder, for other processes; else in memory.
        """
        self.root = root
        self._lock = threading.RLock()
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        file = user_cache_path("evoharness") / "alfworld" / f"{name}.sqlite"
        self._file: Path | None = file if keep else None
        self._base: sqlite3.Connection | None = None
        self._load = lru_cache(maxsize=HOUSES)(self._loaded)

    def entries(self, trials: Sequence[str]) -> list[Entry]:
        """Return what is known of trial folders, after reading those that are new or changed.

        Args:
            trials: their ids, `split/kind/trial`.
        """
        rows = self._do("SELECT id, size, time, objective, fingerprint, problem, x'' FROM games")
        known = {row[0]: _Row(*row) for row in rows}
        found: dict[str, Entry] = {}
        changed: list[str] = []
        for id in trials:
            try:
                stamp = _stamp(f"{self.root}/{id}/{GAME}")
            except (FileNotFoundError, NotADirectoryError):
                found[id] = Entry(id, "", "", f"no {GAME}")
            except OSError as error:
                found[id] = Entry(id, "", "", _unreadable(error))
            else:
                if id in known and known[id][1:3] == stamp:
                    found[id] = known[id].entry()
                else:
                    changed.append(id)
        found.update((row.id, row.entry()) for row in self._read(changed))
        return [found[id] for id in trials]

    def house(self, id: str) -> House:
        """Return the house of a game.

        Raises:
            FileNotFoundError: there is no such game file.
            GameError: it cannot be played; says which file, and why.
        """
        path = f"{self.root}/{id}/{GAME}"
        try:
            stamp = _stamp(path)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(f"there is no game {path}") from None
        except OSError as error:
            raise GameError(f"{path} cannot be played: {_unreadable(error)}") from None
        return self._load(id, *stamp)

    def _loaded(self, id: str, size: int, time: int) -> House:
        rows = self._do(
            "SELECT * FROM games WHERE id = ? AND size = ? AND time = ?", id, size, time
        )
        for again in (False, True):
            [row] = [_Row(*row) for row in rows] if rows and not again else self._read([id])
            if row.problem:
                raise GameError(f"{self.root}/{id}/{GAME} cannot be played: {row.problem}")
            with suppress(zlib.error, ValueError, TypeError):  # else what was kept is damaged
                return archive.loads(zlib.decompress(row.house).decode())
        raise GameError(f"{self.root}/{id}/{GAME} cannot be kept in the index")

    def _read(self, ids: Sequence[str]) -> list[_Row]:
        """Read game files and keep what they say."""
        rows = [_row_of(id, self.root / id / GAME) for id in _shown(ids)]
        for row in rows:
            if row.size >= 0:
                self._do("INSERT OR REPLACE INTO games VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
        self._do("COMMIT" if rows else "SELECT 1")
        return rows

    def _do(self, command: str, *values: Any) -> list[Any]:
        """Run a command. A damaged index is made anew; one that cannot be used is replaced by one
        in memory: it holds nothing that the game files do not.
        """
        with self._lock:
            for _ in range(3):
                try:
                    if self._base is None:
                        self._base = _connect(self._file)
                    if command == "COMMIT":
                        self._base.commit()
                        return []
                    return self._base.execute(command, values).fetchall()
                except (OSError, sqlite3.Error) as error:
                    self._give_up(error)
            raise OSError(f"the index of games {self._file} cannot be used; delete it")

    def _give_up(self, error: Exception) -> None:
        if self._base is not None:
            with suppress(sqlite3.Error):
                self._base.close()
            self._base = None
        kind = getattr(error, "sqlite_errorname", "SQLITE_CANTOPEN")
        if self._file is not None and not kind.startswith(_UNUSABLE):
            with suppress(OSError):
                self._file.unlink()
                return
        _log.warning("the index of games %s cannot be used: %s", self._file, error)
        self._file = None


@lru_cache(maxsize=8)
def index_of(root: Path) -> Index:
    """Return this process's index of a folder."""
    return Index(root)


def _row_of(id: str, path: Path) -> _Row:
    try:
        # The stamp is taken first: a file that changes while it is read is read again next time.
        size, time = _stamp(str(path))
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        # That may pass, while the file stays as it is: nothing to keep.
        return _Row(id, -1, 0, "", "", _unreadable(error), b"")
    except UnicodeDecodeError as error:
        return _Row(id, size, time, "", "", f"it cannot be read: {error}", b"")  # pyright: ignore[reportPossiblyUnboundVariable]
    try:
        game = parse(text)
        house = interpret(game)
        if game.get("solvable") is not True:
            raise GameError("it is not marked as solvable")
    except GameError as error:
        return _Row(id, size, time, "", "", str(error), b"")
    kept = zlib.compress(archive.dumps(house).encode())
    return _Row(id, size, time, house.objective, house.fingerprint, "", kept)


def _unreadable(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"


def _stamp(path: str) -> tuple[int, int]:
    facts = os.stat(path)
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


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(path or ":memory:", timeout=10, check_same_thread=False)
    with base:
        if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            base.execute("DROP TABLE IF EXISTS games")
            base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute(_TABLE)
    return base
