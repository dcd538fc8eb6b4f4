"""A bank's records in a LangGraph store, for an application that has one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evoharness.experience.storage import Record, Table, collection_name, embedding_digest

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore


class StoreStorage:
    """A namespace of a LangGraph `BaseStore`, for an application that has a store of its own."""

    def __init__(self, domain: str, store: BaseStore) -> None:
        """Use the store; it stays the application's to close.

        Args:
            domain: the domain's name.
            store: any LangGraph store.
        """
        self.place = f"the application's {type(store).__name__}"
        self.shared = True
        self._store = store
        self._namespace = ("evoharness", collection_name(domain, "entries"))
        self._embedding = self.embedding()

    def embedding(self) -> tuple[str, int] | None:
        """Return the name and the dimension of the entries' embedding, if it is decided."""
        kept = self._store.get((*self._namespace, "about"), "embedding")
        return (kept.value["name"], kept.value["dimension"]) if kept else None

    def use_embedding(self, name: str, dimension: int, entries: Sequence[Record] = ()) -> None:
        """Fill a new namespace of entries, point to it and remove the one before."""
        before = self._embedding
        new = (name, dimension)
        if before is not None and before != new:
            self._clear(self._entries(new))  # begun once and left
        self._put(self._entries(new), entries)
        about = {"name": name, "dimension": dimension}
        self._store.put((*self._namespace, "about"), "embedding", about, index=False)
        self._embedding = new
        if before is not None and before != new:
            self._clear(self._entries(before))

    def read(self, table: Table, labels: Mapping[str, str] | None = None) -> list[Record]:
        """Return the records that have these labels, sorted by id."""
        found = [Record(**item.value) for item in self._items(self._space(table))]
        wanted = (labels or {}).items()
        return sorted(
            (record for record in found if wanted <= record.labels.items()),
            key=lambda record: record.id,
        )

    def get(self, table: Table, id_: str) -> Record | None:
        """Return one record, if it is there."""
        item = self._store.get(self._space(table), id_)
        return Record(**item.value) if item else None

    def count(self, table: Table) -> int:
        """Return how many records there are."""
        return sum(1 for _ in self._items(self._space(table)))

    def write(self, table: Table, records: Sequence[Record]) -> None:
        """Write records, each replacing one with its id."""
        self._put(self._space(table), records)

    def claim(self, table: Table, record: Record) -> bool:
        """Write a record unless its id is taken.

        A store has no such operation: two processes must not change one bank at a time.
        """
        if self.get(table, record.id) is not None:
            return False
        self.write(table, [record])
        return True

    def delete(self, table: Table, ids: Sequence[str]) -> None:
        """Remove records; unknown ids are none."""
        for id_ in ids:
            self._store.delete(self._space(table), id_)

    def close(self) -> None:
        """Do nothing: the store is the application's."""

    def _space(self, table: Table) -> tuple[str, ...]:
        if table == "entries" and self._embedding is not None:
            return self._entries(self._embedding)
        return (*self._namespace, table)

    def _entries(self, embedding: tuple[str, int]) -> tuple[str, ...]:
        return (*self._namespace, "entries", embedding_digest(*embedding))

    def _put(self, space: tuple[str, ...], records: Sequence[Record]) -> None:
        for record in records:
            value = {key: getattr(record, key) for key in Record.__slots__}
            if record.vector is not None:
                value["vector"] = [float(number) for number in record.vector]
            self._store.put(space, record.id, value, index=False)

    def _clear(self, space: tuple[str, ...]) -> None:
        for item in [*self._items(space)]:
            self._store.delete(space, item.key)

    def _items(self, space: tuple[str, ...]) -> Iterator[Any]:
        size, at = 1000, 0
        while items := self._store.search(space, limit=size, offset=at):
            yield from items
            at += len(items)
            if len(items) < size:
                return
