"""How rooms are: which receptacles and objects they have and where those are.

`habits.json` is learned from the training games by `evoharness alfworld habits`.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict

ROOMS = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}
"""Hundreds of a scene's number to the kind of room."""
ABILITIES = (
    *("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable"),
    "isReceptacleObject",
)
_FEWEST = 3
"""What was seen in fewer games is an accident of one scene, and left out."""


class Things(TypedDict):
    """The objects of a class in a kind of room."""

    count: dict[str, float]
    """How many there are -> share of rooms."""
    on: dict[str, float]
    """Receptacle class -> how many of them one such receptacle holds on average."""


class Room(TypedDict):
    """A kind of room."""

    receptacles: dict[str, dict[str, float]]
    """Class -> how many there are -> share of rooms."""
    objects: dict[str, Things]
    joined: float
    """Share of receptacles that are at the place of another one."""
    alike: float
    """Share of those places where all receptacles are of one class."""


class Habits(TypedDict):
    """All that the generator knows; classes are spelled as in the games."""

    about: dict[str, str | int]
    rooms: dict[str, Room]
    openable: dict[str, float]
    """Receptacle class -> share that can be opened, and is closed."""
    fits: dict[str, list[str]]
    """Receptacle class -> object classes that it can contain."""
    abilities: dict[str, list[str]]
    """Object class -> predicates that hold for all of its objects."""
    cold: float
    """Share of coolable objects in a fridge that are cool at the start."""
    wanted: dict[str, dict[str, float]]
    """Task type -> how many objects of the class that is asked for there are -> share of games."""
    tasks: dict[str, dict[str, int]]
    """Task type -> `room|object class|receptacle or lamp class` -> games."""


@cache
def load() -> Habits:
    """Return the shipped table; do not change it."""
    text = files("evoharness_alfworld.generator").joinpath("habits.json").read_text("utf-8")
    table: Habits = json.loads(text)
    return table


def room_of(kind: str) -> str:
    """Return the kind of room in which a game plays, from its folder's name."""
    return ROOMS[int(kind.rsplit("-", 1)[1]) % 1000 // 100]


def build(paths: Iterable[Path]) -> Habits:
    """Learn the table from game files `TYPE-OBJECT-None-TARGET-SCENE/TRIAL/game.tw-pddl`."""
    games: Counter[str] = Counter()
    receptacles: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    objects: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    held: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    places: defaultdict[str, Counter[str]] = defaultdict(Counter)
    opens: Counter[tuple[str, bool]] = Counter()
    fits: Counter[tuple[str, str]] = Counter()
    able: Counter[tuple[str, str]] = Counter()
    seen: Counter[str] = Counter()
    cold: Counter[bool] = Counter()
    tasks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    wanted: Counter[tuple[str, int]] = Counter()
    for path in paths:
        game = _Game(path)
        room = game.room
        games[room] += 1
        tasks[game.kind][f"{room}|{game.thing}|{game.target}"] += 1
        wanted[game.kind, sum(game.objects[o] == game.thing for o in game.where)] += 1
        receptacles[room].update(Counter(game.receptacles.values()).items())
        objects[room].update(Counter(game.objects[o] for o in game.where).items())
        held[room].update(
            (game.objects[o], game.receptacles[r]) for o, rs in game.where.items() for r in rs
        )
        places[room].update(game.places())
        opens.update((kind, r in game.able["openable"]) for r, kind in game.receptacles.items())
        fits.update(game.fits)
        for o in game.where:
            seen[game.objects[o]] += 1
            able.update((game.objects[o], a) for a in ABILITIES if o in game.able[a])
        cold.update(game.cold())
    missing = sorted(set(ROOMS.values()) - set(games))
    if missing:
        raise ValueError(
            f"there is no game in a {missing[0]}; games in all kinds of rooms are needed"
        )
    kinds = sorted({kind for kind, _ in opens})
    return {
        "about": {
            "games": games.total(),
            "source": "initial states of the ALFWorld json_2.1.1 training games",
        },
        "rooms": {
            room: {
                "receptacles": _shares(receptacles[room], games[room]),
                "objects": {
                    thing: {"count": count, "on": _held(held[room], receptacles[room], thing)}
                    for thing, count in _shares(objects[room], games[room]).items()
                },
                "joined": round(places[room]["joined"] / places[room]["receptacles"], 4),
                "alike": round(places[room]["alike"] / max(1, places[room]["shared"]), 4),
            }
            for room in ROOMS.values()
        },
        "openable": {
            kind: round(opens[kind, True] / (opens[kind, True] + opens[kind, False]), 4)
            for kind in kinds
            if opens[kind, True]
        },
        "fits": {
            kind: sorted(thing for where, thing in fits if where == kind and thing in seen)
            for kind in kinds
        },
        "abilities": {
            thing: [a for a in ABILITIES if able[thing, a] > seen[thing] / 2]
            for thing in sorted(seen)
        },
        "cold": round(cold[True] / max(1, cold.total()), 4),
        "wanted": {
            kind: _shares(wanted, sum(found.values()))[kind]
            for kind, found in sorted(tasks.items())
        },
        "tasks": {kind: dict(sorted(found.items())) for kind, found in sorted(tasks.items())},
    }


class _Game:
    """What one game file says, with classes in their own spelling."""

    def __init__(self, path: Path) -> None:
        folder = path.parent.parent.name
        try:
            self.kind, self.thing, _, self.target, _ = folder.split("-")
            self.room = room_of(folder)
        except (ValueError, KeyError):
            raise ValueError(
                f"{path} is in no folder TYPE-OBJECT-None-TARGET-SCENE, which says what it is about"
            ) from None
        problem: str = json.loads(path.read_text(encoding="utf-8"))["pddl_problem"]
        init = problem[problem.index("(:init") : problem.index("(:goal")]
        self.receptacles: dict[str, str] = dict(_pairs(init, "receptacleType", "Type"))
        self.objects: dict[str, str] = dict(_pairs(init, "objectType", "Type"))
        self.at: dict[str, str] = dict(_pairs(init, "receptacleAtLocation"))
        self.fits = set(re.findall(r"\(canContain (\w+)Type (\w+)Type\)", init))
        self.able = {a: _ids(init, a) for a in (*ABILITIES, "openable", "isCool")}
        self.where: defaultdict[str, set[str]] = defaultdict(set)
        for thing, receptacle in _pairs(init, "inReceptacle"):
            if thing in self.objects:
                self.where[thing].add(receptacle)

    def places(self) -> Counter[str]:
        """Count receptacles, those at the place of another, shared places, and those alike."""
        here: defaultdict[str, list[str]] = defaultdict(list)
        for receptacle, place in self.at.items():
            here[place].append(self.receptacles[receptacle])
        shared = [kinds for kinds in here.values() if len(kinds) > 1]
        return Counter(
            receptacles=len(self.at),
            joined=len(self.at) - len(here),
            shared=len(shared),
            alike=sum(len(set(kinds)) == 1 for kinds in shared),
        )

    def cold(self) -> Iterable[bool]:
        """Yield for each coolable object in a fridge whether it is cool."""
        for thing, receptacles in self.where.items():
            chilled = any(self.receptacles[r] == "Fridge" for r in receptacles)
            if chilled and thing in self.able["coolable"]:
                yield thing in self.able["isCool"]


def _pairs(init: str, predicate: str, suffix: str = "") -> list[tuple[str, str]]:
    return re.findall(rf"\({predicate} (\S+) (\S+){suffix}\)", init)


def _ids(init: str, predicate: str) -> set[str]:
    return set(re.findall(rf"\({predicate} (\S+)\)", init))


def _shares(counts: Counter[tuple[str, int]], games: int) -> dict[str, dict[str, float]]:
    """Return class -> how many -> share of the games, 0 included."""
    found: dict[str, dict[str, float]] = {}
    for kind in sorted({kind for kind, _ in counts}):
        have = {number: n for (one, number), n in sorted(counts.items()) if one == kind}
        if sum(have.values()) >= _FEWEST:
            have = {0: games - sum(have.values()), **have}
            found[kind] = {str(number): round(n / games, 4) for number, n in have.items() if n}
    return found


def _held(
    held: Counter[tuple[str, str]], receptacles: Counter[tuple[str, int]], thing: str
) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in sorted({where for one, where in held if one == thing}):
        there = sum(number * n for (one, number), n in receptacles.items() if one == kind)
        if held[thing, kind] >= _FEWEST:
            found[kind] = round(held[thing, kind] / there, 4)
    return found


def dumps(table: Habits) -> str:
    """Return the table as the text of `habits.json`: lines short enough to be compared."""

    def lines(value: Any, depth: int) -> str:
        flat = json.dumps(value)
        if not isinstance(value, dict) or len(flat) + depth <= 100:
            return flat
        pad = " " * (depth + 1)
        rows = [f"{pad}{json.dumps(k)}: {lines(v, depth + 1)}" for k, v in value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"

    return lines(table, 0) + "\n"
