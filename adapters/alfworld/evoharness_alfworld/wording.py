"""The wordings of actions that agents use, and what engines say before the first of them."""

from __future__ import annotations

import re

_REWRITES = (
    (re.compile(r"goto (.+)"), r"go to \1"),
    (re.compile(r"(?:put|place) (.+?) (?:in/on|on/in|into|onto|in|on) (.+)"), r"move \1 to \2"),
    (re.compile(r"pick up (.+? from .+)"), r"take \1"),
    (re.compile(r"(?:turn on|toggle) (.+)"), r"use \1"),
)


_BANNER = re.compile(r"-= Welcome to TextWorld, ALFRED! =-\s*|\s*Your task is to: [^\n]*")


def room_only(text: str) -> str:
    """Return an engine's first text without its banner and the sentence of the task."""
    return _BANNER.sub("", text)


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
