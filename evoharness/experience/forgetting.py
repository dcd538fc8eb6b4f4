"""How an episode's influence is taken back out of a bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evoharness.experience.edits import Add, Change
from evoharness.experience.entries import LABEL_WIDTH, Entry, Hint, Skill, Status, clean_text
from evoharness.experience.evidence import FinishedEpisode, Note, is_from
from evoharness.experience.hints import hint_edits
from evoharness.experience.journal import Cycle
from evoharness.experience.usage import Usage

Evidence = Note | FinishedEpisode


@dataclass(frozen=True)
class Forgotten:
    """What is to be done to forget a source."""

    source: str
    changes: tuple[Change, ...]
    usage: Usage
    evidence: tuple[str, ...]
    """Ids of the source's evidence."""
    again: tuple[str, ...]
    """Ids of other notes that have to be looked at again."""


def forget(
    source: str,
    entries: Mapping[str, Entry],
    cycles: Sequence[Cycle],
    evidence: Sequence[Evidence],
) -> Forgotten:
    """Find out what forgetting a source means.

    Hints are counted anew from the evidence of the others. A skill or mistake goes back to what it
    was before the source helped to write it, or away, and the notes of the others wait again.

    Args:
        source: an episode, the task it played, or an imported file's name.
        entries: the bank's entries by id.
        cycles: its journal.
        evidence: all its evidence.

    Raises:
        LookupError: nothing comes from it.
    """
    source = clean_text(source, LABEL_WIDTH)
    gone = {piece.id: piece for piece in evidence if source and is_from(piece.source, source)}
    left = {piece.id: piece for piece in evidence if piece.id not in gone}
    touched = {
        id_: (history, first)
        for id_, history in _histories(cycles).items()
        if id_ in entries and (first := _first(history, source, gone)) is not None
    }
    if not gone and not touched:
        raise LookupError(
            f"the bank has nothing from {source!r}; `evoharness bank show --evidence` lists where "
            "its evidence comes from"
        )
    changes: list[Change] = []
    since: list[int] = []
    """Cycles from which on a text was built on what is forgotten."""
    for id_, (history, first) in sorted(touched.items()):
        entry = entries[id_]
        if isinstance(entry.content, Hint):
            kept = _recounted(entry, history[first:], _before(history, first), left, entries)
        else:
            kept = _rolled_back(entry, history, first)
            since.append(history[first][0])
        if kept is None:
            changes.append(Change(op="remove", entry=_blank(entry), reason="forgotten"))
            continue
        # A later forgetting finds here what it may have to take out.
        evidence_left = _evidence(history[first:], left) if kept.kind == "hint" else ()
        fields = {"sources": tuple(name for name in kept.sources if not is_from(name, source))}
        kept = kept.changed(**fields)
        changes.append(
            Change(op="update", entry=kept, reason=f"{source} is forgotten", evidence=evidence_left)
        )
    again = [
        piece.id
        for piece in left.values()
        if since
        and isinstance(piece, Note)
        and piece.status == "used"
        and piece.cycle >= min(since)
    ]
    return Forgotten(
        source=source,
        changes=tuple(changes),
        usage=_usage(entries, [p for p in gone.values() if isinstance(p, FinishedEpisode)]),
        evidence=tuple(sorted(gone)),
        again=tuple(sorted(again)),
    )


def redacted(cycles: Sequence[Cycle], forgetting: Cycle) -> list[Cycle]:
    """Return the earlier cycles without what a cycle forgets, where that differs, newest first.

    Written in this order, they can be redacted again when a process died in between.

    Args:
        cycles: the journal.
        forgetting: the cycle that forgets.
    """
    gone = {*forgetting.forgotten}
    touched = {change.entry.id for change in forgetting.changes}
    spoilt: set[str] = set()
    found: list[Cycle] = []
    for cycle in cycles:
        if cycle.number >= forgetting.number:
            break
        kept: list[Change] = []
        for change in cycle.changes:
            id_ = change.entry.id
            if id_ in touched and _is_from(change, forgetting.forgets, gone):
                spoilt.add(id_)
            if id_ not in spoilt:
                kept.append(change)
        rejected = [r for r in cycle.rejected if not gone.intersection(r.edit.get("evidence", ()))]
        if len(kept) < len(cycle.changes) or len(rejected) < len(cycle.rejected):
            fields = {"changes": tuple(kept), "rejected": tuple(rejected)}
            found.append(cycle.model_copy(update=fields))
    return found[::-1]


_History = list[tuple[int, Change]]
"""What happened to an entry, with the cycle's number, oldest first."""


def _histories(cycles: Sequence[Cycle]) -> dict[str, _History]:
    found: defaultdict[str, _History] = defaultdict(list)
    for cycle in cycles:
        for change in cycle.changes:
            found[change.entry.id].append((cycle.number, change))
    return found


def _first(history: _History, source: str, gone: Mapping[str, Evidence]) -> int | None:
    """Return where the source's influence on an entry begins."""
    mine = {*gone}
    return next((n for n, (_, c) in enumerate(history) if _is_from(c, source, mine)), None)


def _is_from(change: Change, source: str, gone: set[str]) -> bool:
    named = bool(source) and any(is_from(name, source) for name in change.entry.sources)
    return named or not gone.isdisjoint(change.evidence)


def _before(history: _History, first: int) -> Entry | None:
    """Return what the entry was before, if it was there."""
    change = history[first - 1][1] if first else None
    return None if change is None or change.op == "remove" else change.entry


def _rolled_back(entry: Entry, history: _History, first: int) -> Entry | None:
    before = _before(history, first)
    if before is None:
        return None
    last = history[-1][1]
    # Archived for want of use or room, or by the owner: not by what somebody noted.
    stays = entry.status == "archived" and not last.evidence
    return before.changed(**_served(entry), status="archived" if stays else before.status)


def _recounted(
    entry: Entry,
    history: _History,
    before: Entry | None,
    left: Mapping[str, Evidence],
    entries: Mapping[str, Entry],
) -> Entry | None:
    """Return a hint as the evidence that is left makes it, if it makes any."""
    assert isinstance(entry.content, Hint)
    thing = entry.content.thing
    general = [
        other
        for other in entries.values()
        if isinstance(other.content, Hint) and other.content.thing == thing and not other.context
    ]
    against = [p for p in left.values() if isinstance(p, Note) and entry.id in p.disputes]
    now = before
    doubted = before is not None and before.status == "disputed"
    for _, change in history:
        known = [left[id_] for id_ in change.evidence if id_ in left]
        if change.op == "dispute":
            doubted = doubted or bool(known)
        elif change.op in ("add", "update"):
            doubted = False
            if change.evidence:
                now = _counted(entry, now, general, [*known, *against]) if known else now
            else:  # the owner's own word
                now = change.entry
    if now is None:
        return None
    status: Status = "disputed" if doubted else "active"
    return now.changed(
        **_served(entry),
        version=entry.version + 1,
        status="archived" if entry.status == "archived" else status,
    )


def _counted(
    entry: Entry, now: Entry | None, general: Sequence[Entry], evidence: Sequence[Evidence]
) -> Entry | None:
    known = [now] if now is not None else [other for other in general if other.id != entry.id]
    for edit in hint_edits(known, evidence):
        if isinstance(edit, Add):
            made = Entry(content=edit.content, context=edit.context)
            if made.id == entry.id:
                return made.changed(sources=entry.sources)
        elif now is not None and edit.op == "update" and edit.id == entry.id:
            return now.changed(content=edit.content, sources=entry.sources)
    return now


def _evidence(history: _History, left: Mapping[str, Evidence]) -> tuple[str, ...]:
    return tuple({id_: None for _, change in history for id_ in change.evidence if id_ in left})


def _served(entry: Entry) -> dict[str, int]:
    return {"uses": entry.uses, "wins": entry.wins, "last_used": entry.last_used}


def _blank(entry: Entry) -> Entry:
    """Return an entry of which nothing is left but its id."""
    return Entry(id=entry.id, content=Skill(principle="forgotten"))


def _usage(entries: Mapping[str, Entry], episodes: Sequence[FinishedEpisode]) -> Usage:
    usage: Usage = {}
    for episode in episodes:
        for id_ in set(episode.recalled) & entries.keys() if episode.status == "used" else ():
            uses, wins, last = usage.get(
                id_, (entries[id_].uses, entries[id_].wins, entries[id_].last_used)
            )
            usage[id_] = (max(0, uses - 1), max(0, wins - episode.success), last)
    return usage
