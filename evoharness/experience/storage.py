"""Where a bank's records lie.

A storage keeps three tables of records: `entries` (with their vectors), `evidence`, and `journal`,
one record a change of the bank. It knows nothing of what they mean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Table = Literal["entries", "evidence", "journal"]
TABLES: tuple[Table, ...] = ("entries", "evidence", "journal")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a table."""

    id: str
    text: str
    """What it says, in words; readable for whoever looks into the storage."""
    data: dict[str, Any]
    """All of it, as plain JSON."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """What `read` can choose by."""
    vector: Any = None
    """Entries have one: a sequence of floats, an array where the storage has arrays."""


class Storage(Protocol):
    """What the bank needs; its methods may be called from several threads."""

    place: str
    """Where it is, in words for messages."""
    shared: bool
    """Whether others may write to it at the same time."""

    def embedding(self) -> tuple[str, int] | None:
        """Return the name and the dimension of the embedding of its entries, if it has any."""
        ...

    def use_embedding(self, name: str, dimension: int, entries: Sequence[Record] = ()) -> None:
        """Let the entries be these, with vectors of another embedding.

        Killed in between, the entries are what they were, or what they should be.
        """
        ...

    def read(self, table: Table, labels: Mapping[str, str] | None = None) -> list[Record]:
        """Return the records that have these labels, sorted by id."""
        ...

    def get(self, table: Table, id_: str) -> Record | None:
        """Return one record, if it is there."""
        ...

    def count(self, table: Table) -> int:
        """Return how many records there are."""
        ...

    def write(self, table: Table, records: Sequence[Record]) -> None:
        """Write records, each replacing one with its id; one record is written whole or not."""
        ...

    def claim(self, table: Table, record: Record) -> bool:
        """Write a record unless its id is taken; return whether this very record was written."""
        ...

    def delete(self, table: Table, ids: Sequence[str]) -> None:
        """Remove records; unknown ids are none."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def collection_name(domain: str, table: Table) -> str:
    """Return a collection's name: readable, valid in Chroma and different for each domain.

    The entries' collection has the embedding's digest behind it.
    """
    words = re.sub(r"[^a-z0-9]+", "-", domain.lower()).strip("-")[:40].strip("-") or "domain"
    digest = hashlib.sha256(domain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{table}-{words}-{digest}"


def embedding_digest(name: str, dimension: int) -> str:
    """Return what tells the entries of different embeddings apart in a name."""
    return hashlib.sha256(f"{name}/{dimension}".encode()).hexdigest()[:6]
