"""Draws how games are spread: how many receptacles and objects, how long the walkthroughs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evoharness_alfworld.generator.generate import Generated
from evoharness_alfworld.simulator import House

if TYPE_CHECKING:
    from rich.table import Table

WIDTHS = {"receptacles": 5, "shared places": 1, "objects": 5, "walkthrough": 1}
"""What is counted, and how wide the bins are."""
_BAR = 30
"""Characters of the longest bar."""

Sizes = Mapping[str, int]
Profile = dict[str, Counter[int]]
"""What is counted -> lower end of the bin -> games."""


def sizes(house: House, walkthrough: Sequence[str]) -> Sizes:
    """Return the sizes of one game; objects count where a player can see them."""
    seen = {o for inside in house.start.inside for o in inside}
    return {
        "receptacles": len(house.receptacles),
        "shared places": len(house.receptacles) - len(set(house.places)),
        "objects": len(seen),
        "walkthrough": len(walkthrough),
    }


def of_files(houses: Iterable[tuple[House, Path]]) -> Profile:
    """Return the profile of games on disk."""
    return profile(
        sizes(house, json.loads(path.read_text(encoding="utf-8")).get("walkthrough", ()))
        for house, path in houses
    )


def of_generated(games: Iterable[Generated]) -> Profile:
    """Return the profile of new games."""
    return profile(sizes(game.house, game.walkthrough) for game in games)


def profile(games: Iterable[Sizes]) -> Profile:
    """Count games by their sizes."""
    found: Profile = {what: Counter() for what in WIDTHS}
    for each in games:
        for what, width in WIDTHS.items():
            found[what][each[what] // width * width] += 1
    return found


def difference(one: Profile, other: Profile) -> dict[str, float]:
    """Return for each size how far the profiles are apart: the share of games, between 0 and 1,
    that would have to be in another bin (total variation distance).
    """
    found: dict[str, float] = {}
    for what in WIDTHS:
        mine, theirs = one[what], other[what]
        bins = mine.keys() | theirs.keys()
        gap = sum(abs(mine[b] / mine.total() - theirs[b] / theirs.total()) for b in bins)
        found[what] = gap / 2
    return found


def draw(profiles: Mapping[str, Profile]) -> Iterable[Table]:
    """Yield a table of bars for each size, the profiles side by side."""
    from rich.table import Table

    for what, width in WIDTHS.items():
        bins = sorted({start for one in profiles.values() for start in one[what]})
        most = max(n / one[what].total() for one in profiles.values() for n in one[what].values())
        table = Table(title=what, title_justify="left", box=None)
        table.add_column("", justify="right")
        for name in profiles:
            table.add_column(name, min_width=_BAR + 6)
        for start in range(bins[0], bins[-1] + 1, width):
            row = [str(start) if width == 1 else f"{start}-{start + width - 1}"]
            for one in profiles.values():
                share = one[what][start] / one[what].total()
                row.append(f"{'█' * round(_BAR * share / most)} {100 * share:.0f} %")
            table.add_row(*row)
        yield table
