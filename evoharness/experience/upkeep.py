"""What every evolver does to keep a bank small.

What is said twice becomes one entry, what nobody uses is let go of, and where new entries would not
fit, those that served least make room.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from evoharness.experience.edits import Add, Archive, Edit, Merge, Modify, Restore, protected
from evoharness.experience.entries import Entry, Hint
from evoharness.experience.evolver import Situation

SAME = 0.93
"""Cosine from which two entries say the same, if they share most of their words too."""
_SHARED_WORDS = 0.5


def tidied(situation: Situation, fade_after: int) -> list[Edit]:
    """Return edits that merge skills and mistakes that say the same, and archive unused ones.

    Args:
        situation: the bank; its evidence does not matter here.
        fade_after: episodes after which an entry that none of them used is archived.
    """
    return [*_merges(situation), *_faded(situation, fade_after)]


def arranged(
    situation: Situation, tidy: Sequence[Edit], edits: Sequence[Edit], keep: Collection[str] = ()
) -> list[Edit]:
    """Return all edits in an order in which they fit, with those that make room for new entries.

    Args:
        situation: the bank.
        tidy: merges and archives, which come first.
        edits: the others.
        keep: ids of entries that do not make room.
    """
    gone = {edit.id for edit in tidy if isinstance(edit, Archive)}
    for edit in tidy:
        if isinstance(edit, Merge):
            gone.update(edit.ids[1:])
    new = [edit for edit in edits if isinstance(edit, Add | Restore)]
    settled = [edit for edit in edits if not isinstance(edit, Add | Restore)]
    return [*tidy, *settled, *_room(situation, gone, new, keep), *new]


def doubt_is_over(entry: Entry) -> Modify:
    """Return the edit that lets a disputed entry be as it was."""
    return Modify(id=entry.id, content=entry.content, reason="nobody confirmed the doubt")


def clusters(
    items: Sequence[Any],
    embed: Callable[[Sequence[str]], list[list[float]]],
    least: float,
    words: float,
) -> list[list[Any]]:
    """Group items with near texts around the first of each group, in their order.

    Args:
        items: entries or notes.
        embed: returns unit vectors of texts.
        least: the cosine from which a text is near.
        words: the share of common words that it needs besides, between 0 and 1.
    """
    import numpy as np

    texts = [getattr(item, "content", item).text for item in items]
    vectors = np.asarray(embed(texts), dtype=np.float32)
    groups: list[list[int]] = []
    for at, vector in enumerate(vectors):
        near = vectors[[group[0] for group in groups]] @ vector if groups else ()
        for group, likeness in zip(groups, near, strict=True):
            if likeness >= least and _overlap(texts[at], texts[group[0]]) >= words:
                group.append(at)
                break
        else:
            groups.append([at])
    return [[items[at] for at in group] for group in groups]


def _merges(situation: Situation) -> Iterator[Edit]:
    groups: defaultdict[tuple[str, str, str], list[Entry]] = defaultdict(list)
    for entry in situation.entries:
        if entry.kind != "hint" and entry.status == "active":
            groups[entry.kind, entry.task_type, entry.context].append(entry)
    for group in groups.values():
        # The one that served best is kept; of equals the one that says more.
        group.sort(key=lambda e: (-e.uses * e.utility, -e.utility, -len(e.text), e.id))
        for same in clusters(group, situation.embed, SAME, _SHARED_WORDS):
            if len(same) > 1:
                yield Merge(ids=tuple(entry.id for entry in same), reason="they say the same")


def _faded(situation: Situation, fade_after: int) -> Iterator[Edit]:
    for entry in situation.entries:
        idle = situation.episodes - entry.last_used
        if (
            entry.kind != "hint"
            and entry.status != "archived"
            and idle > fade_after
            and not protected(entry)
        ):
            yield Archive(id=entry.id, reason=f"not used in {idle} episodes")


def _room(
    situation: Situation, gone: set[str], new: Sequence[Add | Restore], keep: Collection[str]
) -> Iterator[Edit]:
    """Archive what serves least where the new entries would not fit."""
    kinds = {entry.id: entry.kind for entry in situation.entries}
    for kind in ("skill", "mistake", "hint"):
        coming = sum(
            (edit.content.kind if isinstance(edit, Add) else kinds[edit.id]) == kind for edit in new
        )
        held = [
            entry
            for entry in situation.entries
            if entry.kind == kind and entry.status != "archived" and entry.id not in gone
        ]
        excess = len(held) + coming - situation.limits.of(kind)
        held = sorted((e for e in held if not protected(e) and e.id not in keep), key=_service)
        for entry in held[: max(0, excess)]:
            yield Archive(id=entry.id, reason="the bank is full, and it served least")


def _service(entry: Entry) -> tuple[Any, ...]:
    places = entry.content.places if isinstance(entry.content, Hint) else ()
    looked = sum(place.looked for place in places)
    return entry.uses > 0, entry.utility if entry.uses else 0, looked, entry.last_used, entry.id


def _overlap(one: str, other: str) -> float:
    """Return the share of common words (Jaccard)."""
    first, second = ({*re.findall(r"\w+", text.lower())} for text in (one, other))
    return len(first & second) / max(1, len(first | second))
