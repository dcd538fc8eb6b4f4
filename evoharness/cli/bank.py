"""`evoharness bank`: what an owner reads of an Experience bank. What changes one is in `bank_changes`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evoharness.cli import options as o
from evoharness.cli.bank_options import (
    DomainOption,
    EmbeddingOption,
    PlaceOption,
    full_id,
    reading,
    say_json,
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Look into an Experience bank, and change it: history, import and export, forget, undo.",
)

EntryFilterType = Annotated[
    str | None, typer.Option("--type", help="Only of this task type; '' for those of no type.")
]


class Method(StrEnum):
    """How a question is answered."""

    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"


class Form(StrEnum):
    """What an export looks like."""

    json = "json"
    markdown = "markdown"


@app.command()
def show(
    place: PlaceOption,
    domain: DomainOption = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="skill, mistake or hint; with --evidence note or episode."),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            help="active, disputed or archived; with --evidence waiting, quarantined or used.",
        ),
    ] = None,
    task_type: EntryFilterType = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="What episodes left, instead of the entries.")
    ] = False,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """List the entries, or the evidence that waits to become some.

    [dim]evoharness bank show --bank runs/bank --kind mistake --status disputed[/dim]

    [dim]evoharness bank show --bank runs/bank --evidence --status quarantined[/dim]
    """
    from evoharness.cli import bank_tables as tables
    from evoharness.experience.exchange import in_order

    kinds = ("note", "episode") if evidence else ("skill", "mistake", "hint")
    states = ("waiting", "quarantined", "used") if evidence else ("active", "disputed", "archived")
    _one_of("--kind", kind, kinds)
    _one_of("--status", status, states)
    with reading(place, domain, embedding) as bank:
        rows: Sequence[Any] = bank.evidence() if evidence else in_order(bank.entries())
        name = bank.domain
    rows = [
        row
        for row in rows
        if kind in (None, row.kind)
        and status in (None, row.status)
        and task_type in (None, row.task_type)
    ]
    if as_json:
        listed = [{"id": row.id, **row.model_dump(mode="json")} for row in rows]
        say_json({"domain": name, "evidence" if evidence else "entries": listed})
        return
    tables.console().print(tables.evidence(rows) if evidence else tables.entries(rows))


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="The question, as an agent would recall it.")],
    place: PlaceOption,
    domain: DomainOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The most entries.")] = 5,
    task_type: Annotated[
        str,
        typer.Option("--type", help="The task type of who asks; others' entries are not found."),
    ] = "",
    context: Annotated[str, typer.Option("--context", help="The context of who asks.")] = "",
    method: Annotated[
        Method, typer.Option("--method", help="By meaning and words, or by one of them.")
    ] = Method.hybrid,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Ask as an agent does, and see why each entry is found.

    "Where …" asks for hints, "how …" for skills, "… avoid" for mistakes.

    [dim]evoharness bank search "where is the mug" --bank runs/bank --context kitchen[/dim]
    """
    from dataclasses import asdict

    from evoharness.cli import bank_tables as tables

    with reading(place, domain, embedding) as bank:
        found = bank.recall(
            query, limit=limit, task_type=task_type, context=context, method=method.value
        )
        name = bank.domain
        types = [entry.task_type for entry in bank.entries() if entry.status != "archived"]
    if as_json:
        found_json = [asdict(hit) for hit in found]
        say_json({"domain": name, "query": query, "method": method.value, "found": found_json})
        return
    if not found:
        hint = " and this one" if task_type else "; --type finds those of a task type too"
        fitting = sum(kind in ("", task_type) for kind in types)
        typer.echo(f"Nothing is found among the {fitting} entries for all task types{hint}.")
        return
    tables.console().print(tables.found(found, method.value))


@app.command()
def history(
    place: PlaceOption,
    entry: Annotated[
        str | None, typer.Argument(help="An entry's id, or how it begins; default: all cycles.")
    ] = None,
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """List the cycles in which the bank changed, or the versions of one entry.

    [dim]evoharness bank history --bank runs/bank[/dim]

    [dim]evoharness bank history 3fa9c1 --bank runs/bank[/dim]
    """
    from evoharness.cli import bank_tables as tables
    from evoharness.experience.journal import versions

    with reading(place, domain, embedding) as bank:
        cycles = bank.cycles()
        name = bank.domain
    if entry is None:
        if as_json:
            say_json({"domain": name, "cycles": [cycle.summary() for cycle in cycles]})
        else:
            tables.console().print(tables.cycles(cycles))
        return
    id_ = full_id(entry, {c.entry.id for cycle in cycles for c in cycle.changes}, "entry")
    known = versions(cycles, id_)
    if as_json:
        listed = [
            {
                "cycle": cycle.number,
                "by": cycle.by,
                "time": cycle.time,
                **change.model_dump(mode="json"),
            }
            for cycle, change in known
        ]
        say_json({"domain": name, "id": id_, "versions": listed})
        return
    tables.console().print(tables.versions(id_, known))


@app.command()
def diff(
    first: Annotated[int, typer.Argument(metavar="A", help="A cycle; 0: before the first.")],
    place: PlaceOption,
    second: Annotated[
        int | None, typer.Argument(metavar="B", help="A later or earlier cycle; default: now.")
    ] = None,
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Show how the entries differ between two cycles.

    Counts of use are no difference. Words that went are in [-brackets-], new ones in {+braces+}.

    [dim]evoharness bank diff 3 7 --bank runs/bank[/dim]
    """
    from evoharness.cli import bank_tables as tables
    from evoharness.experience.exchange import in_order
    from evoharness.experience.journal import replay

    with reading(place, domain, embedding) as bank:
        cycles = bank.cycles()
        now = {entry.id: entry for entry in bank.entries()}
        name = bank.domain
    numbers = {0, *(cycle.number for cycle in cycles)}
    for number in (first, *([second] if second is not None else [])):
        if number not in numbers:
            raise LookupError(
                f"the bank has no cycle {number}; `evoharness bank history` lists its cycles"
            )
    before = replay(cycle for cycle in cycles if cycle.number <= first)
    after = now if second is None else replay(cycle for cycle in cycles if cycle.number <= second)
    differences = [
        (before.get(entry.id), after.get(entry.id))
        for entry in in_order({**before, **after}.values())
    ]
    differences = [pair for pair in differences if _seen(pair[0]) != _seen(pair[1])]
    if as_json:
        listed = [{"before": _plain(old), "after": _plain(new)} for old, new in differences]
        say_json({"domain": name, "from": first, "to": second, "entries": listed})
        return
    if not differences:
        typer.echo("The entries say the same.")
    for old, new in differences:
        tables.console().print(tables.difference(old, new))


@app.command()
def export(
    place: PlaceOption,
    domain: DomainOption = None,
    form: Annotated[
        Form, typer.Option("--format", help="JSON can be imported again; Markdown is for reading.")
    ] = Form.json,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; default: standard output.")
    ] = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Write all entries as a document; the same bank gives the same bytes.

    [dim]evoharness bank export --bank runs/bank --out bank.json[/dim]

    [dim]evoharness bank export --bank runs/bank --format markdown --out BANK.md[/dim]
    """
    from evoharness.experience.exchange import to_json, to_markdown
    from evoharness.files import write_atomically

    with reading(place, domain, embedding) as bank:
        text = to_json(bank) if form is Form.json else to_markdown(bank)
        facts = {
            "domain": bank.domain,
            "format": form.value,
            "entries": len(bank.entries()),
            "out": str(out) if out else None,
        }
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    if as_json:
        say_json(facts if out else {**facts, "document": text})
    elif out is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{facts['entries']} entries written to {out}")


@app.command()
def stats(
    place: PlaceOption,
    domain: DomainOption = None,
    last: Annotated[
        int, typer.Option("--cycles", min=1, help="How many cycles the curve shows, the newest.")
    ] = 30,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Show how large the bank is, what waits, and how it grew.

    [dim]evoharness bank stats --bank runs/bank[/dim]
    """
    from collections import Counter

    from evoharness.cli import bank_tables as tables

    with reading(place, domain, embedding) as bank:
        entries = Counter((entry.kind, entry.status) for entry in bank.entries())
        evidence = Counter((piece.kind, piece.status) for piece in bank.evidence())
        cycles = bank.cycles()
        name = bank.domain
    episodes = max((cycle.episodes for cycle in cycles), default=0)
    sizes = tables.matrix(entries, ("skill", "mistake", "hint"), ("active", "disputed", "archived"))
    left = tables.matrix(evidence, ("note", "episode"), ("waiting", "quarantined", "used"))
    if as_json:
        summaries = [cycle.summary() for cycle in cycles]
        say_json(
            {
                "domain": name,
                "episodes": episodes,
                "entries": sizes,
                "evidence": left,
                "cycles": summaries,
            }
        )
        return
    screen = tables.console()
    screen.print(tables.figures(sizes, "Entries"), tables.figures(left, "Evidence"))
    seen = tables.numbered(episodes, "episode", "episodes")
    screen.print(f"{seen} seen, {tables.numbered(len(cycles), 'cycle', 'cycles')}")
    if cycles:
        screen.print(tables.curve(cycles[-last:]))


def _one_of(option: str, given: str | None, known: tuple[str, ...]) -> None:
    if given is not None and given not in known:
        raise ValueError(f"{option} {given!r} is not one of {', '.join(known)}")


def _seen(entry: Any) -> tuple[Any, ...] | None:
    """Return what a reader sees of an entry."""
    return entry and (entry.content, entry.status, entry.task_type, entry.context)


def _plain(entry: Any) -> dict[str, Any] | None:
    return entry and entry.model_dump(mode="json")
