"""The plain Belief that an adapter gets without writing one.

It keeps the latest observation of each distinct action and answers a query with the remembered
lines that share most words with it. Domains with structure replace it by their own.
"""

from __future__ import annotations

import re
from typing import Any

KEPT = 24
"""Observations kept; the oldest is forgotten first."""
_WIDTH = 400
"""Characters kept of one action and of one observation."""


def first(observation: str) -> dict[str, Any]:
    """Return the Belief after the first observation."""
    return {"seen": [["start", observation[:_WIDTH]]]}


def update(belief: dict[str, Any], action: str, observation: str) -> dict[str, Any]:
    """Return Belief with this action's observation as the newest memory."""
    action = action[:_WIDTH]
    seen = [pair for pair in belief["seen"] if pair[0] != action]
    return {"seen": [*seen, [action, observation[:_WIDTH]]][-KEPT:]}


def answer(belief: dict[str, Any], query: str) -> str:
    """Return up to three memories that share words with the query, best first.

    An empty query returns the three newest.
    """
    seen: list[list[str]] = belief["seen"]
    words = set(re.findall(r"\w+", query.lower()))
    if not words:
        chosen = list(reversed(seen[-3:]))
    else:
        scored = [
            (len(words & set(re.findall(r"\w+", f"{action} {text}".lower()))), index)
            for index, (action, text) in enumerate(seen)
        ]
        best = sorted((pair for pair in scored if pair[0]), reverse=True)[:3]
        chosen = [seen[index] for _, index in best]
    if not chosen:
        return f"Nothing seen so far matches {query!r}."
    return "\n".join(f"after {action!r}: {text}" for action, text in chosen)
