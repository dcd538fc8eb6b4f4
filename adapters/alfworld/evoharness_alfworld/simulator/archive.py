"""Houses and states as JSON: short texts for the index of games, and snapshots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from sys import intern
from typing import Any, cast

from evoharness_alfworld.simulator.house import House, State
from evoharness_alfworld.simulator.problem import Goal

FORMAT = 2
"""Changes whenever the text of a house does."""


_PAIRS = ("lying", "taken")
_SINGLE = ("place", "held")
_SETS = (
    *("openable", "pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable"),
    *("blades", "washers", "heaters", "coolers"),
)


def dumps(house: House) -> str:
    """Return a house as JSON."""
    start = house.start
    return json.dumps(
        [
            house.objective,
            [house.goal.kind, house.goal.thing, house.goal.target],
            house.receptacles,
            house.receptacle_types,
            house.places,
            {kind: sorted(numbers) for kind, numbers in house.fits.items()},
            house.objects,
            house.object_types,
            {name: sorted(getattr(house, name)) for name in _SETS},
            list(house.contents.items()),
            start.place,
            start.held,
            start.inside,
            [number for pair in sorted(start.lying) for number in pair],
            [sorted(numbers) for numbers in start[5:]],
        ],
        separators=(",", ":"),
    )


def loads(text: str) -> House:
    """Return the house that `dumps` wrote."""
    (
        objective, goal, receptacles, receptacle_types, places, fits, objects, object_types,
        named, contents, place, held, inside, lying, states,
    ) = cast(list[Any], json.loads(text))  # fmt: skip
    sets: Any = {name: frozenset(numbers) for name, numbers in named.items()}
    return House(
        objective=objective,
        goal=Goal(*goal),
        receptacles=tuple(map(intern, receptacles)),
        receptacle_types=tuple(map(intern, receptacle_types)),
        places=tuple(places),
        fits={intern(kind): frozenset(numbers) for kind, numbers in fits.items()},
        objects=tuple(map(intern, objects)),
        object_types=tuple(map(intern, object_types)),
        contents={number: tuple(inner) for number, inner in contents},
        start=State(
            place,
            held,
            tuple(map(tuple, cast(list[list[int]], inside))),
            frozenset(zip(lying[::2], lying[1::2], strict=True)),
            frozenset(),
            *map(frozenset, states),
        ),
        **sets,
    )


def changes(house: House, state: State) -> dict[str, Any]:
    """Return how a state differs from the house's first one, as JSON.

    Of a set there is what has come or gone, of `inside` the receptacles that changed.
    """
    found: dict[str, Any] = {}
    before, now = house.start._asdict(), state._asdict()
    for field in State._fields:
        if now[field] == before[field]:
            continue
        if field == "inside":
            pairs = enumerate(zip(house.start.inside, state.inside, strict=True))
            found[field] = {str(r): list(new) for r, (old, new) in pairs if new != old}
        elif field in _PAIRS:
            found[field] = sorted([a, b] for a, b in now[field] ^ before[field])
        elif field in _SINGLE:
            found[field] = now[field]
        else:
            found[field] = sorted(now[field] ^ before[field])
    return found


def changed(house: House, changes: Mapping[str, Any]) -> State:
    """Return the state that `changes` was made from.

    Raises:
        ValueError: it was made from none of this house.
    """
    try:
        state = _changed(house, changes)
    except (TypeError, ValueError, IndexError, AttributeError):
        raise ValueError("the snapshot is damaged") from None
    objects, receptacles = range(len(house.objects)), range(len(house.receptacles))
    things = {*chain.from_iterable(state.inside), *chain.from_iterable(state[6:])}
    things |= {thing for thing, _ in (*state.lying, *state.taken)}
    places = {place for _, place in state.lying} | {state.place}
    known = {place for _, place in house.start.lying} | {house.start.place, *house.places}
    if (
        not things | ({state.held} - {None}) <= set(objects)
        or not {r for _, r in state.taken} | state.opened <= set(receptacles)
        or not places <= known
    ):
        raise ValueError("the snapshot is damaged")
    return state


def _changed(house: House, changes: Mapping[str, Any]) -> State:
    state = house.start._asdict()
    for field in changes.keys() & state.keys():
        value = changes[field]
        if field == "inside":
            inside = list(house.start.inside)
            for receptacle, objects in value.items():
                inside[int(receptacle)] = tuple(objects)
            state[field] = tuple(inside)
        elif field in _PAIRS:
            state[field] ^= {(a, b) for a, b in value}
        elif field in _SINGLE:
            state[field] = value
        else:
            state[field] ^= set(value)
    return State(**state)
