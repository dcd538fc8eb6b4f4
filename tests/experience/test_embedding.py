"""Embeddings: unit vectors without a network, whatever the text; any LangChain model wraps."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from evoharness.experience import Embedding, LangChainEmbedding, WordLlamaEmbedding
from evoharness.experience import embedding as embedding_module

PINNED = [0.002405, 0.099408, 0.123089, 0.025219]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # surrogates too


def cosine(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


class TestWordLlama:
    def test_near_meanings_are_nearer_than_far_ones(self) -> None:
        kettle, teapot, invoice = WordLlamaEmbedding().embed(
            ["where is the kettle", "the teapot is on the stove", "approve the invoice"]
        )
        assert cosine(kettle, teapot) > cosine(kettle, invoice)

    @settings(deadline=None)
    @given(ANY_TEXT)
    def test_every_text_has_a_finite_vector_of_length_one_or_zero(self, text: str) -> None:
        embedding = WordLlamaEmbedding()
        [vector] = embedding.embed([text])
        assert len(vector) == embedding.dimension
        assert cosine(vector, vector) == pytest.approx(1.0) or not any(vector)

    def test_a_text_without_tokens_is_the_zero_vector(self) -> None:
        assert WordLlamaEmbedding().embed([""]) == [[0.0] * 256]

    def test_no_texts_give_no_vectors(self) -> None:
        assert WordLlamaEmbedding().embed([]) == []

    def test_a_vector_does_not_depend_on_the_texts_beside_it(self) -> None:
        embedding = WordLlamaEmbedding()
        long = "a much longer sentence about mugs, sinks and microwaves " * 8
        assert embedding.embed(["mug", long])[0] == embedding.embed(["mug"])[0]

    def test_its_name_stands_for_these_vectors(self) -> None:
        """A bank keeps vectors under the name: vectors of another kind need another name."""
        embedding = WordLlamaEmbedding()
        [vector] = embedding.embed(["where is the mug"])
        assert embedding.name == "wordllama-l2-supercat-256"
        assert vector[:4] == pytest.approx(PINNED, abs=1e-5)

    def test_an_installation_without_its_vectors_is_named_with_the_cure(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(embedding_module, "files", tmp_path.joinpath)
        monkeypatch.setattr(embedding_module, "_loaded", [])
        with pytest.raises(FileNotFoundError, match=r"lacks .*safetensors: reinstall it"):
            WordLlamaEmbedding().embed(["mug"])

    def test_threads_share_the_model(self) -> None:
        texts = [f"mug {i} is in the sink" for i in range(40)]
        expected = WordLlamaEmbedding().embed(texts)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(WordLlamaEmbedding().embed, [[text] for text in texts]))
        assert [vector for [vector] in found] == expected

    def test_loading_needs_no_network_and_leaves_logging_alone(self) -> None:
        """In a fresh process: sockets are refused, and the root logger stays as it was."""
        code = (
            "import logging, sys\n"
            "def refuse(event, args):\n"
            "    if event in ('socket.connect', 'socket.getaddrinfo'): raise OSError(event)\n"
            "sys.addaudithook(refuse)\n"
            "from evoharness.experience import WordLlamaEmbedding\n"
            "assert any(WordLlamaEmbedding().embed(['mug'])[0])\n"
            "root = logging.getLogger()\n"
            "assert (root.handlers, root.level) == ([], logging.WARNING), root.handlers\n"
        )
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


class Lopsided(Embeddings):
    """Embeds documents and questions differently, and longer texts wrongly."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[3.0, 4.0] if len(text) < 20 else [1.0] for text in texts if text]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, math.nan] if text == "nan" else [0.0, 2.0]


class TestLangChain:
    def test_vectors_are_the_models_at_length_one(self) -> None:
        model = DeterministicFakeEmbedding(size=8)
        embedding: Embedding = LangChainEmbedding(model, "fake-8")
        [vector] = embedding.embed(["mug"])
        raw = model.embed_documents(["mug"])[0]
        assert vector == pytest.approx([x / math.hypot(*raw) for x in raw])
        assert (embedding.name, embedding.dimension) == ("fake-8", 8)

    def test_questions_are_embedded_as_questions(self) -> None:
        embedding = LangChainEmbedding(Lopsided(), "lopsided")
        assert embedding.embed(["mug"]) == [[0.6, 0.8]]
        assert embedding.embed_query("mug") == [0.0, 1.0]

    def test_no_texts_ask_the_model_nothing(self) -> None:
        assert LangChainEmbedding(Lopsided(), "lopsided").embed([]) == []

    @pytest.mark.parametrize(
        ("texts", "problem"),
        [
            (["mug", ""], "1 vectors for 2 texts"),
            (["a text of more than twenty characters"], "1 numbers instead of 2"),
        ],
    )
    def test_a_model_that_answers_wrongly_is_named(self, texts: list[str], problem: str) -> None:
        with pytest.raises(ValueError, match=f"lopsided returned .*{problem}"):
            LangChainEmbedding(Lopsided(), "lopsided").embed(texts)

    def test_numbers_that_are_not_finite_are_refused(self) -> None:
        with pytest.raises(ValueError, match="not finite"):
            LangChainEmbedding(Lopsided(), "lopsided").embed_query("nan")

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(TypeError, match="str has no method embed_documents"):
            LangChainEmbedding("text-embedding-3-small", "x")
