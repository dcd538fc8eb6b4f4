"""A bank's records in Chroma: in memory, in a folder or on a server."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evoharness.experience.entries import LABEL_WIDTH, clean_text
from evoharness.experience.storage import Record, Table, collection_name, embedding_digest

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.config import System
    from filelock import BaseFileLock

LOCK_FILE = "evoharness.lock"
DATABASE = "chroma.sqlite3"
_COPYING = 2.0
"""Seconds that one reader waits for others that copy the folder."""


class ChromaStorage:
    """A domain's collections in Chroma.

    The vectors of entries are of one embedding, whose name is part of their collection's name and is
    recorded with the journal; evidence and journal are never searched and have dummy vectors.
    """

    def __init__(self, domain: str, system: System, api: ServerAPI, place: str) -> None:
        """Use `in_memory`, `in_folder` or `on_server`."""
        self.place = place
        self.shared = False
        self._domain = domain
        self._system = system
        self._api = api
        self._lock: BaseFileLock | None = None
        self._copy: Path | None = None
        self._batch = api.get_max_batch_size()
        self._collections: dict[Table, Collection] = {
            table: self._collection(collection_name(domain, table), {})
            for table in ("evidence", "journal")
        }
        if kept := self.embedding():
            self._collections["entries"] = self._entries(*kept)

    @classmethod
    def in_memory(cls, domain: str) -> ChromaStorage:
        """Open a storage that shares nothing with any other and ends with `close`."""
        return cls(domain, *_embedded(None), place="memory")

    @classmethod
    def in_folder(cls, domain: str, folder: Path) -> ChromaStorage:
        """Open the storage in a folder, which is made if it is not there.

        Raises:
            RuntimeError: the folder is in use.
            NotADirectoryError: the path is a file.
            OSError: the folder's database is broken.
        """
        folder = _folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = _locked(folder)
        try:
            storage = cls._in(folder, domain, folder)
        except BaseException:
            lock.release()
            raise
        storage._lock = lock
        return storage

    @classmethod
    def copy_of(cls, domain: str, folder: Path) -> ChromaStorage:
        """Open a private copy of a folder, which is removed with `close`.

        Chroma writes to a folder as soon as it opens it, so this is how one is only read.

        Raises:
            RuntimeError: the folder is in use.
            LookupError: it has no bank of the domain.
            OSError: there is no bank, or its database is broken.
        """
        folder = _folder(folder)
        copy = _copied(folder)
        try:
            _check_domain(domain, _names(copy, folder), str(folder))
            storage = cls._in(copy, domain, folder)
        except BaseException:
            shutil.rmtree(copy, ignore_errors=True)
            raise
        storage._copy = copy
        return storage

    @classmethod
    def _in(cls, folder: Path, domain: str, place: Path) -> ChromaStorage:
        with _readable(place):
            return cls(domain, *_embedded(folder), place=str(place))

    @classmethod
    def on_server(cls, domain: str, url: str, *, existing: bool = False) -> ChromaStorage:
        """Connect to a Chroma server.

        Args:
            domain: the domain's name.
            url: the server's address.
            existing: whether the bank has to be there already.

        Raises:
            ValueError: the address is none.
            ConnectionError: there is no Chroma server.
            LookupError: the server has no bank of the domain, and it has to be there.
        """
        system, api = _connected(url)
        try:
            if existing:
                _check_domain(domain, _domains(api), url)
            storage = cls(domain, system, api, place=url)
        except BaseException:
            system.stop()
            raise
        storage.shared = True
        return storage

    def embedding(self) -> tuple[str, int] | None:
        """Return the name and the dimension of the entries' embedding, if it is decided."""
        name = collection_name(self._domain, "journal")
        kept: Mapping[str, Any] = self._api.get_collection(name).metadata or {}
        return (kept["embedding"], kept["dimension"]) if "embedding" in kept else None

    def use_embedding(self, name: str, dimension: int, entries: Sequence[Record] = ()) -> None:
        """Fill a new collection of entries, point to it and remove the one before."""
        before = self._collections.get("entries")
        new = self._entries(name, dimension)
        # What is in it was begun once and left; in a bank's first, another process has begun.
        if before is not None and before.name != new.name:
            self._delete(new, new.get(include=[])["ids"])
        for some in _pages(entries, self._batch):
            new.upsert(**_rows(some))
        self._collections["journal"].modify(
            metadata={**self._about(), "embedding": name, "dimension": dimension}
        )
        self._collections["entries"] = new
        if before is not None and before.name != new.name:
            self._api.delete_collection(before.name)

    def read(self, table: Table, labels: Mapping[str, str] | None = None) -> list[Record]:
        """Return the records that have these labels, sorted by id."""
        collection = self._collections.get(table)
        if collection is None:
            return []
        terms: list[Any] = [{key: value} for key, value in (labels or {}).items()]
        where: Any = {"$and": terms} if len(terms) > 1 else next(iter(terms), None)
        found: list[Record] = []
        while True:
            rows = collection.get(
                where=where, include=_included(table), limit=self._batch, offset=len(found)
            )
            found += _records(rows)
            if len(rows["ids"]) < self._batch:
                return sorted(found, key=lambda record: record.id)

    def get(self, table: Table, id_: str) -> Record | None:
        """Return one record, if it is there."""
        rows = self._collections[table].get(ids=[id_], include=_included(table))
        return next(_records(rows), None)

    def count(self, table: Table) -> int:
        """Return how many records there are."""
        collection = self._collections.get(table)
        return collection.count() if collection is not None else 0

    def write(self, table: Table, records: Sequence[Record]) -> None:
        """Write records, each replacing one with its id."""
        for some in _pages(records, self._batch):
            # `add` would silently keep the old record of a known id.
            self._collections[table].upsert(**_rows(some))

    def claim(self, table: Table, record: Record) -> bool:
        """Write a record unless its id is taken; return whether this very record was written."""
        # Of several that add an id Chroma keeps the first and tells nobody.
        token = uuid.uuid4().hex
        mine = replace(record, labels={**record.labels, "claim": token})
        self._collections[table].add(**_rows([mine]))
        kept = self._collections[table].get(ids=[record.id], include=["metadatas"])["metadatas"]
        return bool(kept) and kept[0].get("claim") == token

    def delete(self, table: Table, ids: Sequence[str]) -> None:
        """Remove records; unknown ids are none."""
        self._delete(self._collections[table], ids)

    def close(self) -> None:
        """Stop Chroma and free the folder."""
        self._system.stop()
        if self._lock is not None:
            self._lock.release()
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def _delete(self, collection: Collection, ids: Sequence[str]) -> None:
        for some in _pages(ids, self._batch):
            collection.delete(ids=[*some])

    def _entries(self, name: str, dimension: int) -> Collection:
        return self._collection(
            f"{collection_name(self._domain, 'entries')}-{embedding_digest(name, dimension)}",
            {"embedding": name, "dimension": dimension},
        )

    def _about(self) -> dict[str, Any]:
        return {"domain": clean_text(self._domain, LABEL_WIDTH)}

    def _collection(self, name: str, about: dict[str, Any]) -> Collection:
        from chromadb.api.models.Collection import Collection
        from chromadb.errors import NotFoundError

        try:
            model = self._api.get_collection(name)
        except NotFoundError:
            model = self._api.create_collection(
                name,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={**self._about(), **about},
                get_or_create=True,  # another process may be as quick
            )
        return Collection(client=self._api, model=model, embedding_function=None)


def domains(place: str | Path) -> list[str]:
    """Return the domains that a folder or a server keeps banks of, sorted; the folder stays as it is.

    Raises:
        RuntimeError: the folder is in use.
        ConnectionError: there is no Chroma server at the address.
        OSError: there is no bank, or its database is broken.
    """
    if is_server(place):
        system, api = _connected(str(place))
        try:
            return _domains(api)
        finally:
            system.stop()
    folder = _folder(Path(place))
    copy = _copied(folder)
    try:
        return _names(copy, folder)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def is_server(place: str | Path) -> bool:
    """Return whether a place is the address of a server, and not a folder."""
    return str(place).startswith(("http://", "https://"))


def _domains(api: ServerAPI) -> list[str]:
    found = [collection.metadata or {} for collection in api.list_collections()]
    return sorted({str(about["domain"]) for about in found if "domain" in about})


def _names(copy: Path, folder: Path) -> list[str]:
    with _readable(folder):
        system, api = _embedded(copy)
        try:
            return _domains(api)
        finally:
            system.stop()


def _check_domain(domain: str, known: Sequence[str], place: str) -> None:
    if clean_text(domain, LABEL_WIDTH) not in known:
        listed = ", ".join(map(repr, known)) or "none"
        raise LookupError(f"{place} keeps no Experience of {domain!r}; its domains: {listed}")


def _folder(folder: Path) -> Path:
    folder = folder.expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"{folder} is a file: give the Experience bank the path of a folder"
        )
    return folder


def _locked(folder: Path, patience: float = 0) -> BaseFileLock:
    from filelock import FileLock, Timeout

    # Not bound to a thread: whichever thread closes the bank frees the lock.
    lock = FileLock(folder / LOCK_FILE, timeout=patience, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise RuntimeError(
            f"the Experience bank in {folder} is already open, here or in another process: "
            "close it there first, use another folder, or let several processes share a "
            "server (`chroma run --path FOLDER`, then --bank http://localhost:8000)"
        ) from None
    return lock


def _copied(folder: Path) -> Path:
    """Return a temporary folder with a bank's files, copied while nobody writes to them."""
    if not (folder / DATABASE).exists():
        raise FileNotFoundError(f"there is no Experience bank in {folder}")
    # A folder that nobody may write to has no writer, and no room for the lock.
    lock = _locked(folder, _COPYING) if os.access(folder, os.W_OK) else None
    copy = Path(tempfile.mkdtemp(prefix="evoharness-bank-"))
    try:
        unlocked = shutil.ignore_patterns(LOCK_FILE)
        shutil.copytree(folder, copy, dirs_exist_ok=True, ignore=unlocked)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            lock.release()
    return copy


@contextmanager
def _readable(folder: Path) -> Generator[None]:
    """Say of a database that Chroma cannot read which one it is."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith("chromadb."):
            raise OSError(
                f"the Experience bank in {folder} cannot be opened: {error}; "
                "restore the folder from a copy, or name a new one"
            ) from error
        raise


def _connected(url: str) -> tuple[System, ServerAPI]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise ValueError(f"{url!r} is no server's address; write e.g. http://localhost:8000")
    try:
        system, api = _start(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=parts.hostname,
            chroma_server_http_port=port or (443 if parts.scheme == "https" else 80),
            chroma_server_ssl_enabled=parts.scheme == "https",
        )
        api.heartbeat()
    except Exception as error:
        raise ConnectionError(
            f"no Chroma server answers at {url} ({type(error).__name__}: {error}); start one "
            "with `chroma run --path FOLDER`"
        ) from error
    return system, api


def _embedded(folder: Path | None) -> tuple[System, ServerAPI]:
    """Start an embedded Chroma of its own.

    Chroma's client classes share one system per path, and one for everything in memory, and fail
    when the application has opened another with other settings; a system of its own isolates the
    bank from all that.
    """
    return _start(
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        is_persistent=folder is not None,
        persist_directory=str(folder or ""),
    )


def _start(**settings: Any) -> tuple[System, ServerAPI]:
    from chromadb.api import ServerAPI
    from chromadb.config import Settings, System

    system = System(Settings(anonymized_telemetry=False, **settings))
    api = system.instance(ServerAPI)
    system.start()
    return system, api


def _included(table: Table) -> Any:
    return ["documents", "metadatas", *(["embeddings"] if table == "entries" else [])]


def _rows(records: Sequence[Record]) -> dict[str, Any]:
    return {
        "ids": [record.id for record in records],
        "embeddings": [[1.0] if record.vector is None else record.vector for record in records],
        "documents": [record.text for record in records],
        "metadatas": [{**record.labels, "json": json.dumps(record.data)} for record in records],
    }


def _records(rows: Any) -> Iterator[Record]:
    vectors = rows["embeddings"]
    for at, (id_, text, labels) in enumerate(
        zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
    ):
        data = json.loads(labels.pop("json"))
        labels.pop("claim", None)
        yield Record(id_, text or "", data, labels, None if vectors is None else vectors[at])


def _pages(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))
