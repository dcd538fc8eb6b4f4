"""The steps of an episode with everything that touches the world: policy, environment, memory.

The graph and the batched rollout loop both drive these; what a turn means is in
`evoharness.core.episode`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from langgraph.errors import GraphBubbleUp

from evoharness.core import episode
from evoharness.core.actions import Experience
from evoharness.core.environment import Adapter, Environment, Task
from evoharness.core.parsing import Reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, Update, env_actions, merge
from evoharness.core.view import View

_logger = logging.getLogger(__name__)


class LiveEnvironments:
    """The environments that are running in this process, by run, bounded in number.

    A run whose environment is not here, or is in another state than the run's (another process
    played on, or a checkpoint further back is continued), gets a restored one.
    """

    def __init__(self, adapter: Adapter, limit: int = 64) -> None:
        self._adapter = adapter
        self._limit = limit
        self._live: OrderedDict[str, tuple[Environment, str]] = OrderedDict()
        self._lock = Lock()

    def start(self, run: str, environment: Environment) -> None:
        """Keep a run's environment, just reset, as the live one."""
        self.close(run)
        self.keep(run, environment, "")

    def take(self, run: str, state: Episode) -> Environment:
        """Return the run's environment in the run's state, restoring it when needed.

        The caller puts it back with `keep`.
        """
        with self._lock:
            environment, trail = self._live.pop(run, (None, ""))
        if environment is not None and trail == state["trail"]:
            return environment
        if environment is not None:
            _close(environment)
        environment = self._adapter.make(Task.from_json(state["task"]))
        try:
            environment.restore(state["snapshot"], env_actions(state))
        except BaseException:
            _close(environment)
            raise
        return environment

    def keep(self, run: str, environment: Environment, trail: str) -> None:
        """Put the run's environment back; the longest unused one makes room.

        A run that is continued from two of its checkpoints at once keeps the later one.
        """
        with self._lock:
            evicted = [self._live.pop(run)[0]] if run in self._live else []
            self._live[run] = (environment, trail)
            if len(self._live) > self._limit:
                evicted.append(self._live.popitem(last=False)[1][0])
        for other in evicted:
            _close(other)

    def close(self, run: str) -> None:
        """Close the run's environment, if there is one."""
        with self._lock:
            environment, _ = self._live.pop(run, (None, ""))
        if environment is not None:
            _close(environment)


class HarnessNodes:
    """The steps of an episode, bound to an adapter, its settings and a store.

    Without a store Experience is switched off. Faults of the environment, the adapter or the
    policy end the episode with a reason; LangGraph's own control flow (interrupts) passes through.
    """

    def __init__(
        self,
        adapter: Adapter,
        config: HarnessConfig,
        experience: Experience | None,
        live: LiveEnvironments,
    ) -> None:
        self.adapter = adapter
        self.config = config if experience is not None else config.without("experience")
        self.experience = experience
        self.live = live

    def reset(self, task: Task, run: str) -> Episode:
        """Start the episode."""
        environment: Environment | None = None
        try:
            environment = self.adapter.make(task)
            step = environment.reset()
            state = episode.begin(task, step, self.adapter, self.config, self.experience)
            self.look(state)  # panels that cannot be shown are a fault of this step
        except GraphBubbleUp:
            raise
        except Exception as error:
            if environment is not None:
                _close(environment)
            return episode.stillborn(task, _describe(error))
        self.live.start(run, environment)
        return state

    def look(self, state: Episode) -> View:
        """Return what the policy sees."""
        return episode.look(state, self.adapter, self.config)

    def read(self, state: Episode, view: View, reply: Reply | Exception) -> Update:
        """Read the policy's reply, or end the episode when it failed."""
        answer: Any = reply  # policies are written by others
        if isinstance(answer, Reply):
            return episode.read(view, answer)
        if not isinstance(answer, Exception):
            answer = TypeError(f"the policy answered {answer!r}; a policy answers with a Reply")
        return episode.ended(state, "policy_error", _describe(answer))

    def track(self, state: Episode) -> Update:
        """Answer from Belief."""
        return self._guarded(state, lambda: episode.track(state, self.adapter, self.config))

    def commit(self, state: Episode) -> Update:
        """Write Progress."""
        return episode.commit(state, self.config)

    def recall(self, state: Episode) -> Update:
        """Answer from Experience."""
        return episode.recall(state, self.adapter, self.config, self.experience)

    def note(self, state: Episode, run: str) -> Update:
        """Hand a note to Experience."""
        return episode.note(state, self.adapter, self.config, self.experience, run)

    def act(self, state: Episode, run: str) -> Update:
        """Step the environment."""
        return self._guarded(state, lambda: self._act(state, run))

    def reject(self, state: Episode) -> Update:
        """Charge a turn that could not be executed."""
        return episode.reject(state, self.config)

    def execute(self, state: Episode, run: str) -> Update:
        """Run the pending action, whichever it is."""
        pending = state["pending"]
        route = pending["route"] if pending else episode.REJECT
        nodes: dict[str, Callable[[], Update]] = {
            "track": lambda: self.track(state),
            "commit": lambda: self.commit(state),
            "recall": lambda: self.recall(state),
            "note": lambda: self.note(state, run),
            "act": lambda: self.act(state, run),
            episode.REJECT: lambda: self.reject(state),
        }
        return nodes[route]()

    def conclude(self, state: Episode, source: str) -> None:
        """Tell Experience how an episode ended; a memory that fails takes nothing with it."""
        if self.experience is None or not self.config.has("experience"):
            return
        try:
            told = episode.conclusion(state, self.adapter, source)
            if told is not None:
                self.experience.finished(told)
        except Exception:
            _logger.warning("Experience could not be told of an episode", exc_info=True)

    def finish(self, run: str) -> None:
        """Free the episode's environment."""
        self.live.close(run)

    def _act(self, state: Episode, run: str) -> Update:
        action = episode.env_action(state, self.adapter)
        environment = self.live.take(run, state)
        try:
            step = environment.step(action)
            snapshot = environment.snapshot()
            update = episode.absorb(state, action, step, self.adapter, self.config, snapshot)
            if self.config.mode == "always_on":
                self.look(merge(state, update))
        except BaseException:
            _close(environment)
            raise
        self.live.keep(run, environment, update["trail"])
        return update

    def _guarded(self, state: Episode, do: Callable[[], Update]) -> Update:
        try:
            return do()
        except GraphBubbleUp:
            raise
        except Exception as error:
            return episode.ended(state, "environment_error", _describe(error))


def _close(environment: Environment) -> None:
    """Close an environment; one that cannot even be closed must not take finished work along."""
    try:
        environment.close()
    except Exception:
        _logger.warning("an environment failed to close", exc_info=True)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
