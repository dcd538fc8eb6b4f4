"""A scripted expert that knows only what it was shown.

It reads the objective's sentence, folds Belief over the turns, and plays search, take, treat,
place. `expert` is a pure function of the view: it has no memory, so it can label any state that
another policy got into, and an episode can continue in another process. `newcomer` plays the same
way without the table of where things usually are, so that it shows what recall alone is worth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoharness.core.progress import Subgoal
from evoharness_alfworld import priors
from evoharness_alfworld import scene as belief
from evoharness_alfworld.acting import (
    EXPERT,
    Candidate,
    Knowledge,
    Situation,
    act,
    holds_thing,
    situation,
    stage,
    takeable,
)
from evoharness_alfworld.objective import Goal, a_thing, plan, read_objective
from evoharness_alfworld.scene import Scene

if TYPE_CHECKING:
    from evoharness.core.state import Turn
    from evoharness.core.view import View

_COUNTS = re.compile(r"(\w+) \(found in (\d+) of (\d+)\)")
_PATIENCE = 10
"""Environment steps of searching after which the expert asks what is left to search."""


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
    return _reply(view, EXPERT)


def newcomer(view: View) -> str:
    """Return the reply of an expert who was never in a house.

    Where things usually are it knows from recall alone. Places that promise the same it searches
    in an arbitrary order, which the task decides.
    """
    return _reply(view, Knowledge(priors.NO_TABLE, order=view.task.id))


def _reply(view: View, knowledge: Knowledge) -> str:
    done = [turn for turn in view.turns if turn["kind"] == "env"]
    here = _situation(view, done, knowledge)
    action, reason = _meta(view, here) or act(here, done, view.admissible)
    return f"<think>{reason}</think><action>{action}</action>"


def _situation(view: View, done: Sequence[Turn], knowledge: Knowledge) -> Situation:
    goal = read_objective(view.task.objective)
    steps = [(turn["argument"], turn["result"]) for turn in done]
    scene = belief.fold(view.task.objective, view.first_observation, steps)
    hints = {thing: recalled_places(view.turns, thing) for thing in _things(goal)}
    return situation(goal, scene, done, hints, view.admissible, knowledge)


def _things(goal: Goal) -> tuple[str, ...]:
    """Return the classes that have to be found somewhere."""
    return (goal.thing, goal.target) if goal.kind == "look" else (goal.thing,)


def recalled_places(turns: Sequence[Turn], thing: str) -> dict[str, tuple[float, float]]:
    """Return the receptacle classes that `recall` named for an object class, in its order.

    Only entries whose first object is `thing` count, hints before other kinds; what follows a
    "not" or an "although" is no recommendation.

    Returns:
        Class -> (looks there that found such an object, looks). A class without counts stands as
        if one look had found 1, 1/2, 1/3, … of it, by its rank.
    """
    holds = priors.load()["holds"]
    lines = [
        line
        for turn in turns
        if turn["kind"] == "meta" and turn["verb"] == "recall"
        for line in turn["result"].lower().splitlines()
    ]
    lines.sort(key=lambda line: not line.startswith("- hint"))
    found: dict[str, tuple[float, float]] = {}
    hinted = False
    for line in lines:
        if hinted and not line.startswith("- hint"):
            break
        said = re.split(r"\b(?:not|never|rarely|although|instead|but|except)\b|n't", line)[0]
        classes = [name.split()[0] for name in belief.mentions(said)]
        if next((name for name in classes if name in holds), None) == thing:
            hinted = hinted or line.startswith("- hint")
            counts = {kind: (float(n), float(of)) for kind, n, of in _COUNTS.findall(line)}
            for name in classes:
                if name in priors.receptacles() and name not in found:
                    found[name] = counts.get(name, (1 / (1 + len(found)), 1.0))
    return found


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
    searching = not holds_thing(goal, scene) and not takeable(here)
    if "recall" in view.verbs and (sought := _unasked(here, done["recall"], searching)):
        query = f"where is {a_thing(sought)}"
        return f"recall {query}", f"Past episodes may tell where {a_thing(sought)} usually is."
    if "note" in view.verbs and not done["note"] and (surprise := _surprise(view, here)):
        return f"note {surprise}", "Recall did not say so, which is worth a note."
    if "commit" in view.verbs and subgoal not in done["commit"]:
        return f"commit {subgoal}", f"The next subgoal is to {subgoal}."
    if "track" in view.verbs:
        if goal.kind == "two" and now == 2 and goal.thing not in done["track"]:
            return f"track {goal.thing}", f"I may have seen the other {goal.thing} before."
        env_turns = sum(turn["kind"] == "env" for turn in view.turns)
        if searching and env_turns // _PATIENCE > done["track"].count("unsearched"):
            return "track unsearched", "The search is long, so I check which places are left."
    return None


def _unasked(here: Situation, asked: Sequence[str], searching: bool) -> str | None:
    """Return the class to ask Experience for, if there is one that was not asked for yet."""
    goal = here.goal
    if searching:
        return None if asked else goal.thing
    seeks_lamp = goal.kind == "look" and not belief.where(here.scene, goal.target)
    knows_lamps = goal.target in here.knowledge.table["holds"]
    if seeks_lamp and not knows_lamps and not any(goal.target in query for query in asked):
        return goal.target
    return None


def _surprise(view: View, here: Situation) -> str | None:
    """Return what to note when the object was just taken from where recall did not send us.

    Who knows where things usually are has nothing to note where recall said nothing.
    """
    last = next((turn for turn in reversed(view.turns) if turn["kind"] == "env"), None)
    hints = here.hints[here.goal.thing]
    if last is None or (not hints and here.goal.thing in here.knowledge.table["holds"]):
        return None
    found = re.match(r"you pick up the (\w+) \d+ from the (\w+) \d+\.", last["result"].lower())
    if not found or found[1] != here.goal.thing or found[2] in hints:
        return None
    seen = f"Found {a_thing(found[1])} in or on {a_thing(found[2])}"
    return f"{seen}, although recall named {', '.join([*hints][:3])}." if hints else f"{seen}."
