"""What several episodes say: the part of a note that an evolver may believe.

A note may carry what somebody planted where an episode would read it. What one episode alone says is
therefore not passed on, sentence by sentence, so that a planted sentence does not get through beside
one that is true. What is planted where several episodes read it, or inside a sentence that others say
too, is not told apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from evoharness.experience.evidence import Note

ABOUT = 0.5
"""Cosine from which two sentences are about the same."""
_SENTENCE = re.compile(r"(?<=[.;:!?…])\s+|(?<=,)\s+(?=(?:and|then|but|so|or)\b)", re.IGNORECASE)
_ROWS = 1000
"""Sentences that are compared with all others at a time, to bound the memory."""


def corroborated(
    notes: Sequence[Note], embed: Callable[[Sequence[str]], list[list[float]]], support: int
) -> dict[str, str]:
    """Return, by note id, the sentences that notes of enough episodes say, joined by ` … ` at gaps.

    Args:
        notes: the notes.
        embed: returns unit vectors of texts.
        support: how many episodes must say a sentence, the note's own among them.

    Returns:
        The notes of which anything is left, in their order.
    """
    sentences = {note.id: _SENTENCE.split(note.text) for note in notes}
    # Each sentence once an episode, and an episode's sentences side by side.
    pairs = sorted({(note.episode, said) for note in notes for said in sentences[note.id]})
    enough = dict(zip(pairs, _enough(pairs, embed, support), strict=True))
    kept: dict[str, str] = {}
    for note in notes:
        text, gap = "", False
        for said in sentences[note.id]:
            if enough[note.episode, said]:
                text += f"{(' … ' if gap else ' ') if text else ''}{said}"
            gap = not enough[note.episode, said]
        if text:
            kept[note.id] = text
    return kept


def _enough(
    pairs: Sequence[tuple[str, str]],
    embed: Callable[[Sequence[str]], list[list[float]]],
    support: int,
) -> list[bool]:
    """Return of sorted pairs of episode and sentence whether enough episodes say the sentence."""
    import numpy as np

    if not pairs:
        return []
    different = list(dict.fromkeys(said for _, said in pairs))
    made = dict(zip(different, embed(different), strict=True))
    vectors = np.asarray([made[said] for _, said in pairs], dtype=np.float32)
    episodes = [episode for episode, _ in pairs]
    starts = [n for n, name in enumerate(episodes) if n == 0 or episodes[n - 1] != name]
    enough: list[bool] = []
    for at in range(0, len(pairs), _ROWS):
        rows = vectors[at : at + _ROWS]
        near = np.round(rows @ vectors.T, 6) >= ABOUT
        # A sentence without a known word is near to nothing, but its own episode says it.
        near[np.arange(len(rows)), np.arange(at, at + len(rows))] = True
        says = np.logical_or.reduceat(near, starts, axis=1)
        enough.extend((says.sum(axis=1) >= support).tolist())
    return enough
