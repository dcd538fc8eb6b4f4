"""What a player who reads only text does next in ALFWorld: search, take, treat, place."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from evoharness_alfworld import priors
from evoharness_alfworld import scene as belief
from evoharness_alfworld.objective import Goal, a_thing
from evoharness_alfworld.scene import Scene, class_of, number_of

_APPLIANCES = {
    "clean": ("sinkbasin", "bathtubbasin"),
    "heat": ("microwave",),
    "cool": ("fridge",),
}
_STATE = {"clean": "clean", "heat": "hot", "cool": "cool"}
_FAILED = "nothing happens."
_IDLE = ("examine", "look", "inventory", "help")
_TRIES = 3
"""Failures of one action after which it is not tried again."""


class Did(TypedDict):
    """One environment action and what came of it."""

    argument: str
    """The action."""
    result: str
    valid: bool


_IDLY = "Nothing else is left to try, so I look around."

Candidate = tuple[str, str]
"""An environment action and the reason for it."""

Hints = Mapping[str, Mapping[str, tuple[float, float]]]
"""Object class -> receptacle class -> (looks there that found such an object, looks), in the order
in which they were recalled.
"""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a player brings along of where things usually are."""

    table: priors.Table
    order: str | None = None
    """What decides between places that promise the same: an arbitrary text, which stands for one
    arbitrary order; None for the order of class and number."""


EXPERT = Knowledge(priors.load())


@dataclass(frozen=True, slots=True)
class Situation:
    """What the expert acts on: everything is rebuilt from what was seen."""

    goal: Goal
    scene: Scene
    hints: Hints
    """What recall named."""
    reachable: frozenset[str]
    """Places known to be at the spot where the agent is."""
    knowledge: Knowledge = EXPERT


def stage(goal: Goal, scene: Scene) -> int:
    """Return the index of the subgoal in `plan(goal)` that is to be done now."""
    holding = holds_thing(goal, scene)
    if goal.kind == "two":
        return 2 * bool(_delivered(goal, scene)) + holding
    if goal.kind in _STATE and holding:
        return 2 if _treated(goal, scene) else 1
    return int(holding)


def situation(
    goal: Goal,
    scene: Scene,
    done: Sequence[Did],
    hints: Hints | None = None,
    admissible: Container[str] | None = None,
    knowledge: Knowledge = EXPERT,
) -> Situation:
    """Return what is known now.

    Args:
        goal: what is to be done.
        scene: what was seen.
        done: the environment actions so far.
        hints: where to search first.
        admissible: the admissible actions, where they are shown.
        knowledge: what the player brings along.
    """
    reachable = set(scene["here"])
    for did in reversed(done):
        if did["result"].lower().startswith("you arrive"):
            break
        # The agent already stands at the place that it cannot go to.
        if _failed(did) and did["argument"].startswith("go to "):
            reachable.add(did["argument"].removeprefix("go to "))
    if admissible is not None:
        reachable |= {name for name in scene["places"] if f"examine {name}" in admissible}
    return Situation(goal, scene, hints or {}, frozenset(reachable), knowledge)


def act(
    here: Situation, done: Sequence[Did], admissible: Container[str] | None = None
) -> Candidate:
    """Return the first candidate that has not just failed; else the one tried longest ago."""
    blocked = _blocked(done)
    possible: list[Candidate] = []
    for candidate in _candidates(here):
        if admissible is None or candidate[0] in admissible:
            if candidate[0] not in blocked:
                return candidate
            possible.append(candidate)
    last = {did["argument"]: index for index, did in enumerate(done)}
    return min(possible, key=lambda c: last.get(c[0], -1), default=("look", _IDLY))


def _blocked(done: Sequence[Did]) -> set[str]:
    """Return actions not to try again: failed since something last changed, or too often."""
    blocked: set[str] = set()
    for did in reversed(done):
        if _failed(did):
            blocked.add(did["argument"])
        elif not did["argument"].startswith(_IDLE):
            break
    failures = Counter(did["argument"] for did in done if _failed(did))
    return blocked | {
        action
        for action, times in failures.items()
        if times >= _TRIES and not action.startswith("go to ")
    }


def _candidates(here: Situation) -> Iterator[Candidate]:
    """Yield what could be done now, the best first."""
    goal, scene = here.goal, here.scene
    held = scene["held"]
    if held is None:
        yield from _fetch(here)
    elif not holds_thing(goal, scene):
        yield from _drop(here, held)
    elif goal.kind == "look":
        yield from _light(here)
    elif goal.kind in _STATE and not _treated(goal, scene):
        for kind in _APPLIANCES[goal.kind]:
            for place in _of_class(here, kind):
                why = f"I hold the {goal.thing} and have to {goal.kind} it."
                yield from _deal(here, place, f"{goal.kind} {held} with {place}", why, inside=False)
    else:
        why = f"I hold the {goal.thing} and have to put it in the {goal.target}."
        for place in _of_class(here, goal.target):
            yield from _deal(here, place, f"move {held} to {place}", why)
    # All of the above failed: look elsewhere, which also frees what was blocked here.
    visited = [name for name in scene["places"] if name not in here.reachable]
    for name in sorted(visited, key=lambda name: (class_of(name), number_of(name))):
        yield f"go to {name}", "That did not work, so I try from another place."
    yield "look", _IDLY
    yield "inventory", _IDLY


def _fetch(here: Situation) -> Iterator[Candidate]:
    thing = here.goal.thing
    for name, place in takeable(here):
        yield from _deal(here, place, f"take {name} from {place}", f"I saw {name} at {place}.")
    yield from _search(here, thing)


def _light(here: Situation) -> Iterator[Candidate]:
    lamp = here.goal.target
    for name, places in belief.where(here.scene, lamp).items():
        for place in sorted(places, key=lambda place: place not in here.reachable):
            why = f"I hold the {here.goal.thing} and {name} is at {place}."
            yield from _deal(here, place, f"use {name}", why, inside=False)
    yield from _search(here, lamp)


def _drop(here: Situation, held: str) -> Iterator[Candidate]:
    why = f"I do not need {held}, so I put it down."
    kind = class_of(held)
    table = here.knowledge.table

    def awkward(place: str) -> tuple[bool, bool, float, str]:
        shut = here.scene["places"][place]["open"] is False
        return place not in here.reachable, shut, -priors.worth(kind, class_of(place), table), place

    for place in sorted(here.scene["places"], key=awkward):
        yield from _deal(here, place, f"move {held} to {place}", why)


def _search(here: Situation, thing: str) -> Iterator[Candidate]:
    """Look into the places not searched yet, most probable find per step first."""
    places = here.scene["places"]
    table, hints = here.knowledge.table, here.hints.get(thing, {})
    searched: dict[str, int] = {}
    for name, place in places.items():
        searched[class_of(name)] = searched.get(class_of(name), 0) + (place["contents"] is not None)

    def value(name: str) -> float:
        kind = class_of(name)
        shut = places[name]["open"]
        opening = priors.openable(kind, table) if shut is None else float(not shut)
        steps = (1 if shut is None or name not in here.reachable else 0) + opening
        chance = 0.001 + priors.chance(thing, kind, table)
        if kind in hints:
            # A hint leads the search, and tires as places of its class turn out empty.
            found, looked = hints[kind]
            chance += found / (looked + searched[kind])
        return chance / steps

    def order(name: str) -> tuple[str, str, int]:
        chosen = here.knowledge.order
        drawn = "" if chosen is None else hashlib.sha256(f"{chosen} {name}".encode()).hexdigest()
        return drawn, class_of(name), number_of(name)

    left = belief.unsearched(here.scene)
    for name in sorted(left, key=lambda name: (-value(name), order(name))):
        why = f"{a_thing(thing).capitalize()} may be in or on {name}."
        if name not in here.reachable:
            yield f"go to {name}", why
        elif places[name]["open"] is False:
            yield f"open {name}", why
        else:
            yield f"examine {name}", f"I already stand at {name}, so I look into it."
            yield f"open {name}", why


def _deal(
    here: Situation, place: str, action: str, why: str, *, inside: bool = True
) -> Iterator[Candidate]:
    """Go to a place, open it where that is needed, and act there."""
    if place not in here.reachable:
        yield f"go to {place}", why
        return
    known = here.scene["places"][place]
    unknown = known["open"] is None and known["contents"] is None
    opening = f"open {place}", f"{place} has to be opened first."
    if inside and (
        known["open"] is False
        or (unknown and priors.openable(class_of(place), here.knowledge.table) > 0.5)
    ):
        yield opening
    yield action, why
    if inside:
        yield opening


def _of_class(here: Situation, kind: str) -> list[str]:
    """Return the places of a class, the one to use first.

    For two objects it is the place where the first one lies; else one within reach; else one
    that is known to need no opening; else the lowest number.
    """
    scene = here.scene
    delivered = _delivered(here.goal, scene)

    def order(name: str) -> tuple[bool, bool, bool, int]:
        place = scene["places"][name]
        ready = place["open"] is not False and place["contents"] is not None
        first = here.goal.kind == "two" and kind == here.goal.target and name != delivered
        return first, name not in here.reachable, not ready, number_of(name)

    return sorted((name for name in scene["places"] if class_of(name) == kind), key=order)


def takeable(here: Situation) -> list[tuple[str, str]]:
    """Return the (object, place) pairs worth fetching: treated ones and near ones first."""
    goal, scene = here.goal, here.scene
    delivered = _delivered(goal, scene)
    pairs = [
        (name, place)
        for name, places in belief.where(scene, goal.thing).items()
        for place in places
        if not (goal.kind == "two" and delivered in places)
    ]
    wanted = _STATE.get(goal.kind, "")
    return sorted(
        pairs,
        key=lambda pair: (
            wanted not in scene["states"].get(pair[0], []),
            pair[1] not in here.reachable,
            number_of(pair[0]),
        ),
    )


def _delivered(goal: Goal, scene: Scene) -> str | None:
    """Return the target place that already has an object of the class, if one does."""
    for place in [p for places in belief.where(scene, goal.thing).values() for p in places]:
        if class_of(place) == goal.target:
            return place
    return None


def holds_thing(goal: Goal, scene: Scene) -> bool:
    """Return whether an object of the goal's class is in the hand."""
    held = scene["held"]
    return held is not None and class_of(held) == goal.thing


def _treated(goal: Goal, scene: Scene) -> bool:
    return _STATE[goal.kind] in scene["states"].get(scene["held"] or "", [])


def _failed(did: Did) -> bool:
    return not did["valid"] or did["result"].strip().lower() == _FAILED
