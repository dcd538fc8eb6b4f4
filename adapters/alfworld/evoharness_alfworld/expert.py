"""A scripted expert that knows only what it was shown.

It reads the objective's sentence, folds Belief over the turns, and plays search, take, treat,
place. `expert` is a pure function of the view: it has no memory, so it can label any state that
another policy got into, and an episode can continue in another process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoharness.core.progress import Subgoal
from evoharness_alfworld import priors
from evoharness_alfworld import scene as belief
from evoharness_alfworld.acting import (
    Candidate,
    Situation,
    act,
    holds_thing,
    situation,
    stage,
    takeable,
)
from evoharness_alfworld.objective import a_thing, plan, read_objective
from evoharness_alfworld.scene import Scene

if TYPE_CHECKING:
    from evoharness.core.state import Turn
    from evoharness.core.view import View

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
    done = [turn for turn in view.turns if turn["kind"] == "env"]
    here = _situation(view, done)
    action, reason = _meta(view, here) or act(here, done, view.admissible)
    return f"<think>{reason}</think><action>{action}</action>"


def _situation(view: View, done: Sequence[Turn]) -> Situation:
    goal = read_objective(view.task.objective)
    steps = [(turn["argument"], turn["result"]) for turn in done]
    scene = belief.fold(view.task.objective, view.first_observation, steps)
    hints = recalled_places(view.turns, goal.thing)
    return situation(goal, scene, done, hints, view.admissible)


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
    searching = not holds_thing(goal, scene) and not takeable(here)
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
