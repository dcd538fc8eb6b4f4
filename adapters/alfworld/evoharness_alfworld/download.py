"""Fetches the official games, and checks that they are complete and unchanged."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evoharness_alfworld.games import FOLDER, SPLITS, VARIABLE, Found, path_of, scan
from evoharness_alfworld.index import Index

DIGEST = "580f243a3c6adb69d7d753519041fc8587033b1a788fcb32388a60a8136a74a0"
"""SHA-256 over the official games, as `digest` computes it."""


def fetch(data: Path, *, force: bool = False) -> None:
    """Fetch the official games with upstream's downloader, check them, and put them in place.

    Nothing is put in place before every game is there and the checksum over all of them agrees.

    Args:
        data: the folder that is to hold `json_2.1.1`.
        force: replace games that are there already.

    Raises:
        ValueError: games are there already.
        OSError: they cannot be fetched, or are not complete.
        ImportError: upstream's downloader is not installed.
    """
    if (data / FOLDER).exists() and not force:
        raise ValueError(f"{data / FOLDER} is there already; --force replaces it")
    data.mkdir(parents=True, exist_ok=True)
    upstream = _upstream(data)
    with tempfile.TemporaryDirectory(dir=data, prefix=".download-") as folder:
        staging = Path(folder)
        try:
            archive = upstream.download(upstream.TW_PDDL_FILES_URL, dst=str(staging))
            upstream.unzip(archive, dst=str(staging))
        except Exception as error:
            raise OSError(
                f"the games cannot be fetched from {upstream.TW_PDDL_FILES_URL}: "
                f"{type(error).__name__}: {error}"
            ) from error
        check(staging)
        _put_in_place(staging / FOLDER, data / FOLDER)


def check(data: Path) -> None:
    """Check that a folder holds the official games, all of them and unchanged.

    Raises:
        OSError: some are missing or differ; says which split.
    """
    root = data / FOLDER
    index = Index(root, keep=False)
    found: list[Found] = []
    for split, number in SPLITS.items():
        here = scan(root / split, index) if (root / split).is_dir() else Found((), ())
        if len(here.tasks) != number:
            raise OSError(
                f"the download is not complete: {split} has {len(here.tasks)} games "
                f"instead of {number}"
            )
        found.append(here)
    if digest(path_of(task.id, data) for one in found for task in one.tasks) != DIGEST:
        raise OSError("the checksum of the downloaded games differs from the official games'")


def digest(paths: Iterable[Path]) -> str:
    """Return a digest over what decides how games play: objective, problem, domain, grammar.

    It does not depend on how the JSON is written.
    """
    total = hashlib.sha256()
    for path in paths:
        game: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for key in ("pddl_domain", "grammar", "pddl_problem"):
            total.update(hashlib.sha256(game[key].encode()).digest())
    return total.hexdigest()


def _put_in_place(new: Path, target: Path) -> None:
    old = target.with_name(f".{target.name}.old-{os.getpid()}")
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _upstream(data: Path) -> Any:
    """Load upstream's downloader, which is installed as a script."""
    script = Path(sysconfig.get_path("scripts")) / "alfworld-download"
    if not script.is_file():
        raise ImportError(
            'upstream\'s downloader is not installed: pip install "evoharness[alfworld]"'
        )
    # Importing alfworld makes a folder in the user's home unless it is told of one.
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(data)
    loader = importlib.machinery.SourceFileLoader("alfworld_download", str(script))
    spec = importlib.util.spec_from_loader("alfworld_download", loader)
    if spec is None:
        raise ImportError(f"{script} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
    return module
