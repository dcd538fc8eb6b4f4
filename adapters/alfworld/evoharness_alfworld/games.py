"""Games on disk: ALFWORLD_DATA/json_2.1.1/SPLIT/TYPE-…/TRIAL/game.tw-pddl."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
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
    games; those are skipped with a reason, and so are games that cannot be read or played.

    Args:
        split: `train`, `valid_seen`, `valid_unseen`, or another folder's name.
        data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.

    Raises:
        FileNotFoundError: there are no games; the message says what is missing and what to do.
    """
    folder = _root(data) / split
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}{_mistake(data)}: {_HOW}")
    found = scan(folder, index_of(folder.parent))
    if not found.tasks:
        reasons = Counter(reason for _, reason in found.skipped).most_common(3)
        why = ", ".join(reason for reason, _ in reasons) or "it is empty"
        raise FileNotFoundError(f"{folder} holds no playable game ({why}): {_HOW}")
    return found


def scan(folder: Path, index: Index) -> Found:
    """Find the games in a split's folder; there may be none."""
    trials, skipped = _trials(folder)
    # The benchmark leaves these out: moving containers and sliced objects.
    unsupported = [id for id in trials if "movable" in _kind(id) or "Sliced" in _kind(id)]
    entries = index.entries(sorted(set(trials) - set(unsupported)))
    tasks = [
        Task(
            entry.id,
            entry.objective,
            _kind(entry.id).partition("-")[0],
            # With the fingerprint, so that whoever has played it notices another game in its place.
            {"game": entry.id, "house": entry.fingerprint},
        )
        for entry in entries
        if not entry.problem
    ]
    skipped += [(entry.id, entry.problem) for entry in entries if entry.problem]
    skipped += [(id, "of an unsupported kind") for id in unsupported]
    return Found(tuple(tasks), tuple(sorted(skipped)))


def _trials(folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the ids of a split's trial folders, and what cannot be looked into, with the reason."""
    trials: list[str] = []
    skipped: list[tuple[str, str]] = []

    def inside(path: str, id: str) -> list[tuple[str, str]]:
        try:
            found = [(one.path, f"{id}/{one.name}") for one in os.scandir(path) if _folder(one)]
        except OSError as error:
            skipped.append((id, f"it cannot be looked into: {error.strerror}"))
            return []
        odd = [name for _, name in found if not name.isprintable()]
        skipped.extend((ascii(name)[1:-1], "its name is not UTF-8 text") for name in odd)
        return [(path, name) for path, name in found if name not in odd]

    for path, id in inside(str(folder), folder.name):
        trials += [trial for _, trial in inside(path, id)]
    return trials, skipped


def _folder(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith("."):
        return False
    try:
        return entry.is_dir()
    except OSError:  # A link that leads in a circle.
        return False


def splits(data: Path | None = None) -> list[str]:
    """Return the names of the folders that may hold games, official or not."""
    root = _root(data)
    return sorted(one.name for one in os.scandir(root) if _folder(one)) if root.is_dir() else []


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
    return home(data).expanduser().absolute() / FOLDER


def _mistake(data: Path | None) -> str:
    """Return what is often wrong with the folder that is named."""
    named = home(data).expanduser()
    if named.is_file():
        return f" ({named} is a file)"
    if named.name == FOLDER:
        return f" (name the folder that holds {FOLDER}, not {FOLDER} itself)"
    return ""


def _kind(id: str) -> str:
    return id.split("/")[1]
