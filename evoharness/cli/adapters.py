"""`evoharness adapters` and `evoharness tasks`: what there is to play."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from evoharness.cli import options as o
from evoharness.cli.app import app


@app.command()
def adapters(as_json: o.AsJson = False) -> None:
    """List the installed adapters, their splits and policies."""
    from rich.markup import escape
    from rich.table import Table

    from evoharness.cli import show
    from evoharness.registry import load_adapter, registered

    found: list[dict[str, Any]] = []
    for name, point in registered().items():
        facts: dict[str, Any] = {
            "name": name,
            "package": point.dist.name if point.dist else "",
            "class": point.value,
        }
        try:
            adapter = load_adapter(name)
        except Exception as error:
            facts["error"] = str(error)
        else:
            facts["splits"] = list(adapter.splits)
            facts["policies"] = [*adapter.policies(), "random"]
            adapter.close()
        found.append(facts)
    if as_json:
        typer.echo(json.dumps(found))
        return
    if not found:
        typer.echo("No adapter is installed. Your own is named as module:Class.")
        return
    table = Table()
    for column in ("adapter", "package", "splits", "policies"):
        table.add_column(column)
    for facts in found:
        if "error" in facts:
            table.add_row(
                facts["name"], facts["package"], f"[red]{escape(facts['error'])}[/red]", ""
            )
        else:
            splits, policies = ", ".join(facts["splits"]), ", ".join(facts["policies"])
            table.add_row(facts["name"], facts["package"], splits, policies)
    show.console().print(table)


@app.command()
def tasks(
    adapter: o.AdapterName,
    settings: o.Settings = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Default: the adapter's first.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """List a split's tasks: the ids that `run --task` takes, with their objectives."""
    from evoharness.registry import load_adapter

    domain = load_adapter(adapter, **o.adapter_settings(settings))
    try:
        found = domain.tasks(split or domain.splits[0])
    finally:
        domain.close()
    if as_json:
        typer.echo(json.dumps([task.to_json() for task in found]))
        return
    for task in found:
        typer.echo(f"{task.id}\t{task.objective}")
