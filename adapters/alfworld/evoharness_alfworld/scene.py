"""Belief for ALFWorld: a scene graph read off the observations.

The scene is plain JSON and says only what the agent was shown: which places there are and what
was in or on each of them when the agent looked, which stand open, what is in the hand, and what
was done to an object. Text of any other form leaves it as it is.

    {"task": "put a hot mug in desk.", "at": "fridge 1", "here": ["fridge 1"], "held": "mug 1",
     "places": {"fridge 1": {"visited": True, "open": False, "contents": ["egg 1"]}, …},
     "states": {"mug 1": ["clean", "hot"]}}

`contents` is None until the agent has seen what a place holds. One object may lie in two places
at once: the games have objects that reach over two shelves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypedDict

from evoharness_alfworld import priors

MAX_PLACES = 256
"""Places kept (the games have up to about 60)."""
MAX_CONTENTS = 512
"""Objects kept of one place."""
MAX_STATES = 64
"""Objects whose state is kept; the one changed longest ago is forgotten first."""

_NAME = r"[a-z]{1,40} \d{1,4}"
_ITEM = re.compile(rf"\ba ({_NAME})\b")


class Place(TypedDict):
    """What is known of one receptacle."""

    visited: bool
    open: bool | None
    """None where it is not known, or the place neither opens nor closes."""
    contents: list[str] | None
    """None until the agent has looked into it; then complete."""


class Scene(TypedDict):
    """All that the agent knows of the room; plain JSON."""

    task: str
    at: str | None
    """The place that the agent went to last."""
    here: list[str]
    """Places known to be within reach now; several may share one spot."""
    held: str | None
    places: dict[str, Place]
    states: dict[str, list[str]]
    """Object -> some of clean, hot, cool, sliced, on."""


def first(objective: str, observation: str) -> Scene:
    """Return the scene after the first observation, which lists the places of the room."""
    empty: Scene = {
        "task": objective[:300],
        "at": None,
        "here": [],
        "held": None,
        "places": {},
        "states": {},
    }
    return update(empty, "look", observation)


def update(scene: Scene, action: str, observation: str) -> Scene:
    """Return the scene with what one more observation shows; `scene` is not changed.

    Args:
        scene: the scene so far.
        action: what led to the observation; the observations say by themselves what was done.
        observation: the text as the environment gave it.
    """
    text = " ".join(observation.lower().split())
    for pattern, change in _FORMS:
        if found := pattern.fullmatch(text):
            new = _copy(scene)
            change(new, *found.groups())
            return new
    return scene


def fold(objective: str, observation: str, steps: list[tuple[str, str]]) -> Scene:
    """Return the scene after (action, observation) pairs that follow the first observation."""
    scene = first(objective, observation)
    for action, text in steps:
        scene = update(scene, action, text)
    return scene


def class_of(name: str) -> str:
    """Return the class of an instance: `mug 2` -> `mug`."""
    return name.rsplit(" ", 1)[0]


def number_of(name: str) -> int:
    """Return the number of an instance: `mug 2` -> 2."""
    return int(name.rsplit(" ", 1)[1])


def where(scene: Scene, wanted: str) -> dict[str, list[str]]:
    """Return object -> places where it was last seen, for a class or an instance, in order.

    An object in the hand is not among them.
    """
    found: dict[str, list[str]] = {}
    for name, place in scene["places"].items():
        for thing in place["contents"] or []:
            if wanted in (thing, class_of(thing)) and thing != scene["held"]:
                found.setdefault(thing, []).append(name)
    return dict(sorted(found.items(), key=lambda pair: (class_of(pair[0]), number_of(pair[0]))))


def unsearched(scene: Scene) -> list[str]:
    """Return the places whose contents were never seen, in order of class and number."""
    names = [name for name, place in scene["places"].items() if place["contents"] is None]
    return sorted(names, key=lambda name: (class_of(name), number_of(name)))


def answer(scene: Scene, query: str) -> str:
    """Answer `track query` in a few lines.

    Args:
        scene: what is known.
        query: an object or a place, by class or by instance, in any sentence; "unsearched" asks
            for the places not looked into, "inventory" for what is held; empty for an overview.
    """
    words = re.findall(r"[a-z]+|\d+", query.lower())
    lines: list[str] = []
    if not _OPEN_PLACES.isdisjoint(words):
        lines.append(_left(scene))
    if not _IN_HAND.isdisjoint(words):
        lines.append(_hand(scene))
    for topic in _topics(scene, query)[:3]:
        lines += _about(scene, topic)
    if not lines:
        lines = [f"Nothing is known about {query.strip()[:80]!r}."] if words else []
        lines += _overview(scene)
    return "\n".join(lines[:_LINES])


def mentions(text: str, known: Iterable[str] = ()) -> list[str]:
    """Return the classes and instances that a text names, in its order, without repeats.

    Args:
        text: any sentence; a plural counts, and so does a class name written as two words.
        known: classes to look for beside those of the shipped table.
    """
    table = priors.load()["holds"]
    classes = {*known, *table, *priors.receptacles()}
    words = re.findall(r"[a-z]+|\d+", text.lower())
    found: list[str] = []
    at = 0
    while at < len(words):
        # Class names are run together in the games: "soap bar" is a soapbar.
        for size in (3, 2, 1):
            word = "".join(words[at : at + size])
            name = next((w for w in (word, word[:-1], word[:-2]) if w in classes), None)
            if name and (word == name or word.endswith("s")):
                at += size
                if at < len(words) and words[at].isdigit():
                    name = f"{name} {int(words[at])}"
                    at += 1
                found.append(name)
                break
        else:
            at += 1
    return list(dict.fromkeys(found))


def _topics(scene: Scene, text: str) -> list[str]:
    known = {class_of(name) for name in [*scene["places"], *scene["states"]]}
    known.update(class_of(thing) for p in scene["places"].values() for thing in p["contents"] or [])
    return mentions(text, known)


def _about(scene: Scene, topic: str) -> list[str]:
    places = [name for name in scene["places"] if topic in (name, class_of(name))]
    if places:
        places.sort(key=number_of)
        return [_place_line(scene, name) for name in places]
    lines: list[str] = []
    held = scene["held"]
    if held and topic in (held, class_of(held)):
        lines.append(_hand(scene))
    for thing, names in where(scene, topic).items():
        lines.append(f"{_with_state(scene, thing)} is at {' and at '.join(names)}.")
    return lines or [f"No {topic} seen so far. {_left(scene)}"]


def _overview(scene: Scene) -> list[str]:
    at, here = scene["at"], [name for name in scene["here"] if name != scene["at"]]
    beside = f" (also here: {', '.join(here)})" if here else ""
    seen = [
        line
        for topic in _topics(scene, scene["task"])
        if not any(topic == class_of(name) for name in scene["places"])
        for line in _about(scene, topic)
        if not line.startswith(("No ", "You "))
    ]
    looked = [name for name, place in scene["places"].items() if place["contents"] is not None]
    return [
        f"You are at {at}{beside}." if at else "You are in the middle of the room.",
        _hand(scene),
        f"Searched: {_grouped(looked) or 'nothing'}.",
        _left(scene),
        *seen,
    ]


def _hand(scene: Scene) -> str:
    held = scene["held"]
    return f"You hold {_with_state(scene, held)}." if held else "You hold nothing."


def _left(scene: Scene) -> str:
    return f"Not searched yet: {_grouped(unsearched(scene)) or 'nothing'}."


def _with_state(scene: Scene, thing: str) -> str:
    states = scene["states"].get(thing)
    return f"{thing} ({', '.join(states)})" if states else thing


def _place_line(scene: Scene, name: str) -> str:
    place = scene["places"][name]
    state = {True: "open, ", False: "closed, ", None: ""}[place["open"]]
    if place["contents"] is None:
        return f"{name}: {state}{'not looked into' if place['visited'] else 'not visited'}."
    things = ", ".join(_with_state(scene, thing) for thing in place["contents"])
    return f"{name}: {state}holds {things or 'nothing'}."


def _grouped(names: list[str]) -> str:
    """Return `cabinet 1, cabinet 2, fridge 1` as `cabinet 1, 2; fridge 1`."""
    groups: dict[str, list[int]] = {}
    for name in names:
        groups.setdefault(class_of(name), []).append(number_of(name))
    return "; ".join(
        f"{kind} {', '.join(map(str, sorted(numbers)))}" for kind, numbers in sorted(groups.items())
    )


_LINES = 12
_OPEN_PLACES = {"unvisited", "unsearched", "unexplored"}
_IN_HAND = {"holding", "held", "carrying", "inventory", "hand"}


def _copy(scene: Scene) -> Scene:
    """Copy what an update may change; the contents lists themselves are only ever replaced."""
    return {
        "task": scene["task"],
        "at": scene["at"],
        "here": list(scene["here"]),
        "held": scene["held"],
        "places": {name: place.copy() for name, place in scene["places"].items()},
        "states": dict(scene["states"]),
    }


def _place(scene: Scene, name: str) -> Place:
    places = scene["places"]
    if name not in places:
        if len(places) >= MAX_PLACES:
            return {"visited": False, "open": None, "contents": None}
        places[name] = {"visited": False, "open": None, "contents": None}
    return places[name]


def _reach(scene: Scene, name: str) -> Place:
    """Return a place that the agent has just dealt with, so it is within reach."""
    place = _place(scene, name)
    place["visited"] = True
    if name not in scene["here"]:
        scene["here"] = [*scene["here"], name][-MAX_CONTENTS:]
    return place


def _items(text: str, limit: int = MAX_CONTENTS) -> list[str]:
    return list(dict.fromkeys(_ITEM.findall(text)))[:limit]


def _room(scene: Scene, listing: str) -> None:
    for name in _items(listing, MAX_PLACES):
        _place(scene, name)


def _arrive(scene: Scene, name: str, rest: str) -> None:
    scene["at"] = name
    scene["here"] = []
    _reach(scene, name)
    _look_into(scene, rest)


def _facing(scene: Scene, listing: str) -> None:
    scene["here"] = []
    for name in re.findall(_NAME, listing)[:MAX_CONTENTS]:
        _place(scene, name)
        scene["here"].append(name)


def _look_into(scene: Scene, text: str) -> None:
    """Read the part that `go to`, `open` and `examine` share."""
    if found := _ON.fullmatch(text):
        _reach(scene, found[1])["contents"] = _items(found[2])
    elif found := _INSIDE.fullmatch(text):
        place = _reach(scene, found[1])
        place["open"] = True
        place["contents"] = _items(found[2])
    elif found := _SHUT.fullmatch(text):
        _reach(scene, found[1])["open"] = False


def _close(scene: Scene, name: str) -> None:
    _reach(scene, name)["open"] = False


def _take(scene: Scene, thing: str, name: str) -> None:
    place = _reach(scene, name)
    if place["contents"] is not None:
        place["contents"] = [other for other in place["contents"] if other != thing]
    scene["held"] = thing


def _put(scene: Scene, thing: str, name: str) -> None:
    place = _reach(scene, name)
    if place["contents"] is not None and thing not in place["contents"]:
        place["contents"] = [*place["contents"], thing][-MAX_CONTENTS:]
    scene["held"] = None


def _treat(scene: Scene, done: str, thing: str, name: str) -> None:
    _reach(scene, name)
    _mark(scene, thing, {"clean": "clean", "heat": "hot", "cool": "cool"}[done])


def _lit(scene: Scene, thing: str) -> None:
    _mark(scene, thing, "on")


def _slice(scene: Scene, thing: str) -> None:
    _mark(scene, thing, "sliced")


def _mark(scene: Scene, thing: str, state: str) -> None:
    states = scene["states"]
    gone = {"hot": "cool", "cool": "hot"}.get(state)
    old = [other for other in states.pop(thing, []) if other not in (gone, state)]
    states[thing] = sorted([*old, state])
    while len(states) > MAX_STATES:
        del states[next(iter(states))]


def _adjectives(scene: Scene, words: str, thing: str) -> None:
    for word in re.findall(r"hot|cool|cold|clean|sliced", words):
        _mark(scene, thing, "cool" if word == "cold" else word)


def _carry(scene: Scene, listing: str) -> None:
    scene["held"] = next(iter(_items(listing)), None)


def _empty_handed(scene: Scene) -> None:
    scene["held"] = None


_ON = re.compile(rf"on the ({_NAME}), you see (.*)\.")
_INSIDE = re.compile(rf"the ({_NAME}) is open\. in it, you see (.*)\.")
_SHUT = re.compile(rf"the ({_NAME}) is closed\.")

_FORMS: tuple[tuple[re.Pattern[str], Callable[..., None]], ...] = (
    (re.compile(rf"you arrive at ({_NAME})\. (.*)"), _arrive),
    (re.compile(rf"(?:you open the {_NAME}\. )?((?:on )?the {_NAME}.*)"), _look_into),
    (re.compile(rf"you close the ({_NAME})\."), _close),
    (re.compile(rf"you pick up the ({_NAME}) from the ({_NAME})\."), _take),
    (re.compile(rf"you move the ({_NAME}) to the ({_NAME})\."), _put),
    (re.compile(rf"you (clean|heat|cool) the ({_NAME}) using the ({_NAME})\."), _treat),
    (re.compile(rf"you turn on the ({_NAME})\."), _lit),
    (re.compile(rf"this ({_NAME}) is on\."), _lit),
    (re.compile(rf"you sliced the ({_NAME}) with the {_NAME}\."), _slice),
    (re.compile(rf"this is a ((?:hot|cool|cold|clean|sliced|and| )+) ({_NAME})\."), _adjectives),
    (re.compile(rf"you are facing the ((?:{_NAME}|, and |, )+)\. next to it, .*"), _facing),
    (re.compile(r"you are carrying: (.*)\."), _carry),
    (re.compile(r"you are not carrying anything\."), _empty_handed),
    (
        re.compile(r"you are in the middle of a room\. looking quickly around you, you see (.*)\."),
        _room,
    ),
)
