"""How an Experience bank looks in a terminal.

What entries say is shown as `Text`, never as markup, and cleaned of control characters.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evoharness.experience.edits import Change
from evoharness.experience.entries import Entry, clean_text
from evoharness.experience.evidence import FinishedEpisode, Note
from evoharness.experience.journal import Cycle
from evoharness.experience.retrieval import Recalled

_ID_SHOWN = 8
_LONGEST = 2000
_BAR = 24
_STATUS = {
    "active": "green",
    "disputed": "yellow",
    "archived": "dim",
    "waiting": "cyan",
    "quarantined": "red",
    "used": "dim",
}
_OPS = {
    "add": ("+", "green"),
    "update": ("~", "cyan"),
    "merge": ("&", "magenta"),
    "archive": ("-", "yellow"),
    "restore": ("^", "green"),
    "dispute": ("?", "yellow"),
    "remove": ("x", "red"),
}
EVIDENCE = ("piece of evidence", "pieces of evidence")
_SHOWN_OPS = ("add", "update", "merge", "archive")


def console() -> Console:
    """Return the terminal that people read; nothing in a string is markup, emoji or highlighted."""
    return Console(highlight=False, markup=False, emoji=False)


def entries(rows: Sequence[Entry]) -> RenderableType:
    """Return entries as a table."""
    table = _table("id", "kind", "type", "context", "text", "helped", "status")
    for entry in rows:
        table.add_row(
            _id(entry.id),
            entry.kind,
            _plain(entry.task_type),
            _plain(entry.context),
            _plain(entry.content.text),
            _served(entry),
            _status(entry.status),
        )
    return Group(table, numbered(len(rows), "entry", "entries"))


def evidence(rows: Sequence[Note | FinishedEpisode]) -> RenderableType:
    """Return notes and finished episodes as a table."""
    table = _table("id", "kind", "source", "type", "context", "text", "status")
    for piece in rows:
        table.add_row(
            _id(piece.id),
            piece.kind,
            _plain(piece.source),
            _plain(piece.task_type),
            _plain(piece.context),
            _plain(piece.text),
            _status(piece.status),
        )
    return Group(table, numbered(len(rows), *EVIDENCE))


def found(rows: Sequence[Recalled], method: str) -> RenderableType:
    """Return recalled entries, each with its score and the reasons for it."""
    lines: list[RenderableType] = []
    for hit in rows:
        why = [f"usefulness {hit.utility:.2f}"]
        if method != "dense":
            why.insert(0, f"words {hit.words:.3f}")
        if method != "lexical":
            why.insert(0, f"meaning {hit.similarity:.3f}")
        why += ["its kind is asked for"] if hit.intended else []
        why += ["disputed, which halves it"] if hit.disputed else []
        line = Text(f"{hit.score:.3f} ", style="bold cyan").append_text(_id(hit.id))
        line.append(f" {hit.kind} ").append(_where(hit), style="dim")
        line.append(f"({', '.join(why)})", style="dim")
        lines += [line, Padding(_plain(hit.text), (0, 0, 0, 6))]
    return Group(*lines)


def cycles(rows: Sequence[Cycle]) -> RenderableType:
    """Return the changes of a bank, one a line."""
    table = _table("cycle", "time", "by", "what", "rejected", "evidence", "size")
    for cycle in rows:
        table.add_row(
            str(cycle.number),
            cycle.time[:16].replace("T", " "),
            _plain(cycle.by),
            _counts(cycle),
            str(len(cycle.rejected) or ""),
            str(len(cycle.used) or ""),
            str(cycle.size),
        )
    return table


def versions(id_: str, known: Sequence[tuple[Cycle, Change]]) -> RenderableType:
    """Return what happened to an entry: each change with the difference to the one before."""
    lines: list[RenderableType] = [Text(clean_text(id_, _LONGEST), style="bold")]
    before: Entry | None = None
    for cycle, change in known:
        head = Text(f"cycle {cycle.number}  {cycle.time[:16].replace('T', ' ')}  ")
        head.append(change.op, style=_OPS.get(change.op, ("", ""))[1])
        head.append(_because(clean_text(cycle.by, _LONGEST), change.reason), style="dim")
        lines += [head, Text("  ").append_text(_between(before, change.entry))]
        before = None if change.op == "remove" else change.entry
    return Group(*lines)


def difference(old: Entry | None, new: Entry | None) -> RenderableType:
    """Return how an entry differs between two moments, as a line."""
    entry = new or old
    assert entry is not None
    mark, style = ("~", "cyan") if old and new else ("+", "green") if new else ("-", "red")
    line = Text(f"{mark} ", style=style).append_text(_id(entry.id)).append(f" {entry.kind} ")
    line.append(_where(entry), style="dim")
    if old and new:
        line.append_text(_between(old, new))
        for what in ("status", "task_type", "context"):
            was, now = getattr(old, what), getattr(new, what)
            if was != now:
                line.append(" ").append(
                    clean_text(f"({what} {was or '-'} -> {now or '-'})", _LONGEST)
                )
        return line
    return line.append(clean_text(entry.content.text, _LONGEST), style=style)


def changes(cycle: Cycle) -> RenderableType:
    """Return what a cycle did, one change a line, and what it refused."""
    head = Text(f"cycle {cycle.number}: ", style="bold").append_text(_counts(cycle))
    head.append(f"; {numbered(cycle.size, 'entry', 'entries')} can be recalled")
    lines: list[RenderableType] = [head]
    for change in cycle.changes:
        mark, style = _OPS.get(change.op, (" ", ""))
        line = Text(f"{mark} ", style=style).append_text(_id(change.entry.id))
        line.append(f" {change.entry.kind} ").append(_where(change.entry), style="dim")
        line.append(clean_text(change.entry.content.text, _LONGEST))
        lines.append(line.append(_because(change.reason), style="dim"))
    for refused in cycle.rejected:
        op = clean_text(str(refused.edit.get("op", "an edit")), 40)
        lines.append(Text(f"refused {op}: {clean_text(refused.why, _LONGEST)}", style="yellow"))
    return Group(*lines)


def matrix(
    counts: Mapping[tuple[str, str], int], rows: Iterable[str], columns: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return counts by kind and status, all of them named."""
    return {row: {column: counts.get((row, column), 0) for column in columns} for row in rows}


def figures(counts: Mapping[str, Mapping[str, int]], title: str) -> Table:
    """Return counts by kind and status as a table."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in next(iter(counts.values())):
        table.add_column(Text(column, style=_STATUS[column]), justify="right")
    for kind, row in counts.items():
        table.add_row(kind, *(str(count or "-") for count in row.values()))
    return table


def curve(rows: Sequence[Cycle]) -> Table:
    """Return a plot: per cycle what changed, and the size as a bar."""
    largest = max(1, *(cycle.size for cycle in rows)) if rows else 1
    table = Table(title="Cycles", title_justify="left")
    table.add_column("cycle", justify="right")
    for op in _SHOWN_OPS:
        table.add_column(op, justify="right")
    table.add_column("size", justify="right")
    table.add_column("", min_width=_BAR)
    for cycle in rows:
        counted = [Text(str(cycle.counts[op] or ""), style=_OPS[op][1]) for op in _SHOWN_OPS]
        bar = Bar(largest, 0, cycle.size, width=_BAR, color="cyan")
        table.add_row(str(cycle.number), *counted, str(cycle.size), bar)
    return table


def numbered(count: int, one: str, several: str) -> str:
    """Return a count with its noun."""
    return f"{count} {one if count == 1 else several}"


def _table(*columns: str) -> Table:
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold", ratio=3 if column == "text" else None)
    return table


def _plain(text: str) -> Text:
    return Text(clean_text(text, _LONGEST))


def _id(id_: str) -> Text:
    return Text(clean_text(id_, _LONGEST)[:_ID_SHOWN], style="bold")


def _status(status: str) -> Text:
    return Text(status, style=_STATUS[status])


def _served(entry: Entry) -> str:
    return f"{entry.wins} of {entry.uses}" if entry.uses else "-"


def _counts(cycle: Cycle) -> Text:
    line = Text()
    for op, count in cycle.counts.items():
        if count:
            line.append(", " if line else "").append(f"{count} {op}", style=_OPS[op][1])
    return line or Text("no entry changed")


def _where(entry: Entry | Recalled) -> str:
    place = [entry.task_type, entry.context and f"in {entry.context}"]
    said = clean_text(", ".join(part for part in place if part), _LONGEST)
    return f"[{said}] " if said else ""


def _because(*reasons: str) -> str:
    said = clean_text(": ".join(reason for reason in reasons if reason), _LONGEST)
    return f"  ({said})" if said else ""


def _between(old: Entry | None, new: Entry) -> Text:
    """Return a new text with the words that differ from the old one marked."""
    after = clean_text(new.content.text, _LONGEST)
    if old is None or old.content == new.content:
        return Text(after)
    was, now = (re.findall(r"\s*\S+", e.content.text) for e in (old, new))
    line = Text()
    for op, a, b, c, d in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        gone, come = "".join(was[a:b]), "".join(now[c:d])
        if op == "equal":
            line.append(come)
            continue
        for text, brackets, style in ((gone, "[-{}-]", "red"), (come, "{{+{}+}}", "green")):
            if text:
                space = " " if text.startswith(" ") else ""
                line.append(space).append(brackets.format(text.strip()), style=style)
    return line
