"""The ALFWorld adapter: tasks, environments, Belief, words, the expert."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from evoharness.core.environment import JSON, Adapter, Capabilities, Environment, Step, Task
from evoharness.core.progress import Subgoal
from evoharness.workers import WorkerPool
from evoharness_alfworld import expert, games, scene
from evoharness_alfworld.environments import NativeEnvironment
from evoharness_alfworld.findings import findings, room
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.scene import Scene
from evoharness_alfworld.simulator import GameError, House
from evoharness_alfworld.stock import FACTORY
from evoharness_alfworld.wording import normalise
from evoharness_alfworld.words import TASK_TYPES, VERBS, WORDS, seed_experience

if TYPE_CHECKING:
    from evoharness.core.view import View


DEMO = tuple(Recipe(number=n, kind=kind) for n, kind in enumerate(2 * TASK_TYPES[::-1], 1))
"""The generated games of the demo split: two of each type, a long one first."""


class AlfworldAdapter(Adapter):
    """Household tasks in text: the official ALFWorld games, generated ones, and a demo split.

    The native engine runs in this process, in any number of threads. The stock engine, TextWorld,
    is not thread-safe: each of its environments runs in a worker process of its own.
    """

    name = "alfworld"
    words = WORDS
    verbs = VERBS
    splits = ("demo", "train", "valid_seen", "valid_unseen")
    capabilities = Capabilities(lists_admissible=True)

    def __init__(
        self,
        *,
        workers: int = 1,
        timeout_s: float = 120,
        data: str | Path | None = None,
        engine: Literal["native", "textworld"] = "native",
    ) -> None:
        """Prepare the adapter; nothing is read or started yet.

        Args:
            workers: processes to keep ready for the stock engine; more environments than that get
                more processes.
            timeout_s: seconds after which a step of the stock engine counts as hung, and the
                environment as broken.
            data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.
            engine: what runs the games: `native`, or `textworld`, the stock engine. Both say the
                same, byte for byte.

        Raises:
            ValueError: the engine is not known.
            ImportError: the stock engine is not installed; says what to install.
        """
        if engine not in ("native", "textworld"):
            raise ValueError(
                f"there is no engine {engine!r} for ALFWorld; use 'native' or 'textworld'"
            )
        if engine == "textworld" and not (find_spec("alfworld") and find_spec("textworld")):
            raise ImportError(
                "the stock ALFWorld engine is not installed: pip install "
                '"evoharness[alfworld]"; the native engine needs no installation'
            )
        self.engine = engine
        if not isinstance(workers, int) or workers < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"workers is {workers!r}; it is a number of processes, at least 1")
        if not isinstance(timeout_s, int | float) or timeout_s <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"timeout_s is {timeout_s!r}; it is a number of seconds")
        self.concurrency = workers
        self._timeout_s = timeout_s
        self._data = Path(data).expanduser().absolute() if data is not None else None
        self._tasks: dict[str, Sequence[Task]] = {}
        self._pool: WorkerPool | None = None
        self._lock = threading.Lock()

    def tasks(self, split: str) -> Sequence[Task]:
        """Return a split's games: `demo`, an official one, or any folder of games beside those.

        An adapter keeps what it has found; a new one looks again.

        Raises:
            ValueError: there is no such split.
            FileNotFoundError: the games are not there; the message says how to get them.
        """
        if split == "demo":
            return [generate(recipe).task("demo") for recipe in DEMO]
        known = dict.fromkeys([*self.splits, *games.splits(self._data)])
        if split not in known:
            raise ValueError(f"ALFWorld has no split {split!r}; its splits are {', '.join(known)}")
        if split not in self._tasks:
            self._tasks[split] = games.find(split, self._data).tasks
        return self._tasks[split]

    def task(self, task_id: str) -> Task:
        """Find one task by its id, whose first part is its split.

        Raises:
            KeyError: there is none; the message says how to list them.
        """
        split = task_id.partition("/")[0]
        if split in ("demo", *games.splits(self._data)):  # no need to look through the others
            found = next((task for task in self.tasks(split) if task.id == task_id), None)
            if found is not None:
                return found
        return super().task(task_id)

    def make(self, task: Task) -> Environment:
        """Make the environment of a task; in the stock engine it takes a worker process with its
        first call.

        Raises:
            FileNotFoundError: the task's game is not there; the message says how to get it.
            ValueError: its file is no game of ALFWorld; says which one, and why.
        """
        if self.engine == "native":
            return NativeEnvironment(self.house(task))
        if "game" in task.data:
            # Where the games lie differs between machines, so the path is no part of the task.
            self.house(task)  # which sees whether it is still the same game
            data = {"path": str(games.path_of(task.data["game"], self._data))}
        else:
            data = {"text": generate(Recipe(**task.data["recipe"])).game}
        return self._workers().environment(replace(task, data=data))

    def house(self, task: Task) -> House:
        """Return the house of a task, which the native engine plays in: `Game(adapter.house(task))`.

        Raises:
            FileNotFoundError: the task's game is not there; the message says how to get it.
            GameError: its file is no game of ALFWorld; says which one, and why.
        """
        if "game" in task.data:
            house = games.house(task.data["game"], self._data)
            if house.fingerprint != task.data.get("house", house.fingerprint):
                raise GameError(f"the game of {task.id} is another one than when it was listed")
            return house
        return generate(Recipe(**task.data["recipe"])).house

    def first_belief(self, task: Task, step: Step) -> JSON:
        """Return the scene after the first observation."""
        return cast(JSON, scene.first(task.objective, step.observation))

    def update_belief(self, belief: JSON, action: str, step: Step) -> JSON:
        """Return the scene with what one more observation shows."""
        return cast(JSON, scene.update(cast(Scene, belief), action, step.observation))

    def answer_belief(self, belief: JSON, query: str) -> str:
        """Answer about an object, a place, what is left to search; or give an overview."""
        return scene.answer(cast(Scene, belief), query)

    def progress(self, task: Task, belief: JSON) -> Sequence[Subgoal]:
        """Return the objective's subgoals, closed as far as Belief shows them done."""
        return expert.progress(task.objective, cast(Scene, belief))

    def normalise(self, action: str) -> str:
        """Return the action in the spelling of the stock engine."""
        return normalise(action)

    def experience(self) -> Sequence[Mapping[str, Any]]:
        """Return skills, mistakes, and where each class of object usually is."""
        return seed_experience()

    def context(self, belief: JSON) -> str:
        """Return the kind of room."""
        return room(cast(Scene, belief))

    def findings(self, task: Task, first: str, steps: Sequence[tuple[str, str]]) -> Sequence[JSON]:
        """Return how often each class of object was in each class of receptacle."""
        return findings(task.objective, first, steps)

    def policies(self) -> Mapping[str, Callable[[View], str]]:
        """Return the scripted players, which know only what they were shown.

        The expert knows where things usually are; the newcomer does not, but for what it recalls.
        """
        return {"expert": expert.expert, "newcomer": expert.newcomer}

    def _workers(self) -> WorkerPool:
        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(FACTORY, timeout_s=self._timeout_s)
            self._pool.keep = self.concurrency
            return self._pool

    def close(self) -> None:
        """Stop the workers."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None
