"""What an ALFWorld objective asks for, read from its sentence in any of the twelve wordings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["put", "two", "clean", "heat", "cool", "look"]

_OBJECTIVES: tuple[tuple[Kind | None, str], ...] = (
    ("look", r"(?:examine the|look at) (?P<thing>\w+) (?:with|under) the (?P<target>\w+)"),
    ("two", r"find two (?P<thing>\w+) and put them (?:in|on) (?P<target>\w+)"),
    ("two", r"put two (?P<thing>\w+) (?:in|on) (?P<target>\w+)"),
    (None, r"(?P<do>clean|heat|cool) some (?P<thing>\w+) and put it (?:in|on) (?P<target>\w+)"),
    (None, r"put an? (?P<do>clean|hot|cool) (?P<thing>\w+) (?:in|on) (?P<target>\w+)"),
    ("put", r"put (?:an?|some) (?P<thing>\w+) (?:in|on) (?P<target>\w+)"),
)

_DOING: dict[str, Kind] = {"clean": "clean", "heat": "heat", "hot": "heat", "cool": "cool"}


@dataclass(frozen=True, slots=True)
class Goal:
    """What an objective asks for."""

    kind: Kind
    thing: str
    """Class of the object."""
    target: str
    """Class of the receptacle where it goes; of the lamp, for `look`."""


def read_objective(objective: str) -> Goal:
    """Read an ALFWorld objective in any of its wordings.

    Raises:
        ValueError: it has none of them.
    """
    text = " ".join(objective.lower().split()).rstrip(".")
    for kind, pattern in _OBJECTIVES:
        if found := re.fullmatch(pattern, text):
            return Goal(kind or _DOING[found["do"]], found["thing"], found["target"])
    raise ValueError(f"{objective!r} is none of the ALFWorld objectives, e.g. 'put a mug in desk.'")


def plan(goal: Goal) -> list[str]:
    """Return the subgoals of a goal, in order."""
    thing, target = goal.thing, goal.target
    match goal.kind:
        case "put":
            return [f"find {a_thing(thing)}", f"put the {thing} in the {target}"]
        case "look":
            return [f"find {a_thing(thing)}", f"look at the {thing} under {a_thing(target)}"]
        case "two":
            return [
                f"find the first {thing}",
                f"put the first {thing} in the {target}",
                f"find the second {thing}",
                f"put the second {thing} in the same {target}",
            ]
        case _:
            return [
                f"find {a_thing(thing)}",
                f"{goal.kind} the {thing}",
                f"put the {thing} in the {target}",
            ]


def a_thing(name: str) -> str:
    """Return a class with its article: `apple` -> `an apple`; `boots` stays as it is."""
    if name.endswith("s") and not name.endswith("ss"):
        return name
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
