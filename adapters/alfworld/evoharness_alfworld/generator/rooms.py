"""Furnishes a room for a task: which receptacles, where they stand, and which object lies where."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from evoharness_alfworld.generator.habits import Habits
from evoharness_alfworld.generator.recipe import Recipe

TREATMENTS = {
    "pick_clean_then_place_in_recep": "SinkBasin",
    "pick_heat_then_place_in_recep": "Microwave",
    "pick_cool_then_place_in_recep": "Fridge",
}
"""Task type to the class of receptacle that does what the task asks for."""
LOOK, TWO, PLACE = "look_at_obj_in_light", "pick_two_obj_and_place", "pick_and_place_simple"
_RARE = 0.02
"""Weight of a class of receptacles in which an object was never seen, but may be put."""


@dataclass(frozen=True, slots=True)
class Quest:
    """What is to be done, in which kind of room."""

    kind: str
    room: str
    thing: str
    """Class of the object."""
    target: str
    """Class of the receptacle, or of the lamp."""


@dataclass(slots=True)
class Room:
    """A furnished room; things are known by their ids in the problem."""

    receptacles: dict[str, str] = field(default_factory=dict[str, str])
    """Id to class."""
    places: dict[str, str] = field(default_factory=dict[str, str])
    """Receptacle to the id of its place."""
    openable: list[str] = field(default_factory=list[str])
    objects: dict[str, str] = field(default_factory=dict[str, str])
    """Id to class."""
    where: dict[str, str] = field(default_factory=dict[str, str])
    """Object to receptacle."""
    cool: list[str] = field(default_factory=list[str])
    """Objects that are cool at the start."""


def choose_quest(habits: Habits, recipe: Recipe, rng: random.Random) -> Quest:
    """Choose a task as often as the training games have it."""
    kinds = {kind: sum(found.values()) for kind, found in habits["tasks"].items()}
    kind = recipe.kind or _choice(kinds, rng)
    room, thing, target = _choice(habits["tasks"][kind], rng).split("|")
    return Quest(kind, room, thing, target)


def furnish(habits: Habits, quest: Quest, recipe: Recipe, rng: random.Random) -> Room:
    """Return a room with everything that the task needs, and the task not yet done."""
    room = Room()
    _place_receptacles(room, habits, quest, recipe, rng)
    usual = habits["rooms"][quest.room]["objects"]
    counts = {thing: _count(each["count"], 1.0, rng) for thing, each in sorted(usual.items())}
    least = 2 if quest.kind == TWO else 1
    needed = {quest.thing: max(least, _count(habits["wanted"][quest.kind], 1.0, rng))}
    if quest.kind == LOOK:
        needed[quest.target] = 1
    for thing in sorted({*counts, *needed}):
        number = needed.get(thing) or _scaled(counts[thing], recipe.distractors, rng)
        for _ in range(number):
            _place_object(room, habits, quest, thing, recipe, rng)
    return room


def _place_receptacles(
    room: Room, habits: Habits, quest: Quest, recipe: Recipe, rng: random.Random
) -> None:
    usual = habits["rooms"][quest.room]
    needed = {TREATMENTS.get(quest.kind, ""), "" if quest.kind == LOOK else quest.target} - {""}
    # However few there are: somewhere for the object to be.
    homes = usual["objects"][quest.thing]["on"]
    needed.add(max(sorted(homes.keys() - {quest.target}), key=lambda kind: homes[kind]))
    before: list[str] = []
    for kind in sorted({*usual["receptacles"], *needed}):
        number = _count(usual["receptacles"].get(kind, {"0": 1.0}), recipe.receptacles, rng)
        for _ in range(max(number, kind in needed)):
            # The engine names basins by the part of the id that says so.
            part = f"_bar_{kind}" if kind.endswith("Basin") else ""
            id = f"{kind.removesuffix('Basin')}_bar_{len(room.receptacles):02}{part}"
            room.receptacles[id] = kind
            if rng.random() < habits["openable"].get(kind, 0.0):
                room.openable.append(id)
            room.places[id] = f"loc_bar_{len(room.receptacles)}"
            alike = [other for other in before if room.receptacles[other] == kind]
            if before and rng.random() < usual["joined"]:
                near = alike[-1:] if alike and rng.random() < usual["alike"] else before
                room.places[id] = room.places[near[int(rng.random() * len(near))]]
            before.append(id)


def _place_object(
    room: Room, habits: Habits, quest: Quest, thing: str, recipe: Recipe, rng: random.Random
) -> None:
    """Put one more object of a class into the room, where such objects usually are or, against
    the habit, where they usually are not.
    """
    usual = habits["rooms"][quest.room]["objects"]
    habit = usual[thing]["on"] if thing in usual else {}
    present = sorted(set(room.receptacles.values()))
    weights = {
        kind: habit.get(kind, 0.0) or _RARE * (thing in habits["fits"].get(kind, ()))
        for kind in present
        if not _would_help(quest, thing, kind)
    }
    weights = {kind: weight for kind, weight in weights.items() if weight}
    if not weights:  # Nothing here suits it; then anywhere will do.
        weights = {kind: 1.0 for kind in present if not _would_help(quest, thing, kind)}
    if rng.random() < recipe.moved:
        weights = reversed_habit(weights)
    each = {id: weights.get(kind, 0.0) for id, kind in room.receptacles.items()}
    where = _choice(each, rng)
    id = f"{thing}_bar_{len(room.objects):03}"
    room.objects[id] = thing
    room.where[id] = where
    chilled = room.receptacles[where] == "Fridge" and "coolable" in habits["abilities"][thing]
    if chilled and rng.random() < habits["cold"]:
        room.cool.append(id)


def reversed_habit(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights in reverse: the likeliest class of receptacle becomes the least likely."""
    ranked = sorted(weights, key=lambda kind: (weights[kind], kind))
    values = sorted(weights.values(), reverse=True)
    return dict(zip(ranked, values, strict=True))


def _would_help(quest: Quest, thing: str, receptacle: str) -> bool:
    """Return whether the task would be done, or half done, with such an object there."""
    return quest.kind in (PLACE, TWO) and (thing, receptacle) == (quest.thing, quest.target)


def _count(shares: Mapping[str, float], factor: float, rng: random.Random) -> int:
    return _scaled(int(_choice(shares, rng)), factor, rng)


def _scaled(number: int, factor: float, rng: random.Random) -> int:
    """Return the number times the factor, rounded up or down by chance."""
    wanted = number * factor
    return int(wanted) + (rng.random() < wanted - int(wanted))


def _choice(weights: Mapping[str, float], rng: random.Random) -> str:
    # Only random() is promised to be the same in all versions of Python.
    point = rng.random() * sum(weights.values())
    for item in sorted(weights):
        point -= weights[item]
        if point < 0:
            return item
    return max(weights, key=lambda item: weights[item])
