"""Evidence: what episodes brought and nobody has judged yet.

Notes and finished episodes are written down here while a batch of episodes runs. They are never
recalled: a consolidation turns them into edits of the bank, or leaves them.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from evoharness.experience.entries import Label, Name, Plain, Sentence

EvidenceStatus = Literal["waiting", "quarantined", "used"]


class Finding(Plain):
    """What looking for a thing in places of one kind brought, in one episode."""

    thing: Name
    place: Name
    found: int = Field(ge=0)
    """Looks that found the thing."""
    looked: int = Field(ge=1)
    """Looks into such places."""


class _Evidence(Plain):
    source: Name
    """The episode, for a note with `#` and the turn behind it."""
    task_type: Label = ""
    context: Label = ""
    recalled: tuple[str, ...] = ()
    """Ids of the entries that were recalled before it in the episode."""
    status: EvidenceStatus = "waiting"
    """A quarantined note looks like an instruction and waits for the owner."""
    cycle: int = 0
    """The consolidation that used it."""
    released: bool = False
    """Whether the owner vouches for what looked like an instruction."""
    waited: int = 0
    """Consolidations that left it waiting."""

    @property
    def episode(self) -> str:
        """The episode's name."""
        return episode_of(self.source)


class Note(_Evidence):
    """What the agent wrote down."""

    kind: Literal["note"] = "note"
    text: Sentence
    disputes: tuple[str, ...] = ()
    """Ids of the recalled entries that it says were wrong."""

    @property
    def id(self) -> str:
        """Follows from text and source: the same note is kept once."""
        return _digest("note", self.source, self.text)


class FinishedEpisode(_Evidence):
    """How an episode ended, and what was found where."""

    kind: Literal["episode"] = "episode"
    success: bool
    steps: int = Field(ge=0)
    reason: Label = ""
    findings: tuple[Finding, ...] = ()

    @property
    def id(self) -> str:
        """Follows from the source: an episode is kept once."""
        return _digest("episode", self.source)

    @property
    def text(self) -> str:
        """The episode in a line."""
        return f"{'solved' if self.success else 'not solved'} in {self.steps} steps"


Evidence = Annotated[Note | FinishedEpisode, Field(discriminator="kind")]
EVIDENCE: TypeAdapter[Note | FinishedEpisode] = TypeAdapter(Evidence)


def episode_of(source: str) -> str:
    """Return the episode that a source names, without the turn."""
    episode, _, turn = source.rpartition("#")
    return episode if episode and turn.isdigit() else source


def is_from(source: str, named: str) -> bool:
    """Return whether a source is what somebody names: an episode, its task, or a turn of it."""
    episode = episode_of(source)
    return named in (source, episode, episode.rpartition("@")[0])


_INSTRUCTION = re.compile(
    r"""\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}
          \b(?:task|instruction|objective|goal|rule|prompt|above|previous|everything|order)s?\b
      | \b(?:system|developer)\s*(?:prompt|message|:)
      | \byou\s+(?:must|shall|are\s+now|have\s+to)\s+(?:now|instead|only|always|answer|obey|stop|act)\b
      | \bnew\s+(?:instructions?|orders?|task|objective)\b
      | \b(?:instead\s+of|rather\s+than)\s+your\s+(?:task|objective|goal)\b
      | \bact\s+as\b | \bfrom\s+now\s+on\b | \balways\s+(?:answer|reply|respond|say)\b
      | <\s*/?\s*(?:action|think|system|assistant|user|tool)\b | <\|.{1,30}\|> | \[/?inst\]
      | ```| \bhttps?://""",
    re.IGNORECASE | re.VERBOSE,
)


def like_an_instruction(text: str) -> bool:
    """Return whether a text looks as if it were meant to direct whoever reads it.

    It catches the common forms of prompt injection and no more; what keeps the others out is that
    a note needs a second episode that says the same.
    """
    return _INSTRUCTION.search(text) is not None


_DENIAL = re.compile(
    r"\b(?:although|though|despite|contrary|wrong|incorrect|outdated|not\s+(?:in|on|at|there|true)"
    r"|instead\s+of|rather\s+than|recall(?:ed)?\s+(?:was|had|said|named)|misled|mislead\w*)\b"
    r"|n't\b",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Return whether a note says that something which it was told is not so."""
    return _DENIAL.search(text) is not None


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
