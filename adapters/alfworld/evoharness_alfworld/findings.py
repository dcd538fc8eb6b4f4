"""What an episode teaches of where things are: which looks found which class of object."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from evoharness.core.environment import JSON
from evoharness_alfworld import scene
from evoharness_alfworld.scene import Scene, class_of

_TELLING = (
    ("kitchen", ("fridge", "microwave", "stoveburner")),
    ("bathroom", ("toilet", "bathtubbasin", "towelholder", "handtowelholder")),
    ("bedroom", ("bed",)),
)


def room(known: Scene) -> str:
    """Return the kind of room that the places of a scene make it; empty before any is known."""
    classes = {class_of(name) for name in known["places"]}
    if not classes:
        return ""
    return next((kind for kind, signs in _TELLING if classes.intersection(signs)), "living room")


def findings(objective: str, observation: str, steps: Sequence[tuple[str, str]]) -> list[JSON]:
    """Return for each pair of classes how many first looks there were, and how many found it.

    A look is the first sight of what a place holds. Only classes of objects that the episode saw
    somewhere count, so that a thing which the house does not have is no reason to doubt a place.
    What the agent itself carried around is left out.

    Args:
        objective: the task's sentence.
        observation: the first observation.
        steps: each environment action with the observation after it.

    Returns:
        `{"thing": …, "place": …, "looked": …, "found": …}` by name of thing and place.
    """
    now = scene.first(objective, observation)
    carried: set[str] = set()
    looked: Counter[str] = Counter()
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for action, text in steps:
        before, now = now, scene.update(now, action, text)
        if now["held"]:
            carried.add(now["held"])
        for name, place in now["places"].items():
            known = before["places"].get(name)
            if place["contents"] is None or (known and known["contents"] is not None):
                continue
            kind = class_of(name)
            looked[kind] += 1
            for thing in {class_of(item) for item in place["contents"] if item not in carried}:
                found[thing][kind] += 1
    return [
        {"thing": thing, "place": kind, "looked": looked[kind], "found": there[kind]}
        for thing, there in sorted(found.items())
        for kind in sorted(looked)
    ]
