"""Solves a game with full knowledge of it: the shortest way that needs no search."""

from __future__ import annotations

from collections.abc import Iterator

from evoharness_alfworld.simulator import Game, House

_TREATMENTS = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}


def walkthrough(house: House) -> list[str]:
    """Return commands that win a game from its start.

    Raises:
        ValueError: they do not win: the game cannot be solved in this way.
    """
    game = Game(house)
    commands: list[str] = []
    for command in _plan(game):
        if command not in game.admissible:
            raise ValueError(f"the game cannot be solved: {command!r} is not possible")
        commands.append(command)
        game.step(command)
    if not game.won:
        raise ValueError("the game cannot be solved: the goal does not hold at the end")
    return commands


def _plan(game: Game) -> Iterator[str]:
    house, kind = game.house, game.house.goal.kind
    looking = kind == "look_at_obj_in_light"
    targets = [] if looking else sorted(house.targets)
    target = min(targets, key=lambda r: r in house.openable, default=-1)
    for thing in _things(house, target)[: 2 if kind == "pick_two_obj_and_place" else 1]:
        here = _receptacle_of(house, thing)
        yield from _reach(game, here)
        yield f"take {house.objects[thing]} from {house.receptacles[here]}"
        if kind in _TREATMENTS:
            machines = {"clean": house.washers, "heat": house.heaters, "cool": house.coolers}
            machine = min(machines[_TREATMENTS[kind]], default=-1)
            yield from _reach(game, machine, inside=False)
            name = house.receptacles[machine]
            yield f"{_TREATMENTS[kind]} {house.objects[thing]} with {name}"
        if looking:
            lamp = min(house.targets, key=lambda o: _receptacle_of(house, o))
            yield from _reach(game, _receptacle_of(house, lamp), inside=False)
            yield f"use {house.objects[lamp]}"
        else:
            yield from _reach(game, target)
            yield f"move {house.objects[thing]} to {house.receptacles[target]}"


def _things(house: House, target: int) -> list[int]:
    """Return the objects that the task needs: those that are not there yet, the easiest first."""
    there = [o for o in house.things & house.pickupable if _receptacle_of(house, o) >= 0]
    return sorted(there, key=lambda o: (o in house.start.inside[target], _receptacle_of(house, o)))


def _receptacle_of(house: House, thing: int) -> int:
    return next((r for r, inside in enumerate(house.start.inside) if thing in inside), -1)


def _reach(game: Game, receptacle: int, *, inside: bool = True) -> Iterator[str]:
    house = game.house
    if house.places[receptacle] != game.state.place:
        yield f"go to {house.receptacles[receptacle]}"
    if inside and receptacle in house.openable and receptacle not in game.state.opened:
        yield f"open {house.receptacles[receptacle]}"
