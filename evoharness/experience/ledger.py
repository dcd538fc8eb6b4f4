"""The working state of a bank: its entries in memory, and the way each change takes to the storage.

A change is first written to the journal, then carried out, then marked as done. A process that dies
in between leaves a cycle that is not done; whoever opens the bank next carries it out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evoharness.experience import journal
from evoharness.experience.edits import Change, Rejected
from evoharness.experience.embedding import Embedding
from evoharness.experience.entries import Entry, clean_text
from evoharness.experience.evidence import EVIDENCE, EvidenceStatus, FinishedEpisode, Note
from evoharness.experience.forgetting import redacted
from evoharness.experience.journal import Cycle
from evoharness.experience.retrieval import Index, Recalled
from evoharness.experience.storage import Record, Storage

_KEPT_EVIDENCE = 5000
"""Settled evidence that is kept, so that an episode can be forgotten."""
_QUERY_WIDTH = 2000
_SLOW = 10.0
"""Seconds after which a process that has not carried out its cycle is taken for dead."""
_POLL = 0.02


class Overtaken(Exception):
    """Another process changed the bank first."""


class Ledger:
    """A bank's records; not thread-safe, the bank guards it.

    Attributes:
        entries: all entries by id.
        vectors: their vectors by id.
        index: those that can be recalled.
        episodes: how many finished episodes the bank has seen.
        embedding: how texts become vectors.
    """

    def __init__(self, domain: str, storage: Storage, embedding: Embedding) -> None:
        """Read what the storage has, and carry out what a process that died left undone.

        Raises:
            ValueError: the bank was written with another embedding.
        """
        self.embedding = embedding
        self.entries: dict[str, Entry] = {}
        self.vectors: dict[str, Any] = {}
        self.index = Index([], [])
        self.episodes = 0
        self._domain = domain
        self._process = os.getpid()
        self._storage: Storage | None = storage
        self._last = 0
        """The number of the newest cycle that is in `entries`."""
        self._behind = False
        """Whether a cycle was begun here and failed."""
        self._load(storage)

    @property
    def storage(self) -> Storage:
        """The storage.

        Raises:
            RuntimeError: the bank is closed, or belongs to another process.
        """
        if self._storage is None:
            raise RuntimeError(f"the Experience bank of {self._domain!r} is closed: open it again")
        if self._process != os.getpid():
            raise RuntimeError(
                f"the Experience bank of {self._domain!r} belongs to process {self._process}: "
                "a worker process cannot use it, call it from its own process"
            )
        return self._storage

    def close(self) -> None:
        """Close the storage; a second call, and one in a forked process, does nothing."""
        if self._storage is not None and self._process == os.getpid():
            storage, self._storage = self._storage, None
            storage.close()

    def refresh(self, *, changing: bool = False) -> None:
        """See what other processes did; a bank that is not shared is always up to date.

        Args:
            changing: whether a change follows, for which every earlier one has to be carried out.

        Raises:
            ValueError: the bank's embedding was changed meanwhile.
        """
        storage = self.storage
        behind = changing and self._behind
        if storage.shared:
            if changing:
                until = time.monotonic() + _SLOW
                while storage.read("journal", {"state": journal.OPEN}):
                    if behind := time.monotonic() > until:
                        break
                    time.sleep(_POLL)
            following = journal.record_id(self._last + 1)
            behind = behind or storage.get("journal", following) is not None
        if behind:
            self._load(storage, complete=changing)

    def search(
        self, index: Index, embedding: Embedding, query: str, *, limit: int, **options: Any
    ) -> list[Recalled]:
        """Answer a query from an index of this bank's entries, as `ExperienceBank.recall` says.

        Args:
            index: the entries.
            embedding: what the index was made with; `reembed` may have changed the bank's since.
            query: the question.
            limit: the most entries.
            options: what `Index.search` takes besides.
        """
        if limit < 1:
            raise ValueError(f"recall needs a limit of at least 1, not {limit}")
        _ = self.storage  # is it open?
        query = clean_text(query, _QUERY_WIDTH)
        if not query:
            return []
        special = getattr(embedding, "embed_query", None)
        vector = special(query) if special else embedding.embed([query])[0]
        return index.search(query, vector, limit=limit, **options)

    def index_after(self, number: int) -> Index:
        """Return the index as it was after a cycle; 0 stands for the time before the first."""
        if number >= self._last:
            return self.index
        entries = journal.replay(cycle for cycle in self.cycles() if cycle.number <= number)
        same = {
            id_ for id_, e in self.entries.items() if id_ in entries and entries[id_].text == e.text
        }
        new = [entry for id_, entry in entries.items() if id_ not in same]
        made = self.embedding.embed([entry.text for entry in new])
        vectors = {entry.id: vector for entry, vector in zip(new, made, strict=True)}
        vectors |= {id_: self.vectors[id_] for id_ in same}
        return Index([*entries.values()], [vectors[id_] for id_ in entries])

    # Evidence.

    def evidence(self, status: EvidenceStatus | None = None) -> list[Note | FinishedEpisode]:
        """Return the evidence sorted by id, all of it or that of one status."""
        rows = self.storage.read("evidence", {"status": status} if status else None)
        return [EVIDENCE.validate_python(row.data) for row in rows]

    def keep(self, piece: Note | FinishedEpisode) -> bool:
        """Write evidence down, unless it is there; return whether it is new."""
        return self.storage.claim("evidence", _evidence_record(piece))

    def waits(self, piece: Note | FinishedEpisode) -> bool:
        """Return whether no consolidation has looked at a piece of evidence yet."""
        kept = self.storage.get("evidence", piece.id)
        return kept is not None and kept.data["status"] == "waiting" and not kept.data["cycle"]

    def write_evidence(self, pieces: Sequence[Note | FinishedEpisode]) -> None:
        """Write evidence, replacing what was written of it before."""
        self.storage.write("evidence", [_evidence_record(piece) for piece in pieces])

    # Changes.

    def cycles(self) -> list[Cycle]:
        """Return all changes, oldest first."""
        return [Cycle.from_record(row) for row in self.storage.read("journal")]

    def labelled(self, label: str) -> Cycle | None:
        """Return the cycle with a label, if there is one."""
        rows = self.storage.read("journal", {"label": label})
        return Cycle.from_record(rows[0]) if rows else None

    def cycle(
        self,
        by: str,
        changes: Sequence[Change],
        rejected: Sequence[Rejected] = (),
        **fields: Any,
    ) -> Cycle:
        """Return the next cycle, not written yet."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Cycle(
            number=self._last + 1,
            by=by,
            time=now,
            changes=tuple(changes),
            rejected=tuple(rejected),
            episodes=fields.pop("episodes", self.episodes),
            **fields,
        )

    def commit(self, cycle: Cycle) -> Cycle:
        """Write a cycle down, then carry it out.

        Raises:
            Overtaken: another process has written a cycle since the last `refresh`.
        """
        storage = self.storage
        entries = dict(self.entries)
        journal.apply(entries, cycle)
        size = sum(entry.status != "archived" for entry in entries.values())
        cycle = cycle.model_copy(update={"size": size})
        if not storage.claim("journal", cycle.to_record()):
            raise Overtaken
        return self._carry_out(storage, cycle, entries)

    def reembed(self, embedding: Embedding) -> None:
        """Compute all vectors anew with another embedding, and use it from now on.

        Raises:
            Overtaken: another process has written a cycle since the last `refresh`.
        """
        storage = self.storage
        entries = [*self.entries.values()]
        vectors = embedding.embed([entry.text for entry in entries])
        # A cycle, so that no other process changes the entries meanwhile, and all learn of it.
        cycle = self.cycle(f"embedding {embedding.name}", [], size=len(self.index.entries))
        if not storage.claim("journal", cycle.to_record()):
            raise Overtaken
        self._behind = True
        records = _entry_records(entries, vectors)
        storage.use_embedding(embedding.name, embedding.dimension, records)
        self.embedding = embedding
        self._load(storage, complete=True)

    def _check_embedding(self, storage: Storage) -> None:
        mine = (self.embedding.name, self.embedding.dimension)
        written = storage.embedding()
        if written is None:
            storage.use_embedding(*mine)
        elif written != mine:
            raise ValueError(
                f"the Experience bank of {self._domain!r} in {storage.place} was written with "
                f"embedding {written[0]} ({written[1]} dimensions) and cannot be opened with "
                f"{mine[0]} ({mine[1]} dimensions): open it with {written[0]}, then "
                "`evoharness bank reembed` or `reembed()` changes it"
            )

    def _load(self, storage: Storage, *, complete: bool = False) -> None:
        self._check_embedding(storage)
        while True:
            last = storage.count("journal")
            # In this order: a change that is carried out meanwhile is either seen here or whole there.
            begun = storage.read("journal", {"state": journal.OPEN})
            rows = storage.read("entries")
            if storage.count("journal") == last:
                break
        newest = storage.get("journal", journal.record_id(last))
        self.episodes = int(newest.data["episodes"]) if newest else 0
        entries = {row.id: Entry.model_validate(row.data) for row in rows}
        self._show(entries, {row.id: row.vector for row in rows}, entries)
        self._last, self._behind = last, False
        for row in begun:
            cycle = Cycle.from_record(row)
            entries = dict(self.entries)
            journal.apply(entries, cycle)
            if complete or not storage.shared:
                self._carry_out(storage, cycle, entries)
            else:  # whoever wrote it may be about to carry it out: do no more than see it
                self._show(entries, self.vectors, self.entries)

    def _show(
        self, entries: dict[str, Entry], vectors: Mapping[str, Any], known: Mapping[str, Entry]
    ) -> None:
        """Use entries from now on; embed those whose text is not the known one's."""
        new = [e for id_, e in entries.items() if id_ not in known or known[id_].text != e.text]
        texts = [entry.text for entry in new]
        made = dict(zip((e.id for e in new), self.embedding.embed(texts), strict=True))
        self.vectors = {id_: made[id_] if id_ in made else vectors[id_] for id_ in entries}
        self.entries = entries
        self.index = Index([*entries.values()], [*self.vectors.values()])

    def _carry_out(self, storage: Storage, cycle: Cycle, entries: dict[str, Entry]) -> Cycle:
        touched = {change.entry.id for change in cycle.changes} | cycle.usage.keys()
        # It is written down, so it happens, now or at the next change.
        self._last, self._behind = cycle.number, True
        self.episodes = cycle.episodes
        self._show(entries, self.vectors, self.entries)
        written = [entries[id_] for id_ in sorted(touched & entries.keys())]
        vectors = [self.vectors[entry.id] for entry in written]
        storage.write("entries", _entry_records(written, vectors))
        storage.delete("entries", sorted(touched - entries.keys()))
        self._settle(storage, cycle)
        if cycle.forgets:
            self._forget(storage, cycle)
        done = cycle.model_copy(update={"done": True})
        storage.write("journal", [done.to_record()])
        self._behind = False
        return done

    def _forget(self, storage: Storage, cycle: Cycle) -> None:
        """Take what a cycle forgets out of the journal and the evidence."""
        spoilt = redacted(self.cycles(), cycle)
        storage.write("journal", [earlier.to_record() for earlier in spoilt])
        again = [piece for piece in self.evidence("used") if piece.id in cycle.again]
        self.write_evidence([piece.model_copy(update={"status": "waiting"}) for piece in again])
        storage.delete("evidence", cycle.forgotten)

    def _settle(self, storage: Storage, cycle: Cycle) -> None:
        """Write what became of the evidence."""
        if not cycle.settles:
            return
        status: dict[str, EvidenceStatus] = dict.fromkeys(cycle.used, "used")
        status |= dict.fromkeys(cycle.quarantined, "quarantined")
        settled: list[Note | FinishedEpisode] = []
        for piece in self.evidence("waiting"):
            if piece.cycle >= cycle.number:  # done before the process died
                continue
            if piece.id in status:
                fields = {"status": status[piece.id], "cycle": cycle.number}
                settled.append(piece.model_copy(update=fields))
            elif piece.id in cycle.waiting:
                fields = {"waited": piece.waited + 1, "cycle": cycle.number}
                settled.append(piece.model_copy(update=fields))
        self.write_evidence(settled)
        if storage.count("evidence") > _KEPT_EVIDENCE:
            used = sorted(self.evidence("used"), key=lambda piece: (piece.cycle, piece.id))
            storage.delete("evidence", [piece.id for piece in used[:-_KEPT_EVIDENCE]])


def _entry_records(entries: Sequence[Entry], vectors: Sequence[Any]) -> list[Record]:
    return [
        Record(
            id=entry.id,
            text=entry.text,
            data=entry.model_dump(mode="json"),
            labels={
                "kind": entry.kind,
                "status": entry.status,
                "task_type": entry.task_type,
                "context": entry.context,
            },
            vector=vector,
        )
        for entry, vector in zip(entries, vectors, strict=True)
    ]


def _evidence_record(piece: Note | FinishedEpisode) -> Record:
    labels = {"kind": piece.kind, "status": piece.status, "source": piece.source}
    return Record(piece.id, piece.text, piece.model_dump(mode="json"), labels)
