"""Worker processes: isolated, replaced when they break, and never left behind."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evoharness.core.environment import EnvironmentFault, Task
from evoharness.workers import WorkerPool

FACTORY = "worker_environments:make"
TASK = Task("t", "Do as told.")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(FACTORY, keep=1, timeout_s=30)
    yield pool
    pool.close()


def pid_of(observation: str) -> int:
    return int(observation.removeprefix("pid "))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.02)


def test_an_environment_behaves_as_in_this_process(pool: WorkerPool) -> None:
    environment = pool.environment(Task("t", "o", data={"start": 5}))
    first = environment.reset()
    assert first.admissible == ("wait",)
    assert first.events == ({"count": 5},)
    step = environment.step("wait")
    assert (step.observation, step.admissible, step.score) == ("wait: 6", None, 0.5)
    assert environment.snapshot() == {"count": 6}
    environment.close()


def test_a_worker_is_used_again_by_the_next_environment(pool: WorkerPool) -> None:
    pids: list[int] = []
    for _ in range(2):
        environment = pool.environment(TASK)
        pids.append(pid_of(environment.reset().observation))
        environment.close()
    assert pids[0] == pids[1] != os.getpid()


def test_environments_at_the_same_time_have_workers_of_their_own(pool: WorkerPool) -> None:
    environments = [pool.environment(TASK) for _ in range(3)]
    pids = {pid_of(environment.reset().observation) for environment in environments}
    assert len(pids) == 3
    for environment in environments:
        environment.close()
    assert sum(is_running(pid) for pid in pids) == 1


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("crash", r"ended \(signal 9\) in `step`"),
        ("leave", r"ended \(exit code 7\) in `step`"),
        ("exit", r"ended \(exit code 7\) in `step`"),
    ],
)
def test_a_crash_is_a_fault_and_the_next_environment_works(
    pool: WorkerPool, action: str, told: str
) -> None:
    environment = pool.environment(TASK)
    environment.reset()
    with pytest.raises(EnvironmentFault, match=told):
        environment.step(action)
    with pytest.raises(EnvironmentFault, match=told):
        environment.step("wait")
    environment.close()
    after = pool.environment(TASK)
    assert after.reset().observation
    after.close()


def test_a_call_that_hangs_is_ended() -> None:
    pool = WorkerPool(FACTORY, timeout_s=4)
    environment = pool.environment(TASK)
    pid = pid_of(environment.reset().observation)
    with pytest.raises(EnvironmentFault, match="longer than 4 s"):
        environment.step("hang")
    assert not is_running(pid)
    pool.close()


def test_an_exception_of_the_environment_is_a_fault_with_its_words(pool: WorkerPool) -> None:
    environment = pool.environment(TASK)
    environment.reset()
    with pytest.raises(EnvironmentFault, match="LookupError: no such thing"):
        environment.step("raise")
    environment.close()


def test_an_environment_that_raised_is_closed(pool: WorkerPool, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    environment = pool.environment(Task("t", "o", data={"closing": str(closed)}))
    environment.reset()
    with pytest.raises(EnvironmentFault):
        environment.step("raise")
    environment.close()
    assert closed.exists()


def test_the_answer_to_an_interrupted_step_is_nobody_else_s(pool: WorkerPool) -> None:
    environment = pool.environment(TASK)
    environment.reset()
    ctrl_c = threading.Timer(0.2, _thread.interrupt_main)
    ctrl_c.start()
    with pytest.raises(KeyboardInterrupt):
        environment.step("nap")
    ctrl_c.join()
    environment.close()
    after = pool.environment(TASK)
    assert after.reset().observation.startswith("pid ")
    assert after.step("wait").observation == "wait: 1"
    after.close()


def test_a_worker_takes_the_processes_of_its_environment_with_it() -> None:
    pool = WorkerPool(FACTORY, timeout_s=4)
    environment = pool.environment(TASK)
    environment.reset()
    pid = pid_of(environment.step("start a process").observation)
    with pytest.raises(EnvironmentFault):
        environment.step("hang")
    wait_until_gone(pid)
    pool.close()


def test_an_environment_that_is_dropped_unclosed_keeps_no_process(pool: WorkerPool) -> None:
    environment = pool.environment(TASK)
    pid = pid_of(environment.reset().observation)
    del environment
    gc.collect()
    assert not is_running(pid)


def test_a_closed_pool_starts_no_worker(pool: WorkerPool) -> None:
    pool.close()
    with pytest.raises(EnvironmentFault, match="pool is closed"):
        pool.environment(TASK).reset()


def test_a_hung_worker_ends_with_its_killed_owner() -> None:
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from evoharness.core.environment import Task
        from evoharness.workers import WorkerPool
        environment = WorkerPool({FACTORY!r}).environment(Task("t", "o"))
        print(environment.reset().observation.removeprefix("pid "), flush=True)
        environment.step("hang")
        """
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    owner.kill()
    owner.wait(timeout=30)
    owner.stdout.close()
    wait_until_gone(pid)


def test_a_factory_that_is_not_there_is_named() -> None:
    pool = WorkerPool("worker_environments:no_such_thing")
    with pytest.raises(EnvironmentFault, match="worker_environments:no_such_thing cannot be"):
        pool.environment(TASK).reset()
    pool.close()


def test_a_closed_environment_says_so(pool: WorkerPool) -> None:
    environment = pool.environment(TASK)
    environment.reset()
    environment.close()
    environment.close()
    with pytest.raises(EnvironmentFault, match="closed"):
        environment.step("wait")


def test_threads_share_a_pool(pool: WorkerPool) -> None:
    def play(start: int) -> list[str]:
        environment = pool.environment(Task("t", "o", data={"start": start}))
        environment.reset()
        seen = [environment.step("wait").observation for _ in range(5)]
        environment.close()
        return seen

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(play, range(0, 120, 10)))
    assert results == [[f"wait: {start + n}" for n in range(1, 6)] for start in range(0, 120, 10)]


def test_closing_the_pool_ends_every_worker(pool: WorkerPool) -> None:
    environment = pool.environment(TASK)
    pid = pid_of(environment.reset().observation)
    pool.close()
    assert not is_running(pid)
    with pytest.raises(EnvironmentFault):
        environment.step("wait")


@pytest.mark.parametrize("end", ["kill", "normal"])
def test_workers_end_with_their_owner_however_it_ends(end: str) -> None:
    program = textwrap.dedent(
        f"""
        import sys, time
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from evoharness.core.environment import Task
        from evoharness.workers import WorkerPool
        pool = WorkerPool({FACTORY!r})
        environments = [pool.environment(Task("t", "o")) for _ in range(2)]
        print(*(e.reset().observation.removeprefix("pid ") for e in environments), flush=True)
        if {end!r} == "kill":
            time.sleep(3600)
        """
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 2
    if end == "kill":
        owner.send_signal(signal.SIGKILL)
    owner.wait(timeout=30)
    owner.stdout.close()
    for pid in pids:
        wait_until_gone(pid)
