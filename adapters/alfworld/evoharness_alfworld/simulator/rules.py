"""What can be done in a state, what it changes, and when the game is won.

Each rule is an action of the domain, `alfred.pddl`, as the stock engine's planner understands it.
"""

from __future__ import annotations

from collections.abc import Iterator

from evoharness_alfworld.simulator.actions import Action
from evoharness_alfworld.simulator.house import House, State

_ALWAYS: dict[str, Action] = {
    "look": Action("look"),
    "inventory": Action("inventory"),
    "help": Action("help"),
}


def possible(house: House, state: State) -> dict[str, Action]:
    """Return every action that can be done, under its command."""
    here = house.at.get(state.place, ())
    commands = {**_ALWAYS, **house.travel(state.place)}
    for receptacle in here:
        commands.update(_with_receptacle(house, state, receptacle))
    if state.held is not None:
        commands[f"examine {house.objects[state.held]}"] = Action("examine object", state.held)
        commands.update(_treatments(house, here, state.held))
        if state.held in house.blades:
            commands.update(_cuts(house, state, state.held))
    return commands


def _with_receptacle(house: House, state: State, r: int) -> Iterator[tuple[str, Action]]:
    """Examine, open and close it; take, put and use what is in it."""
    name, held = house.receptacles[r], state.held
    yield f"examine {name}", Action("examine receptacle", receptacle=r)
    for o in state.inside[r]:
        if o in house.toggleable:
            # The domain does not ask whether the receptacle is open.
            yield f"use {house.objects[o]}", Action("use", o, r)
    if r in house.openable:
        if r not in state.opened:
            yield f"open {name}", Action("open", receptacle=r)
            return
        yield f"close {name}", Action("close", receptacle=r)
    if held is None:
        for o in state.inside[r]:
            if o in house.pickupable:
                yield f"take {house.objects[o]} from {name}", Action("take", o, r)
    elif held in house.fits[house.receptacle_types[r]]:
        yield f"move {house.objects[held]} to {name}", Action("move", held, r)


def _treatments(house: House, here: tuple[int, ...], held: int) -> Iterator[tuple[str, Action]]:
    """Clean, heat and cool: the machine is here, open or not, and the object is in the hand."""
    thing = house.objects[held]
    for r in here:
        if r in house.washers and held in house.cleanable:
            yield f"clean {thing} with {house.receptacles[r]}", Action("clean", held, r)
        if r in house.heaters and held in house.heatable:
            yield f"heat {thing} with {house.receptacles[r]}", Action("heat", held, r)
        if r in house.coolers and held in house.coolable:
            yield f"cool {thing} with {house.receptacles[r]}", Action("cool", held, r)


def _cuts(house: House, state: State, blade: int) -> Iterator[tuple[str, Action]]:
    """Slice: what lies at this place, in an open receptacle or not."""
    for o in house.sliceable:
        if (o, state.place) in state.lying:
            command = f"slice {house.objects[o]} with {house.objects[blade]}"
            yield command, Action("slice", o, blade=blade)


def after(house: House, state: State, action: Action) -> State:
    """Return the state after a possible action."""
    verb, o, r, _ = action
    match verb:
        case "go":
            return state._replace(place=house.places[r])
        case "open":
            return state._replace(opened=state.opened | {r})
        case "close":
            return state._replace(opened=state.opened - {r})
        case "take":
            # It leaves this receptacle only, and lies no more at this place; elsewhere it may.
            return state._replace(
                held=o,
                inside=_with(state.inside, r, tuple(x for x in state.inside[r] if x != o)),
                lying=state.lying - {(o, state.place)},
                taken=state.taken | {(o, r)},
            )
        case "move":
            return state._replace(
                held=None,
                inside=_with(state.inside, r, tuple(sorted({*state.inside[r], o}))),
                lying=state.lying | {(o, state.place)},
                taken=state.taken - {(o, r)},
            )
        case "clean":
            return state._replace(clean=state.clean | {o})
        case "heat":
            return state._replace(hot=state.hot | {o}, cool=state.cool - {o})
        case "cool":
            return state._replace(cool=state.cool | {o}, hot=state.hot - {o})
        case "slice":
            return state._replace(sliced=state.sliced | {o})
        case "use":
            return state._replace(lit=state.lit | {o})
        case _:
            return state


def _with(
    inside: tuple[tuple[int, ...], ...], receptacle: int, objects: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    return (*inside[:receptacle], objects, *inside[receptacle + 1 :])


def won(house: House, state: State) -> bool:
    """Return whether the goal holds."""
    kind, things, targets = house.goal.kind, house.things, house.targets
    if kind == "look_at_obj_in_light":
        return state.held in things and any(
            lamp in state.lit and lamp in state.inside[r]
            for r in house.at.get(state.place, ())
            for lamp in targets
        )
    if kind == "pick_two_obj_and_place":
        return any(sum(o in things for o in state.inside[r]) >= 2 for r in targets)
    match kind:
        case "pick_clean_then_place_in_recep":
            things = state.clean & things & house.cleanable
        case "pick_heat_then_place_in_recep":
            things = state.hot & things & house.heatable
        case "pick_cool_then_place_in_recep":
            things = state.cool & things & house.coolable
        case _:
            pass
    return bool(things) and any(not things.isdisjoint(state.inside[r]) for r in targets)
