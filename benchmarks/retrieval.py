"""Whether recall finds what was asked for, beside each of its parts alone and substring matching.

Two labelled sets, both answered from one bank. *Houses*: the bank learns from the training games in
half of the scenes where things are, as it does from finished episodes; in the games of the other
scenes it is asked for each thing. A question is worth the share of these games in which one of the
first three kinds of place that it reads of truly holds the thing. *Lessons*: skills and mistakes of
three domains, asked for in other words than they are written in.

Things, forms of questions and lessons are split in two: a half to choose weights by, a half to report.
Official games are read where ALFWORLD_DATA names them, else generated ones.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evoharness_alfworld import games, priors
from evoharness_alfworld.generator import Recipe, generate, habits, write
from rich.console import Console
from rich.progress import track

from evoharness.experience import (
    Entry,
    ExperienceBank,
    Finding,
    FinishedEpisode,
    Hint,
    Limits,
    Mistake,
    Skill,
)
from evoharness.experience.retrieval import intent

GAMES = 10_000
"""Games read at most, chosen at random."""
GENERATED = 400
RESAMPLES = 2000
QUESTIONS = Path(__file__).with_name("questions.toml")
HALVES = ("development", "reported")
METHODS = ("hybrid", "dense", "lexical", "substring")
_TOP = 3
_LISTED = 10
"""Entries of an answer among which a lesson is looked for."""
_SMALL = "where to find how do the a an in on at is it for of what can i my some any this that with"

Ask = Callable[[str, str], list[Entry]]
"""Answers a question in a context with entries, best first."""


class Room(NamedTuple):
    """How a game begins."""

    id: str
    kind: str
    scene: int
    receptacles: dict[str, int]
    """Class -> how many there are."""
    things: dict[str, dict[str, int]]
    """Class -> receptacle class -> how many of these hold one."""


@dataclass(frozen=True)
class Result:
    """What each method made of a question."""

    topic: str
    """The thing or the lesson that it asks for; questions for the same one are alike."""
    form: str
    worth: dict[str, float]
    """Method -> between 0 and 1."""


def measure(screen: Console) -> dict[str, Any]:
    """Run the benchmark.

    Returns:
        houses_top3: method -> share of games in which the first three places named hold the thing;
            `best` reads the hints of the very thing, that of the kind of room first.
        houses_top3_by_name: the same by how the thing is called: as the games write it, as people
            do, in other words.
        lessons_hit1, lessons_hit3: method -> share of questions whose lesson comes first, or among
            the first three.
        lessons_mrr: method -> mean of 1 / the lesson's rank among the first ten, else 0.
        houses_gain, lessons_hit3_gain, lessons_mrr_gain: method -> by how much hybrid recall is
            better: mean, and a 95% interval (`low`, `high`) from resampling things or lessons.
        development: all of these on the half that weights are chosen by.
        games, hints, houses_questions, lessons_questions: how many there were.
        official: 1 where official games were read, 0 for generated ones.
    """
    asked = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        rooms = list(_rooms(Path(folder), screen))
    limits = Limits(skill=1000, mistake=1000, hint=2000)
    with ExperienceBank.in_memory("retrieval", limits=limits) as bank:
        _learn(bank, [room for room in rooms if room.scene % 2 == 0], screen)
        lessons = [_lesson(lesson) for lesson in asked["lesson"]]
        bank.write(lessons, by="benchmark")
        later = [room for room in rooms if room.scene % 2]
        found: dict[str, dict[str, Any]] = {}
        for at, half in enumerate(HALVES):
            with screen.status(f"asking, {half}"):
                things = dict([*asked["things"].items()][at::2])
                houses = list(_houses(bank, later, things, asked["forms"][half]))
                pairs = [*zip(lessons, asked["lesson"], strict=True)][at::2]
                found[half] = _figures(houses, list(_lessons(bank, pairs)))
        hints = sum(entry.kind == "hint" for entry in bank.entries())
    return {
        **found["reported"],
        "development": found["development"],
        "games": float(len(rooms)),
        "hints": float(hints),
        "official": float(bool(os.environ.get(games.VARIABLE))),
    }


def _rooms(folder: Path, screen: Console) -> Iterator[Room]:
    if os.environ.get(games.VARIABLE):
        paths = [games.path_of(task.id) for task in games.find("train").tasks]
    else:
        split = folder / games.FOLDER / "generated"
        number = range(min(GAMES, GENERATED))
        paths = [write(generate(Recipe(number=n)), split) for n in number]
    if len(paths) > GAMES:
        paths = sorted(random.Random(0).sample(paths, GAMES))
    for path in track(paths, "reading games", console=screen, transient=True):
        kind = path.parent.parent.name
        pairs, places, _ = priors.placements(json.loads(path.read_text())["pddl_problem"])
        things: defaultdict[str, defaultdict[str, set[str]]]
        things = defaultdict(lambda: defaultdict(set))
        for thing, place in pairs:
            things[priors.class_of(thing)][priors.class_of(place)].add(place)
        yield Room(
            id=f"{kind}/{path.parent.name}",
            kind=habits.room_of(kind),
            scene=int(kind.rsplit("-", 1)[1]),
            receptacles=Counter(map(priors.class_of, places)),
            things={
                thing: {place: len(ids) for place, ids in where.items()}
                for thing, where in things.items()
            },
        )


def _learn(bank: ExperienceBank, rooms: Sequence[Room], screen: Console) -> None:
    """Tell the bank where everything was in these games, and let it consolidate."""
    for room in track(rooms, "learning", console=screen, transient=True):
        findings = [
            Finding(thing=thing, place=place, found=where.get(place, 0), looked=number)
            for thing, where in room.things.items()
            for place, number in room.receptacles.items()
        ]
        bank.finished(
            FinishedEpisode(
                source=room.id,
                context=room.kind,
                success=True,
                steps=1,
                findings=tuple(findings),
            )
        )
    with screen.status("consolidating"):
        bank.consolidate()


def _lesson(lesson: Mapping[str, Any]) -> Entry:
    if "skill" in lesson:
        return Entry(content=Skill(principle=lesson["skill"]))
    return Entry(content=Mistake(what=lesson["mistake"], avoid=lesson["avoid"]))


def _asking(bank: ExperienceBank, limit: int) -> dict[str, Ask]:
    entries = {entry.id: entry for entry in bank.entries()}

    def recall(method: str) -> Ask:
        def ask(question: str, context: str) -> list[Entry]:
            found = bank.recall(question, context=context, limit=limit, method=method)
            return [entries[hit.id] for hit in found]

        return ask

    asking = {method: recall(method) for method in METHODS[:3]}
    asking["substring"] = substring([*entries.values()], limit)
    return asking


def substring(entries: Sequence[Entry], limit: int) -> Ask:
    """Answer as a JSON file of entries can: by the number of words that a text contains.

    Entries of the kind that a question asks for come first, then those of the context.
    """
    texts = [(entry, entry.text.lower()) for entry in entries]
    small = set(_SMALL.split())

    def ask(question: str, context: str) -> list[Entry]:
        words = set(question.lower().split()) - small
        kind = intent(question)
        scored = [
            ((entry.kind == kind, sum(word in text for word in words), entry.context == context), n)
            for n, (entry, text) in enumerate(texts)
        ]
        scored = [(score, n) for score, n in scored if score[1]]
        scored.sort(key=lambda pair: pair[0], reverse=True)
        return [texts[n][0] for _, n in scored[:limit]]

    return ask


def _houses(
    bank: ExperienceBank,
    rooms: Sequence[Room],
    things: Mapping[str, Sequence[str]],
    forms: Sequence[str],
) -> Iterator[Result]:
    truths: defaultdict[tuple[str, str], list[set[str]]] = defaultdict(list)
    for room in rooms:
        for thing, where in room.things.items():
            truths[thing, room.kind].append({*where})
    hints = [entry for entry in bank.entries() if isinstance(entry.content, Hint)]
    asking = _asking(bank, _TOP)
    for (thing, kind), truth in sorted(truths.items()):
        names = [thing, *things.get(thing, ())]
        own = [entry for entry in hints if entry.content.identity == (thing,)]
        own.sort(key=lambda entry: entry.context != kind)
        best = _worth(own, truth)
        for called, name in zip(("as written", "apart", "other words"), names, strict=False):
            if thing not in things or (called == "apart" and name == thing):
                continue
            for form in forms:
                question = form.format(a=_a(name), name=name, names=_plural(name))
                worth = {way: _worth(ask(question, kind), truth) for way, ask in asking.items()}
                yield Result(thing, called, {**worth, "best": best})


def _worth(answer: Sequence[Entry], truth: Sequence[set[str]]) -> float:
    """Return the share of games where one of the first three places holds the thing."""
    named = [
        place.name
        for entry in answer
        if isinstance(entry.content, Hint)
        for place in entry.content.ranked
    ]
    first = set([*dict.fromkeys(named)][:_TOP])
    return sum(not first.isdisjoint(places) for places in truth) / len(truth)


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _plural(name: str) -> str:
    head, of, rest = name.partition(" of ")
    if not of:
        head, of, rest = name.partition(" for ")
    if head.endswith(("f", "fe")):
        head = f"{head.rstrip('fe')}ve"
    return f"{head}{'es' if head.endswith(('s', 'x', 'ch', 'sh', 'to')) else 's'}{of}{rest}"


def _lessons(
    bank: ExperienceBank, pairs: Sequence[tuple[Entry, Mapping[str, Any]]]
) -> Iterator[Result]:
    asking = _asking(bank, _LISTED)
    for entry, lesson in pairs:
        for question in lesson["questions"]:
            ranks: dict[str, float] = {}
            for way, ask in asking.items():
                ids = [found.id for found in ask(question, "")]
                ranks[way] = 1 / (1 + ids.index(entry.id)) if entry.id in ids else 0.0
            yield Result(entry.id, question, ranks)


def _figures(houses: Sequence[Result], lessons: Sequence[Result]) -> dict[str, Any]:
    first = [_at_least(result, 1) for result in lessons]
    three = [_at_least(result, 1 / _TOP) for result in lessons]
    by_name: defaultdict[str, list[Result]] = defaultdict(list)
    for result in houses:
        by_name[result.form].append(result)
    return {
        "houses_top3": _means(houses),
        "houses_top3_by_name": {name: _means(some) for name, some in by_name.items()},
        "houses_gain": _gains(houses),
        "lessons_hit1": _means(first),
        "lessons_hit3": _means(three),
        "lessons_mrr": _means(lessons),
        "lessons_hit3_gain": _gains(three),
        "lessons_mrr_gain": _gains(lessons),
        "houses_questions": float(len(houses)),
        "lessons_questions": float(len(lessons)),
    }


def _at_least(result: Result, least: float) -> Result:
    reached = {way: float(worth >= least - 1e-9) for way, worth in result.worth.items()}
    return Result(result.topic, result.form, reached)


def _means(results: Sequence[Result]) -> dict[str, float]:
    return {
        way: float(np.mean([result.worth[way] for result in results])) for way in results[0].worth
    }


def _gains(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    return {way: _gain(results, way) for way in METHODS if way != "hybrid"}


def _gain(results: Sequence[Result], other: str) -> dict[str, float]:
    """Return by how much hybrid recall is better: mean, and 95% interval over whole topics."""
    topics: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        topics[result.topic].append(result.worth["hybrid"] - result.worth[other])
    sums = np.array([sum(each) for each in topics.values()])
    sizes = np.array([len(each) for each in topics.values()])
    drawn = np.random.default_rng(0).integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(1) / sizes[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"mean": float(sums.sum() / sizes.sum()), "low": float(low), "high": float(high)}
