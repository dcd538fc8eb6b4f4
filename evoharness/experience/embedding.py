"""How texts become vectors: static word vectors that need no network, or any LangChain model."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from evoharness.core.parsing import clean

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference


class Embedding(Protocol):
    """What the bank needs of an embedding; it must be safe to use from several threads.

    An embedding that treats questions and documents differently may also have
    `embed_query(text) -> list[float]`, which the bank then uses for `recall`.
    """

    @property
    def name(self) -> str:
        """The model's name; kept with the bank, which only opens with the same one."""
        ...

    @property
    def dimension(self) -> int:
        """The length of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector per text, in order; zeros where a text says nothing."""
        ...


class WordLlamaEmbedding:
    """WordLlama's 256-dimension static word vectors, averaged over a text.

    They come with the installed package and are read once per process, at the first use.
    """

    name = "wordllama-l2-supercat-256"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector per text, in order; zeros for a text without tokens.

        Each text is embedded by itself, so a vector never depends on the texts beside it (padding
        to a common length would change the last bits of the mean).

        Raises:
            FileNotFoundError: the installed wordllama package lacks its vectors.
        """
        model = _wordllama()
        rows: list[Any] = [model.embed([clean(text)])[0] for text in texts]
        return [_unit(row.tolist()) for row in rows]


class LangChainEmbedding:
    """Any LangChain `Embeddings` object: something with `embed_documents` and `embed_query`."""

    def __init__(self, embeddings: Any, name: str) -> None:
        """Wrap the object.

        Args:
            embeddings: a LangChain `Embeddings`.
            name: the model's name, e.g. `openai:text-embedding-3-small`. It is kept with the
                bank, so it must change when the model does.

        Raises:
            TypeError: the object lacks one of the two methods.
        """
        for method in ("embed_documents", "embed_query"):
            if not callable(getattr(embeddings, method, None)):
                raise TypeError(
                    f"{type(embeddings).__name__} has no method {method}: pass a LangChain "
                    "Embeddings object"
                )
        self.name = name
        self._embeddings = embeddings
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """The length of the model's vectors, found by embedding one word at the first use."""
        if not self._dimension:
            self._dimension = len(self._embeddings.embed_query("dimension"))
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector per text, in order.

        Raises:
            ValueError: the model returned another number of vectors, or other lengths.
        """
        if not texts:
            return []
        vectors = self._embeddings.embed_documents([clean(text) for text in texts])
        if len(vectors) != len(texts):
            raise ValueError(
                f"embedding {self.name} returned {len(vectors)} vectors for {len(texts)} texts"
            )
        return [self._checked(vector) for vector in vectors]

    def embed_query(self, text: str) -> list[float]:
        """Return a question's unit vector; some models embed questions in their own way."""
        return self._checked(self._embeddings.embed_query(clean(text)))

    def _checked(self, vector: Sequence[float]) -> list[float]:
        if len(vector) != self.dimension:
            raise ValueError(
                f"embedding {self.name} returned a vector of {len(vector)} numbers instead of "
                f"{self.dimension}"
            )
        return _unit(vector)


def _unit(vector: Sequence[float]) -> list[float]:
    """Return the vector at length 1; zeros stay zeros instead of becoming NaN."""
    length = math.sqrt(math.fsum(x * x for x in vector))
    if not math.isfinite(length):
        raise ValueError("the embedding returned a vector with numbers that are not finite")
    return [x / length for x in vector] if length else [0.0 for _ in vector]


_loading = threading.Lock()
_loaded: list[WordLlamaInference] = []


def _wordllama() -> WordLlamaInference:
    """Return the process's one model; inference only reads it, so threads may share it."""
    with _loading:
        if not _loaded:
            _loaded.append(_load_wordllama())
        return _loaded[0]


def _load_wordllama() -> WordLlamaInference:
    # The package's own loader looks for these files in another folder and then downloads them.
    # Its import configures the root logger, unless that has a handler: keep the user's logging.
    guard = logging.NullHandler()
    logging.getLogger().addHandler(guard)
    try:
        from safetensors.numpy import load
        from tokenizers import Tokenizer
        from wordllama.inference import WordLlamaInference
    finally:
        logging.getLogger().removeHandler(guard)
    package = files("wordllama")
    weights = package / "weights" / "l2_supercat_256.safetensors"
    tokenizer = package / "tokenizers" / "l2_supercat_tokenizer_config.json"
    for file in (weights, tokenizer):
        if not file.is_file():
            raise FileNotFoundError(
                f"the installed wordllama package lacks {file}: reinstall it from its wheel with "
                '`pip install --force-reinstall "wordllama>=0.4.0.post1,<0.5"`'
            )
    return WordLlamaInference(
        load(weights.read_bytes())["embedding.weight"],
        Tokenizer.from_str(tokenizer.read_text(encoding="utf-8")),
    )
