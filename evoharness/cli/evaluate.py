"""`evoharness eval` and `evoharness compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evoharness.cli import options as o
from evoharness.cli.app import app

if TYPE_CHECKING:
    from evoharness.experience.journal import Cycle


@app.command("eval")
def evaluate_command(
    adapter: o.AdapterName,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for records, summary and traces. Called again with the "
            "same settings, the evaluation goes on.",
        ),
    ],
    settings: o.Settings = None,
    split: Annotated[str | None, typer.Option("--split", help="Default: the first.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first tasks.")
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            help="Take the tasks in an order that --seed decides; with --limit, a sample of them.",
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Episodes at the same time.")
    ] = 1,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Play episodes again that broke.")
    ] = False,
    policy: o.PolicyName = None,
    model: o.ModelName = None,
    base_url: o.BaseUrl = None,
    temperature: o.Temperature = 0.0,
    max_tokens: o.MaxTokens = 512,
    seed: o.Seed = 0,
    mode: o.ModeOption = o.Mode.inline,
    ablate: o.Ablate = None,
    context: o.ContextOption = o.Context.per_turn,
    reply_format: o.FormatOption = o.Format.tags,
    max_steps: o.MaxSteps = 50,
    free_meta: o.FreeMeta = 0,
    bank: o.Bank = None,
    evolve: o.Evolve = False,
    batch: Annotated[
        int,
        typer.Option(
            "--batch",
            min=1,
            help="Tasks after which an evolving bank is consolidated.",
            rich_help_panel="Experience",
        ),
    ] = 10,
    empty_bank: o.EmptyBank = False,
    evolver: o.EvolverName = None,
    evolver_url: o.EvolverUrl = None,
    as_json: o.AsJson = False,
) -> None:
    """Evaluate a policy on a split: parallel, resumable, results independent of --workers.

    [dim]evoharness eval alfworld --split valid_unseen --policy expert --workers 2 --out runs/a[/dim]

    Learn from training games, then see what the bank is worth:

    [dim]evoharness eval alfworld --split train --shuffle --limit 200 --policy newcomer --bank bank --evolve
    --empty-bank --out runs/learn[/dim]

    [dim]evoharness eval alfworld --split valid_unseen --policy newcomer --bank bank --out
    runs/learned[/dim]
    """
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from evoharness.cli import show
    from evoharness.evaluation import Record, evaluate
    from evoharness.registry import load_adapter

    own_settings = o.adapter_settings(settings)
    domain = load_adapter(adapter, **own_settings)
    chosen = o.make_policy(domain, policy, model, base_url, temperature, max_tokens, seed)
    config = o.make_config(mode, ablate, context, reply_format, max_steps, free_meta)
    if evolver is not None and not evolve:
        raise ValueError("--evolver needs --evolve: without it the bank learns nothing")
    decider = o.make_evolver(evolver, evolver_url)
    screen = show.console(quiet=as_json)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=screen,
    )
    won = 0
    learned = 0
    with o.open_bank(domain, bank, evolve=evolve, empty=empty_bank) as experience, bar:
        job = bar.add_task("playing", total=None)

        def started(total: int, done: int) -> None:
            bar.update(job, total=total, completed=done)
            if done:
                screen.print(f"going on: {done} of {total} episodes were played before")

        def recorded(record: Record) -> None:
            nonlocal won
            won += record.measures.success
            bar.update(job, advance=1, description=f"playing, {won} solved")
            if record.detail:
                what = f"[red]{escape(record.task)}: {record.measures.reason}[/red]"
                screen.print(f"{what} {escape(record.detail)}")

        def consolidated(cycle: Cycle) -> None:
            nonlocal learned
            learned += len(cycle.changes)

        try:
            summary = evaluate(
                chosen.policy,
                domain,
                split=split or domain.splits[0],
                out=out,
                config=config,
                experience=experience if config.has("experience") else None,
                evolve_every=batch if evolve else None,
                evolver=decider if evolve else None,
                limit=limit,
                shuffle=shuffle,
                workers=workers,
                seed=seed,
                policy_facts=chosen.facts,
                adapter_settings=own_settings,
                retry_errors=retry_errors,
                on_start=started,
                on_record=recorded,
                on_cycle=consolidated,
            )
            size = experience.count()
        finally:
            domain.close()
    if as_json:
        typer.echo(json.dumps(summary))
        return
    screen.print(show.summary_table([summary], f"{domain.name} {summary['split']}"))
    if evolve:
        screen.print(
            f"{learned} changes of the bank, which holds {size} entries now; "
            f"`evoharness bank stats --bank {bank}` draws them",
            markup=False,
        )
    written = f"{out / 'summary.json'} and {out / 'traces.jsonl'} are written"
    screen.print(written, markup=False)


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of evaluations; the first is compared with.")
    ],
    as_json: o.AsJson = False,
) -> None:
    """Show evaluations side by side, with a paired test over the tasks they share."""
    from evoharness.cli import show
    from evoharness.evaluation import compare as compare_folders

    comparison = compare_folders(folders)
    if as_json:
        typer.echo(json.dumps(comparison))
        return
    screen = show.console()
    screen.print(show.summary_table(comparison["runs"], "Evaluations"))
    if comparison["pairs"]:
        screen.print(show.pairs_table(comparison["pairs"]))
