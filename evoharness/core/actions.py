"""The four meta-actions: when each is on offer, its words for the policy, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from evoharness.core.environment import JSON, Words
from evoharness.core.parsing import ACT, ARGUMENT_OF, META_VERBS, MetaVerb
from evoharness.core.settings import HarnessConfig, Part

PART_OF: dict[MetaVerb, Part] = {
    "track": "belief",
    "commit": "progress",
    "recall": "experience",
    "note": "experience",
}


class Recalled(Protocol):
    """What the harness reads of a recalled Experience entry."""

    @property
    def id(self) -> str:
        """The entry's id, by which its use is counted."""
        ...

    @property
    def kind(self) -> str:
        """`skill`, `mistake` or `hint`."""
        ...

    @property
    def text(self) -> str:
        """The entry's words."""
        ...

    @property
    def score(self) -> float:
        """What it is ranked by, at most 1."""
        ...

    @property
    def disputed(self) -> bool:
        """Whether somebody noted that it was wrong."""
        ...


class Experience(Protocol):
    """What the harness needs of an Experience store."""

    def recall(
        self, query: str, *, task_type: str, context: str, limit: int, budget: int | None
    ) -> Sequence[Recalled]:
        """Return the entries that answer the query, best first.

        Args:
            query: the question.
            task_type: the task's type.
            context: the kind of situation that the agent is in; may be empty.
            limit: the most entries.
            budget: the most tokens of their texts together.
        """
        ...

    def note(
        self, text: str, *, source: str, task_type: str, context: str, recalled: Sequence[str]
    ) -> Any:
        """Keep a raw note as evidence; it is not recalled before it is consolidated.

        Args:
            text: the note.
            source: the episode, `#`, the turn.
            task_type: the task's type.
            context: the kind of situation.
            recalled: ids of the entries that the episode had recalled before.
        """
        ...

    def finished(self, episode: JSON) -> Any:
        """Keep how an episode ended as evidence: `evoharness.core.episode.conclusion`."""
        ...


def offered(config: HarnessConfig) -> tuple[MetaVerb, ...]:
    """Return the meta-verbs that the policy may use."""
    if config.mode != "inline":
        return ()
    return tuple(verb for verb in META_VERBS if config.has(PART_OF[verb]))


def describe(verb: MetaVerb, words: Words) -> str:
    """Return one line that says what a meta-action does in this domain."""
    if verb == "track":
        return f"track [query]: reads Belief; returns {words.track}."
    if verb == "commit":
        return (
            f"commit [subgoal]: writes Progress; e.g. `commit {words.commit}`. The next commit "
            "completes it; `a | b` commits several; `commit blocked` gives it up."
        )
    if verb == "recall":
        return f"recall [query]: reads Experience of past episodes; e.g. `recall {words.recall}`."
    return f"note [insight]: proposes an entry for Experience; {words.note}."


def tool_schemas(verbs: Sequence[MetaVerb], words: Words) -> list[dict[str, Any]]:
    """Return the tools on offer in the OpenAI function format."""
    described = [(ACT, f"One environment action. {words.actions}")]
    described += [(verb, describe(verb, words)) for verb in verbs]
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {ARGUMENT_OF[name]: {"type": "string"}},
                    "required": [ARGUMENT_OF[name]],
                },
            },
        }
        for name, description in described
    ]


def render_recalled(entries: Sequence[Recalled]) -> str:
    """Return recalled entries quoted as data, best first, with kind and similarity."""
    if not entries:
        return "Experience holds nothing on that."
    lines = [
        f'- {entry.kind} ({entry.score:.2f}{", disputed" if entry.disputed else ""}): "{entry.text}"'
        for entry in entries
    ]
    return "\n".join(["From past episodes:", *lines])


def refusal(verb: str, config: HarnessConfig) -> str:
    """Say why a meta-action that is not on offer did nothing."""
    if config.mode != "inline":
        return f"`{verb}` did nothing: this run has environment actions only."
    part = next(part for name, part in PART_OF.items() if name == verb)
    return f"`{verb}` did nothing: {part.capitalize()} is switched off in this run."
