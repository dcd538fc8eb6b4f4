"""A bank as Markdown, for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from evoharness.experience.entries import (
    KINDS,
    Content,
    Entry,
    Hint,
    Kind,
    Mistake,
    Skill,
    clean_text,
)

if TYPE_CHECKING:
    from evoharness.experience.bank import ExperienceBank

_TITLES: dict[Kind, str] = {"skill": "Skills", "mistake": "Mistakes", "hint": "Search hints"}


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries by kind, task type and context, an order that evolving does not change."""
    return sorted(entries, key=lambda e: (KINDS.index(e.kind), e.task_type, e.context, e.id))


def to_markdown(bank: ExperienceBank) -> str:
    """Return a bank's entries as Markdown for people; archived ones come last.

    What an entry says is escaped, so that it is text and nothing else.
    """
    entries = in_order(bank.entries())
    live = [entry for entry in entries if entry.status != "archived"]
    archived = [entry for entry in entries if entry.status == "archived"]
    held = Counter(entry.kind for entry in live)
    counts = [
        f"{held[k]} {t.lower().removesuffix('s' * (held[k] == 1))}" for k, t in _TITLES.items()
    ]
    lines = [f"# Experience of {escaped(bank.domain)}", "", f"{', '.join(counts)}."]
    for kind, title in _TITLES.items():
        same_kind = [entry for entry in live if entry.kind == kind]
        lines += ["", f"## {title}"] if same_kind else []
        for task_type, same_type in groupby(same_kind, key=lambda entry: entry.task_type):
            lines += ["", f"### {escaped(task_type) or 'All task types'}"]
            for context, same in groupby(same_type, key=lambda entry: entry.context):
                lines += ["", f"#### In {escaped(context)}", ""] if context else [""]
                lines += [_item(entry) for entry in same]
    if archived:
        lines += ["", "## Archived", "", "No longer recalled.", ""]
        lines += [f"{_item(entry)}{_about(entry)}" for entry in archived]
    return "\n".join(lines) + "\n"


def _item(entry: Entry) -> str:
    served = f"helped in {entry.wins} of {entry.uses} episodes" if entry.uses else "not used yet"
    mark = "**Disputed:** " if entry.status == "disputed" else ""
    return f"- {mark}{_words(entry.content)} *({served})*"


def _words(content: Content) -> str:
    match content:
        case Skill():
            title = f"**{escaped(content.title)}:** " if content.title else ""
            when = f" *When:* {escaped(content.when)}" if content.when else ""
            return f"{title}{escaped(content.principle)}{when}"
        case Mistake():
            why = f" *Because:* {escaped(content.why)}" if content.why else ""
            avoid = f" *Instead:* {escaped(content.avoid)}" if content.avoid else ""
            return f"{escaped(content.what)}{why}{avoid}"
        case Hint():
            return escaped(content.text)


def _about(entry: Entry) -> str:
    facts = [entry.kind, entry.task_type, entry.context and f"in {entry.context}"]
    return f" · {escaped(', '.join(fact for fact in facts if fact))}"


_INLINE = re.compile(
    r"[\\`*#\[\]<>&|~$@]|(?<![^\W_])_|_(?![^\W_])|:(?=/)|(?<=\bwww)\.", re.IGNORECASE
)
_LEADING = re.compile(r"^(\d*)([+=.)-])")


def escaped(text: str) -> str:
    """Return a text so that Markdown shows it as it is: no heading, link, image, list or HTML."""
    line = clean_text(text, len(text))
    return _LEADING.sub(r"\1\\\2", _INLINE.sub(r"\\\g<0>", line))
