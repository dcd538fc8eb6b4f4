"""Reads a game file: the facts that hold at the start, the goal, the sentence of the task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

_SINKS = frozenset({"sinkbasintype"})
DOMAINS = {
    "54e29bce2933d7dc48c8665e02d86add1d4600082641fbf91807eeb151cb08fa": _SINKS
    | {"sinktype"},  # of the official games
    "da18d44ab1bcf831f61e90b88a99ad5766d8bbb562b6f87839b4b6ace4f796fe": _SINKS,  # of the alfworld package
    "ccfedbcb5d6e76087077b7f0c5b6f2028be3013c314df6c1749cd68e83c28b92": _SINKS,  # of generated games
}
"""Digests of the domains that are known, and the receptacle types that clean in each."""
GRAMMARS = {
    "063d42f07581dbed3b4f655bae25e0af94fd0e062f9eae0f6f63037ecd5177e6",  # of the official games
    "93119b93cd2872a8057ed9a13f40891d21ee1be4d95a6dc2f8fe36b55630e652",  # of the alfworld package
    "7f7b5dfa97c1d2954b3a0f6e5b2cfb140ecf87386b5ebc242d308c7ff0c9fcf4",  # of generated games
}
"""Digests of the grammars that are known; they say the same."""

PREDICATES = {
    "atlocation": 2,
    "receptacleatlocation": 2,
    "objectatlocation": 2,
    "openable": 1,
    "opened": 1,
    "inreceptacle": 2,
    "isreceptacleobject": 1,
    "inreceptacleobject": 2,
    "isreceptacleobjectfull": 1,
    "wasinreceptacle": 2,
    "checked": 1,
    "examined": 1,
    "receptacletype": 2,
    "cancontain": 2,
    "objecttype": 2,
    "holds": 2,
    "holdsany": 1,
    "holdsanyreceptacleobject": 1,
    "full": 1,
    "isclean": 1,
    "cleanable": 1,
    "ishot": 1,
    "heatable": 1,
    "iscool": 1,
    "coolable": 1,
    "pickupable": 1,
    "moveable": 1,
    "toggleable": 1,
    "ison": 1,
    "istoggled": 1,
    "sliceable": 1,
    "issliced": 1,
}
"""The predicates of the domain, with the number of their arguments."""

_SENTENCE = re.compile(r"Your task is to: ([^\"\\]*)")
_COMMENT = re.compile(r";[^\n]*")
_FACT = re.compile(r"\(([^()]*)\)")
_DECLARED = re.compile(r"(\S+)\s+-\s+(\w+)")
_TYPE = re.compile(r"\((objecttype|receptacletype) (\?\w+) (\w+)\)")

_PLACED = (
    "(:goal(and(exists(?r - receptacle)(exists(?o - object)(and{}(objecttype ?o *)"
    "(receptacletype ?r *){}(inreceptacle ?o ?r))))))"
)
_SHAPES = {
    "(:goal(and(exists(?r - receptacle)(exists(?o - object)(and(inreceptacle ?o ?r)"
    "(objecttype ?o *)(receptacletype ?r *))))))": "pick_and_place_simple",
    "(:goal(and(exists(?ot - object ?r - receptacle ?a - agent ?l - location)"
    "(and(objecttype ?ot *)(toggleable ?ot)(istoggled ?ot)(receptacleatlocation ?r ?l)"
    "(atlocation ?a ?l)(inreceptacle ?ot ?r)))(exists(?o - object ?a - agent)"
    "(and(objecttype ?o *)(holds ?a ?o)))))": "look_at_obj_in_light",
    _PLACED.format("(cleanable ?o)", "(isclean ?o)"): "pick_clean_then_place_in_recep",
    _PLACED.format("(heatable ?o)", "(ishot ?o)"): "pick_heat_then_place_in_recep",
    _PLACED.format("(coolable ?o)", "(iscool ?o)"): "pick_cool_then_place_in_recep",
    "(:goal(and(exists(?r - receptacle)(exists(?o1 - object)(and(objecttype ?o1 *)"
    "(receptacletype ?r *)(inreceptacle ?o1 ?r)(exists(?o2 - object)(and(not(= ?o1 ?o2))"
    "(objecttype ?o2 *)(receptacletype ?r *)(inreceptacle ?o2 ?r))))))))": "pick_two_obj_and_place",
}


class GameError(ValueError):
    """A game file that cannot be played, and why."""


@dataclass(frozen=True, slots=True)
class Goal:
    """When a game is won."""

    kind: str
    """One of the six task types, under its name in the benchmark."""
    thing: str
    """The type of the object that matters, e.g. `appletype`."""
    target: str
    """The type of the receptacle where it belongs, or of the lamp."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a game file says, in lower case, as the planner of the stock engine reads it."""

    facts: Mapping[str, frozenset[tuple[str, ...]]]
    """Predicate to the arguments for which it holds at the start."""
    kinds: Mapping[str, str]
    """What each id in the facts was declared to be, e.g. `receptacle`."""
    goal: Goal
    objective: str
    """The sentence of the task, as the game tells it."""
    washing: frozenset[str]
    """The receptacle types at which things can be cleaned."""


def parse(text: str) -> Any:
    """Parse the text of a game file, which is JSON.

    Raises:
        GameError: it is not.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GameError(f"it is not JSON: {error}") from None


def interpret(game: Any) -> Problem:
    """Interpret what a game file holds, parsed.

    Raises:
        GameError: something is missing, malformed, or beyond ALFWorld's domain and grammar.
    """
    domain, grammar, problem = (_entry(game, k) for k in ("pddl_domain", "grammar", "pddl_problem"))
    sentence = _SENTENCE.search(grammar)
    if sentence is None:
        raise GameError("its grammar names no task")
    washing = _washing(domain)
    if not _known(_SENTENCE.sub("", grammar)):
        raise GameError("its grammar is not ALFWorld's")
    declared, init, goal = _sections(problem)
    facts = _facts(init)
    return Problem(facts, _kinds(facts, declared), _goal(goal), sentence[1], washing)


def _entry(game: Any, key: str) -> str:
    value = cast(dict[str, Any], game).get(key) if isinstance(game, dict) else None
    if not isinstance(value, str):
        raise GameError(f"it has no text {key!r}")
    return value


@lru_cache(maxsize=8)
def _washing(domain: str) -> frozenset[str]:
    """Look a domain up; comments, white space and case do not matter."""
    words = " ".join(_COMMENT.sub("", domain).lower().split())
    washing = DOMAINS.get(sha256(words.encode()).hexdigest())
    if washing is None:
        raise GameError("its domain is not ALFWorld's")
    return washing


@lru_cache(maxsize=8)
def _known(grammar: str) -> bool:
    return sha256(grammar.encode()).hexdigest() in GRAMMARS


def _sections(problem: str) -> tuple[str, str, str]:
    text = problem.lower()
    marks = [text.find(mark) for mark in ("(:objects", "(:init", "(:goal")]
    if -1 in marks or marks != sorted(marks):
        raise GameError("its problem lacks objects, init and goal, in this order")
    if text.count("(") != text.count(")"):
        raise GameError("its problem is cut: the parentheses do not match")
    objects, init, goal = marks
    return text[objects:init], text[init + len("(:init") : goal], text[goal:]


def _facts(init: str) -> dict[str, frozenset[tuple[str, ...]]]:
    found: dict[str, set[tuple[str, ...]]] = {predicate: set() for predicate in PREDICATES}
    for fact in _FACT.findall(init):
        predicate, *arguments = fact.split() or [""]
        if PREDICATES.get(predicate) != len(arguments):
            raise GameError(f"its init has ({fact}), which is no fact of ALFWorld's domain")
        found[predicate].add(tuple(arguments))
    return {predicate: frozenset(facts) for predicate, facts in found.items()}


def _kinds(facts: Mapping[str, frozenset[tuple[str, ...]]], declared: str) -> dict[str, str]:
    kinds: dict[str, str] = dict(_DECLARED.findall(declared))
    named = {argument for every in facts.values() for fact in every for argument in fact}
    if not named <= kinds.keys():
        raise GameError(f"its init names {min(named - kinds.keys())}, which is not declared")
    return {id: kinds[id] for id in named}


def _goal(text: str) -> Goal:
    types: list[str] = [match[3] for match in _TYPE.finditer(text)]
    shape = " ".join(_TYPE.sub(r"(\1 \2 *)", text).split())
    shape = re.sub(r" ?([()]) ?", r"\1", shape)
    kind = _SHAPES.get(shape[:-1])  # The last parenthesis closes the problem.
    if kind is None or types[2:] not in ([], types[:2]):
        raise GameError("its goal is none of ALFWorld's six")
    if kind == "look_at_obj_in_light":
        types.reverse()
    return Goal(kind, types[0], types[1])
