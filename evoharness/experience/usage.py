"""How entries have served: which episodes recalled them, how those ended, and who contradicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evoharness.experience.embedding import Embedding
from evoharness.experience.entries import Entry, Hint
from evoharness.experience.evidence import FinishedEpisode, Note, denies, like_an_instruction
from evoharness.experience.retrieval import Index

Usage = dict[str, tuple[int, int, int]]
"""Entry id -> uses, wins and last use, afterwards."""
_ABOUT = 0.5
"""Cosine from which a note is about an entry."""


def after_use(
    entries: Mapping[str, Entry], evidence: Sequence[Note | FinishedEpisode], seen: int
) -> tuple[dict[str, Entry], Usage, int]:
    """Count the episodes that used each entry, and how they ended.

    Args:
        entries: the bank's entries by id.
        evidence: what waits.
        seen: how many finished episodes the bank had seen.

    Returns:
        The entries with their new counts, the counts that changed, and the episodes seen now.
    """
    used = dict(entries)
    usage: Usage = {}
    episodes = [piece for piece in evidence if isinstance(piece, FinishedEpisode)]
    total = seen + len(episodes)
    for episode in episodes:
        for id_ in set(episode.recalled) & used.keys():
            uses, wins = used[id_].uses + 1, used[id_].wins + episode.success
            usage[id_] = (uses, wins, total)
            counts = {"uses": uses, "wins": wins, "last_used": total}
            used[id_] = used[id_].model_copy(update=counts)
    return used, usage, total


def disputed(
    note: Note, entries: Mapping[str, Entry], vectors: Mapping[str, Any], embedding: Embedding
) -> tuple[str, ...]:
    """Return the ids of the recalled entries that a note says are wrong.

    It has to say so, and to be about them: it names a hint's thing, or is near to the text. A note
    that looks as if it were meant to direct a reader disputes nothing.
    """
    if not note.recalled or not denies(note.text) or like_an_instruction(note.text):
        return ()
    recalled = [entries[id_] for id_ in note.recalled if id_ in entries]
    hints = [e for e in recalled if isinstance(e.content, Hint) and e.content.named_in(note.text)]
    if hints:
        return tuple(entry.id for entry in hints)
    [vector] = embedding.embed([note.text])
    index = Index(recalled, [vectors[entry.id] for entry in recalled])
    near = index.search(note.text, vector, task_type=note.task_type, limit=1)
    return tuple(hit.id for hit in near if hit.kind != "hint" and hit.similarity > _ABOUT)
