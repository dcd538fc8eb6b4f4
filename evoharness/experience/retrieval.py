"""Which entries answer a question: by meaning and by words, and by how they have served.

All recallable entries of a bank are kept in memory, their vectors as one matrix. A bank is small
(its capacity is part of its design), so each is compared with each question: exact, the same on every
machine, and up to 100,000 entries quicker than an approximate index that has to filter.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from evoharness.experience.entries import KINDS, Entry, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = Literal["hybrid", "dense", "lexical"]
CHARACTERS_PER_TOKEN = 4
"""A cautious estimate for English in the tokenizers of current models."""
# Chosen with the development half of `python -m benchmarks retrieval`; the optimum is flat.
_MEANING = {"hybrid": 0.5, "dense": 1.0, "lexical": 0.0}
"""The weight of the vectors; words have the rest."""
_INTENT = 0.2
_HERE, _ELSEWHERE = 0.1, -0.1
_SERVICE = 0.2
"""How far the utility of an entry moves its score: from -10 to +10 percent."""
_DISPUTED = 0.5
_FLOOR = 0.05
"""A similarity below which an entry without a common word says nothing on the question."""

_INTENTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("hint", re.compile(r"\b(?:where|find|locat\w*|search\w*|look(?:ing)?\s+for)\b", re.I)),
    (
        "mistake",
        re.compile(r"\b(?:mistakes?|avoid|wrong|fail\w*|careful|pitfalls?|errors?|why)\b", re.I),
    ),
    ("skill", re.compile(r"\b(?:how|way\s+to|steps?|procedure|strategy|plan|skills?)\b", re.I)),
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """An entry that was recalled, and why."""

    id: str
    kind: Kind
    text: str
    score: float
    """What it is ranked by, between 0 and 1."""
    task_type: str
    context: str
    disputed: bool
    similarity: float
    """Cosine of the vectors of question and entry, between 0 and 1."""
    words: float
    """The share of the question's words that it has, rare ones weighing more: BM25, between 0 and 1."""
    intended: bool
    """Whether the question asks for its kind."""
    utility: float
    """The share of the episodes that used it that succeeded; 1/2 before any did."""


def intent(query: str) -> Kind | None:
    """Return the kind that a question asks for: where (hints), how (skills), what to avoid."""
    return next((kind for kind, words in _INTENTS if words.search(query)), None)


class Index:
    """The recallable entries of a bank; does not change, so threads may share it."""

    def __init__(self, entries: Sequence[Entry], vectors: Sequence[Any]) -> None:
        """Build the index.

        Args:
            entries: the bank's entries; archived ones are left out.
            vectors: their unit vectors, in the same order.
        """
        import numpy as np

        recallable = [n for n, entry in enumerate(entries) if entry.status != "archived"]
        # By id, which orders entries with equal scores.
        recallable.sort(key=lambda n: entries[n].id)
        self.entries = [entries[n] for n in recallable]
        rows = [vectors[n] for n in recallable]
        # One row a dimension: a question is then compared with all entries in less time.
        self._vectors: NDArray[np.float32] = np.asarray(rows, dtype=np.float32).T.copy()
        self._types = _Codes([entry.task_type for entry in self.entries])
        self._contexts = _Codes([entry.context for entry in self.entries])
        self._kinds = np.array([KINDS.index(entry.kind) for entry in self.entries], dtype=np.int8)
        utility = np.array([entry.utility for entry in self.entries], dtype=np.float32)
        disputed = np.array([entry.status == "disputed" for entry in self.entries], dtype=bool)
        service = 1 + _SERVICE * (utility - 0.5)
        self._service = np.where(disputed, _DISPUTED * service, service).astype(np.float32)
        self._wording = _Wording([entry.text for entry in self.entries])

    def search(
        self,
        query: str,
        vector: Sequence[float],
        *,
        task_type: str = "",
        context: str = "",
        limit: int = 3,
        budget: int | None = None,
        method: Method = "hybrid",
    ) -> list[Recalled]:
        """Return the entries that answer a question, best first, equal ones by id.

        Args:
            query: the question.
            vector: its unit vector.
            task_type: entries of this type and entries for all types are found, no others.
            context: entries of this context come before those of others.
            limit: the most entries.
            budget: the most tokens of all their texts together; the best entry is always returned.
            method: by meaning and words, or by one of them alone.
        """
        import numpy as np

        if not self.entries:
            return []
        similar = words = np.zeros(len(self.entries), dtype=np.float32)
        if method != "lexical" and any(vector):
            similar = np.clip(np.asarray(vector, dtype=np.float32) @ self._vectors, 0, 1)
        if method != "dense":
            words = self._wording.shares(query)
        weight = _MEANING[method]
        # Squared: to have a few words of a question is chance, to have most of them is not.
        scores = weight * similar + (1 - weight) * words**2
        silent = (words <= 0) & (similar < _FLOOR)
        kind = intent(query)
        if kind is not None:
            scores += np.float32(_INTENT) * (self._kinds == KINDS.index(kind))
        if context:
            here = self._contexts.are(context)
            scores += np.float32(_HERE) * here
            scores += np.float32(_ELSEWHERE) * (~here & ~self._contexts.none)
        # What is below zero, too, goes further back with a poor service.
        scores = np.where(scores > 0, scores * self._service, scores / self._service)
        fitting = self._types.none | self._types.are(task_type)
        scores[silent | ~fitting] = -np.inf
        found: list[Recalled] = []
        spent = 0
        for at in _best(scores, limit):
            entry = self.entries[at]
            spent += len(entry.text) // CHARACTERS_PER_TOKEN + 1
            if found and budget is not None and spent > budget:
                break
            found.append(
                Recalled(
                    id=entry.id,
                    kind=entry.kind,
                    text=entry.text,
                    score=round(float(min(1.0, max(0.0, scores[at]))), 6),
                    task_type=entry.task_type,
                    context=entry.context,
                    disputed=entry.status == "disputed",
                    similarity=round(float(similar[at]), 6),
                    words=round(float(words[at]), 6),
                    intended=entry.kind == kind,
                    utility=entry.utility,
                )
            )
        return found


class _Codes:
    """Labels of the entries as small numbers, for quick comparison."""

    def __init__(self, labels: Sequence[str]) -> None:
        import numpy as np

        self._known = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        self._codes = np.array([self._known[label] for label in labels], dtype=np.int32)
        self.none = self.are("")

    def are(self, label: str) -> NDArray[np.bool_]:
        """Return which entries have a label."""
        return self._codes == self._known.get(label, -1)


def _best(scores: NDArray[Any], limit: int) -> list[int]:
    """Return the positions of the highest finite scores; of equal ones the first come first."""
    import numpy as np

    # Rounded, so that the last bits of a float do not decide the order.
    scores = np.round(scores, 6)
    candidates = np.arange(len(scores))
    if limit < len(scores):
        # Few of the lowest are found quickly, also among many equal ones; of the highest they are not.
        edge = -np.partition(-scores, limit - 1)[limit - 1]
        candidates = np.flatnonzero(scores >= edge)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    return [int(at) for at in order[:limit] if np.isfinite(scores[at])]


class _Wording:
    """The words of the entries, and how rare each is."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np
        from bm25s import BM25

        self._size = len(texts)
        self._known: dict[str, int] = {}
        words = [[_stem(word) for word in _words(text)] for text in texts]
        if not any(words):
            return
        self._bm25 = BM25()
        self._bm25.index(words, show_progress=False)
        self._known = self._bm25.vocab_dict
        ends = cast("NDArray[np.int32]", self._bm25.scores["indptr"])
        self._rarity = _rarity(np.diff(ends), self._size)

    def shares(self, query: str) -> NDArray[np.float32]:
        """Return which share of a question's words each text has, between 0 and 1.

        A word that no text has counts as the rarest: to have all the others is not all.
        """
        import numpy as np

        asked = dict.fromkeys(_joined(_words(query), self._known))
        known = [self._known[word] for word in asked if word in self._known]
        if not known:
            return np.zeros(self._size, dtype=np.float32)
        total = self._rarity[known].sum() + (len(asked) - len(known)) * _rarity(0, self._size)
        scores = self._bm25.get_scores_from_ids(known) / total
        return np.minimum(scores, 1).astype(np.float32)


def _rarity(texts: Any, of: int) -> Any:
    """Return the weight that BM25 gives a word in so many texts."""
    import numpy as np

    return np.log1p((of - texts + 0.5) / (texts + 0.5))


def _words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, the parts of an identifier one by one."""
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in _small()]


@cache
def _small() -> frozenset[str]:
    """Return the words that most questions and most entries have in common."""
    from bm25s.stopwords import STOPWORDS_EN

    asking = "where what how which when why who find found look looking usual usually do does i my me you"
    return frozenset((*STOPWORDS_EN, *asking.split()))


def _stem(word: str) -> str:
    """Return what a word has in common with its plural: `box`, `tomato`, `polici`."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    if word.endswith("e") and (len(word) > 4 or word.endswith("xe")):
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


def _joined(words: Sequence[str], known: Container[str]) -> Iterator[str]:
    """Give stems, of neighbours as one where the texts write them so: `soap bar` as `soapbar`."""
    at = 0
    while at < len(words):
        runs = {size: _stem("".join(words[at : at + size])) for size in (3, 2, 1)}
        size = next((size for size, run in runs.items() if size > 1 and run in known), 1)
        yield runs[size]
        at += size
