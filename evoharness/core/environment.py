"""The environment contract: everything that an adapter author writes.

An `Adapter` names the tasks of one domain, makes environments for them, and says in words and
in two plain functions what the agent can know there (Belief). An `Environment` is one running
episode. Both are small on purpose; `evoharness.testing.EnvironmentContract` checks them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evoharness.core import belief as plain_belief
from evoharness.core.progress import Subgoal

if TYPE_CHECKING:
    from evoharness.core.view import View

JSON = dict[str, Any]
"""A mapping of plain JSON values: str, int, float, bool, None, list and dict."""


class EnvironmentFault(RuntimeError):
    """The environment broke (crashed, timed out); the episode ends with `environment_error`."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do, as plain data."""

    id: str
    """Stable over processes and machines; records and traces are keyed by it."""
    objective: str
    """The sentence that the agent is given."""
    type: str = ""
    """The task's type within its domain, for per-type figures and for recall; may be empty."""
    data: JSON = field(default_factory=dict[str, Any])
    """What the adapter needs to make the environment again; plain JSON, small."""

    def to_json(self) -> JSON:
        """Return the task as plain JSON, the form in which graph state carries it."""
        return {"id": self.id, "objective": self.objective, "type": self.type, "data": self.data}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        """Build a task from `to_json`'s form."""
        return cls(value["id"], value["objective"], value.get("type", ""), dict(value["data"]))


@dataclass(frozen=True, slots=True)
class Step:
    """What the environment answers to `reset` and to each action."""

    observation: str
    admissible: tuple[str, ...] | None = None
    """The actions possible now, or None where the domain cannot list them."""
    done: bool = False
    success: bool = False
    score: float = 0.0
    """Between 0 and 1."""
    valid: bool = True
    """False when the action was not understood or did nothing because it was not possible."""
    events: tuple[JSON, ...] = ()
    """Typed facts of what the observation shows (never of what it does not show), so that
    Belief can be built without reading prose."""


class Environment(ABC):
    """One running episode of one task."""

    @abstractmethod
    def reset(self) -> Step:
        """Start the episode and return the first observation."""

    @abstractmethod
    def step(self, action: str) -> Step:
        """Take one action. An action that is not possible is an observation with
        `valid=False`, not an exception; raise `EnvironmentFault` only when broken.
        """

    def close(self) -> None:
        """Free what the environment holds; called once, also after a fault."""
        return None

    def snapshot(self) -> JSON | None:
        """Return plain JSON from which `restore` continues, or None (the default), in which
        case the harness restores by replaying the actions so far.
        """
        return None

    def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
        """Bring a fresh environment to where it was after `actions`.

        The default resets and replays, which is right for every deterministic environment.
        Override it together with `snapshot`.
        """
        self.reset()
        for action in actions:
            self.step(action)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter's environments promise; `EnvironmentContract` tests each promise."""

    deterministic: bool = True
    """The same task and actions give the same steps."""
    thread_safe: bool = True
    """Different environments may be stepped from different threads at once."""
    restorable: bool = True
    """`restore` works, so that an episode survives its process."""
    lists_admissible: bool = False
    """Every step of a running episode carries the admissible actions."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a domain adds to the system prompt."""

    domain: str
    """Where the agent is and what its work is, in a few sentences."""
    actions: str
    """The grammar of the environment's actions, one a line."""
    track: str = "what you know about the thing or place you name"
    """What `track` answers, completing "returns …"."""
    commit: str = "find the thing"
    """A typical subgoal, shown as the example of `commit`."""
    recall: str = "where to find the thing"
    """A typical question, shown as the example of `recall`."""
    note: str = "what surprised you, in one sentence"
    """What is worth a `note`."""


class Adapter(ABC):
    """One domain: its tasks, its environments, its words and its Belief."""

    name: ClassVar[str]
    """The short name on the command line."""
    words: ClassVar[Words]
    capabilities: ClassVar[Capabilities] = Capabilities()
    splits: ClassVar[tuple[str, ...]] = ("default",)
    """The splits that `tasks` knows; the first is the default one."""
    concurrency: int = 1
    """How many environments will run at the same time; whoever runs more says so here before the
    first `make`."""
    verbs: ClassVar[tuple[str, ...]] = ()
    """First words of the environment's actions. When given, an action with another first word
    is refused as `unknown_verb` without touching the environment."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """Return the split's tasks in a stable order.

        Raises:
            ValueError: the split is not known.
            FileNotFoundError: its data is not there; the message says how to get it.
        """

    @abstractmethod
    def make(self, task: Task) -> Environment:
        """Make an environment for the task; `reset` has not been called on it yet."""

    def task(self, task_id: str) -> Task:
        """Find one task by its id in any split.

        Raises:
            KeyError: no split has it.
        """
        missing: list[str] = []
        for split in self.splits:
            try:
                found = next((t for t in self.tasks(split) if t.id == task_id), None)
            except FileNotFoundError as error:
                missing.append(f"{split}: {error}")
                continue
            if found is not None:
                return found
        hint = f" Not searched: {'; '.join(missing)}" if missing else ""
        raise KeyError(
            f"{self.name} has no task {task_id!r}; `evoharness tasks` lists the tasks.{hint}"
        )

    def normalise(self, action: str) -> str:
        """Return the action in the domain's own spelling (case, articles, old wordings)."""
        return action

    def first_belief(self, task: Task, step: Step) -> JSON:
        """Return Belief after the first observation; plain JSON, bounded in size."""
        return plain_belief.first(step.observation)

    def update_belief(self, belief: JSON, action: str, step: Step) -> JSON:
        """Return Belief after one more action; must not change `belief` in place."""
        return plain_belief.update(belief, action, step.observation)

    def answer_belief(self, belief: JSON, query: str) -> str:
        """Answer `track query` in a few lines; an empty query asks for an overview."""
        return plain_belief.answer(belief, query)

    def progress(self, task: Task, belief: JSON) -> Sequence[Subgoal]:
        """Return Progress as the domain itself can tell it, for the `always_on` panel, where no
        policy commits anything. The default is the objective as one open subgoal.
        """
        return [Subgoal(text=task.objective, status="open")]

    def experience(self) -> Sequence[Mapping[str, Any]]:
        """Return entries that a new Experience bank starts with.

        Each is `{"kind": "skill" | "mistake", "text": …}` or `{"kind": "hint", "thing": …,
        "places": [the likeliest first]}`, with `task_type` and `context` where it is about one.
        """
        return ()

    def context(self, belief: JSON) -> str:
        """Return the kind of situation that the agent is in, such as a kind of room.

        Experience is kept apart by it: what is true in a kitchen need not be in a bedroom. Empty
        (the default) where the domain has no such kinds.
        """
        return ""

    def findings(self, task: Task, first: str, steps: Sequence[tuple[str, str]]) -> Sequence[JSON]:
        """Return what looking for things brought in an episode, from which hints are learned.

        Args:
            task: what was to be done.
            first: the first observation.
            steps: each environment action with the observation after it.

        Returns:
            For each thing and each kind of place that was looked into: `{"thing": …, "place": …,
            "looked": how many such places, "found": in how many of them it was}`.
        """
        return ()

    def policies(self) -> Mapping[str, Callable[[View], str]]:
        """Return the domain's own scripted policies by name, e.g. an `expert`.

        Each is a function from what the agent sees to its reply, without memory of its own, so
        that an episode can continue in another process.
        """
        return {}

    def close(self) -> None:
        """Free what the adapter itself holds (worker processes)."""
        return None
