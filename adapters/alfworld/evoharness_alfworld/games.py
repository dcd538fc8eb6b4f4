"""Games on disk: ALFWORLD_DATA/json_2.1.1/SPLIT/TYPE-…/TRIAL/game.tw-pddl."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evoharness.core.environment import Task
from evoharness_alfworld.index import GAME, Index, index_of
from evoharness_alfworld.simulator import House

SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""The official splits and their number of playable games."""
VARIABLE = "ALFWORLD_DATA"
FOLDER = "json_2.1.1"

_HOW = f"set {VARIABLE} to the folder that holds {FOLDER}, or run `evoharness alfworld download`"


@dataclass(frozen=True)
class Found:
    """The games of one split, and the trial folders that have none, with the reason."""

    tasks: tuple[Task, ...]
    skipped: tuple[tuple[str, str], ...]


def find(split: str, data: Path | None = None) -> Found:
    """Find the games of a split, sorted by id.

    A user's copy may have `traj_data.json` files and the folders of unsupported kinds beside the
    games; those are skipped with a reason, and so are games that cannot be read or played. What is
    found is kept for the process.

    Args:
        split: `train`, `valid_seen`, `valid_unseen`, or another folder's name.
        data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.

    Raises:
        FileNotFoundError: there are no games; the message says what is missing and what to do.
    """
    folder = _root(data) / split
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: {_HOW}")
    found = _scanned(folder)
    if not found.tasks:
        reasons = Counter(reason for _, reason in found.skipped).most_common(3)
        why = ", ".join(reason for reason, _ in reasons) or "it is empty"
        raise FileNotFoundError(f"{folder} holds no playable game ({why}): {_HOW}")
    return found


def scan(folder: Path, index: Index) -> Found:
    """Find the games in a split's folder."""
    trials = sorted(
        f"{folder.name}/{kind.name}/{trial.name}"
        for kind in os.scandir(folder)
        if kind.is_dir()
        for trial in os.scandir(kind)
        if trial.is_dir()
    )
    # The benchmark leaves these out: moving containers and sliced objects.
    unsupported = [id for id in trials if "movable" in _kind(id) or "Sliced" in _kind(id)]
    supported = sorted(set(trials) - set(unsupported))
    entries = index.entries(supported)
    tasks = [
        Task(entry.id, entry.objective, _kind(entry.id).partition("-")[0], {"game": entry.id})
        for entry in entries
        if not entry.problem
    ]
    skipped = [(entry.id, entry.problem) for entry in entries if entry.problem]
    skipped += [(id, "of an unsupported kind") for id in unsupported]
    return Found(tuple(tasks), tuple(sorted(skipped)))


def splits(data: Path | None = None) -> list[str]:
    """Return the names of the folders that may hold games, official or not."""
    root = _root(data)
    return sorted(one.name for one in root.iterdir() if one.is_dir()) if root.is_dir() else []


def path_of(task_id: str, data: Path | None = None) -> Path:
    """Return the game file of a task.

    Raises:
        FileNotFoundError: it is not there; the message says what to do.
    """
    path = _root(data) / Path(*task_id.split("/")) / GAME
    if not path.is_file():
        raise FileNotFoundError(f"there is no game {path}: {_HOW}")
    return path


def house(task_id: str, data: Path | None = None) -> House:
    """Return the house of a task; games of one file share it.

    Raises:
        FileNotFoundError: the file is not there; the message says what to do.
        GameError: the file is no game of ALFWorld; says which one, and why.
    """
    try:
        return index_of(_root(data)).house(task_id)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}: {_HOW}") from None


def home(data: Path | None) -> Path:
    """Return the folder that holds `json_2.1.1`: the one given, else ALFWORLD_DATA's, else the
    one where upstream's downloader puts it.
    """
    return data or Path(os.environ.get(VARIABLE) or "~/.cache/alfworld")


def _root(data: Path | None) -> Path:
    return _resolved(home(data)) / FOLDER


@lru_cache(maxsize=16)
def _resolved(folder: Path) -> Path:
    return folder.expanduser().resolve()


@lru_cache(maxsize=16)
def _scanned(folder: Path) -> Found:
    return scan(folder, index_of(folder.parent))


def _kind(id: str) -> str:
    return id.split("/")[1]
