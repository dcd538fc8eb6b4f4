"""A scripted expert that knows only what it was shown.

It reads the objective's sentence, folds Belief over the turns, and plays search, take, treat,
place. `expert` is a pure function of the view: it has no memory, so it can label any state that
another policy got into, and an episode can continue in another process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoharness.core.progress import Subgoal
from evoharness_alfworld import priors
from evoharness_alfworld import scene as belief
from evoharness_alfworld.objective import Goal, a_thing, plan, read_objective
from evoharness_alfworld.scene import Scene, class_of, number_of

if TYPE_CHECKING:
    from evoharness.core.state import Turn
    from evoharness.core.view import View

_APPLIANCES = {
    "clean": ("sinkbasin", "bathtubbasin"),
    "heat": ("microwave",),
    "cool": ("fridge",),
}
_STATE = {"clean": "clean", "heat": "hot", "cool": "cool"}
_FAILED = "nothing happens."
_IDLE = ("examine", "look", "inventory", "help")
_PATIENCE = 10
"""Environment steps of searching after which the expert asks what is left to search."""
_TRIES = 3
"""Failures of one action after which it is not tried again."""

Candidate = tuple[str, str]
"""An environment action and the reason for it."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the expert acts on: everything is rebuilt from the view."""

    goal: Goal
    scene: Scene
    hints: tuple[str, ...]
    """Receptacle classes that recall named for the object, best first."""
    reachable: frozenset[str]
    """Places known to be at the spot where the agent is."""


def stage(goal: Goal, scene: Scene) -> int:
    """Return the index of the subgoal in `plan(goal)` that is to be done now."""
    holding = _holds_thing(goal, scene)
    if goal.kind == "two":
        return 2 * bool(_delivered(goal, scene)) + holding
    if goal.kind in _STATE and holding:
        return 2 if _treated(goal, scene) else 1
    return int(holding)


def progress(objective: str, scene: Scene) -> list[Subgoal]:
    """Return the subgoals of an objective with their status in a scene."""
    goal = read_objective(objective)
    now = stage(goal, scene)
    return [
        Subgoal(text=text, status="complete" if index < now else "open")
        for index, text in enumerate(plan(goal))
    ]


def expert(view: View) -> str:
    """Return the expert's reply: `<think>reason</think><action>verb argument</action>`."""
    here = _situation(view)
    action, reason = _meta(view, here) or _act(view, here)
    return f"<think>{reason}</think><action>{action}</action>"


def _situation(view: View) -> Situation:
    goal = read_objective(view.task.objective)
    turns = [turn for turn in view.turns if turn["kind"] == "env"]
    scene = belief.fold(
        view.task.objective,
        view.first_observation,
        [(turn["argument"], turn["result"]) for turn in turns],
    )
    reachable = set(scene["here"])
    for turn in reversed(turns):
        if turn["result"].lower().startswith("you arrive"):
            break
        # The agent already stands at the place that it cannot go to.
        if _failed(turn) and turn["argument"].startswith("go to "):
            reachable.add(turn["argument"].removeprefix("go to "))
    if view.admissible is not None:
        reachable |= {name for name in scene["places"] if f"examine {name}" in view.admissible}
    return Situation(goal, scene, recalled_places(view.turns, goal.thing), frozenset(reachable))


def recalled_places(turns: Sequence[Turn], thing: str) -> tuple[str, ...]:
    """Return the receptacle classes that `recall` named for an object class, in its order.

    Only entries whose first object is `thing` count, hints before other kinds; what follows a
    "not" or an "although" is no recommendation.
    """
    holds = priors.load()["holds"]
    lines = [
        line
        for turn in turns
        if turn["kind"] == "meta" and turn["verb"] == "recall"
        for line in turn["result"].lower().splitlines()
    ]
    lines.sort(key=lambda line: not line.startswith("- hint"))
    found: list[str] = []
    for line in lines:
        if found and not line.startswith("- hint"):
            break
        said = re.split(r"\b(?:not|never|rarely|although|instead|but|except)\b|n't", line)[0]
        classes = [name.split()[0] for name in belief.mentions(said)]
        if next((name for name in classes if name in holds), None) == thing:
            found += [name for name in classes if name in priors.receptacles()]
    return tuple(dict.fromkeys(found))


def _meta(view: View, here: Situation) -> Candidate | None:
    """Return the meta-action that is worth its step now, if any is."""
    goal, scene = here.goal, here.scene
    if not view.verbs or view.spent > view.config.max_steps // 2:
        return None
    done = {
        verb: [t["argument"] for t in view.turns if t["kind"] == "meta" and t["verb"] == verb]
        for verb in ("track", "commit", "recall", "note")
    }
    now = stage(goal, scene)
    subgoal = plan(goal)[now]
    searching = not _holds_thing(goal, scene) and not _takeable(here)
    if "recall" in view.verbs and searching and not done["recall"]:
        query = f"where is {a_thing(goal.thing)}"
        return f"recall {query}", f"Past episodes may tell where {a_thing(goal.thing)} usually is."
    if "note" in view.verbs and not done["note"] and (surprise := _surprise(view, here)):
        return f"note {surprise}", "That is not where recall said, which is worth a note."
    if "commit" in view.verbs and subgoal not in done["commit"]:
        return f"commit {subgoal}", f"The next subgoal is to {subgoal}."
    if "track" in view.verbs:
        if goal.kind == "two" and now == 2 and goal.thing not in done["track"]:
            return f"track {goal.thing}", f"I may have seen the other {goal.thing} before."
        env_turns = sum(turn["kind"] == "env" for turn in view.turns)
        if searching and env_turns // _PATIENCE > done["track"].count("unsearched"):
            return "track unsearched", "The search is long, so I check which places are left."
    return None


def _surprise(view: View, here: Situation) -> str | None:
    """Return what to note when the object was just taken from where recall did not send us."""
    last = next((turn for turn in reversed(view.turns) if turn["kind"] == "env"), None)
    if last is None or not here.hints:
        return None
    found = re.match(r"you pick up the (\w+) \d+ from the (\w+) \d+\.", last["result"].lower())
    if not found or found[1] != here.goal.thing or found[2] in here.hints:
        return None
    named = ", ".join(here.hints[:3])
    return f"Found {a_thing(found[1])} in or on {a_thing(found[2])}, although recall named {named}."


def _act(view: View, here: Situation) -> Candidate:
    """Return the first candidate that has not just failed; else the one tried longest ago."""
    turns = [turn for turn in view.turns if turn["kind"] == "env"]
    idle = "Nothing else is left to try, so I look around."
    possible = [
        candidate
        for candidate in (*_candidates(here), ("look", idle), ("inventory", idle))
        if view.admissible is None or candidate[0] in view.admissible
    ]
    blocked = _blocked(turns)
    for action, reason in possible:
        if action not in blocked:
            return action, reason
    last = {turn["argument"]: index for index, turn in enumerate(turns)}
    return min(possible, key=lambda c: last.get(c[0], -1), default=("look", idle))


def _blocked(turns: Sequence[Turn]) -> set[str]:
    """Return actions not to try again: failed since something last changed, or too often."""
    blocked: set[str] = set()
    for turn in reversed(turns):
        if _failed(turn):
            blocked.add(turn["argument"])
        elif not turn["argument"].startswith(_IDLE):
            break
    failures = [turn["argument"] for turn in turns if _failed(turn)]
    return blocked | {
        action
        for action in failures
        if failures.count(action) >= _TRIES and not action.startswith("go to ")
    }


def _candidates(here: Situation) -> Iterator[Candidate]:
    """Yield what could be done now, the best first."""
    goal, scene = here.goal, here.scene
    held = scene["held"]
    if held is None:
        yield from _fetch(here)
    elif not _holds_thing(goal, scene):
        yield from _drop(here, held)
    elif goal.kind == "look":
        yield from _light(here)
    elif goal.kind in _STATE and not _treated(goal, scene):
        for kind in _APPLIANCES[goal.kind]:
            for place in _of_class(here, kind):
                why = f"I hold the {goal.thing} and have to {goal.kind} it."
                yield from _deal(here, place, f"{goal.kind} {held} with {place}", why, inside=False)
    else:
        why = f"I hold the {goal.thing} and have to put it in the {goal.target}."
        for place in _of_class(here, goal.target):
            yield from _deal(here, place, f"move {held} to {place}", why)
    # All of the above failed: look elsewhere, which also frees what was blocked here.
    visited = [name for name in scene["places"] if name not in here.reachable]
    for name in sorted(visited, key=lambda name: (class_of(name), number_of(name))):
        yield f"go to {name}", "That did not work, so I try from another place."


def _fetch(here: Situation) -> Iterator[Candidate]:
    thing = here.goal.thing
    for name, place in _takeable(here):
        yield from _deal(here, place, f"take {name} from {place}", f"I saw {name} at {place}.")
    yield from _search(here, thing, here.hints)


def _light(here: Situation) -> Iterator[Candidate]:
    lamp = here.goal.target
    for name, places in belief.where(here.scene, lamp).items():
        for place in sorted(places, key=lambda place: place not in here.reachable):
            why = f"I hold the {here.goal.thing} and {name} is at {place}."
            yield from _deal(here, place, f"use {name}", why, inside=False)
    yield from _search(here, lamp, ())


def _drop(here: Situation, held: str) -> Iterator[Candidate]:
    why = f"I do not need {held}, so I put it down."
    kind = class_of(held)

    def awkward(place: str) -> tuple[bool, bool, float, str]:
        shut = here.scene["places"][place]["open"] is False
        return place not in here.reachable, shut, -priors.worth(kind, class_of(place)), place

    for place in sorted(here.scene["places"], key=awkward):
        yield from _deal(here, place, f"move {held} to {place}", why)


def _search(here: Situation, thing: str, hints: Sequence[str]) -> Iterator[Candidate]:
    """Look into the places not searched yet, most probable find per step first."""
    places = here.scene["places"]
    searched: dict[str, int] = {}
    for name, place in places.items():
        searched[class_of(name)] = searched.get(class_of(name), 0) + (place["contents"] is not None)

    def value(name: str) -> float:
        kind = class_of(name)
        shut = places[name]["open"]
        opening = priors.openable(kind) if shut is None else float(not shut)
        steps = (1 if shut is None or name not in here.reachable else 0) + opening
        chance = 0.001 + priors.chance(thing, kind)
        if kind in hints:
            # A hint leads the search, and tires as places of its class turn out empty.
            chance += 1 / (1 + hints.index(kind)) / (1 + searched[kind])
        return chance / steps

    left = belief.unsearched(here.scene)
    for name in sorted(left, key=lambda name: (-value(name), class_of(name), number_of(name))):
        why = f"{a_thing(thing).capitalize()} may be in or on {name}."
        if name not in here.reachable:
            yield f"go to {name}", why
        elif places[name]["open"] is False:
            yield f"open {name}", why
        else:
            yield f"examine {name}", f"I already stand at {name}, so I look into it."
            yield f"open {name}", why


def _deal(
    here: Situation, place: str, action: str, why: str, *, inside: bool = True
) -> Iterator[Candidate]:
    """Go to a place, open it where that is needed, and act there."""
    if place not in here.reachable:
        yield f"go to {place}", why
        return
    known = here.scene["places"][place]
    unknown = known["open"] is None and known["contents"] is None
    opening = f"open {place}", f"{place} has to be opened first."
    if inside and (known["open"] is False or (unknown and priors.openable(class_of(place)) > 0.5)):
        yield opening
    yield action, why
    if inside:
        yield opening


def _of_class(here: Situation, kind: str) -> list[str]:
    """Return the places of a class, the one to use first.

    For two objects it is the place where the first one lies; else one within reach; else one
    that is known to need no opening; else the lowest number.
    """
    scene = here.scene
    delivered = _delivered(here.goal, scene)

    def order(name: str) -> tuple[bool, bool, bool, int]:
        place = scene["places"][name]
        ready = place["open"] is not False and place["contents"] is not None
        first = here.goal.kind == "two" and kind == here.goal.target and name != delivered
        return first, name not in here.reachable, not ready, number_of(name)

    return sorted((name for name in scene["places"] if class_of(name) == kind), key=order)


def _takeable(here: Situation) -> list[tuple[str, str]]:
    """Return the (object, place) pairs worth fetching: treated ones and near ones first."""
    goal, scene = here.goal, here.scene
    delivered = _delivered(goal, scene)
    pairs = [
        (name, place)
        for name, places in belief.where(scene, goal.thing).items()
        for place in places
        if not (goal.kind == "two" and delivered in places)
    ]
    wanted = _STATE.get(goal.kind, "")
    return sorted(
        pairs,
        key=lambda pair: (
            wanted not in scene["states"].get(pair[0], []),
            pair[1] not in here.reachable,
            number_of(pair[0]),
        ),
    )


def _delivered(goal: Goal, scene: Scene) -> str | None:
    """Return the target place that already has an object of the class, if one does."""
    for place in [p for places in belief.where(scene, goal.thing).values() for p in places]:
        if class_of(place) == goal.target:
            return place
    return None


def _holds_thing(goal: Goal, scene: Scene) -> bool:
    held = scene["held"]
    return held is not None and class_of(held) == goal.thing


def _treated(goal: Goal, scene: Scene) -> bool:
    return _STATE[goal.kind] in scene["states"].get(scene["held"] or "", [])


def _failed(turn: Turn) -> bool:
    return not turn["valid"] or turn["result"].strip().lower() == _FAILED
