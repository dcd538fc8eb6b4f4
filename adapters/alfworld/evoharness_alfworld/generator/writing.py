"""Writes a furnished room and its task as a game file."""

from __future__ import annotations

import random
from functools import cache
from importlib.resources import files
from typing import Any

from evoharness_alfworld.generator.habits import Habits
from evoharness_alfworld.generator.rooms import LOOK, TWO, Quest, Room

_SENTENCES = {
    "pick_and_place_simple": ("put a {thing} in {target}.", "put some {thing} on {target}."),
    LOOK: ("look at {thing} under the {target}.", "examine the {thing} with the {target}."),
    "pick_clean_then_place_in_recep": (
        "put a clean {thing} in {target}.",
        "clean some {thing} and put it in {target}.",
    ),
    "pick_heat_then_place_in_recep": (
        "put a hot {thing} in {target}.",
        "heat some {thing} and put it in {target}.",
    ),
    "pick_cool_then_place_in_recep": (
        "put a cool {thing} in {target}.",
        "cool some {thing} and put it in {target}.",
    ),
    TWO: ("put two {thing} in {target}.", "find two {thing} and put them in {target}."),
}
_TREATED = {
    "pick_clean_then_place_in_recep": ("cleanable", "isClean"),
    "pick_heat_then_place_in_recep": ("heatable", "isHot"),
    "pick_cool_then_place_in_recep": ("coolable", "isCool"),
}
_ALWAYS = {"rtype": {"SinkBasin", "Microwave", "Fridge"}, "otype": {"Knife", "ButterKnife"}}
"""Classes that the domain's actions name, whether the room has them or not."""


def game(habits: Habits, quest: Quest, room: Room, name: str, rng: random.Random) -> dict[str, Any]:
    """Return what the `game.tw-pddl` file holds, its walkthrough still empty."""
    sentence = _SENTENCES[quest.kind][rng.random() < 0.5]
    objective = sentence.format(thing=quest.thing.lower(), target=quest.target.lower())
    return {
        "pddl_domain": _text("domain.pddl"),
        "grammar": _text("grammar.twl2").replace("UNKNOWN GOAL.", objective),
        "pddl_problem": _problem(habits, quest, room, name),
        "solvable": True,
        "walkthrough": [],
    }


@cache
def _text(name: str) -> str:
    return files("evoharness_alfworld.generator").joinpath(name).read_text("utf-8")


def _problem(habits: Habits, quest: Quest, room: Room, name: str) -> str:
    kinds = sorted({*room.receptacles.values()})
    things = sorted({*room.objects.values()})
    declared = ["agent1 - agent", "loc_bar_0 - location"]
    declared += [f"{place} - location" for place in dict.fromkeys(room.places.values())]
    declared += [f"{id} - receptacle" for id in room.receptacles]
    declared += [f"{id} - object" for id in room.objects]
    declared += [f"{kind}Type - rtype" for kind in sorted({*kinds, *_ALWAYS["rtype"]})]
    declared += [f"{thing}Type - otype" for thing in sorted({*things, *_ALWAYS["otype"]})]
    facts = ["atLocation agent1 loc_bar_0"]
    facts += [f"receptacleType {id} {kind}Type" for id, kind in room.receptacles.items()]
    facts += [f"receptacleAtLocation {id} {place}" for id, place in room.places.items()]
    facts += [f"openable {id}" for id in room.openable]
    facts += [
        f"canContain {kind}Type {thing}Type"
        for kind in kinds
        for thing in things
        if thing in habits["fits"].get(kind, ()) or (thing, kind) == (quest.thing, quest.target)
    ]
    for id, thing in room.objects.items():
        where = room.where[id]
        facts += [f"objectType {id} {thing}Type", f"inReceptacle {id} {where}"]
        facts += [f"objectAtLocation {id} {room.places[where]}"]
        facts += [f"{ability} {id}" for ability in habits["abilities"][thing]]
    facts += [f"isCool {id}" for id in room.cool]
    return (
        f"(define (problem {name})\n(:domain alfred)\n"
        f"(:objects\n{_lines(declared, ' {}')}\n)\n"
        f"(:init\n{_lines(facts, ' ({})')}\n)\n"
        f"(:goal {_goal(quest)})\n)\n"
    )


def _goal(quest: Quest) -> str:
    thing, target = f"{quest.thing}Type", f"{quest.target}Type"
    if quest.kind == LOOK:
        return (
            "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location)"
            f" (and (objectType ?ot {target}) (toggleable ?ot) (isToggled ?ot)"
            " (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))"
            f" (exists (?o - object ?a - agent) (and (objectType ?o {thing}) (holds ?a ?o))))"
        )
    if quest.kind == TWO:
        return (
            "(and (exists (?r - receptacle) (exists (?o1 - object)"
            f" (and (objectType ?o1 {thing}) (receptacleType ?r {target}) (inReceptacle ?o1 ?r)"
            f" (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 {thing})"
            f" (receptacleType ?r {target}) (inReceptacle ?o2 ?r)))))))"
        )
    placed = f"(objectType ?o {thing}) (receptacleType ?r {target})"
    if quest.kind in _TREATED:
        able, treated = _TREATED[quest.kind]
        inside = f"({able} ?o) {placed} ({treated} ?o) (inReceptacle ?o ?r)"
    else:
        inside = f"(inReceptacle ?o ?r) {placed}"
    return f"(and (exists (?r - receptacle) (exists (?o - object) (and {inside}))))"


def _lines(items: list[str], form: str) -> str:
    return "\n".join(form.format(item) for item in items)
