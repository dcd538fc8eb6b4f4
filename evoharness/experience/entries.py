"""One piece of Experience as plain, cleaned data whose id follows from its content."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from evoharness.core.parsing import clean

Kind = Literal["skill", "mistake", "hint", "note"]
Status = Literal["active", "pending"]

NOTE_WIDTH = 500
"""Characters kept of a note; agents write them, so they are bounded most tightly."""
TEXT_WIDTH = 1000
"""Characters kept of any other entry."""
LABEL_WIDTH = 300
"""Characters kept of a task type or a source."""
_ID_LENGTH = 24
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill, mistake, search hint or raw note.

    The strings are cleaned on construction, so an entry can be stored and shown anywhere.

    Raises:
        ValueError: an unknown kind or status, no text, or a note that is not pending.
    """

    kind: Kind
    text: str
    task_type: str = ""
    """The task type it is about; empty when it holds for all of them."""
    status: Status = "active"
    """Only active entries are recalled; pending ones wait for their review."""
    source: str = ""
    """Where it comes from, e.g. the run and turn of a note."""
    id: str = field(init=False)
    """Follows from kind, task type and text, for a note from its source too: the same lesson is
    one entry whoever brings it, while each note stays a piece of evidence of its own."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"an entry's kind is one of {get_args(Kind)}, not {self.kind!r}")
        if self.status not in get_args(Status):
            raise ValueError(f"an entry's status is one of {get_args(Status)}, not {self.status!r}")
        if self.kind == "note" and self.status != "pending":
            raise ValueError(
                "a note cannot be active, it is evidence only: write what it shows as a skill, "
                "mistake or hint"
            )
        text = clean_text(self.text, NOTE_WIDTH if self.kind == "note" else TEXT_WIDTH)
        if not text:
            raise ValueError(f"a {self.kind} needs a text, this one is empty")
        set_field = object.__setattr__  # the dataclass is frozen
        set_field(self, "text", text)
        set_field(self, "task_type", clean_text(self.task_type, LABEL_WIDTH))
        set_field(self, "source", clean_text(self.source, LABEL_WIDTH))
        set_field(self, "id", self._content_id())

    def to_metadata(self) -> dict[str, str]:
        """Return everything but the text and the id, as Chroma metadata."""
        return {
            "kind": self.kind,
            "task_type": self.task_type,
            "status": self.status,
            "source": self.source,
        }

    @classmethod
    def from_metadata(cls, text: str, metadata: Mapping[str, Any]) -> Entry:
        """Build an entry from its text and `to_metadata`'s form."""
        return cls(
            metadata["kind"],
            text,
            metadata["task_type"],
            metadata["status"],
            metadata["source"],
        )

    def _content_id(self) -> str:
        parts = [self.kind, self.task_type, self.text]
        if self.kind == "note":
            parts.append(self.source)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_ID_LENGTH]


def clean_text(text: str, width: int) -> str:
    """Return text as one bounded line that every store, prompt and terminal can hold.

    Lone surrogates become U+FFFD, control characters and invisible format characters go (a text
    must not say more to a model than to its reader), white space collapses to single spaces.

    Args:
        text: any string.
        width: the most characters to keep; a longer text ends in an ellipsis.
    """
    visible = "".join(char for char in clean(text) if _stays(char))
    line = " ".join(visible.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _stays(char: str) -> bool:
    # Several scripts and joined emoji need the two joiners, alone among the format characters.
    return char.isspace() or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf")
