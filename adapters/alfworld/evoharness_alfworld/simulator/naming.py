"""Names for ids: what the problem calls `Drawer_bar__minus_00_dot_51…` the player calls `drawer 3`.

The stock engine's rule, number by number: alfworld/agents/utils/misc.py, class Demangler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_SPELLINGS = (("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ","))


def names(ids: Iterable[str]) -> dict[str, str]:
    """Name all ids that occur in the facts at the start.

    The numbers of a class are given in the falling order of its ids: the first gets the highest.
    """
    ordered = sorted(set(ids))
    left = Counter(class_of(id) for id in ordered if "_bar_" in id)
    named: dict[str, str] = {}
    for id in ordered:
        kind = class_of(id)
        if "_bar_" in id:
            named[id] = f"{_spelled(kind)} {left[kind]}"
            left[kind] -= 1
        else:
            named[id] = f"{_spelled(id)} "
    return named


def class_of(id: str) -> str:
    """Return the class in an id: what comes before its coordinates, basins marked as such."""
    kind = id.partition("_bar_")[0]
    return f"{kind}basin" if "basin" in id else kind


def _spelled(text: str) -> str:
    for written, meant in _SPELLINGS:
        text = text.replace(written, meant)
    return text
