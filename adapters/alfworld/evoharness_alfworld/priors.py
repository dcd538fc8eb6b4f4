"""Where things usually are: a small table learned from the training games.

Every ALFWorld game states the initial placement of its objects. Counted over the training games,
that gives, for each pair of classes, how often a receptacle of the one class holds an object of
the other, and how often a receptacle must be opened. The table is shipped with the package;
`evoharness alfworld priors --out FILE` builds the same table again.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypedDict

_FACT = re.compile(
    r"\((inReceptacle|receptacleAtLocation|openable|pickupable|toggleable)"
    r" ([^()?\s]+)(?: ([^()?\s]+))?\)",
    re.IGNORECASE,
)
FEWEST = 3
"""Receptacles that must hold an object class before the pair is kept: once is a slip."""
_SOURCE = "initial placements in the ALFWorld json_2.1.1 training games"


class About(TypedDict):
    """What a table was counted from."""

    games: int
    source: str


class Table(TypedDict):
    """The shipped table; all probabilities are rounded to four decimals."""

    about: About
    openable: dict[str, float]
    """Receptacle class -> share of its receptacles that must be opened; never-opened classes
    are left out."""
    holds: dict[str, dict[str, float]]
    """Object class -> receptacle class -> share of these receptacles that hold such an object,
    in the games that have one."""


def class_of(raw: str) -> str:
    """Return the class that the game shows for a raw PDDL id, e.g. `Mug_bar__plus_…` -> `mug`."""
    lowered = raw.lower()
    return lowered.split("_bar_")[0] + ("basin" if "basin" in lowered else "")


def placements(problem: str) -> tuple[set[tuple[str, str]], set[str], set[str]]:
    """Read a PDDL problem's initial placements.

    Returns:
        The (object, receptacle) pairs of objects that can be taken or switched on, all
        receptacles, and the receptacles that open and close; all as raw ids.
    """
    start = problem.find("(:init")
    init = problem[start : problem.find("(:goal", start)]
    pairs: set[tuple[str, str]] = set()
    places: set[str] = set()
    opening: set[str] = set()
    useful: set[str] = set()
    for predicate, first, second in _FACT.findall(init):
        match predicate.lower():
            case "inreceptacle":
                pairs.add((first, second))
            case "openable":
                opening.add(first)
            case "receptacleatlocation":
                places.add(first)
            case _:
                useful.add(first)
    pairs = {(thing, place) for thing, place in pairs if thing in useful and place in places}
    return pairs, places, opening & places


def build(games: Iterable[Path]) -> Table:
    """Count the table from game files (`game.tw-pddl`).

    Raises:
        ValueError: a file is not a game.
    """
    count = 0
    total: Counter[str] = Counter()
    opening: Counter[str] = Counter()
    there: defaultdict[str, Counter[str]] = defaultdict(Counter)
    holding: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in games:
        try:
            problem: str = json.loads(path.read_text(encoding="utf-8"))["pddl_problem"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not an ALFWorld game (no pddl_problem in it).") from error
        pairs, all_receptacles, must_open = placements(problem)
        classes = Counter(map(class_of, all_receptacles))
        total.update(classes)
        opening.update(map(class_of, must_open))
        holders: defaultdict[str, set[str]] = defaultdict(set)
        for thing, receptacle in pairs:
            holders[class_of(thing)].add(receptacle)
        for thing, inside in holders.items():
            there[thing].update(classes)
            holding[thing].update(map(class_of, inside))
        count += 1
    return {
        "about": {"games": count, "source": _SOURCE},
        "openable": {k: round(n / total[k], 4) for k, n in sorted(opening.items())},
        "holds": {
            thing: {
                kind: round(n / there[thing][kind], 4)
                for kind, n in sorted(where.items())
                if n >= FEWEST
            }
            for thing, where in sorted(holding.items())
            if max(where.values()) >= FEWEST
        },
    }


def dumps(table: Table) -> str:
    """Return the table as the text of `priors.json`: one object class a line."""
    rows = ",\n".join(
        f"  {json.dumps(thing)}: {json.dumps(where)}" for thing, where in table["holds"].items()
    )
    return (
        f'{{\n "about": {json.dumps(table["about"])},\n'
        f' "openable": {json.dumps(table["openable"])},\n "holds": {{\n{rows}\n }}\n}}\n'
    )


@cache
def load() -> Table:
    """Return the shipped table; do not change it."""
    table: Table = json.loads(
        files("evoharness_alfworld").joinpath("priors.json").read_text("utf-8")
    )
    return table


NO_TABLE: Table = {"about": {"games": 0, "source": "nothing"}, "openable": {}, "holds": {}}
"""What somebody knows who was never in a house."""


def ranked(thing: str, limit: int | None = None) -> list[str]:
    """Return the receptacle classes that may hold an object class, the likeliest first.

    A class that must be opened costs one more step to look into and counts for less.
    """
    where = load()["holds"].get(thing, {})
    return sorted(where, key=lambda k: (-worth(thing, k), k))[:limit]


def worth(thing: str, receptacle: str, table: Table | None = None) -> float:
    """Return how much a look into one receptacle of a class is worth, between 0 and 1.

    It is the probability of finding an object of class `thing` there, divided by the steps that
    the look takes (one to go there, one more where it must be opened).
    """
    return chance(thing, receptacle, table) / (1 + openable(receptacle, table))


def chance(thing: str, receptacle: str, table: Table | None = None) -> float:
    """Return how often a receptacle of a class holds an object of class `thing`."""
    return (table or load())["holds"].get(thing, {}).get(receptacle, 0.0)


def openable(receptacle: str, table: Table | None = None) -> float:
    """Return the share of receptacles of a class that must be opened."""
    return (table or load())["openable"].get(receptacle, 0.0)


@cache
def receptacles() -> frozenset[str]:
    """Return the receptacle classes that the table knows."""
    table = load()
    return frozenset(place for where in table["holds"].values() for place in where)
