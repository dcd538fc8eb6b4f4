"""A small kitchen for the tests of the simulator; every rule of the domain has its thing in it."""

from __future__ import annotations

from typing import Any

from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.simulator import Game, interpret

RECEPTACLES = """
CounterTop_bar_1 CounterTop loc_1
Cabinet_bar_1 Cabinet loc_2
Cabinet_bar_2 Cabinet loc_2
Fridge_bar_1 Fridge loc_3
Microwave_bar_1 Microwave loc_4
Sink_bar_1_bar_SinkBasin SinkBasin loc_5
SideTable_bar_1 SideTable loc_6
"""
OBJECTS = """
Apple_bar_1 Apple CounterTop_bar_1
Apple_bar_2 Apple Fridge_bar_1
Knife_bar_1 Knife CounterTop_bar_1
Mug_bar_1 Mug Cabinet_bar_1
Box_bar_1 Box SideTable_bar_1
DeskLamp_bar_1 DeskLamp SideTable_bar_1
TeddyBear_bar_1 TeddyBear SideTable_bar_1
"""
ABLE = {
    "pickupable": ("Apple_bar_1", "Apple_bar_2", "Knife_bar_1", "Mug_bar_1", "Box_bar_1",
                   "TeddyBear_bar_1"),
    "cleanable": ("Apple_bar_1", "Apple_bar_2", "Mug_bar_1"),
    "heatable": ("Apple_bar_1", "Apple_bar_2", "Mug_bar_1"),
    "coolable": ("Apple_bar_1", "Apple_bar_2"),
    "sliceable": ("Apple_bar_1", "Apple_bar_2"),
    "toggleable": ("DeskLamp_bar_1",),
    "isReceptacleObject": ("Box_bar_1",),
    "openable": ("Cabinet_bar_1", "Cabinet_bar_2", "Fridge_bar_1", "Microwave_bar_1"),
}  # fmt: skip
GOAL = """(and (exists (?r - receptacle) (exists (?o - object) (and
    (inReceptacle ?o ?r) (objectType ?o AppleType) (receptacleType ?r SideTableType)))))"""


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def problem(goal: str = GOAL, facts: str = "", without: str = "") -> str:
    """Return the kitchen's problem, with more facts and without those that start so."""
    receptacles, objects = rows(RECEPTACLES), rows(OBJECTS)
    place = {id: where for id, _, where in receptacles}
    kinds = sorted({kind for _, kind, _ in receptacles})
    things = sorted({kind for _, kind, _ in objects})
    declared = ["agent1 - agent", "loc_0 - location"]
    declared += [f"{where} - location" for where in sorted(set(place.values()))]
    declared += [f"{id} - receptacle" for id in place]
    declared += [f"{id} - object" for id, _, _ in objects]
    declared += [f"{kind}Type - rtype" for kind in kinds]
    declared += [f"{thing}Type - otype" for thing in [*things, "ButterKnife"]]
    init = ["(atLocation agent1 loc_0)"]
    init += [f"(receptacleType {id} {kind}Type)" for id, kind, _ in receptacles]
    init += [f"(receptacleAtLocation {id} {where})" for id, _, where in receptacles]
    init += [f"(objectType {id} {kind}Type)" for id, kind, _ in objects]
    init += [f"(inReceptacle {id} {where})" for id, _, where in objects]
    init += [f"(objectAtLocation {id} {place[where]})" for id, _, where in objects]
    init += [
        f"(canContain {kind}Type {thing}Type)"
        for kind in kinds
        for thing in things
        if thing != "TeddyBear"
    ]
    init += [f"({ability} {id})" for ability, ids in ABLE.items() for id in ids]
    init = [fact for fact in init if not without or not fact.startswith(without)]
    body = "\n".join(init)
    return (
        "(define (problem kitchen)\n(:domain alfred)\n(:objects\n"
        + "\n".join(declared)
        + f"\n)\n(:init\n{body}\n{facts}\n)\n(:goal {goal})\n)"
    )


def file(text: str = "", **changes: Any) -> dict[str, Any]:
    """Return the kitchen as the contents of a game file."""
    game = dict(generate(Recipe()).game)
    return {**game, "pddl_problem": text or problem(), "walkthrough": [], **changes}


def kitchen(text: str = "") -> Game:
    game = Game(interpret(file(text)))
    game.reset()
    return game


def do(game: Game, *commands: str) -> list[str]:
    return [game.step(command) for command in commands]
