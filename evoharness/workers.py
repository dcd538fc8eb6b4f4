"""Environments in worker processes, for engines that are not safe in threads.

A worker is `python -m evoharness.workers FACTORY`. It and the pool exchange JSON messages over a
socket pair of their own, so that an engine that prints cannot disturb them, and it ends when the
pool's process does, however that ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any, cast

from evoharness.core.environment import JSON, Environment, EnvironmentFault, Step, Task

_GRACE_S = 5.0
"""Seconds that an orphaned worker has to end by itself."""


class WorkerPool:
    """Worker processes that each run one environment at a time, started when needed, kept warm.

    All methods may be called from several threads.
    """

    def __init__(
        self,
        factory: str,
        *,
        keep: int = 1,
        timeout_s: float = 120.0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare the pool; no process is started yet.

        Args:
            factory: `module:callable` that makes an `Environment` from a task's JSON form.
            keep: idle workers kept warm; more environments at a time get more workers.
            timeout_s: seconds after which a call counts as hung and its worker is killed.
            env: variables that the workers get besides this process's.
        """
        self.keep = keep
        self._factory = factory
        self._timeout_s = timeout_s
        self._env = dict(env or {})
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False
        # An environment that is dropped unclosed may be collected inside one of our own calls.
        self._lock = threading.RLock()
        self._end = weakref.finalize(self, _kill_all, self._all)

    def environment(self, task: Task) -> Environment:
        """Return an environment that takes a worker with its first call and returns it at `close`.

        A worker that crashes or hangs is killed; the call, and all later ones of this environment,
        raise `EnvironmentFault`, and the next environment gets a new worker.
        """
        return _Remote(self, task, self._timeout_s)

    def close(self) -> None:
        """End all workers, busy ones too; no new one starts."""
        with self._lock:
            self._closed = True
            self._idle.clear()
        self._end()

    def lease(self) -> _Worker:
        """Return a worker for one environment.

        Raises:
            EnvironmentFault: the pool is closed.
        """
        with self._lock:
            self._refuse_when_closed()
            while self._idle:
                worker = self._idle.pop()
                if worker.alive():
                    return worker
                self._end_one(worker)
        worker = _Worker(self._factory, self._env)
        with self._lock:
            if not self._closed:
                self._all.add(worker)
                return worker
        worker.kill()
        self._refuse_when_closed()
        raise AssertionError("a pool that was closed is open again")

    def release(self, worker: _Worker, *, reusable: bool) -> None:
        """Take a worker back; one that may be in a bad state, or is one too many, is ended."""
        with self._lock:
            room = not self._closed and len(self._idle) < self.keep
            if reusable and room and worker.alive():
                self._idle.append(worker)
                return
        self._end_one(worker)

    def _end_one(self, worker: _Worker) -> None:
        self._all.discard(worker)
        worker.kill()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise EnvironmentFault("the worker pool is closed; make a new one")


def _kill_all(workers: Iterable[_Worker]) -> None:
    for worker in list(workers):
        worker.kill()


class _Worker:
    """One worker process and the line to it."""

    def __init__(self, factory: str, env: Mapping[str, str]) -> None:
        ours, theirs = socketpair()
        try:
            # Standard output of engines is chatter; EVOHARNESS_DEBUG shows it.
            noise = None if os.environ.get("EVOHARNESS_DEBUG") else subprocess.DEVNULL
            self._process = subprocess.Popen(
                [sys.executable, "-m", "evoharness.workers", factory, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=noise,
                env={**os.environ, **env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                # A terminal's Ctrl-C is for the harness, which ends its workers itself.
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._line: Connection[Any, Any] = Connection(ours.detach())
        self._lock = threading.Lock()
        self._awaiting = False
        self._killed = False

    def alive(self) -> bool:
        return self._process.poll() is None

    def call(self, method: str, arguments: Sequence[Any], timeout_s: float) -> Any:
        """Call a method of the worker's environment.

        Raises:
            EnvironmentFault: the worker died, hangs, or the environment raised.
        """
        with self._lock:
            if self._awaiting:
                raise _Broken(f"a call before `{method}` was interrupted")
            message = json.dumps([method, *arguments]).encode()
            try:
                # When Ctrl-C comes before the answer is read, the next call would read it.
                self._awaiting = True
                self._line.send_bytes(message)
                if not self._line.poll(timeout_s):
                    raise _Broken(f"`{method}` took longer than {timeout_s:g} s; it was ended")
                result, error = json.loads(self._line.recv_bytes())
                self._awaiting = False
            except (EOFError, OSError) as error:
                code = self._process.wait()
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise _Broken(f"the environment's process ended ({how}) in `{method}`") from error
        if error:
            raise EnvironmentFault(error)
        return result

    def kill(self) -> None:
        if self._killed:
            return
        self._killed = True
        # The worker leads a process group, which has what its environment started as well.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._line.close()


class _Broken(EnvironmentFault):
    """The worker itself is of no more use."""


class _Remote(Environment):
    """An environment that lives in a worker."""

    def __init__(self, pool: WorkerPool, task: Task, timeout_s: float) -> None:
        self._pool = pool
        self._task = task
        self._timeout_s = timeout_s
        self._worker: _Worker | None = None
        self._fault = ""
        self._return: weakref.finalize[..., _Remote] | None = None

    def reset(self) -> Step:
        return _step_from(self._call("reset"))

    def step(self, action: str) -> Step:
        return _step_from(self._call("step", action))

    def snapshot(self) -> JSON | None:
        return self._call("snapshot")

    def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
        # One answer for many steps: a second for each of them besides the usual limit.
        self._call("restore", snapshot, list(actions), more_s=len(actions))

    def close(self) -> None:
        worker, self._worker = self._worker, None
        self._fault = self._fault or "the environment is closed"
        if worker is None:
            return
        self._keep_from_returning()
        try:
            worker.call("close", [], self._timeout_s)
        except EnvironmentFault:
            self._pool.release(worker, reusable=False)
        else:
            self._pool.release(worker, reusable=True)

    def _call(self, method: str, *arguments: Any, more_s: float = 0) -> Any:
        if self._fault:
            raise EnvironmentFault(self._fault)
        if self._worker is None:
            self._worker = self._pool.lease()
            # One that is dropped unclosed must not keep its process for ever.
            self._return = weakref.finalize(self, self._pool.release, self._worker, reusable=False)
            self._return.atexit = False
            self._guarded("make", [self._task.to_json()], self._timeout_s)
        return self._guarded(method, arguments, self._timeout_s + more_s)

    def _guarded(self, method: str, arguments: Sequence[Any], timeout_s: float) -> Any:
        worker = self._worker
        if worker is None:
            raise EnvironmentFault(self._fault)
        try:
            return worker.call(method, arguments, timeout_s)
        except EnvironmentFault as fault:
            self._fault = str(fault)
            # An environment that raised still has to be closed, by `close`.
            if isinstance(fault, _Broken):
                self._worker = None
                self._keep_from_returning()
                self._pool.release(worker, reusable=False)
            raise

    def _keep_from_returning(self) -> None:
        if self._return is not None:
            self._return.detach()


def _step_to(step: Step) -> JSON:
    return {
        "observation": step.observation,
        "admissible": step.admissible,
        "done": step.done,
        "success": step.success,
        "score": step.score,
        "valid": step.valid,
        "events": step.events,
    }


def _step_from(value: JSON) -> Step:
    admissible = value["admissible"]
    return Step(
        observation=value["observation"],
        admissible=None if admissible is None else tuple(admissible),
        done=value["done"],
        success=value["success"],
        score=value["score"],
        valid=value["valid"],
        events=tuple(value["events"]),
    )


def _serve(factory: Callable[[JSON], Environment], line: Connection[Any, Any]) -> None:
    """Answer calls until the pool's side of the line is closed."""
    environment: Environment | None = None
    while True:
        try:
            method, *arguments = json.loads(line.recv_bytes())
        except EOFError:
            if environment is not None:
                environment.close()
            return
        result: Any = None
        error = ""
        try:
            if method == "make":
                environment = factory(arguments[0])
            elif method == "close":
                closing, environment = environment, None
                if closing is not None:
                    closing.close()
            elif environment is None:
                raise RuntimeError("no environment was made")
            else:
                result = getattr(environment, method)(*arguments)
                result = _step_to(result) if isinstance(result, Step) else result
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        line.send_bytes(json.dumps([result, error]).encode())


def _end_with_owner(file_descriptor: int) -> None:
    """End this process when the pool's has ended, also in the middle of a step that hangs."""
    line = select.poll()
    line.register(file_descriptor, 0)  # the end of the line is told without being asked for
    line.poll()
    time.sleep(_GRACE_S)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _main(name: str, file_descriptor: int) -> None:
    line: Connection[Any, Any] = Connection(file_descriptor)
    os.set_inheritable(file_descriptor, False)
    threading.Thread(target=_end_with_owner, args=[file_descriptor], daemon=True).start()
    module, _, attribute = name.partition(":")
    try:
        factory = cast(Callable[[JSON], Environment], getattr(import_module(module), attribute))
    except Exception as raised:
        line.recv_bytes()
        problem = f"{name} cannot be imported: {type(raised).__name__}: {raised}"
        line.send_bytes(json.dumps([None, problem]).encode())
        return
    _serve(factory, line)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
