"""The `demo` split: rooms of our own in upstream's domain and grammar, so that nothing has to be
downloaded to play.

A room is a few lines of text; `compose` makes the game file's contents of a task in it, with the
domain and grammar that the installed alfworld package brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from evoharness.core.environment import JSON, Task
from evoharness_alfworld import priors

# A receptacle a line, with what is in it; a star marks one that has to be opened.
_KITCHEN = """
CounterTop: Knife, Bread, SaltShaker, Spatula
CounterTop: Plate, DishSponge, Pot
CounterTop: Tomato, PepperShaker
DiningTable: Apple, Fork, Plate, Vase
Cabinet*: Bowl
Cabinet*: Pan, Glassbottle
Cabinet*:
Cabinet*: Cup
Drawer*: Spoon, ButterKnife
Drawer*: Fork
Drawer*: Spatula, DishSponge
SinkBasin: Spoon, Cup
Fridge*: Egg, Lettuce, WineBottle
Microwave*: Mug
StoveBurner: Kettle
StoveBurner: Pan
CoffeeMachine: Mug
Toaster:
GarbageCan: Potato
"""
_COOKHOUSE = """
CounterTop: Lettuce, Knife, Pan
CounterTop: Bread, Mug, SoapBottle
SideTable: Apple, Potato, PepperShaker
Cabinet*: Plate
Cabinet*: SoapBottle, Bowl
Cabinet*:
Drawer*: Fork, Spoon
Drawer*: Knife, Spatula
Shelf: Glassbottle, SaltShaker
Shelf: Vase, Cup
SinkBasin: Tomato, DishSponge
Fridge*: Apple, Egg, Tomato
Microwave*:
StoveBurner: Pot
StoveBurner:
CoffeeMachine: Mug
Toaster:
GarbageCan: Egg
"""
_BATHROOM = """
CounterTop: SoapBottle, Candle, Cloth
Cabinet*: ToiletPaper, SprayBottle
Cabinet*: Cloth, SoapBar
Cabinet*:
Drawer*: Candle
Drawer*:
SinkBasin: SoapBar
BathtubBasin: Cloth
HandTowelHolder: HandTowel
TowelHolder: Towel
Toilet: ToiletPaper, SprayBottle
ToiletPaperHanger:
GarbageCan: SoapBottle
"""
_WASHROOM = """
CounterTop: SoapBar, HandTowel, ToiletPaper
Shelf: Cloth, SprayBottle, Candle
Shelf: Candle, SoapBottle
Cabinet*: SoapBottle, SoapBottle
Cabinet*: ToiletPaper
SinkBasin:
BathtubBasin: SoapBar
TowelHolder: Towel
Toilet: Candle, Cloth
GarbageCan: ToiletPaper
"""
_BEDROOM = """
Bed: Pillow, Laptop, Book
Desk: DeskLamp, Pen, CD, AlarmClock
Drawer*: CreditCard, Pencil
Drawer*: KeyChain
Drawer*:
Shelf: Mug, Book
Shelf: Statue
SideTable: CellPhone, Box
Dresser: KeyChain, CD
Safe*: Watch
GarbageCan: Pencil
"""
_LIVING_ROOM = """
Sofa: Pillow, RemoteControl, Newspaper
ArmChair: Box, Laptop
CoffeeTable: Statue, RemoteControl, Vase
SideTable: DeskLamp, KeyChain
SideTable: Newspaper, CreditCard
DiningTable: Bowl, Candle, Book
Cabinet*: Vase, Statue
Cabinet*:
Drawer*: Watch
Drawer*: Pencil
Shelf: Box, CellPhone
TVStand: Watch, WateringCan
GarbageCan: Newspaper
"""


@dataclass(frozen=True)
class House:
    """A task in a room."""

    kind: str
    """The task type."""
    thing: str
    """The object's class."""
    target: str
    """The class of the receptacle, or of the lamp."""
    objective: str
    room: str

    @property
    def name(self) -> str:
        """The house's part of the task id."""
        return f"{self.kind}-{self.thing}-{self.target}"


_PLACE, _LOOK = "pick_and_place_simple", "look_at_obj_in_light"
_CLEAN, _HEAT = "pick_clean_then_place_in_recep", "pick_heat_then_place_in_recep"
_COOL, _TWO = "pick_cool_then_place_in_recep", "pick_two_obj_and_place"

HOUSES = (
    House(_TWO, "KeyChain", "Bed", "put two keychain in bed.", _BEDROOM),
    House(_HEAT, "Apple", "GarbageCan", "heat some apple and put it in garbagecan.", _KITCHEN),
    House(_HEAT, "Mug", "Cabinet", "put a hot mug in cabinet.", _COOKHOUSE),
    House(_COOL, "Tomato", "Microwave", "cool some tomato and put it in microwave.", _KITCHEN),
    House(_COOL, "Potato", "CounterTop", "put a cool potato in countertop.", _COOKHOUSE),
    House(_CLEAN, "Lettuce", "DiningTable", "clean some lettuce and put it in diningtable.",
          _KITCHEN),
    House(_CLEAN, "Cloth", "Drawer", "put a clean cloth in drawer.", _BATHROOM),
    House(_PLACE, "SoapBar", "Toilet", "put some soapbar on toilet.", _WASHROOM),
    House(_PLACE, "Watch", "Safe", "put a watch in safe.", _LIVING_ROOM + "Safe*:\n"),
    House(_LOOK, "CD", "DeskLamp", "examine the cd with the desklamp.", _BEDROOM),
    House(_LOOK, "Statue", "DeskLamp", "look at statue under the desklamp.", _LIVING_ROOM),
    House(_TWO, "SoapBottle", "Toilet", "find two soapbottle and put them in toilet.", _WASHROOM),
)  # fmt: skip

_CLEANABLE = {
    *("Apple", "Bowl", "ButterKnife", "Cloth", "Cup", "DishSponge", "Egg", "Fork", "Kettle"),
    *("Knife", "Lettuce", "Mug", "Pan", "Plate", "Pot", "Potato", "SoapBar", "Spatula", "Spoon"),
    *("Tomato",),
}
_HEATABLE = {"Apple", "Bread", "Cup", "Egg", "Mug", "Plate", "Potato", "Tomato"}
_COOLABLE = _HEATABLE | {"Bowl", "Lettuce", "Pan", "Pot", "WineBottle"}
_SLICEABLE = {"Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato"}
_FIXED = {"DeskLamp"}
_STATE = {
    _CLEAN: ("cleanable", "isClean"),
    _HEAT: ("heatable", "isHot"),
    _COOL: ("coolable", "isCool"),
}


def tasks() -> list[Task]:
    """Return the packaged tasks."""
    return [
        Task(f"demo/{house.name}", house.objective, house.kind, {"house": house.name})
        for house in HOUSES
    ]


def compose(name: str) -> JSON:
    """Return the game of a packaged house, with the keys of a `game.tw-pddl` file.

    Raises:
        KeyError: there is no such house.
        ModuleNotFoundError: alfworld, which brings domain and grammar, is not installed.
    """
    house = next((house for house in HOUSES if house.name == name), None)
    if house is None:
        raise KeyError(f"there is no packaged house {name!r}")
    upstream = files("alfworld.data")
    grammar = (upstream / "alfred.twl2").read_text(encoding="utf-8")
    return {
        "pddl_domain": (upstream / "alfred.pddl").read_text(encoding="utf-8"),
        "grammar": grammar.replace("UNKNOWN GOAL.", house.objective),
        "pddl_problem": problem(house),
        "walkthrough": [],
        "solvable": True,
    }


@dataclass(frozen=True)
class _Placed:
    """Ids of a room's things; an id starts with its class, as the engine's naming expects."""

    receptacles: dict[str, str]
    """Receptacle id to class."""
    openable: list[str]
    objects: dict[str, str]
    """Object id to class."""
    where: dict[str, str]
    """Object id to receptacle id."""


def problem(house: House) -> str:
    """Return the PDDL problem of a house."""
    room = _place(house.room)
    spots = _spots(room)
    kinds = sorted({*room.receptacles.values()})
    things = sorted({*room.objects.values()})
    declared = ["agent1 - agent", "loc_bar_0 - location"]
    declared += [f"{spot} - location" for spot in dict.fromkeys(spots.values())]
    declared += [f"{receptacle} - receptacle" for receptacle in room.receptacles]
    declared += [f"{thing} - object" for thing in room.objects]
    declared += [f"{kind}Type - rtype" for kind in kinds]
    declared += [f"{thing}Type - otype" for thing in things]
    facts = ["atLocation agent1 loc_bar_0"]
    facts += [f"receptacleType {r} {kind}Type" for r, kind in room.receptacles.items()]
    facts += [f"receptacleAtLocation {r} {spot}" for r, spot in spots.items()]
    facts += [f"openable {r}" for r in room.openable]
    facts += [f"canContain {k}Type {t}Type" for k in kinds for t in things if _fits(t, k, house)]
    facts += [
        f"canContain {room.receptacles[receptacle]}Type {room.objects[thing]}Type"
        for thing, receptacle in room.where.items()
    ]
    for thing, kind in room.objects.items():
        facts += [f"objectType {thing} {kind}Type", f"inReceptacle {thing} {room.where[thing]}"]
        facts += [f"objectAtLocation {thing} {spots[room.where[thing]]}"]
        facts += [f"{ability} {thing}" for ability in _abilities(kind)]
    return (
        f"(define (problem plan_{house.name})\n(:domain alfred)\n"
        f"(:objects\n{_lines(declared, '{}')}\n)\n"
        f"(:init\n{_lines(facts, '({})')}\n)\n(:goal {_goal(house)})\n)"
    )


def _place(room: str) -> _Placed:
    placed = _Placed({}, [], {}, {})
    for line in filter(None, map(str.strip, room.splitlines())):
        kind, _, contents = line.partition(":")
        number = len(placed.receptacles)
        name = kind.rstrip("*")
        # The engine names these by the basin's part of their id.
        part = f"_bar_{name}" if name.endswith("Basin") else ""
        receptacle = f"{name.removesuffix('Basin')}_bar_{number:02}{part}"
        placed.receptacles[receptacle] = name
        if kind.endswith("*"):
            placed.openable.append(receptacle)
        for thing in filter(None, map(str.strip, contents.split(","))):
            object_id = f"{thing}_bar_{len(placed.objects):02}"
            placed.objects[object_id] = thing
            placed.where[object_id] = receptacle
    return placed


def _spots(room: _Placed) -> dict[str, str]:
    """Return where each receptacle is; neighbours of a class share a place in pairs, as in most
    official games, so that one cannot `go to` the second of them.
    """
    spots: dict[str, str] = {}
    before, paired = "", True
    for number, (receptacle, kind) in enumerate(room.receptacles.items(), 1):
        paired = kind == before and not paired
        spots[receptacle] = list(spots.values())[-1] if paired else f"loc_bar_{number}"
        before = kind
    return spots


def _fits(thing: str, receptacle: str, house: House) -> bool:
    """Return whether an object class goes into a receptacle class: where it was ever seen, or
    where the task wants it.
    """
    if thing in _FIXED:
        return False
    wanted = (thing, receptacle) == (house.thing, house.target)
    return wanted or priors.chance(thing.lower(), receptacle.lower()) > 0


def _abilities(kind: str) -> list[str]:
    if kind in _FIXED:
        return ["toggleable"]
    named = {
        "cleanable": _CLEANABLE,
        "heatable": _HEATABLE,
        "coolable": _COOLABLE,
        "sliceable": _SLICEABLE,
    }
    return ["pickupable", *(ability for ability, kinds in named.items() if kind in kinds)]


def _goal(house: House) -> str:
    thing, target = f"{house.thing}Type", f"{house.target}Type"
    if house.kind == _LOOK:
        return (
            "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location)"
            f" (and (objectType ?ot {target}) (toggleable ?ot) (isToggled ?ot)"
            " (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))"
            f" (exists (?o - object ?a - agent) (and (objectType ?o {thing}) (holds ?a ?o))))"
        )
    if house.kind == _TWO:
        return (
            "(and (exists (?r - receptacle) (exists (?o1 - object)"
            f" (and (objectType ?o1 {thing}) (receptacleType ?r {target}) (inReceptacle ?o1 ?r)"
            f" (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 {thing})"
            f" (receptacleType ?r {target}) (inReceptacle ?o2 ?r)))))))"
        )
    treated = "".join(f" ({predicate} ?o)" for predicate in _STATE.get(house.kind, ()))
    return (
        "(and (exists (?r - receptacle) (exists (?o - object)"
        f" (and{treated} (objectType ?o {thing}) (receptacleType ?r {target})"
        " (inReceptacle ?o ?r)))))"
    )


def _lines(items: list[str], form: str) -> str:
    return "\n".join(form.format(item) for item in items)
