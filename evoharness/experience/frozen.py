"""A bank as it was at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evoharness.experience.entries import Entry
from evoharness.experience.evidence import FinishedEpisode
from evoharness.experience.retrieval import Recalled

Search = Callable[..., list[Recalled]]
"""Answers a query from the entries of that moment."""


class FrozenBank:
    """A view for a batch of episodes whose results must not depend on which of them ends first."""

    def __init__(self, entries: Sequence[Entry], search: Search, listener: Any = None) -> None:
        """Use `ExperienceBank.frozen`.

        Args:
            entries: the entries of that moment that can be recalled, sorted by id.
            search: how a query is answered from them.
            listener: the bank that notes and episodes are passed on to; without one they are
                dropped.
        """
        self.entries = entries
        self._search = search
        self._listener = listener

    def recall(self, query: str, *, limit: int = 3, **options: Any) -> list[Recalled]:
        """Return what the bank would have answered then; see `ExperienceBank.recall`."""
        return self._search(query, limit=limit, **options)

    def note(self, text: str, **facts: Any) -> None:
        """Pass a note on; see `ExperienceBank.note`."""
        if self._listener is not None:
            self._listener.note(text, **facts)

    def finished(self, episode: FinishedEpisode | Mapping[str, Any]) -> None:
        """Pass on how an episode ended; see `ExperienceBank.finished`."""
        if self._listener is not None:
            self._listener.finished(episode)
