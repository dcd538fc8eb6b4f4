"""`evoharness eval` and `evoharness compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from evoharness.cli import options as o
from evoharness.cli.app import app


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
        int | None, typer.Option("--limit", min=1, help="Only the first tasks of the split.")
    ] = None,
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
    as_json: o.AsJson = False,
) -> None:
    """Evaluate a policy on a split: parallel, resumable, results independent of --workers.

    [dim]evoharness eval alfworld --split valid_unseen --policy expert --workers 2 --out runs/a[/dim]
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
    with o.open_bank(domain, bank) as experience, bar:
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

        try:
            summary = evaluate(
                chosen.policy,
                domain,
                split=split or domain.splits[0],
                out=out,
                config=config,
                experience=experience if config.has("experience") else None,
                experience_facts=o.bank_facts(experience) if config.has("experience") else None,
                limit=limit,
                workers=workers,
                seed=seed,
                policy_facts=chosen.facts,
                adapter_settings=own_settings,
                retry_errors=retry_errors,
                on_start=started,
                on_record=recorded,
            )
        finally:
            domain.close()
    if as_json:
        typer.echo(json.dumps(summary))
        return
    screen.print(show.summary_table([summary], f"{domain.name} {summary['split']}"))
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
