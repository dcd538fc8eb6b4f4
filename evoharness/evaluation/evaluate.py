"""Plays a policy over a split, in parallel, resumable, one record a task."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
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
from evoharness.evaluation.records import EvaluationFolder, Manifest, Record, digest_of
from evoharness.evaluation.summary import summarise
from evoharness.policies import Policy
from evoharness.rollouts import rollout
from evoharness.traces import to_atif

GIVE_UP_AFTER = 5
"""Policy errors in a row, before any episode worked, after which nothing is left to hope for."""
_PACKAGES = ("langgraph", "langchain-core", "chromadb", "wordllama", "textworld", "alfworld")
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
    limit: int | None = None,
    workers: int = 1,
    seed: int = 0,
    policy_facts: dict[str, Any] | None = None,
    adapter_settings: dict[str, Any] | None = None,
    retry_errors: bool = False,
    on_start: Callable[[int, int], None] | None = None,
    on_record: Callable[[Record], None] | None = None,
) -> dict[str, Any]:
    """Evaluate a policy and return the summary, which is also in `out`.

    Results do not depend on `workers`: an episode depends on its task, the policy and the bank as
    it was at the start, because notes are not recalled before they are consolidated.

    Args:
        policy: who decides.
        adapter: the domain; its `concurrency` is set to `workers`.
        split: one of the adapter's splits.
        out: the evaluation's folder. One that was begun with the same settings is continued.
        config: modes, parts, formats and budget.
        experience: the store behind `recall` and `note`.
        experience_facts: what identifies the bank's contents, for the manifest.
        limit: play the split's first tasks only.
        workers: episodes at the same time.
        seed: recorded with the results; the policy was made with it.
        policy_facts: settings that the policy was made with, for the manifest.
        adapter_settings: the same of the adapter.
        retry_errors: play tasks again whose episode broke.
        on_start: told how many tasks there are and how many are done already.
        on_record: told each new record.

    Raises:
        ValueError: the split is unknown, or the folder holds another evaluation.
        PolicyFailure: the policy failed in each of the first episodes.
    """
    config = config or HarnessConfig()
    if experience is None:
        config = config.without("experience")
    tasks = list(adapter.tasks(split))[:limit]
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
    folder.open(manifest)
    try:
        todo = [task for task in tasks if _to_play(folder, task, retry_errors=retry_errors)]
        if on_start is not None:
            on_start(len(tasks), len(tasks) - len(todo))
        player = _Player(policy, adapter, config, experience)
        _play_all(player, folder, todo, workers, on_record, worked=len(todo) < len(tasks))
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


class _Player:
    """Plays single episodes and makes records of them."""

    def __init__(
        self,
        policy: Policy,
        adapter: Adapter,
        config: HarnessConfig,
        experience: Experience | None,
    ) -> None:
        self.stop = Event()
        self._policy = policy
        self._adapter = adapter
        self._config = config
        self._experience = experience

    def play(self, task: Task) -> Record | None:
        """Play one task; None when it was cancelled."""
        [state] = rollout(
            self._policy,
            self._adapter,
            [task],
            experience=self._experience,
            config=self._config,
            runs=[task.id],
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


def _play_all(
    player: _Player,
    folder: EvaluationFolder,
    tasks: Sequence[Task],
    workers: int,
    on_record: Callable[[Record], None] | None,
    *,
    worked: bool,
) -> None:
    """Play tasks in threads; the records of a policy that never `worked` are not kept."""
    failed: list[Record] = []
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
                    if record is None:
                        continue
                    if not worked and record.measures.reason == "policy_error":
                        failed.append(record)
                        if len(failed) >= min(GIVE_UP_AFTER, len(tasks)):
                            raise PolicyFailure(
                                f"the policy failed in each of the first {len(failed)} episodes; "
                                f"nothing was recorded. {record.detail}"
                            )
                        continue
                    worked = True
                    for kept in [*failed, record]:
                        folder.write(kept)
                        if on_record is not None:
                            on_record(kept)
                    failed = []
        except BaseException:
            player.stop.set()
            raise
