"""The Experience bank of one domain: what it answers, what it is told, and how it changes.

Episodes read entries (`recall`) and leave evidence (`note`, `finished`). Nothing that an episode
leaves can be recalled before a consolidation has turned it into edits; every change of the entries is a
cycle of the journal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from evoharness.experience import changes
from evoharness.experience.chroma import ChromaStorage, is_server
from evoharness.experience.edits import Edit, Limits
from evoharness.experience.embedding import Embedding, WordLlamaEmbedding
from evoharness.experience.entries import LINE_WIDTH, Entry, Status, clean_text, seed_entry
from evoharness.experience.evidence import EvidenceStatus, FinishedEpisode, Note
from evoharness.experience.evolver import Evolver
from evoharness.experience.frozen import FrozenBank
from evoharness.experience.journal import Cycle
from evoharness.experience.ledger import Ledger, Overtaken
from evoharness.experience.retrieval import Recalled
from evoharness.experience.statistics import StatisticalEvolver
from evoharness.experience.storage import Storage
from evoharness.experience.store import StoreStorage
from evoharness.experience.usage import disputed

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

_Result = TypeVar("_Result")
_ATTEMPTS = 50
"""Changes that are begun anew because another process was quicker, before giving up."""


class ExperienceBank:
    """The Experience of one domain; open it with a class method, and close it.

    All methods may be called from several threads. A process has to open its own bank: one
    inherited by a fork refuses to work.
    """

    def __init__(
        self,
        domain: str,
        storage: Storage,
        embedding: Embedding | None = None,
        limits: Limits | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        """Use a class method, or a storage of your own.

        Args:
            domain: the domain's name, e.g. an adapter's.
            storage: where the records lie; the bank closes it.
            embedding: how texts become vectors; `WordLlamaEmbedding` by default.
            limits: how many entries it may hold.
            read_only: refuse changes, and drop notes and episodes.

        Raises:
            ValueError: the bank was written with another embedding.
        """
        self.domain = domain
        self.limits = limits or Limits()
        self.read_only = read_only
        self._lock = threading.RLock()
        try:
            self._ledger = Ledger(domain, storage, embedding or WordLlamaEmbedding())
        except BaseException:
            storage.close()
            raise

    @classmethod
    def in_memory(
        cls, domain: str, embedding: Embedding | None = None, limits: Limits | None = None
    ) -> ExperienceBank:
        """Open a new, empty bank that shares nothing with any other and ends with `close`."""
        return cls(domain, ChromaStorage.in_memory(domain), embedding, limits)

    @classmethod
    def open(
        cls,
        place: str | Path,
        domain: str,
        embedding: Embedding | None = None,
        limits: Limits | None = None,
        *,
        read_only: bool = False,
    ) -> ExperienceBank:
        """Open the bank kept in a folder, which is made if it is not there, or on a Chroma server.

        A folder has one bank open at a time: the next one is refused until `close` or the end of
        the process. A server is for several processes.

        Opened for reading only, a folder's files stay as they are, byte for byte: the bank works on
        a copy, and sees nothing of what is written later. Several may be open like this.

        Args:
            place: the folder, or a server's address such as `http://localhost:8000`.
            domain: the domain's name; one place can keep several domains. A name such as
                `acme/alfworld` keeps tenants apart.
            embedding: how texts become vectors; `WordLlamaEmbedding` by default.
            limits: how many entries it may hold.
            read_only: whether to refuse changes, and drop notes and episodes. The bank has to be
                there already.

        Raises:
            RuntimeError: the folder is in use by another bank.
            ValueError: the bank was written with another embedding.
            LookupError: the place has no bank of the domain to be read.
            NotADirectoryError: the path is a file.
            FileNotFoundError: the folder has no bank to be read.
            ConnectionError: there is no server at the address.
            OSError: the folder's database is broken.
        """
        if is_server(place):
            storage = ChromaStorage.on_server(domain, str(place), existing=read_only)
        elif read_only:
            storage = ChromaStorage.copy_of(domain, Path(place))
        else:
            storage = ChromaStorage.in_folder(domain, Path(place))
        return cls(domain, storage, embedding, limits, read_only=read_only)

    @classmethod
    def in_store(
        cls,
        store: BaseStore,
        domain: str,
        embedding: Embedding | None = None,
        limits: Limits | None = None,
    ) -> ExperienceBank:
        """Open the bank kept in an application's own LangGraph store (`runtime.store`)."""
        return cls(domain, StoreStorage(domain, store), embedding, limits)

    # What episodes do.

    def recall(self, query: str, *, limit: int = 3, **options: Any) -> list[Recalled]:
        """Return the entries that answer a question, best first, equal ones by id.

        Args:
            query: what to look for; one without words finds nothing. "Where …" asks for hints,
                "how …" for skills, "… avoid" for mistakes.
            limit: the most entries to return, at least 1.
            options: `task_type`, `context`, `budget` (tokens) and `method`, as
                `retrieval.Index.search` takes them.

        Raises:
            ValueError: the limit is below 1.
        """
        with self._lock:
            self._ledger.refresh()
            index, embedding = self._ledger.index, self._ledger.embedding
        return self._ledger.search(index, embedding, query, limit=limit, **options)

    def note(
        self,
        text: str,
        *,
        source: str,
        task_type: str = "",
        context: str = "",
        recalled: Sequence[str] = (),
    ) -> Note:
        """Keep a raw note as evidence; it is not recalled before it is consolidated.

        The same text from the same source is one note, however often it is written. A note that
        says that recalled entries were wrong disputes them from now on.

        Args:
            text: the note; its first 500 characters are kept.
            source: the episode, with `#` and the turn.
            task_type: the task type it was made in.
            context: the kind of situation it was made in.
            recalled: ids of the entries that the episode had recalled before.

        Raises:
            ValueError: the note has no text.
        """
        if not clean_text(text, LINE_WIDTH):
            raise ValueError("a note needs a text, this one is empty")
        note = Note(
            text=text, source=source, task_type=task_type, context=context,
            recalled=tuple(recalled),
        )  # fmt: skip
        if self.read_only:
            return note
        with self._lock:
            ledger = self._ledger
            ledger.refresh()
            if wrong := disputed(note, ledger.entries, ledger.vectors, ledger.embedding):
                note = note.model_copy(update={"disputes": wrong})
            new = ledger.keep(note)
            # A process that died before it disputed repeats its note.
            if wrong and (new or ledger.waits(note)):
                self._change(lambda ledger: changes.disputing(ledger, note))
        return note

    def finished(self, episode: FinishedEpisode | Mapping[str, Any]) -> None:
        """Keep how an episode ended as evidence; an episode counts once.

        Args:
            episode: the evidence, or its fields.

        Raises:
            pydantic.ValidationError: a field is missing or wrong.
        """
        if not isinstance(episode, FinishedEpisode):
            episode = FinishedEpisode.model_validate(episode)
        if self.read_only:
            return
        with self._lock:
            self._ledger.keep(episode)

    def frozen(self, *, listening: bool = True, after: int | None = None) -> FrozenBank:
        """Return a view that answers as the bank does now, whatever is noted meanwhile.

        Args:
            listening: whether it passes evidence on to the bank, or drops it.
            after: answer as the bank did after the cycle with this number instead.
        """
        with self._lock:
            ledger = self._ledger
            ledger.refresh()
            index = ledger.index if after is None else ledger.index_after(after)
            search = partial(ledger.search, index, ledger.embedding)
            return FrozenBank(index.entries, search, self if listening else None)

    # How it changes.

    def consolidate(self, evolver: Evolver | None = None, *, label: str = "") -> Cycle:
        """Turn the evidence that waits into edits, and make those that are possible.

        Killed at any moment, it has either not happened, and all evidence waits, or the next
        opening of the bank completes it.

        Args:
            evolver: who decides; `StatisticalEvolver` by default.
            label: a consolidation with a label happens once; later ones return what it did.

        Raises:
            EvolutionError: the evolver could not decide; all evidence waits.
        """
        decider = evolver or StatisticalEvolver()
        return self._change(
            lambda ledger: changes.consolidation(ledger, decider, self.limits, label)
        )

    def edit(self, edits: Iterable[Edit], *, by: str = "owner") -> Cycle:
        """Make edits of the owner's own; what is not possible is in the cycle's `rejected`."""
        wanted = [*edits]
        return self._change(lambda ledger: changes.editing(ledger, wanted, self.limits, by))

    def write(self, entries: Iterable[Entry], *, by: str) -> Cycle:
        """Write whole entries, replacing those with their ids.

        Entries that are there already as they are change nothing.
        """
        wanted = {entry.id: entry for entry in entries}.values()
        return self._change(lambda ledger: changes.writing(ledger, wanted, by))

    def seed(self, mappings: Iterable[Mapping[str, Any]]) -> int:
        """Write the entries that a domain starts with, as `Adapter.experience` returns them.

        Seeding again changes nothing, also when an entry has evolved since.

        Args:
            mappings: each with `kind` (skill, mistake or hint), `text` for the first two, `thing`
                and `places` for a hint, and optionally `task_type` and `context`.

        Returns:
            How many entries were written.

        Raises:
            ValueError: a mapping is no entry; nothing is written then.
        """
        seeds = [seed_entry(index, mapping) for index, mapping in enumerate(mappings)]
        wanted = {seed.id: seed for seed in seeds}.values()
        return len(self._change(lambda ledger: changes.seeding(ledger, wanted)).changes)

    def forget(self, source: str) -> Cycle:
        """Remove an episode's influence: its evidence, and what came of it.

        Hints are counted anew without what it found. A skill or mistake that it helped to write
        goes back to what it was before, or away; the notes of the others wait again. The texts are
        removed from the journal too. What was found so long ago that its evidence is no longer kept
        stays in the counts.

        Args:
            source: the episode, or the task it played.

        Raises:
            LookupError: the bank has nothing from it.
        """
        return self._change(lambda ledger: changes.forgetting(ledger, source))

    def undo(self, cycle: int) -> Cycle:
        """Return the entries to what they were before a cycle; itself a cycle that can be undone.

        Raises:
            LookupError: there is no such cycle, or it forgot a source.
        """
        return self._change(lambda ledger: changes.undoing(ledger, cycle))

    def release(self, id_: str) -> None:
        """Let a quarantined note wait for the next consolidation as the owner's own word.

        Raises:
            LookupError: there is no such quarantined note.
        """
        with self._lock:
            ledger = self._open()
            kept = {piece.id: piece for piece in ledger.evidence("quarantined")}
            if id_ not in kept:
                raise LookupError(f"there is no quarantined note {id_!r}")
            released = {"status": "waiting", "released": True}
            ledger.write_evidence([kept[id_].model_copy(update=released)])

    def reembed(self, embedding: Embedding) -> int:
        """Compute the vectors of all entries with another embedding, and use it from now on.

        Returns:
            How many entries there are.
        """
        return self._decide(partial(_reembedded, embedding))

    # What its owner reads.

    def entries(self, status: Status | None = None) -> list[Entry]:
        """Return the entries sorted by id, all of them or those of one status."""
        with self._lock:
            self._ledger.refresh()
            known = self._ledger.entries
        return [known[id_] for id_ in sorted(known) if status in (None, known[id_].status)]

    def evidence(self, status: EvidenceStatus | None = None) -> list[Note | FinishedEpisode]:
        """Return the evidence sorted by id, all of it or that of one status."""
        with self._lock:
            return self._ledger.evidence(status)

    def cycles(self) -> list[Cycle]:
        """Return all changes of the bank, oldest first."""
        with self._lock:
            return self._ledger.cycles()

    def count(self) -> int:
        """Return how many entries can be recalled."""
        with self._lock:
            self._ledger.refresh()
            return len(self._ledger.index.entries)

    def close(self) -> None:
        """Close the bank and free its folder; a second call does nothing."""
        with self._lock:
            self._ledger.close()

    def __enter__(self) -> ExperienceBank:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> Ledger:
        """Return the ledger to change it, up to date.

        Raises:
            RuntimeError: the bank is open for reading only.
        """
        if self.read_only:
            raise RuntimeError(
                f"the Experience bank in {self._ledger.storage.place} is open for reading only"
            )
        self._ledger.refresh(changing=True)
        return self._ledger

    def _change(self, make: Callable[[Ledger], Cycle]) -> Cycle:
        """Make a cycle and commit it, unless it would change nothing."""

        def changed(ledger: Ledger) -> Cycle:
            cycle = make(ledger)
            return cycle if cycle.empty or cycle.done else ledger.commit(cycle)

        return self._decide(changed)

    def _decide(self, change: Callable[[Ledger], _Result]) -> _Result:
        """Change the bank; begin anew when another process was quicker."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    return change(self._open())
                except Overtaken:
                    continue
        raise RuntimeError(
            f"the Experience bank in {self._ledger.storage.place} is changed by other processes "
            f"all the time: {_ATTEMPTS} attempts were overtaken; try again"
        )


def _reembedded(embedding: Embedding, ledger: Ledger) -> int:
    ledger.reembed(embedding)
    return len(ledger.entries)
