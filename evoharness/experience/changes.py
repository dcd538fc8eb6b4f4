"""What each kind of change makes of a bank: the next cycle, from the bank's state.

A cycle is only decided here; `Ledger.commit` writes it down and carries it out. When another process
was quicker, it is decided anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evoharness.experience import journal
from evoharness.experience.edits import Change, Edit, Editor, Limits
from evoharness.experience.entries import Entry
from evoharness.experience.evidence import Note
from evoharness.experience.evolver import Evolver, Situation
from evoharness.experience.forgetting import forget
from evoharness.experience.journal import Cycle
from evoharness.experience.ledger import Ledger
from evoharness.experience.usage import after_use


def consolidation(ledger: Ledger, evolver: Evolver, limits: Limits, label: str) -> Cycle:
    """Return what an evolver makes of the evidence that waits, or the known cycle with the label.

    Raises:
        EvolutionError: the evolver could not decide.
    """
    if label and (known := ledger.labelled(label)):
        return known
    evidence = ledger.evidence("waiting")
    entries, usage, episodes = after_use(ledger.entries, evidence, ledger.episodes)
    situation = Situation(
        entries=[entries[id_] for id_ in sorted(entries)],
        evidence=evidence,
        episodes=episodes,
        limits=limits,
        embed=ledger.embedding.embed,
    )
    proposal = evolver.evolve(situation)
    editor = Editor(situation.entries, evidence, limits, episodes)
    editor.make_all(proposal.edits)
    left = proposal.waiting | proposal.quarantined
    return ledger.cycle(
        evolver.name,
        editor.changes,
        [*proposal.rejected, *editor.rejected],
        label=label,
        usage=usage,
        episodes=episodes,
        used=tuple(piece.id for piece in evidence if piece.id not in left),
        waiting=tuple(sorted(proposal.waiting)),
        quarantined=tuple(sorted(proposal.quarantined)),
    )


def editing(ledger: Ledger, edits: Sequence[Edit], limits: Limits, by: str) -> Cycle:
    """Return the edits that are possible, the others as rejected."""
    editor = Editor(ledger.entries.values(), ledger.evidence(), limits, ledger.episodes)
    editor.make_all(edits)
    return ledger.cycle(by, editor.changes, editor.rejected)


def writing(ledger: Ledger, entries: Iterable[Entry], by: str) -> Cycle:
    """Return the writing of whole entries, of those that are not there already as they are."""
    known = ledger.entries
    changes = [
        Change(op="update" if entry.id in known else "add", entry=entry, reason=by)
        for entry in entries
        if known.get(entry.id) != entry
    ]
    return ledger.cycle(by, changes)


def seeding(ledger: Ledger, seeds: Iterable[Entry]) -> Cycle:
    """Return the writing of the entries that the bank does not have in any form."""
    new = [seed for seed in seeds if seed.id not in ledger.entries]
    return ledger.cycle("seed", [Change(op="add", entry=seed) for seed in new])


def disputing(ledger: Ledger, note: Note) -> Cycle:
    """Return the dispute of the entries that a note says are wrong."""
    known = [ledger.entries[id_] for id_ in note.disputes if id_ in ledger.entries]
    changes = [
        Change(op="dispute", entry=entry.changed(status="disputed"), evidence=(note.id,))
        for entry in known
        if entry.status == "active"
    ]
    return ledger.cycle(f"note of {note.source}", changes)


def forgetting(ledger: Ledger, source: str) -> Cycle:
    """Return the removal of a source's influence.

    Raises:
        LookupError: the bank has nothing from it.
    """
    done = forget(source, ledger.entries, ledger.cycles(), ledger.evidence())
    return ledger.cycle(
        f"forget {done.source}",
        done.changes,
        usage=done.usage,
        forgets=done.source,
        forgotten=done.evidence,
        again=done.again,
    )


def undoing(ledger: Ledger, number: int) -> Cycle:
    """Return the way back to what the entries were before a cycle.

    Raises:
        LookupError: there is no such cycle, or it forgot a source.
    """
    now, cycles = ledger.entries, ledger.cycles()
    undone = next((known for known in cycles if known.number == number), None)
    if undone is None:
        raise LookupError(
            f"the bank has no cycle {number}; `evoharness bank history` lists its cycles"
        )
    if undone.forgets:
        raise LookupError(
            f"cycle {number} made the bank forget {undone.forgets!r}, which nobody can undo"
        )
    then = journal.replay(known for known in cycles if known.number < number)
    changes = [
        Change(op="update" if id_ in now else "add", entry=entry)
        for id_, entry in then.items()
        if now.get(id_) != entry
    ]
    changes += [Change(op="remove", entry=entry) for id_, entry in now.items() if id_ not in then]
    return ledger.cycle(f"undo of cycle {number}", changes)
