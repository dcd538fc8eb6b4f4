"""`evoharness alfworld …`: the official games, and the table learned from them."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import json
import multiprocessing
import os
import random
import shutil
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

import typer

from evoharness_alfworld.games import FOLDER, SPLITS, VARIABLE, Found, find, home, path_of

DIGEST = "580f243a3c6adb69d7d753519041fc8587033b1a788fcb32388a60a8136a74a0"
"""SHA-256 over the official games, as `digest` computes it."""

app = typer.Typer(no_args_is_help=True, help="The official ALFWorld games.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command()
def games(
    split: Annotated[
        str | None, typer.Option("--split", help=f"One of {', '.join(SPLITS)}; default: all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the games of each split, and say which folders have none and why."""
    if split is not None and split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; the splits are {', '.join(SPLITS)}")
    found = {name: find(name) for name in ([split] if split else SPLITS)}
    if as_json:
        facts = {
            name: {"games": len(f.tasks), "official": SPLITS[name], "skipped": dict(f.skipped)}
            for name, f in found.items()
        }
        typer.echo(json.dumps({"folder": str(home(None)), "splits": facts}))
        return
    for name, one in found.items():
        typer.echo(f"{name}: {len(one.tasks)} games, of {SPLITS[name]} official ones")
        for reason in sorted({reason for _, reason in one.skipped}):
            number = sum(why == reason for _, why in one.skipped)
            typer.echo(f"  {number} folders skipped: {reason}")


@app.command()
def download(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            help=f"Where {FOLDER} goes; default: {VARIABLE}, else ~/.cache/alfworld.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace games that are there already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch the official games with upstream's downloader, check them, and put them in place.

    Nothing is put in place before every game is there and the checksum over all of them agrees.
    """
    target = (data_dir or home(None)).expanduser().resolve()
    if (target / FOLDER).exists() and not force:
        raise ValueError(f"{target / FOLDER} is there already; --force replaces it")
    target.mkdir(parents=True, exist_ok=True)
    upstream = _upstream(target)
    with tempfile.TemporaryDirectory(dir=target, prefix=".download-") as folder:
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
        _put_in_place(staging / FOLDER, target / FOLDER)
    if as_json:
        typer.echo(json.dumps({"folder": str(target), "games": sum(SPLITS.values())}))
        return
    typer.echo(f"{sum(SPLITS.values())} games are in {target / FOLDER}")
    if home(None).expanduser().resolve() != target:
        typer.echo(f"now: export {VARIABLE}={target}")


@app.command()
def priors(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
) -> None:
    """Learn from the training games where things usually are, and write the table.

    The table that the package ships was made by this command.
    """
    from rich.progress import track

    from evoharness_alfworld import priors as learned

    paths = [path_of(task.id) for task in find("train").tasks]
    table = learned.build(track(paths, description="reading training games"))
    out.write_text(learned.dumps(table), encoding="utf-8")
    typer.echo(f"{out}: {len(table['holds'])} object classes from {len(paths)} games")


@app.command()
def compare_engines(
    out: Annotated[Path, typer.Option("--out", help="The report; called again, it goes on.")],
    split: Annotated[
        str | None, typer.Option("--split", help="One split; default: all official games.")
    ] = None,
    games: Annotated[
        int | None, typer.Option("--games", min=1, help="A seeded sample of so many games.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Other random actions.")] = 0,
    steps: Annotated[int, typer.Option("--steps", min=0, help="Random actions a game.")] = 30,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Play games in both engines and compare what they say, byte for byte.

    Each game's walkthrough is played, then random actions: possible, impossible and malformed
    ones. Exit code 1 says that there are differences; the report lists them.
    """
    from rich.progress import track

    from evoharness_alfworld.equality import Report, compare_file

    tasks = [task for name in ([split] if split else SPLITS) for task in find(name).tasks]
    if games is not None:
        tasks = random.Random(seed).sample(tasks, min(games, len(tasks)))
    report = Report(out, seed, steps)
    left = [task.id for task in tasks if task.id not in report.lines]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=50) as pool:
        waiting = [pool.submit(compare_file, id, path_of(id), seed, steps) for id in left]
        try:
            for done in track(as_completed(waiting), "comparing", total=len(left), disable=as_json):
                report.add(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    totals = report.finish()
    typer.echo(json.dumps(totals) if as_json else "\n".join(f"{k}: {v}" for k, v in totals.items()))
    if totals["differences"] or totals["not_compared"]:
        raise typer.Exit(1)


def check(data: Path) -> None:
    """Check that a folder holds the official games, all of them and unchanged.

    Raises:
        OSError: some are missing or differ; says which split.
    """
    found: list[Found] = []
    for split, number in SPLITS.items():
        try:
            found.append(find(split, data))
        except FileNotFoundError as error:
            raise OSError(f"the download is not complete: {error}") from error
        if len(found[-1].tasks) != number:
            raise OSError(
                f"the download is not complete: {split} has {len(found[-1].tasks)} games "
                f"instead of {number}"
            )
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
