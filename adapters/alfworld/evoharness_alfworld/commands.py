"""`evoharness alfworld …`: official and new games, what is learned from them, both engines."""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from evoharness_alfworld.games import (
    FOLDER,
    SPLITS,
    VARIABLE,
    find,
    home,
    house,
    path_of,
    scan,
    splits,
)
from evoharness_alfworld.index import GAME, index_of

_NAME = re.compile(r"\w[\w.-]*")

app = typer.Typer(no_args_is_help=True, help="ALFWorld games, official and new.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command()
def games(
    split: Annotated[
        str | None, typer.Option("--split", help="One split; default: all there are.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the games of each split, and say which folders have none and why."""
    there = splits()
    if split is not None and split not in there and split not in SPLITS:
        listed = ", ".join(dict.fromkeys([*SPLITS, *there]))
        raise ValueError(f"there is no split {split!r}; the splits are {listed}")
    if not there:
        find(split or "train")  # which says what is missing, and what to do
    root = home(None).expanduser().absolute() / FOLDER
    found = {name: scan(root / name, index_of(root)) for name in ([split] if split else there)}
    if as_json:
        facts = {
            name: {"games": len(f.tasks), "official": SPLITS.get(name), "skipped": dict(f.skipped)}
            for name, f in found.items()
        }
        typer.echo(json.dumps({"folder": str(home(None)), "splits": facts}))
        return
    for name, one in found.items():
        official = f", of {SPLITS[name]} official ones" if name in SPLITS else ""
        typer.echo(f"{name}: {len(one.tasks)} games{official}")
        for reason, number in sorted(Counter(reason for _, reason in one.skipped).items()):
            example = next(id for id, why in one.skipped if why == reason)
            typer.echo(f"  {number} skipped, such as {example}: {reason}")


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
    """Fetch the official games with upstream's downloader, check them, and put them in place."""
    from evoharness_alfworld.download import fetch

    target = (data_dir or home(None)).expanduser().resolve()
    fetch(target, force=force)
    if as_json:
        typer.echo(json.dumps({"folder": str(target), "games": sum(SPLITS.values())}))
        return
    typer.echo(f"{sum(SPLITS.values())} games are in {target / FOLDER}")
    if home(None).expanduser().resolve() != target:
        typer.echo(f"now: export {VARIABLE}={target}")


@app.command()
def priors(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    as_json: AsJson = False,
) -> None:
    """Learn from the training games where things usually are, and write the table.

    The table that the package ships was made by this command.
    """
    from evoharness_alfworld import priors as learned

    _learn(out, learned.build, learned.dumps, as_json=as_json)


@app.command()
def generate(
    out: Annotated[
        Path, typer.Option("--out", help=f"Folder that {FOLDER} is made in, or added to.")
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="How many games.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Games of another seed are others.")] = 0,
    first: Annotated[
        int, typer.Option("--first", min=0, help="Games of a seed are numbered; begin here.")
    ] = 0,
    split: Annotated[str, typer.Option("--split", help="The split's name.")] = "generated",
    kind: Annotated[
        str, typer.Option("--type", help="One task type; default: as in the training games.")
    ] = "",
    receptacles: Annotated[
        float,
        typer.Option("--receptacles", help="0.1 to 2: receptacles, against the usual number."),
    ] = 1.0,
    distractors: Annotated[
        float,
        typer.Option("--distractors", help="0 to 5: needless objects, against the usual number."),
    ] = 1.0,
    moved: Annotated[
        float,
        typer.Option("--moved", help="0 to 1: share of objects against habit; 1 reverses habits."),
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Make new games like the official ones, each of which can be won.

    They are game files that the stock engine plays as well. The same options make the same games,
    under the same names: seed, number and what differs from the usual are in the name.

    [dim]evoharness alfworld generate --n 1000 --seed 7 --out games[/dim]

    [dim]ALFWORLD_DATA=games evoharness eval alfworld --split generated --policy expert[/dim]
    """
    from rich.progress import track

    from evoharness_alfworld import generator

    if not _NAME.fullmatch(split) or split in ("demo", *SPLITS):
        raise ValueError(f"--split {split!r} is no name for generated games; say e.g. generated")
    knobs = {"receptacles": receptacles, "distractors": distractors, "moved": moved}
    generator.Recipe(seed, first, kind, **knobs)  # which says what is wrong with them
    folder = out / FOLDER / split
    types: Counter[str] = Counter()
    try:
        for number in track(range(first, first + n), "generating", disable=as_json):
            made = generator.generate(generator.Recipe(seed, number, kind, **knobs))
            generator.write(made, folder)
            types[made.quest.kind] += 1
    except KeyboardInterrupt:
        typer.echo(f"stopped: {types.total()} of {n} games are in {folder}", err=True)
        raise typer.Exit(130) from None
    there = sum(1 for _ in folder.glob(f"*/*/{GAME}"))
    if as_json:
        facts = {"folder": str(folder), "games": n, "there": there, "types": dict(types)}
        typer.echo(json.dumps(facts))
        return
    more = f", which holds {there} now" if there != n else ""
    typer.echo(f"{n} games are in {folder}{more}")
    play = f"evoharness eval alfworld --split {split} --policy expert --out runs/{split}"
    typer.echo(f"now: {VARIABLE}={shlex.quote(str(out))} {play}")


@app.command()
def profile(
    split: Annotated[str, typer.Option("--split", help="The games to compare with.")] = "train",
    n: Annotated[int, typer.Option("--n", min=1, help="How many new games.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Other new games.")] = 0,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw how new games compare with those of a split: sizes of rooms, lengths of walkthroughs."""
    from rich.console import Console

    from evoharness_alfworld import generator
    from evoharness_alfworld.generator import profile as profiles

    if split not in splits():
        find(split if split in SPLITS else "train")  # which says what is missing, if all is
        raise ValueError(f"there is no split {split!r} on disk; there is {', '.join(splits())}")
    theirs = profiles.of_files((house(t.id), path_of(t.id)) for t in find(split).tasks)
    recipes = (generator.Recipe(seed, number) for number in range(n))
    ours = profiles.of_generated(map(generator.generate, recipes))
    apart = profiles.difference(theirs, ours)
    if as_json:
        typer.echo(json.dumps({split: theirs, "new": ours, "difference": apart}))
        return
    screen = Console(record=svg is not None, width=100 if svg else None)
    for table in profiles.draw({split: theirs, "new": ours}):
        screen.print(table)
    for what, share in apart.items():
        screen.print(f"{what}: {100 * share:.0f} % of the games apart")
    if svg is not None:
        screen.save_svg(str(svg), title=f"ALFWorld games: {split} and new ones")


@app.command()
def habits(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    as_json: AsJson = False,
) -> None:
    """Learn from the training games how rooms are, which `generate` needs, and write the table.

    The table that the package ships was made by this command.
    """
    from evoharness_alfworld.generator import habits as learned

    _learn(out, learned.build, learned.dumps, as_json=as_json)


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

    from evoharness_alfworld.equality import Report, compare_one

    out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [task for name in ([split] if split else SPLITS) for task in find(name).tasks]
    if games is not None:
        tasks = random.Random(seed).sample(tasks, min(games, len(tasks)))
    report = Report(out, seed, steps)
    left = [(t.id, path_of(t.id)) for t in tasks if t.id not in report.lines]
    # Fresh processes now and then: TextWorld keeps some memory of every game.
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=50) as pool:
        results = pool.imap_unordered(partial(compare_one, seed=seed, steps=steps), left)
        for result in track(results, "comparing", total=len(left), disable=as_json):
            report.add(result)
    totals = report.finish(task.id for task in tasks)
    typer.echo(json.dumps(totals) if as_json else "\n".join(f"{k}: {v}" for k, v in totals.items()))
    if totals["differences"] or totals["not_compared"]:
        raise typer.Exit(1)


def _learn(
    out: Path,
    build: Callable[[Iterable[Path]], Any],
    dumps: Callable[[Any], str],
    *,
    as_json: bool,
) -> None:
    """Learn a table from the training games and write it."""
    from rich.progress import track

    from evoharness.files import write_atomically

    paths = [path_of(task.id) for task in find("train").tasks]
    table = build(track(paths, "reading training games", disable=as_json))
    write_atomically(out, dumps(table))
    facts = {"file": str(out), "games": len(paths)}
    typer.echo(json.dumps(facts) if as_json else f"{out} is learned from {len(paths)} games")
