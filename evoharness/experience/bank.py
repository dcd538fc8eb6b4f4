"""The Experience bank: two Chroma collections per domain.

Evidence (pending notes) has a collection of its own, because Chroma's index is approximate: many
notes beside the entries would change what `recall` finds, and a bank that is frozen for a batch of
episodes must answer the same whatever was noted meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from evoharness.experience.embedding import Embedding, WordLlamaEmbedding
from evoharness.experience.entries import LABEL_WIDTH, Entry, Kind, Status, clean_text

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.config import System
    from filelock import BaseFileLock

SEED_KINDS: tuple[Kind, ...] = ("skill", "mistake", "hint")
LOCK_FILE = "evoharness.lock"
_QUERY_WIDTH = 2000
# Asked for beyond the limit: entries with equal scores are then ordered by id before the cut.
_SPARE = 16
# How many candidates the index looks at; generous, since a bank is small and should answer
# exactly.
_EF_SEARCH = 400


@dataclass(frozen=True, slots=True)
class Recalled:
    """An entry that `recall` found."""

    id: str
    kind: str
    text: str
    score: float
    """Cosine similarity to the query between 0 and 1; opposite meanings count as 0."""
    task_type: str


class ExperienceBank:
    """The Experience of one domain; open it with `in_memory` or `open`, and close it.

    All methods may be called from several threads. A process has to open its own bank: one
    inherited by a fork refuses to work.
    """

    def __init__(
        self,
        domain: str,
        embedding: Embedding,
        folder: Path | None,
        file_lock: BaseFileLock | None,
    ) -> None:
        """Use `in_memory` or `open`, which make what this takes."""
        self.domain = domain
        self._embedding = embedding
        self._file_lock = file_lock
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._system, api = _start(folder)
        try:
            self._collections: dict[bool, Collection] | None = {
                pending: _collection(api, domain, embedding, folder, pending=pending)
                for pending in (False, True)
            }
            self._batch = api.get_max_batch_size()
        except BaseException:
            self._system.stop()
            raise

    @classmethod
    def in_memory(cls, domain: str, embedding: Embedding | None = None) -> ExperienceBank:
        """Open a new, empty bank that shares nothing with any other and ends with `close`.

        Args:
            domain: the domain's name, e.g. an adapter's.
            embedding: how texts become vectors; `WordLlamaEmbedding` by default.
        """
        return cls(domain, embedding or WordLlamaEmbedding(), None, None)

    @classmethod
    def open(
        cls, path: str | Path, domain: str, embedding: Embedding | None = None
    ) -> ExperienceBank:
        """Open the bank kept in a folder, which is made if it is not there.

        A folder has one bank open at a time: the next one is refused until `close` or the end of
        the process.

        Args:
            path: the folder.
            domain: the domain's name; one folder can keep several domains.
            embedding: how texts become vectors; `WordLlamaEmbedding` by default.

        Raises:
            RuntimeError: the folder is in use by another bank.
            ValueError: the bank was written with another embedding.
            NotADirectoryError: the path is a file.
            OSError: the folder's database is broken.
        """
        from filelock import FileLock, Timeout

        folder = Path(path).expanduser().resolve()
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(
                f"{folder} is a file: give the Experience bank the path of a folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        # Not bound to a thread: whichever thread closes the bank frees the lock.
        lock = FileLock(folder / LOCK_FILE, timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise RuntimeError(
                f"the Experience bank in {folder} is already open, here or in another process: "
                "close it there first, or use another folder"
            ) from None
        try:
            return cls(domain, embedding or WordLlamaEmbedding(), folder, lock)
        except BaseException as error:
            lock.release()
            if type(error).__module__.startswith("chromadb."):
                raise OSError(
                    f"the Experience bank in {folder} cannot be opened: {error}; "
                    "restore the folder from a copy, or name a new one"
                ) from error
            raise

    def add(self, entries: Iterable[Entry]) -> int:
        """Write entries; one with the same content is replaced, never doubled.

        Returns:
            How many different entries were written.
        """
        unique = {entry.id: entry for entry in entries}
        batches = iter(unique.values())
        while batch := list(islice(batches, self._batch)):
            for pending in (False, True):
                self._write([entry for entry in batch if (entry.status == "pending") is pending])
        return len(unique)

    def seed(self, mappings: Iterable[Mapping[str, str]]) -> int:
        """Write the entries that a domain starts with, as `Adapter.experience` returns them.

        Seeding twice changes nothing.

        Args:
            mappings: each with `kind` (skill, mistake or hint), `text` and optionally
                `task_type`.

        Returns:
            How many different entries were written.

        Raises:
            ValueError: a mapping has no such kind or no text; nothing is written then.
        """
        return self.add([_seed_entry(index, mapping) for index, mapping in enumerate(mappings)])

    def recall(self, query: str, *, task_type: str = "", limit: int = 3) -> list[Recalled]:
        """Return the active entries nearest to the query, best first, equal ones by id.

        Args:
            query: what to look for; one without words finds nothing.
            task_type: entries of this type and entries for all types are found, no others.
            limit: the most entries to return, at least 1.

        Raises:
            ValueError: the limit is below 1.
        """
        if limit < 1:
            raise ValueError(f"recall needs a limit of at least 1, not {limit}")
        vector = self._embed_query(clean_text(query, _QUERY_WIDTH))
        types = sorted({"", clean_text(task_type, LABEL_WIDTH)})
        with self._lock:
            collection = self._open_collection(pending=False)
            if not any(vector):
                return []
            queries: Any = [vector]
            found = collection.query(
                query_embeddings=queries,
                n_results=limit + _SPARE,
                where={"$and": [{"status": "active"}, {"task_type": {"$in": [*types]}}]},
                include=["documents", "metadatas", "distances"],
            )
        [ids], [texts] = found["ids"], found["documents"] or [[]]
        [metadatas], [distances] = found["metadatas"] or [[]], found["distances"] or [[]]
        # Rounded, so that the last bits of a float do not decide the order.
        similarities = [round(1.0 - distance, 6) for distance in distances]
        hits = sorted(
            zip(similarities, ids, texts, metadatas, strict=True), key=lambda hit: (-hit[0], hit[1])
        )
        return [
            Recalled(
                id=id_,
                kind=str(metadata["kind"]),
                text=text,
                score=min(1.0, max(0.0, similarity)),
                task_type=str(metadata["task_type"]),
            )
            for similarity, id_, text, metadata in hits[:limit]
        ]

    def note(self, text: str, *, source: str, task_type: str = "") -> Entry:
        """Keep a raw note as evidence: pending, and never recalled.

        The same text from the same source is one note, however often it is written.

        Args:
            text: the note; its first 500 characters are kept.
            source: where it comes from, e.g. run and turn.
            task_type: the task type it was made in.

        Raises:
            ValueError: the note has no text.
        """
        entry = Entry("note", text, task_type, status="pending", source=source)
        self.add([entry])
        return entry

    def entries(self, status: Status | None = None) -> list[Entry]:
        """Return the bank's entries sorted by id, all of them or those of one status."""
        found: list[Entry] = []
        with self._lock:
            for pending in (False, True):
                rows = self._open_collection(pending=pending).get(
                    where={"status": status} if status else None,
                    include=["documents", "metadatas"],
                )
                pairs = zip(rows["documents"] or [], rows["metadatas"] or [], strict=True)
                found += [Entry.from_metadata(text, metadata) for text, metadata in pairs]
        return sorted(found, key=lambda entry: entry.id)

    def count(self) -> int:
        """Return how many entries the bank holds, pending ones included."""
        with self._lock:
            return sum(self._open_collection(pending=pending).count() for pending in (False, True))

    def close(self) -> None:
        """Close the bank and free its folder; a second call does nothing."""
        with self._lock:
            if self._collections is None or self._process != os.getpid():
                return
            self._collections = None
            self._system.stop()
            if self._file_lock is not None:
                self._file_lock.release()

    def __enter__(self) -> ExperienceBank:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, entries: list[Entry]) -> None:
        """Write entries of one status, which leave the collection of the other."""
        if not entries:
            return
        pending = entries[0].status == "pending"
        ids = [entry.id for entry in entries]
        vectors: Any = self._embedding.embed([entry.text for entry in entries])
        with self._lock:
            # `add` would silently keep the old record of a known id.
            self._open_collection(pending=pending).upsert(
                ids=ids,
                embeddings=vectors,
                documents=[entry.text for entry in entries],
                metadatas=[entry.to_metadata() for entry in entries],
            )
            other = self._open_collection(pending=not pending)
            if moved := other.get(ids=ids, include=[])["ids"]:
                other.delete(ids=moved)

    def _open_collection(self, *, pending: bool) -> Collection:
        if self._collections is None:
            raise RuntimeError(f"the Experience bank of {self.domain!r} is closed: open it again")
        if self._process != os.getpid():
            raise RuntimeError(
                f"the Experience bank of {self.domain!r} belongs to process {self._process}: "
                "a worker process cannot use it, call it from its own process"
            )
        return self._collections[pending]

    def _embed_query(self, query: str) -> list[float]:
        if not query:
            return []
        special = getattr(self._embedding, "embed_query", None)
        return special(query) if special else self._embedding.embed([query])[0]


def _start(folder: Path | None) -> tuple[System, ServerAPI]:
    """Start an embedded Chroma of its own.

    Chroma's client classes share one system per path, and one for everything in memory, and fail
    when the application has opened another with other settings; a system of its own isolates the
    bank from all that.
    """
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    settings = Settings(
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        is_persistent=folder is not None,
        persist_directory=str(folder or ""),
    )
    system = System(settings)
    api = system.instance(ServerAPI)
    system.start()
    return system, api


def _collection(
    api: ServerAPI, domain: str, embedding: Embedding, folder: Path | None, *, pending: bool
) -> Collection:
    """Return the domain's collection of entries or of evidence, made if it is not there.

    Raises:
        ValueError: its vectors come from another embedding.
    """
    from chromadb.api.models.Collection import Collection
    from chromadb.errors import NotFoundError

    name = collection_name(domain, pending=pending)
    try:
        model = api.get_collection(name)
    except NotFoundError:
        model = api.create_collection(
            name,
            configuration={"hnsw": {"space": "cosine", "ef_search": _EF_SEARCH}},
            metadata={
                "domain": clean_text(domain, LABEL_WIDTH),
                "embedding": embedding.name,
                "dimension": embedding.dimension,
            },
        )
    collection = Collection(client=api, model=model, embedding_function=None)
    kept: Mapping[str, Any] = collection.metadata or {}
    written = (kept.get("embedding"), kept.get("dimension"))
    if written != (embedding.name, embedding.dimension):
        raise ValueError(
            f"the Experience bank of {domain!r} in {folder} was written with embedding "
            f"{written[0]} ({written[1]} dimensions) and cannot be opened with {embedding.name} "
            f"({embedding.dimension} dimensions): open it with {written[0]}, or copy its "
            "`entries()` into a new bank in another folder"
        )
    return collection


def collection_name(domain: str, *, pending: bool = False) -> str:
    """Return a collection's name: readable, valid in Chroma and different for each domain."""
    words = re.sub(r"[^a-z0-9]+", "-", domain.lower()).strip("-")[:40].strip("-") or "domain"
    digest = hashlib.sha256(domain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{'evidence' if pending else 'experience'}-{words}-{digest}"


def _seed_entry(index: int, mapping: Mapping[str, str]) -> Entry:
    kind = mapping.get("kind")
    if kind not in SEED_KINDS:
        raise ValueError(f"seed entry {index} has kind {kind!r}: use one of {SEED_KINDS}")
    try:
        return Entry(kind, mapping.get("text", ""), mapping.get("task_type", ""), source="seed")
    except ValueError as error:
        raise ValueError(f"seed entry {index}: {error}") from None
