"""The wordings of actions that agents use, and the engine's own."""

from __future__ import annotations

import re

_REWRITES = (
    (re.compile(r"goto (.+)"), r"go to \1"),
    (re.compile(r"(?:put|place) (.+?) (?:in/on|on/in|into|onto|in|on) (.+)"), r"move \1 to \2"),
    (re.compile(r"pick up (.+? from .+)"), r"take \1"),
    (re.compile(r"(?:turn on|toggle) (.+)"), r"use \1"),
)


def normalise(action: str) -> str:
    """Return an action in the engine's wording.

    Lower case, single spaces, no full stop at the end; `put X in/on Y`, which older versions of
    the benchmark used, becomes `move X to Y`.
    """
    words = " ".join(action.lower().split()).rstrip(" .")
    for pattern, wording in _REWRITES:
        if pattern.fullmatch(words):
            return pattern.sub(wording, words)
    return words
