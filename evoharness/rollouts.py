"""Many episodes in lock-step over one policy: what batched evaluation and training use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evoharness.core import episode
from evoharness.core.actions import Experience
from evoharness.core.environment import Adapter, Task
from evoharness.core.parsing import Reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, merge
from evoharness.core.view import View
from evoharness.nodes import HarnessNodes, LiveEnvironments
from evoharness.policies import Policy


def rollout(
    policy: Policy,
    adapter: Adapter,
    tasks: Sequence[Task],
    *,
    experience: Experience | None = None,
    config: HarnessConfig | None = None,
    runs: Sequence[str] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Episode]:
    """Play one episode of each task, asking the policy for all running episodes at once.

    An episode is the same, byte for byte, as the one that `create_harness`'s graph plays.

    Args:
        policy: who decides; its `decide_batch` gets the views of all running episodes.
        adapter: the domain. All its environments are open at the same time.
        tasks: one episode each; a task may appear more than once.
        experience: the store behind `recall` and `note`.
        config: modes, parts, formats and budget.
        runs: names of the episodes as sources of what Experience is told; by default task and
            position.
        cancelled: asked before each round; when true the running episodes end.

    Returns:
        The finished episodes, in the order of the tasks.

    Raises:
        ValueError: `runs` does not name each episode, or names two alike.
    """
    names = list(runs or (f"{task.id}/{index}" for index, task in enumerate(tasks)))
    if len(names) != len(tasks) or len(set(names)) != len(names):
        raise ValueError(
            f"`runs` must give {len(tasks)} distinct names, one for each task; it gives {names}"
        )
    nodes = HarnessNodes(
        adapter, config or HarnessConfig(), experience, LiveEnvironments(adapter, len(tasks) + 1)
    )
    try:
        states = [nodes.reset(task, run) for task, run in zip(tasks, names, strict=True)]
        while running := [i for i, state in enumerate(states) if state["outcome"] is None]:
            if cancelled is not None and cancelled():
                for i in running:
                    states[i] = merge(states[i], episode.ended(states[i], "cancelled"))
                break
            views = [nodes.look(states[i]) for i in running]
            replies = _ask(policy, views)
            for i, view, reply in zip(running, views, replies, strict=True):
                state = merge(states[i], nodes.read(states[i], view, reply))
                if state["outcome"] is None:
                    state = merge(state, nodes.execute(state, names[i]))
                states[i] = state
                if state["outcome"] is not None:
                    nodes.conclude(state, names[i])
        return states
    finally:
        for run in names:
            nodes.finish(run)


def _ask(policy: Policy, views: Sequence[View]) -> Sequence[Reply | Exception]:
    try:
        return policy.decide_batch(views)
    except Exception as error:
        return [error] * len(views)
