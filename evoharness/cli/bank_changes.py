"""`evoharness bank`: what changes a bank. Each command says what it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evoharness.cli import options as o
from evoharness.cli.bank import app
from evoharness.cli.bank_options import (
    DomainOption,
    EmbeddingOption,
    PlaceOption,
    changing,
    domain_to_import_into,
    embedding_named,
    full_id,
    say_json,
)

if TYPE_CHECKING:
    from evoharness.experience import ExperienceBank
    from evoharness.experience.journal import Cycle


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="An export, or a published bank's JSON.")],
    place: PlaceOption,
    domain: DomainOption = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="THEIRS=OURS",
            help="What a task type of a published bank is called here. May be repeated.",
        ),
    ] = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Bring in what another bank learned; a bank that is not there is made.

    FILE is an export of evoharness, whose entries replace those with their ids, or a bank as SkillRL
    and EvoHarness-RL publish it (general_skills, task_specific_skills, common_mistakes,
    search_priorities, notes), of which only what is new is taken. What cannot be used is named with
    the reason. Importing a file again changes nothing; `undo` takes it back.

    [dim]evoharness bank import bank.json --bank runs/bank[/dim]

    [dim]evoharness bank import alfworld_skills.json --bank runs/bank --domain alfworld --type
    clean=pick_clean_then_place_in_recep[/dim]
    """
    from evoharness.cli import bank_tables as tables
    from evoharness.experience.exchange import bring_in, read

    document = read(file, _pairs(types))
    chosen, made = domain_to_import_into(place, domain, document.domain)
    with changing(place, chosen, embedding, new=made) as bank:
        done = bring_in(document, bank)
        over = _over(bank)
        name = bank.domain
    if as_json:
        say_json(
            {
                "domain": name,
                "format": "evoharness" if document.own else "published",
                "from": document.domain or None,
                "new_bank": made,
                **_facts(done.cycle),
                "known": done.known,
                "notes": done.notes,
                "refused": [
                    {"where": refused.where, "why": refused.why} for refused in document.refused
                ],
                "unmapped_types": list(document.unmapped),
                "over_limit": over,
            }
        )
        return
    screen = tables.console()
    if made:
        screen.print(f"A new bank of {name!r} is made in {place}.")
    _tell(done.cycle)
    screen.print(
        f"{tables.numbered(done.known, 'entry', 'entries')} here already; "
        f"{tables.numbered(done.notes, 'new note', 'new notes')} for the next consolidation"
    )
    for refused in document.refused:
        screen.print(f"refused: {refused}", style="yellow")
    if document.domain not in ("", name):
        screen.print(f"The file comes from a bank of {document.domain!r}.", style="yellow")
    if document.unmapped:
        kept = ", ".join(document.unmapped)
        screen.print(f"Task types kept as they are (see --type): {kept}", style="yellow")
    for kind, sizes in over.items():
        screen.print(
            f"The bank holds {sizes['held']} {kind}s, its limit is {sizes['limit']}: the next "
            "consolidation archives what serves least.",
            style="yellow",
        )


@app.command()
def consolidate(
    place: PlaceOption,
    domain: DomainOption = None,
    label: Annotated[
        str, typer.Option("--label", help="A name: a consolidation with it happens once.")
    ] = "",
    evolver: o.EvolverName = None,
    evolver_url: o.EvolverUrl = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Turn the evidence that waits into edits: counts, confirmed notes, merges, room.

    [dim]evoharness bank consolidate --bank runs/bank[/dim]

    [dim]evoharness bank consolidate --bank runs/bank --evolver openai:qwen3-8b --evolver-url
    http://localhost:8000/v1[/dim]
    """
    from evoharness.cli import bank_tables as tables

    decider = o.make_evolver(evolver, evolver_url)
    with changing(place, domain, embedding) as bank:
        done = bank.consolidate(decider, label=label)
        name = bank.domain
    if as_json:
        say_json({"domain": name, **_facts(done)})
        return
    _tell(done)
    used = tables.numbered(len(done.used), *tables.EVIDENCE)
    typer.echo(f"{used} used, {len(done.waiting)} waiting, {len(done.quarantined)} quarantined")


@app.command()
def forget(
    place: PlaceOption,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            help="An episode, the task it played, or an imported file's name; "
            "`show --evidence` lists where evidence comes from.",
        ),
    ],
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Remove an episode's influence: its evidence, and what came of it.

    [dim]evoharness bank forget --bank runs/bank --source "valid_seen/game-17"[/dim]
    """
    from evoharness.cli import bank_tables as tables

    with changing(place, domain, embedding) as bank:
        before = len(bank.evidence())
        done = bank.forget(source)
        gone = before - len(bank.evidence())
        name = bank.domain
    if as_json:
        say_json({"domain": name, "source": source, **_facts(done), "evidence_removed": gone})
        return
    _tell(done)
    typer.echo(f"{tables.numbered(gone, *tables.EVIDENCE)} removed")


@app.command()
def undo(
    cycle: Annotated[int, typer.Argument(help="The cycle's number, as `history` lists it.")],
    place: PlaceOption,
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Return the entries to what they were before a cycle, later cycles included.

    It is a cycle itself, so it can be undone. Evidence stays used.

    [dim]evoharness bank undo 7 --bank runs/bank[/dim]
    """
    with changing(place, domain, embedding) as bank:
        done = bank.undo(cycle)
        name = bank.domain
    if as_json:
        say_json({"domain": name, **_facts(done)})
        return
    _tell(done)


@app.command()
def release(
    note: Annotated[str, typer.Argument(help="The note's id, or how it begins.")],
    place: PlaceOption,
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Let a quarantined note wait for the next consolidation as your own word.

    [dim]evoharness bank show --bank runs/bank --evidence --status quarantined[/dim]

    [dim]evoharness bank release 3fa9c1 --bank runs/bank[/dim]
    """
    from evoharness.cli import bank_tables as tables

    with changing(place, domain, embedding) as bank:
        held = {piece.id: piece for piece in bank.evidence("quarantined")}
        id_ = full_id(note, {*held}, "quarantined note")
        bank.release(id_)
        name = bank.domain
    if as_json:
        say_json({"domain": name, "released": id_, "text": held[id_].text})
        return
    tables.console().print(f"{id_} waits for the next consolidation: {held[id_].text}")


@app.command()
def reembed(
    place: PlaceOption,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="EMBEDDING",
            help="wordllama, or module:object: a LangChain Embeddings object of yours, or a class.",
        ),
    ],
    domain: DomainOption = None,
    embedding: EmbeddingOption = None,
    as_json: o.AsJson = False,
) -> None:
    """Compute all vectors anew with another embedding, which the bank has from now on.

    Opened with a LangChain object that `--to` named, a bank has that text as its embedding's name.

    [dim]evoharness bank reembed --bank runs/bank --to mymodels:embeddings[/dim]

    [dim]evoharness bank show --bank runs/bank --embedding mymodels:embeddings[/dim]
    """
    from evoharness.experience import WordLlamaEmbedding

    wanted = embedding_named(to) or WordLlamaEmbedding()
    with changing(place, domain, embedding) as bank:
        count = bank.reembed(wanted)
        name = bank.domain
    if as_json:
        facts = {"embedding": wanted.name, "dimension": wanted.dimension, "entries": count}
        say_json({"domain": name, **facts})
        return
    typer.echo(f"{count} vectors are now of {wanted.name} ({wanted.dimension} dimensions)")


def _pairs(given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in given or ():
        theirs, sign, ours = item.partition("=")
        if not theirs or not sign:
            raise ValueError(f"--type {item!r} is not of the form THEIRS=OURS")
        found[theirs] = ours
    return found


def _over(bank: ExperienceBank) -> dict[str, dict[str, int]]:
    """Return the kinds of which a bank holds more than its limit."""
    from evoharness.experience.entries import KINDS

    live = [entry.kind for entry in bank.entries() if entry.status != "archived"]
    return {
        kind: {"held": live.count(kind), "limit": bank.limits.of(kind)}
        for kind in KINDS
        if live.count(kind) > bank.limits.of(kind)
    }


def _facts(cycle: Cycle) -> dict[str, Any]:
    """Return a change as plain JSON; without a cycle when there was nothing to change."""
    return {
        "cycle": cycle.summary() if cycle.done else None,
        "changes": [
            {
                "op": change.op,
                "id": change.entry.id,
                "kind": change.entry.kind,
                "task_type": change.entry.task_type,
                "text": change.entry.content.text,
                "reason": change.reason,
            }
            for change in cycle.changes
        ],
        "rejected": [rejected.model_dump(mode="json") for rejected in cycle.rejected],
    }


def _tell(cycle: Cycle) -> None:
    from evoharness.cli import bank_tables as tables

    if cycle.done:
        tables.console().print(tables.changes(cycle))
    else:
        typer.echo("No entry changes.")
