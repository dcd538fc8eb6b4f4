"""The harness as a LangGraph state machine: Belief and Progress are its state, the four
meta-actions are its nodes, Experience is reached through its runtime context.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langchain_core.runnables import RunnableLambda
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite, StateSnapshot
from typing_extensions import TypedDict

from evoharness.core import episode
from evoharness.core.actions import Experience
from evoharness.core.environment import JSON, Adapter, Task
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, Turn, Update, merge_turns
from evoharness.nodes import HarnessNodes, LiveEnvironments
from evoharness.policies import Policy, as_policy
from evoharness.registry import load_adapter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph


def _fold_turns(turns: list[Turn], writes: Sequence[list[Turn]]) -> list[Turn]:
    for new in writes:
        turns = merge_turns(turns, new)
    return turns


class HarnessInput(TypedDict, total=False):
    """What starts an episode."""

    task: str | JSON | Task
    """A task id of the adapter, a `Task`, or its JSON form."""
    source: Annotated[str, EphemeralValue]
    """Names the episode as the source of what Experience is told; by default a name made up for
    each. It holds for one episode: the next one on the thread does not inherit it.
    """


class HarnessState(Episode):
    """An episode as graph state: plain JSON, so that checkpoints survive strict msgpack, another
    process and another version. Turns are stored as deltas, so that a checkpoint does not grow
    with the episode.
    """

    run: str
    """Names the live environment of this episode."""
    turns: Annotated[list[Turn], DeltaChannel(_fold_turns)]


class _PrivateState(HarnessState):
    """What no caller needs to see of an episode."""

    source: Annotated[str, EphemeralValue]
    origin: str
    """Where its notes come from: the input's `source`, or the run."""


@dataclass(frozen=True)
class HarnessContext:
    """Handles for one invocation, never part of the state; each overrides `create_harness`'s."""

    policy: Policy | None = None
    experience: Experience | None = None
    cancelled: Callable[[], bool] | None = None
    """Asked before each decision; when true the episode ends with `cancelled`."""


def create_harness(
    policy: Policy | BaseChatModel | str | Callable[[Any], Any],
    adapter: Adapter | str,
    experience: Experience | None = None,
    *,
    config: HarnessConfig | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    interrupt_before: list[str] | None = None,
    name: str = "evoharness",
) -> CompiledStateGraph[HarnessState, HarnessContext, HarnessInput, HarnessState]:
    """Compile the harness graph for one adapter.

    Args:
        policy: who decides: a LangChain chat model, a model string, a `Policy`, or a function.
        adapter: the domain, or its registered name.
        experience: the store behind `recall` and `note`; without one that part is switched off.
        config: modes, parts, formats and budget.
        checkpointer: makes episodes durable. When the environment cannot be replayed exactly,
            invoke with `durability="sync"`.
        interrupt_before: nodes to pause before, e.g. `["act"]` to approve environment actions.
        name: the graph's name, seen when it is a subgraph.

    Returns:
        A compiled graph from `{"task": …}` to the finished episode. Its `custom` stream carries
        each finished turn and the outcome.
    """
    domain: Any = load_adapter(adapter) if isinstance(adapter, str) else adapter
    if not isinstance(domain, Adapter):
        raise TypeError(
            f"{domain!r} is no adapter: give an instance of an Adapter, or a registered name"
        )
    config = config or HarnessConfig()
    graph = _Graph(as_policy(policy), domain, experience, config)
    builder = StateGraph(
        HarnessState,
        context_schema=HarnessContext,
        input_schema=HarnessInput,
        output_schema=HarnessState,
    )
    builder.add_node("reset", graph.reset)
    builder.add_node("policy", RunnableLambda(graph.policy, graph.apolicy))
    verbs: dict[str, Any] = {
        "track": graph.track,
        "commit": graph.commit,
        "recall": graph.recall,
        "note": graph.note,
        "act": graph.act,
        episode.REJECT: graph.reject,
    }
    for verb, node in verbs.items():
        builder.add_node(verb, node)
        builder.add_conditional_edges(verb, _after_turn)
    builder.add_node("finish", graph.finish)
    builder.add_edge(START, "reset")
    builder.add_conditional_edges("reset", _after_turn)
    builder.add_conditional_edges("policy", _route, [*verbs, "finish"])
    builder.add_edge("finish", END)
    compiled = builder.compile(
        checkpointer=checkpointer, interrupt_before=interrupt_before, name=name
    )
    # A turn is two supersteps; the budget ends an episode well before this backstop.
    limit = 2 * (config.max_steps + config.free_meta) + 16
    return compiled.with_config(recursion_limit=limit)


def _after_turn(state: HarnessState) -> Literal["policy", "finish"]:
    return "policy" if state["outcome"] is None else "finish"


def _route(state: HarnessState) -> str:
    pending = state["pending"]
    return "finish" if pending is None else pending["route"]


class _Graph:
    """The nodes of one compiled graph: thin callers of `HarnessNodes`."""

    def __init__(
        self,
        policy: Policy,
        adapter: Adapter,
        experience: Experience | None,
        config: HarnessConfig,
    ) -> None:
        self._policy = policy
        self._config = config
        self._live = LiveEnvironments(adapter)
        self._nodes = HarnessNodes(adapter, config, experience, self._live)

    def reset(self, state: _PrivateState, runtime: Runtime[HarnessContext]) -> Update:
        nodes = self._for(_own(runtime.context))
        task = as_task(state.get("task"), nodes.adapter)
        run = uuid.uuid4().hex
        origin = state.get("source") or run
        update: Update = {**nodes.reset(task, run), "run": run, "origin": origin}
        if state["turns"]:
            # A thread may be used for one episode after another: the turns of the last one go.
            update["turns"] = Overwrite([])
        return update

    def policy(self, state: HarnessState) -> Update:
        context = _own(get_runtime(HarnessContext).context)
        if _cancelled(context):
            return episode.ended(state, "cancelled")
        nodes = self._for(context)
        view = nodes.look(state)
        try:
            reply = self._decider(context).decide(view)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return nodes.read(state, view, error)
        return nodes.read(state, view, reply)

    async def apolicy(self, state: HarnessState) -> Update:
        context = _own(get_runtime(HarnessContext).context)
        if _cancelled(context):
            return episode.ended(state, "cancelled")
        nodes = self._for(context)
        view = nodes.look(state)
        try:
            reply = await self._decider(context).adecide(view)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return nodes.read(state, view, error)
        return nodes.read(state, view, reply)

    def track(self, state: HarnessState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).track(state), runtime)

    def commit(self, state: HarnessState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).commit(state), runtime)

    def recall(self, state: HarnessState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).recall(state), runtime)

    def note(self, state: _PrivateState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).note(state, _origin(state)), runtime)

    def act(self, state: HarnessState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).act(state, state["run"]), runtime)

    def reject(self, state: HarnessState, runtime: Runtime[HarnessContext]) -> Update:
        return _told(self._for(_own(runtime.context)).reject(state), runtime)

    def finish(self, state: _PrivateState, runtime: Runtime[HarnessContext]) -> None:
        nodes = self._for(_own(runtime.context))
        nodes.conclude(state, _origin(state))
        nodes.finish(state["run"])
        runtime.stream_writer({"type": "outcome", "outcome": state["outcome"]})

    def _for(self, context: HarnessContext | None) -> HarnessNodes:
        if context is None or context.experience is None:
            return self._nodes
        if context.experience is self._nodes.experience:
            return self._nodes
        return HarnessNodes(self._nodes.adapter, self._config, context.experience, self._live)

    def _decider(self, context: HarnessContext | None) -> Policy:
        return self._policy if context is None or context.policy is None else context.policy


def as_task(value: str | JSON | Task | None, adapter: Adapter) -> Task:
    """Return the task that an input names.

    Raises:
        KeyError: the adapter has no such task.
        ValueError: it is neither a task nor an id.
    """
    if isinstance(value, Task):
        return value
    if isinstance(value, str):
        return adapter.task(value)
    if isinstance(value, Mapping) and {"id", "objective", "data"} <= value.keys():
        return Task.from_json(value)
    raise ValueError(
        f"the input's `task` is {value!r}; give a task id, a Task, or its to_json() form"
    )


def _origin(state: _PrivateState) -> str:
    return state.get("origin") or state["run"]


def _told(update: Update, runtime: Runtime[HarnessContext]) -> Update:
    for turn in update.get("turns", ()):
        runtime.stream_writer({"type": "turn", "turn": turn})
    return update


def unfinished(saved: StateSnapshot) -> bool:
    """Return whether a thread's state, as `get_state` gives it, is an episode to be gone on with.

    `saved.next` alone does not say it: a node whose writes are stored is not next any more, even
    if its process died before the checkpoint that follows.
    """
    if saved.created_at is None:
        return False
    return bool(saved.next) or saved.values.get("outcome") is None


def _own(context: Any) -> HarnessContext | None:
    """Return the context if it is this graph's: a subgraph is handed its parent's, of any type."""
    return context if isinstance(context, HarnessContext) else None


def _cancelled(context: HarnessContext | None) -> bool:
    return context is not None and context.cancelled is not None and context.cancelled()
