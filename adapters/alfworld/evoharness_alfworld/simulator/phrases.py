"""What the game says: the sentences of the grammar, `alfred.twl2`, as the stock engine writes them."""

from __future__ import annotations

from collections.abc import Iterable

from evoharness_alfworld.simulator.actions import Action
from evoharness_alfworld.simulator.house import House, State

NOTHING_HAPPENS = "Nothing happens."
HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def intro(house: House) -> str:
    """Return what is said at the start."""
    here = house.at.get(house.start.place)
    room = _look_around(house.receptacles) if not here else look(house, house.start)
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{room}\n\nYour task is to: {house.objective}"


def answer(house: House, state: State, action: Action) -> str:  # noqa: C901 - a case a sentence
    """Return what is said after an action that led to `state`."""
    verb, o, r, blade = action
    thing = house.objects[o] if o >= 0 else ""
    receptacle = house.receptacles[r] if r >= 0 else ""
    match verb:
        case "go":
            return f"You arrive at {receptacle}. {look_at(house, state, r)}"
        case "open":
            return f"You open the {receptacle}. {look_at(house, state, r)}"
        case "close":
            return f"You close the {receptacle}."
        case "take":
            return f"You pick up the {thing} from the {receptacle}."
        case "move":
            return f"You move the {thing} to the {receptacle}."
        case "clean" | "heat" | "cool":
            return f"You {verb} the {thing} using the {receptacle}."
        case "use":
            return f"You turn on the {thing}."
        case "slice":
            return f"You sliced the {thing} with the {house.objects[blade]}."
        case "examine receptacle":
            return look_at(house, state, r)
        case "examine object":
            return inspect(house, state, o)
        case "inventory":
            held = state.held
            return (
                "You are not carrying anything."
                if held is None
                else f"You are carrying: a {house.objects[held]}."
            )
        case "look":
            return look(house, state)
        case "help":
            return HELP


def look(house: House, state: State) -> str:
    """Return what one sees around: the receptacles at this place, and what was taken from them and
    still lies here.
    """
    here = house.at.get(state.place)
    if not here:
        # The rule lists the receptacles at this place, which are none.
        return _look_around(())
    facing = _series([house.receptacles[r] for r in here])
    lying = [
        house.objects[o]
        for o, r in sorted(state.taken)
        if r in here and (o, state.place) in state.lying
    ]
    return f"You are facing the {facing}. Next to it, you see {_listing(lying)}."


def look_at(house: House, state: State, receptacle: int) -> str:
    """Return what one sees in or on a receptacle."""
    name = house.receptacles[receptacle]
    contents = _listing(house.objects[o] for o in state.inside[receptacle])
    if receptacle not in house.openable:
        return f"On the {name}, you see {contents}."
    if receptacle not in state.opened:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {contents}."


def inspect(house: House, state: State, thing: int) -> str:
    """Return what one sees of an object in the hand."""
    name = house.objects[thing]
    if thing in house.contents:
        contents = _listing(house.objects[o] for o in house.contents[thing])
        return f"This is a normal {name}. In it, you see {contents}."
    clean, sliced = thing in state.clean, thing in state.sliced
    temperature = "hot" if thing in state.hot else "cool" if thing in state.cool else ""
    if temperature == "cool" and not clean and not sliced:
        return f"This is a cold {name}."
    kind = " and ".join(filter(None, (temperature, "clean" if clean else "")))
    if kind:
        return f"This is a {kind} {'sliced ' if sliced else ''}{name}."
    if thing in house.toggleable and thing in state.lit:
        return f"This {name} is on."
    if sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def _look_around(receptacles: Iterable[str]) -> str:
    seen = _listing(receptacles)
    return f"You are in the middle of a room. Looking quickly around you, you see {seen}."


def _listing(names: Iterable[str]) -> str:
    return _series([f"a {name}" for name in names])


def _series(names: list[str]) -> str:
    if not names:
        return "nothing"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])}, and {names[-1]}"
