"""ALFWorld in words: what the prompt says of the domain, and what a new Experience bank knows."""

from __future__ import annotations

from typing import Any

from evoharness.core.environment import Words
from evoharness_alfworld import priors

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""The six task types, under their names in the benchmark."""

VERBS = (
    *("go", "goto", "open", "close", "take", "pick", "move", "put", "place", "use"),
    *("toggle", "turn", "clean", "heat", "cool", "slice", "examine", "look", "inventory", "help"),
)
"""First words of actions, those of other wordings that `wording.normalise` knows included."""

WORDS = Words(
    domain=(
        "You are in a room of a house and act through text commands. Objects and receptacles have "
        "a class and a number, such as mug 2 or drawer 5. You can carry one object at a time, and "
        "you see what a receptacle holds only when you are at it and it is open."
    ),
    actions=(
        "go to (receptacle)\n"
        "open (receptacle)\n"
        "close (receptacle)\n"
        "take (object) from (receptacle)\n"
        "move (object) to (receptacle)\n"
        "clean (object) with (sinkbasin)\n"
        "heat (object) with (microwave)\n"
        "cool (object) with (fridge)\n"
        "slice (object) with (knife)\n"
        "use (lamp)\n"
        "examine (object or receptacle)\n"
        "look\n"
        "inventory"
    ),
    track=(
        "where you saw the object you name and what was done to it, or what the receptacle you "
        "name holds; `track unsearched` lists where you have not looked yet"
    ),
    commit="find a mug",
    recall="where is a mug",
    note="where an object was, when recall had said otherwise",
)

HINT_PLACES = 5
"""Receptacle classes that the search hint of a new bank names at most."""

_SKILLS: tuple[tuple[str, str], ...] = (
    ("", "Search one kind of receptacle at a time, the likeliest first, in the order of numbers."),
    ("", "Take the object as soon as you see it, unless you carry another one."),
    ("", "Open a closed receptacle when you arrive: to look into it and to put something inside."),
    ("", "Remember what you saw on the way: a place that you passed may hold what you need next."),
    ("pick_and_place_simple", "Find the object, take it, go to the receptacle, move it there."),
    (
        "look_at_obj_in_light",
        "Take the object first, then go to where a desklamp stands and use the lamp there while "
        "you hold the object.",
    ),
    (
        "pick_clean_then_place_in_recep",
        "Take the object to a sinkbasin, clean it with the sinkbasin, then move it to its place.",
    ),
    (
        "pick_heat_then_place_in_recep",
        "Take the object to the microwave and heat it from your hand; the microwave may stay "
        "closed. Then move it to its place.",
    ),
    (
        "pick_cool_then_place_in_recep",
        "Take the object to the fridge and cool it from your hand; the fridge may stay closed. "
        "Then move it to its place.",
    ),
    (
        "pick_two_obj_and_place",
        "Bring the objects one after the other, both into the same receptacle; note where you saw "
        "the second one while you search for the first.",
    ),
)
_MISTAKES: tuple[tuple[str, str], ...] = (
    (
        "",
        "`go to` answers that nothing happens when you already stand at that place: examine or "
        "open the receptacle instead of going there again.",
    ),
    ("", "Repeating an action that did nothing does nothing again: change the plan."),
    ("", "You cannot take a second object: put down the one in your hand first."),
    (
        "pick_heat_then_place_in_recep",
        "Putting the object into the microwave does not heat it: keep it in your hand and use "
        "the heat action. Cooling it later undoes the heat.",
    ),
    (
        "pick_cool_then_place_in_recep",
        "Putting the object into the fridge does not cool it: keep it in your hand and use the "
        "cool action. Heating it later undoes the cold.",
    ),
    (
        "pick_two_obj_and_place",
        "Two drawers with one object each do not count: both objects must be in one receptacle.",
    ),
    (
        "look_at_obj_in_light",
        "Examining the object beside the lamp is not enough: the lamp must be switched on with "
        "the use action.",
    ),
)


def seed_experience() -> list[dict[str, Any]]:
    """Return the entries of a new Experience bank: skills, mistakes, one hint an object class."""
    entries: list[dict[str, Any]] = [
        {"kind": "skill", "text": text, "task_type": kind} for kind, text in _SKILLS
    ]
    entries += [{"kind": "mistake", "text": text, "task_type": kind} for kind, text in _MISTAKES]
    entries += [
        {"kind": "hint", "thing": thing, "places": priors.ranked(thing, HINT_PLACES)}
        for thing in sorted(priors.load()["holds"])
    ]
    return entries
