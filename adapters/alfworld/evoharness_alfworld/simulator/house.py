"""A house: what never changes in a game. And its state: what does.

Objects, receptacles and places ("locations" in the domain) are numbers. They count up in the order
of the ids in the problem, which is the order in which the stock engine lists things.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from evoharness_alfworld.simulator.actions import Action
from evoharness_alfworld.simulator.naming import names
from evoharness_alfworld.simulator.problem import GameError, Goal, Problem


class State(NamedTuple):
    """Everything about a game that can change. Immutable: a copy is the state itself."""

    place: int
    """Where the agent is."""
    held: int | None
    """The object in its hand."""
    inside: tuple[tuple[int, ...], ...]
    """Receptacle to the objects in it, ascending. An object can be in two receptacles."""
    lying: frozenset[tuple[int, int]]
    """(object, place): where objects are. An object can lie elsewhere than its receptacle."""
    taken: frozenset[tuple[int, int]]
    """(object, receptacle): taken from there, and not put back since."""
    opened: frozenset[int]
    """Receptacles that are open."""
    clean: frozenset[int]
    hot: frozenset[int]
    cool: frozenset[int]
    sliced: frozenset[int]
    lit: frozenset[int]
    """Objects that were switched on, once: nothing is ever switched off."""


@dataclass(frozen=True, eq=False)
class House:
    """What never changes: the things, what can be done to them, the goal, and the first state."""

    objective: str
    goal: Goal
    receptacles: tuple[str, ...]
    """Their names, such as `drawer 3`."""
    receptacle_types: tuple[str, ...]
    places: tuple[int, ...]
    """Where each receptacle is; neighbours may share a place."""
    openable: frozenset[int]
    fits: Mapping[str, frozenset[int]]
    """Receptacle type to the objects that it can contain."""
    objects: tuple[str, ...]
    """Their names, such as `mug 2`."""
    object_types: tuple[str, ...]
    pickupable: frozenset[int]
    cleanable: frozenset[int]
    heatable: frozenset[int]
    coolable: frozenset[int]
    sliceable: frozenset[int]
    toggleable: frozenset[int]
    blades: frozenset[int]
    """The objects that slice."""
    washers: frozenset[int]
    """The receptacles that clean."""
    heaters: frozenset[int]
    coolers: frozenset[int]
    contents: Mapping[int, tuple[int, ...]]
    """Objects that can contain others, such as a box, and what was in them at the start."""
    start: State

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that tell this house from others."""
        from evoharness_alfworld.simulator import archive  # which is about houses

        return sha256(archive.dumps(self).encode()).hexdigest()[:8]

    @cached_property
    def at(self) -> dict[int, tuple[int, ...]]:
        """Place to the receptacles there."""
        found: dict[int, list[int]] = {}
        for receptacle, place in enumerate(self.places):
            found.setdefault(place, []).append(receptacle)
        return {place: tuple(here) for place, here in found.items()}

    def travel(self, place: int) -> Mapping[str, Action]:
        """Return the commands that lead away from a place: to every receptacle that is not here."""
        return self._travel.get(place, self._everywhere)

    @cached_property
    def _everywhere(self) -> dict[str, Action]:
        return {f"go to {name}": Action("go", -1, r) for r, name in enumerate(self.receptacles)}

    @cached_property
    def _travel(self) -> dict[int, dict[str, Action]]:
        return {
            place: {c: way for c, way in self._everywhere.items() if way.receptacle not in here}
            for place, here in self.at.items()
        }

    @cached_property
    def things(self) -> frozenset[int]:
        """The objects of the type that the goal names."""
        return frozenset(_of_type(self.object_types, self.goal.thing))

    @cached_property
    def targets(self) -> frozenset[int]:
        """The receptacles of the type that the goal names; or the lamps that can be switched on."""
        if self.goal.kind == "look_at_obj_in_light":
            return frozenset(_of_type(self.object_types, self.goal.target)) & self.toggleable
        return frozenset(_of_type(self.receptacle_types, self.goal.target))


def build(problem: Problem) -> House:
    """Build the house of a problem.

    Raises:
        GameError: a thing has no type, no place or several of them, or there is not one agent.
    """
    facts = problem.facts
    type_of = _single(facts["objecttype"], "object", "type")
    objects = _numbered(problem, "object")
    kind_of = _single(facts["receptacletype"], "receptacle", "type")
    place_of = _single(facts["receptacleatlocation"], "receptacle", "place")
    receptacles = _numbered(problem, "receptacle")
    lacking = (kind_of.keys() | place_of.keys() | receptacles.keys()) - (
        kind_of.keys() & place_of.keys() & receptacles.keys()
    )
    if lacking:
        raise GameError(f"receptacle {min(lacking)} has no type or no place, or is none")
    places = _numbered(problem, "location")
    named = names(problem.kinds)

    def numbers(predicate: str, of: dict[str, int]) -> frozenset[int]:
        return frozenset(_number(of, fact[0]) for fact in facts[predicate])

    def pairs(predicate: str, second: dict[str, int]) -> list[tuple[int, int]]:
        return [(_number(objects, a), _number(second, b)) for a, b in facts[predicate]]

    inside = _grouped((b, a) for a, b in pairs("inreceptacle", receptacles))
    contents = _grouped((b, a) for a, b in pairs("inreceptacleobject", objects))
    hands = len(facts["holds"])
    if len(facts["atlocation"]) != 1 or hands > 1 or len(facts["holdsany"]) != hands:
        raise GameError("it has not one agent with one hand")
    held = [_number(objects, thing) for _, thing in facts["holds"]]
    receptacle_types = tuple(kind_of[id] for id in receptacles)
    object_types = tuple(type_of.get(id, "") for id in objects)
    allowed = facts["cancontain"]
    fits = {
        where: frozenset(n for n, kind in enumerate(object_types) if (where, kind) in allowed)
        for where in receptacle_types
    }
    return House(
        objective=problem.objective,
        goal=problem.goal,
        receptacles=tuple(named[id] for id in receptacles),
        receptacle_types=receptacle_types,
        places=tuple(_number(places, place_of[id]) for id in receptacles),
        openable=numbers("openable", receptacles),
        fits=fits,
        objects=tuple(named[id] for id in objects),
        object_types=object_types,
        pickupable=numbers("pickupable", objects),
        cleanable=numbers("cleanable", objects),
        heatable=numbers("heatable", objects),
        coolable=numbers("coolable", objects),
        sliceable=numbers("sliceable", objects),
        toggleable=numbers("toggleable", objects),
        blades=frozenset(_of_type(object_types, "knifetype", "butterknifetype")),
        washers=frozenset(_of_type(receptacle_types, *problem.washing)),
        heaters=frozenset(_of_type(receptacle_types, "microwavetype")),
        coolers=frozenset(_of_type(receptacle_types, "fridgetype")),
        contents={o: contents.get(o, ()) for o in sorted(numbers("isreceptacleobject", objects))},
        start=State(
            place=next(_number(places, place) for _, place in facts["atlocation"]),
            held=held[0] if held else None,
            inside=tuple(inside.get(receptacle, ()) for receptacle in receptacles.values()),
            lying=frozenset(pairs("objectatlocation", places)),
            taken=frozenset(),
            opened=numbers("opened", receptacles),
            clean=numbers("isclean", objects),
            hot=numbers("ishot", objects),
            cool=numbers("iscool", objects),
            sliced=numbers("issliced", objects),
            lit=numbers("istoggled", objects),
        ),
    )


def _single(facts: frozenset[tuple[str, ...]], thing: str, what: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for id, value in facts:
        if found.setdefault(id, value) != value:
            raise GameError(f"{thing} {id} has more than one {what}")
    return found


def _numbered(problem: Problem, kind: str) -> dict[str, int]:
    ids = sorted(id for id, its in problem.kinds.items() if its == kind)
    return {id: number for number, id in enumerate(ids)}


def _number(numbers: dict[str, int], id: str) -> int:
    if id not in numbers:
        raise GameError(f"its init says of {id} what cannot be said of it")
    return numbers[id]


def _grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for key, value in sorted(pairs):
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def _of_type(types: Sequence[str], *wanted: str) -> Iterator[int]:
    return (number for number, kind in enumerate(types) if kind in wanted)
