"""What a recall costs in a bank of 1,000, 10,000 and 100,000 entries that is kept in a folder.

Beside it, the same questions go to Chroma's `collection.query` on the same folder, without a filter and
with the one that recall applies, and to a JSON file of the same entries that is scanned by substring.
Each time has the embedding of the question in it where there is one. Each runs in a process of its
own, whose memory is what it needs.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from evoharness.experience import (
    Entry,
    ExperienceBank,
    Hint,
    Mistake,
    Place,
    Skill,
    WordLlamaEmbedding,
)
from evoharness.experience.entries import Content
from evoharness.experience.retrieval import Index

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 300
FILTERED = 50
"""Questions to Chroma with a filter and to the JSON file, which take long."""
WARM = 5
"""Questions before those that are timed."""
COMMITS = 3
_PIECE = 5_000
"""Entries written at once."""
_TYPES = ("", "pick and place", "clean", "heat", "cool", "fix a bug", "write a test", "audit")
_ROOMS = ("", "kitchen", "living room", "bedroom", "bathroom", "backend", "frontend", "pipeline")


def measure(screen: Console, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Run the benchmark; all figures are by number of entries.

    Returns:
        p50_ms, p95_ms: milliseconds a recall in an open bank.
        chroma_p50_ms, chroma_p95_ms: the same of `collection.query`.
        chroma_where_p50_ms, chroma_where_p95_ms: the same filtered by status and task type.
        json_p50_ms, json_p95_ms: the same of a JSON file in memory, scanned by substring.
        memory_mb, chroma_memory_mb, json_memory_mb: megabytes that the process holds then.
        write_s: seconds to write all entries into a new folder, 5,000 at once.
        open_s: seconds to open the bank in a fresh process, to load Chroma included.
        index_s: those of them that the index takes.
        commit_s: seconds to add one entry to the open bank.
        disk_mb: megabytes of the folder.
    """
    figures: dict[str, dict[int, float]] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        bar = progress.add_task("", total=len(PARTS))
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                progress.reset(bar)
                for number, part in enumerate(PARTS):
                    progress.update(bar, description=f"{size:,} entries: {part}")
                    for share, found in _apart(part, Path(folder), size):
                        progress.update(bar, completed=number + share)
                        for key, value in found.items():
                            figures.setdefault(key, {})[size] = value
    return {**figures}


def _apart(part: str, folder: Path, size: int) -> Iterator[tuple[float, dict[str, float]]]:
    """Run a part in a process of its own; give how much is done, and at the end its figures.

    Raises:
        RuntimeError: the process failed.
    """
    counts = [str(count) for count in (size, QUESTIONS, FILTERED, COMMITS)]
    command = [sys.executable, "-m", "benchmarks.recall", part, str(folder), *counts]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            share, found = json.loads(line)
            yield share, found
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")


def _say(share: float, found: dict[str, float]) -> None:
    print(json.dumps([share, found]), flush=True)


class Counts(NamedTuple):
    """How much a part does."""

    size: int
    questions: int
    filtered: int
    commits: int


def _write(folder: Path, counts: Counts) -> dict[str, float]:
    made = entries(counts.size)
    before = time.perf_counter()
    with ExperienceBank.open(folder / "bank", "benchmark") as bank:
        for at in range(0, len(made), _PIECE):
            bank.write(made[at : at + _PIECE], by="benchmark")
            _say(at / len(made), {})
    seconds = time.perf_counter() - before
    (folder / "bank.json").write_text(json.dumps([entry.model_dump() for entry in made]))
    files = [path for path in (folder / "bank").rglob("*") if path.is_file()]
    return {"write_s": seconds, "disk_mb": sum(path.stat().st_size for path in files) / 1e6}


def _recall(folder: Path, counts: Counts) -> dict[str, float]:
    before = time.perf_counter()
    with ExperienceBank.open(folder / "bank", "benchmark") as bank:
        opened = time.perf_counter() - before
        asked = questions(counts.questions)
        times = _times(asked, lambda q: bank.recall(q.text, task_type=q.type, context=q.context))
        memory = _memory()
        commits = [
            _timed(lambda n=n: bank.write([Entry(content=Skill(principle=f"New {n}"))], by="new"))
            for n in range(counts.commits)
        ]
        known = bank.entries()
        vectors = np.random.default_rng(0).normal(size=(len(known), 256)).astype(np.float32)
        index = _timed(lambda: Index(known, [*vectors]))
    return {
        **_quantiles("", times),
        "memory_mb": memory,
        "open_s": opened,
        "index_s": index,
        "commit_s": median(commits),
    }


def _chroma(folder: Path, counts: Counts) -> dict[str, float]:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(folder / "bank", Settings(anonymized_telemetry=False))
    [collection] = [one for one in client.list_collections() if one.name.startswith("entries-")]
    embedding = WordLlamaEmbedding()

    def plain(question: Question, **options: Any) -> None:
        collection.query(query_embeddings=embedding.embed([question.text]), n_results=3, **options)  # pyright: ignore[reportArgumentType]

    def filtered(question: Question) -> None:
        fitting = {"task_type": {"$in": ["", question.type]}}
        plain(question, where={"$and": [{"status": {"$ne": "archived"}}, fitting]})

    times = _times(questions(counts.questions), plain)
    memory = _memory()
    slow = _times(questions(counts.filtered), filtered)
    return {
        **_quantiles("chroma_", times),
        **_quantiles("chroma_where_", slow),
        "chroma_memory_mb": memory,
    }


def _json(folder: Path, counts: Counts) -> dict[str, float]:
    from benchmarks.retrieval import substring

    stored = json.loads((folder / "bank.json").read_text())
    ask = substring([Entry.model_validate(entry) for entry in stored], 3)
    del stored
    times = _times(questions(counts.filtered), lambda q: ask(q.text, q.context))
    return {**_quantiles("json_", times), "json_memory_mb": _memory()}


PARTS: dict[str, Callable[[Path, Counts], dict[str, float]]] = {
    "write": _write,
    "recall": _recall,
    "chroma": _chroma,
    "json": _json,
}


def _times(asked: Sequence[Question], ask: Callable[[Question], object]) -> list[float]:
    for question in asked[:WARM]:
        ask(question)
    times: list[float] = []
    for number, question in enumerate(asked):
        times.append(_timed(lambda question=question: ask(question)))
        if number % 10 == 0:
            _say(number / len(asked), {})
    return times


def _timed(call: Callable[[], object]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def _quantiles(name: str, times: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(times, n=20, method="inclusive")
    return {f"{name}p50_ms": 1000 * median(times), f"{name}p95_ms": 1000 * cuts[-1]}


def _memory() -> float:
    """Return megabytes that this process holds; on systems that do not say, the most it held."""
    held = Path("/proc/self/statm")
    if held.exists():
        return int(held.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Question(NamedTuple):
    """What an agent asks, and in which task and situation."""

    text: str
    type: str
    context: str


def entries(size: int) -> list[Entry]:
    """Return so many different entries of a home's and a programmer's experience, always the same."""
    words = _Words(1)
    made: dict[str, Entry] = {}
    while len(made) < size:
        entry = Entry(
            content=words.content(),
            task_type=words.rng.choice(_TYPES),
            context=words.rng.choice(_ROOMS),
        )
        made[entry.id] = entry
    return [*made.values()]


def questions(count: int) -> list[Question]:
    """Return questions about such things."""
    words = _Words(2)
    rng = words.rng
    return [
        Question(rng.choice(words.asking())(), rng.choice(_TYPES), rng.choice(_ROOMS))
        for _ in range(count)
    ]


class _Words:
    """Chance sentences from a vocabulary of things, places, actions and names of code."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._lists = {name: words.split() for name, words in _VOCABULARY.items()}

    def content(self) -> Content:
        kind = self.rng.random()
        if kind < 0.5:
            places = self.rng.sample(self._lists["place"], self.rng.randint(2, 6))
            looks = [(place, self.rng.randint(1, 60)) for place in places]
            return Hint(
                thing=f"{self._one('quality')} {self._one('thing')}",
                places=tuple(
                    Place(name=place, found=self.rng.randint(0, looked), looked=looked)
                    for place, looked in looks
                ),
            )
        if kind < 0.75:
            return Skill(
                title=f"{self._one('act')} {self._one('part')}".capitalize(),
                principle=self._sentence(),
                when=f"{self._one('part')} {self._one('state')}",
            )
        return Mistake(what=self._sentence(), why=self._cause(), avoid=self._sentence())

    def asking(self) -> list[Callable[[], str]]:
        return [
            lambda: f"where to find a {self._one('quality')} {self._one('thing')}",
            lambda: f"{self._one('thing')} location",
            lambda: f"how to {self._one('act')} the {self._one('part')}",
            lambda: f"mistakes to avoid when the {self._one('part')} is {self._one('state')}",
            lambda: f"{self._code()} {self._one('state')}, why",
        ]

    def _one(self, name: str) -> str:
        return self.rng.choice(self._lists[name])

    def _code(self) -> str:
        return f"{self._one('act')}_{self._one('part')}"

    def _sentence(self) -> str:
        part, act, thing = self._one("part"), self._one("act"), self._one("thing")
        return self.rng.choice(
            (
                f"{act.capitalize()} the {part} before you {self._one('act')} the {self._one('part')}.",
                f"`{self._code()}` leaves the {part} {self._one('state')}: {act} it again.",
                f"Put the {thing} into the {self._one('place')} and {act} the {part} afterwards.",
                f"A {self._one('quality')} {thing} is seldom near the {self._one('place')}.",
                f"When `{self._code()}` is {self._one('state')}, look at `{self._code()}` first.",
            )
        )

    def _cause(self) -> str:
        return f"the {self._one('part')} is {self._one('state')} in `{self._code()}`"


_VOCABULARY = {
    "thing": (
        "mug plate bowl fork spoon knife pan pot kettle ladle spatula cup glass bottle jar lid tray"
        " tomato potato apple egg lettuce bread onion carrot cheese butter salt pepper sugar flour"
        " soap sponge towel cloth tissue candle vase statue pillow blanket sheet curtain carpet book"
        " pen pencil notebook newspaper letter stamp box bag basket laptop phone charger cable lamp"
        " clock watch ring keys wallet card coin remote radio camera guitar ball racket umbrella hat"
        " scarf glove shoe coat shirt brush comb razor mirror hammer drill screwdriver nail rope tape"
    ),
    "quality": (
        "red blue green yellow white black brown grey small large tall short round square flat deep"
        " old new clean dirty hot cold wet dry full empty broken shiny wooden metal plastic ceramic"
        " cotton woollen leather golden silver striped spotted plain heavy light soft hard sharp blunt"
        " folded sealed open labelled borrowed favourite spare second third first last"
    ),
    "place": (
        "countertop cabinet drawer shelf fridge microwave oven sink stove dishwasher table desk sofa"
        " armchair bed nightstand dresser wardrobe bathtub toilet hamper basket safe garage balcony"
        " hallway attic cellar pantry workbench toolbox windowsill fireplace bookcase sideboard stool"
        " bench trolley locker crate bucket"
    ),
    "act": (
        "open close check read parse load store fetch send retry merge split sort filter group count"
        " trim encode decode encrypt verify compile build test deploy rename remove insert update"
        " append copy move clean rinse heat cool slice fold wrap label measure weigh record compare"
        " replace restore validate approve reject archive export import refresh reset pin profile"
    ),
    "part": (
        "parser header footer cache queue worker thread lock session token cookie schema migration"
        " index column row table view query cursor buffer stream socket packet handler router"
        " middleware controller template stylesheet widget button form dialog menu layout fixture mock"
        " assertion traceback exception logger metric alert dashboard policy control evidence ticket"
        " invoice ledger report backup snapshot branch commit pipeline artifact container volume secret"
        " certificate firewall dependency lockfile wheel interpreter encoding timezone locale timeout"
    ),
    "state": (
        "missing stale empty truncated duplicated corrupted locked expired unsorted unreachable"
        " undefined outdated misplaced oversized unsigned untested incomplete shared leaking blocked"
        " cyclic ambiguous deprecated nullable negative overdue unowned rotated compressed renamed"
        " silent flaky slow read-only half-written case-sensitive off-by-one"
    ),
}


if __name__ == "__main__":
    part, folder, *numbers = sys.argv[1:]
    _say(1.0, PARTS[part](Path(folder), Counts(*map(int, numbers))))
