"""The official games on disk: ALFWORLD_DATA/json_2.1.1/SPLIT/TYPE-…/TRIAL/game.tw-pddl."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evoharness.core.environment import Task

SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""The official splits and their number of playable games."""
VARIABLE = "ALFWORLD_DATA"
FOLDER = "json_2.1.1"
GAME = "game.tw-pddl"

_OBJECTIVE = re.compile(r"Your task is to: ([^\"\\]+)")
_SOLVABLE = re.compile(r"\"solvable\"\s*:\s*true")
_HOW = f"set {VARIABLE} to the folder that holds {FOLDER}, or run `evoharness alfworld download`"


@dataclass(frozen=True)
class Found:
    """The games of one split, and the trial folders that have none, with the reason."""

    tasks: tuple[Task, ...]
    skipped: tuple[tuple[str, str], ...]


def find(split: str, data: Path | None = None) -> Found:
    """Find the games of an official split, sorted by id.

    A user's copy may have `traj_data.json` files and the folders of unsupported kinds beside the
    games; those are skipped with a reason. What is read is kept for the process.

    Args:
        split: `train`, `valid_seen` or `valid_unseen`.
        data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.

    Raises:
        FileNotFoundError: there are no games; the message says what is missing and what to do.
    """
    folder = _root(data) / split
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: {_HOW}")
    found = _read_split(folder)
    if not found.tasks:
        reasons = ", ".join(sorted({reason for _, reason in found.skipped})) or "it is empty"
        raise FileNotFoundError(f"{folder} holds no playable game ({reasons}): {_HOW}")
    return found


def path_of(task_id: str, data: Path | None = None) -> Path:
    """Return the game file of an official task.

    Raises:
        FileNotFoundError: it is not there; the message says what to do.
    """
    path = _root(data) / Path(*task_id.split("/")) / GAME
    if not path.is_file():
        raise FileNotFoundError(f"there is no game {path}: {_HOW}")
    return path


def home(data: Path | None) -> Path:
    """Return the folder that holds `json_2.1.1`: the one given, else ALFWORLD_DATA's, else the
    one where upstream's downloader puts it.
    """
    return data or Path(os.environ.get(VARIABLE) or "~/.cache/alfworld")


def _root(data: Path | None) -> Path:
    return home(data).expanduser().resolve() / FOLDER


@lru_cache(maxsize=16)
def _read_split(folder: Path) -> Found:
    trials = sorted(trial for kind in folder.iterdir() if kind.is_dir() for trial in kind.iterdir())
    with ThreadPoolExecutor() as pool:
        read = list(pool.map(_read_trial, (trial for trial in trials if trial.is_dir())))
    tasks = tuple(item for item in read if isinstance(item, Task))
    skipped = tuple(item for item in read if not isinstance(item, Task))
    return Found(tasks, skipped)


def _read_trial(trial: Path) -> Task | tuple[str, str]:
    """Return a trial folder's task, or its id and why it has none."""
    kind = trial.parent.name
    task_id = "/".join(trial.parts[-3:])
    # The benchmark leaves these out: moving containers and sliced objects.
    if "movable" in kind or "Sliced" in kind:
        return task_id, "of an unsupported kind"
    path = trial / GAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return task_id, f"no {GAME}"
    except (OSError, UnicodeDecodeError) as error:
        return task_id, f"{GAME} cannot be read: {error}"
    if not _SOLVABLE.search(text):
        return task_id, "not solvable"
    objective = _OBJECTIVE.search(text)
    if objective is None:
        return task_id, f"{GAME} names no task"
    return Task(task_id, objective[1].strip(), kind.partition("-")[0], {"game": task_id})
