"""Plays a policy over a split, in parallel, resumable, one record a task."""

from __future__ import annotations

import json
import platform
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event
from typing import Any

from evoharness import __version__
from evoharness.core.actions import Experience
from evoharness.core.environment import Adapter, Task
from evoharness.core.measures import measure
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.evaluation.learning import Frozen, Learning
from evoharness.evaluation.records import EvaluationFolder, Manifest, Record, digest_of
from evoharness.evaluation.summary import summarise
from evoharness.experience.bank import ExperienceBank
from evoharness.experience.evolver import Evolver
from evoharness.experience.journal import Cycle
from evoharness.policies import Policy
from evoharness.rollouts import rollout
from evoharness.traces import to_atif

GIVE_UP_AFTER = 5
"""Policy errors in a row, before any episode worked, after which nothing is left to hope for."""
_PACKAGES = (
    *("langgraph", "langchain-core", "chromadb", "wordllama", "bm25s", "textworld", "alfworld"),
)
_ERRORS = ("environment_error", "policy_error")


class PolicyFailure(RuntimeError):
    """The policy fails in every episode; a server that is down, a wrong key."""


def evaluate(
    policy: Policy,
    adapter: Adapter,
    *,
    split: str,
    out: Path,
    config: HarnessConfig | None = None,
    experience: Experience | None = None,
    experience_facts: dict[str, Any] | None = None,
    evolve_every: int | None = None,
    evolver: Evolver | None = None,
    limit: int | None = None,
    shuffle: bool = False,
    workers: int = 1,
    seed: int = 0,
    policy_facts: dict[str, Any] | None = None,
    adapter_settings: dict[str, Any] | None = None,
    retry_errors: bool = False,
    on_start: Callable[[int, int], None] | None = None,
    on_record: Callable[[Record], None] | None = None,
    on_cycle: Callable[[Cycle], None] | None = None,
) -> dict[str, Any]:
    """Evaluate a policy and return the summary, which is also in `out`.

    Results do not depend on `workers`: an episode depends on its task, the policy and the bank as
    it was at the start, which an evaluation leaves as it is. With `evolve_every` the bank learns:
    the tasks are played in batches, each with the bank as it was before, and consolidated after.

    Args:
        policy: who decides.
        adapter: the domain; its `concurrency` is set to `workers`.
        split: one of the adapter's splits.
        out: the evaluation's folder. One that was begun with the same settings is continued.
        config: modes, parts, formats and budget.
        experience: the store behind `recall` and `note`.
        experience_facts: what identifies the contents of a store that is no `ExperienceBank`, for
            the manifest.
        evolve_every: tasks after which the bank is consolidated; None leaves it as it is.
        evolver: who decides on what it learns; `StatisticalEvolver` by default.
        limit: play the first tasks only.
        shuffle: take the split's tasks in an order that `seed` decides, so that the first are a
            sample of all.
        workers: episodes at the same time.
        seed: decides the shuffled order; recorded with the results, the policy was made with it.
        policy_facts: settings that the policy was made with, for the manifest.
        adapter_settings: the same of the adapter.
        retry_errors: play tasks again whose episode broke.
        on_start: told how many tasks there are and how many are done already.
        on_record: told each new record.
        on_cycle: told what each consolidation did.

    Raises:
        ValueError: the split is unknown, the folder holds another evaluation, or there is no bank
            that could evolve.
        EvolutionError: the evolver could not decide; the same call goes on from there.
        PolicyFailure: the policy failed in each of the first episodes.
    """
    config = config or HarnessConfig()
    if experience is None:
        config = config.without("experience")
    tasks = list(adapter.tasks(split))
    if shuffle:
        random.Random(seed).shuffle(tasks)
    tasks = tasks[:limit]
    if not tasks:
        raise ValueError(f"{adapter.name} has no tasks in split {split!r}")
    adapter.concurrency = workers
    manifest = Manifest(
        adapter=adapter.name,
        adapter_settings=adapter_settings or {},
        split=split,
        tasks=len(tasks),
        # Of all that a task says, so that other games under the same ids are noticed.
        tasks_digest=digest_of(json.dumps(task.to_json(), sort_keys=True) for task in tasks),
        policy={"name": policy.name, **(policy_facts or {})},
        config=config.model_dump(),
        seed=seed,
        experience=experience_facts or {},
        versions=versions(),
    )
    folder = EvaluationFolder(out)
    source = _source(experience, evolve_every, evolver)
    manifest.experience |= source.begin(manifest, folder.manifest())
    folder.open(manifest)
    try:
        todo = [task for task in tasks if _to_play(folder, task, retry_errors=retry_errors)]
        if on_start is not None:
            on_start(len(tasks), len(tasks) - len(todo))
        missing = {task.id for task in todo}
        recorder = _Recorder(folder, on_record, todo, worked=len(todo) < len(tasks))
        for number, batch in enumerate(_batches(tasks, evolve_every)):
            if left := [task for task in batch if task.id in missing]:
                player = _Player(policy, adapter, config, source, number)
                _play_all(player, recorder, left, workers)
            cycle = source.end(number)
            if cycle is not None and on_cycle is not None:
                on_cycle(cycle)
        records = [record for task in tasks if (record := folder.read(task.id)) is not None]
        summary = summarise(manifest, records)
        folder.write_products([task.id for task in tasks], summary)
        return summary
    finally:
        folder.release()


def versions() -> dict[str, str]:
    """Return the versions of what results may depend on."""
    found = {"evoharness": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _to_play(folder: EvaluationFolder, task: Task, *, retry_errors: bool) -> bool:
    record = folder.read(task.id)
    if record is None:
        return True
    if retry_errors and record.measures.reason in _ERRORS:
        folder.forget(task.id)
        return True
    return False


def _source(
    experience: Experience | None, evolve_every: int | None, evolver: Evolver | None
) -> Frozen | Learning:
    if evolve_every is None:
        return Frozen(experience)
    if not isinstance(experience, ExperienceBank):
        raise ValueError("an evaluation that evolves needs an ExperienceBank to learn in")
    if evolve_every < 1:
        raise ValueError(f"a bank evolves after 1 task or more, not after {evolve_every}")
    return Learning(experience, evolve_every, evolver)


def _batches(tasks: Sequence[Task], size: int | None) -> Iterator[Sequence[Task]]:
    size = size or len(tasks)
    for first in range(0, len(tasks), size):
        yield tasks[first : first + size]


class _Player:
    """Plays single episodes of a batch and makes records of them."""

    def __init__(
        self,
        policy: Policy,
        adapter: Adapter,
        config: HarnessConfig,
        source: Frozen | Learning,
        batch: int,
    ) -> None:
        self.stop = Event()
        self._policy = policy
        self._adapter = adapter
        self._config = config
        self._experience = source.view(batch)
        self._name = source.name

    def play(self, task: Task) -> Record | None:
        """Play one task; None when it was cancelled."""
        [state] = rollout(
            self._policy,
            self._adapter,
            [task],
            experience=self._experience,
            config=self._config,
            runs=[self._name(task)],
            cancelled=self.stop.is_set,
        )
        return self._record(task, state)

    def _record(self, task: Task, state: Episode) -> Record | None:
        outcome = state["outcome"]
        if outcome is None or outcome["reason"] == "cancelled":
            return None
        return Record(
            task=task.id,
            type=task.type,
            measures=measure(state, self._config.max_steps),
            detail=outcome["detail"],
            trace=to_atif(state, self._adapter, self._config, policy=self._policy.name),
        )


class _Recorder:
    """Keeps records; those of a policy that never `worked` are held back."""

    def __init__(
        self,
        folder: EvaluationFolder,
        on_record: Callable[[Record], None] | None,
        todo: Sequence[Task],
        *,
        worked: bool,
    ) -> None:
        self._folder = folder
        self._on_record = on_record
        self._enough = min(GIVE_UP_AFTER, len(todo))
        self._worked = worked
        self._failed: list[Record] = []

    def take(self, record: Record) -> None:
        """Keep a record.

        Raises:
            PolicyFailure: the policy failed in each of the first episodes.
        """
        if not self._worked and record.measures.reason == "policy_error":
            self._failed.append(record)
            if len(self._failed) >= self._enough:
                raise PolicyFailure(
                    f"the policy failed in each of the first {len(self._failed)} episodes; "
                    f"nothing was recorded. {record.detail}"
                )
            return
        self._worked = True
        held_back, self._failed = self._failed, []
        for kept in [*held_back, record]:
            self._folder.write(kept)
            if self._on_record is not None:
                self._on_record(kept)


def _play_all(player: _Player, recorder: _Recorder, tasks: Sequence[Task], workers: int) -> None:
    """Play tasks in threads."""
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="episode") as pool:
        waiting = iter(tasks)
        running: set[Future[Record | None]] = set()
        try:
            while True:
                while len(running) < workers and (task := next(waiting, None)) is not None:
                    running.add(pool.submit(player.play, task))
                if not running:
                    break
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for record in (future.result() for future in finished):
                    if record is not None:
                        recorder.take(record)
        except BaseException:
            player.stop.set()
            raise
