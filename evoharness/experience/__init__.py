"""Experience: what past episodes taught, kept in a Chroma collection and recalled by meaning.

Importing this package costs nothing of Chroma, NumPy or the word vectors: they are loaded when a
bank is first opened.
"""

from evoharness.experience.bank import ExperienceBank, Recalled
from evoharness.experience.embedding import Embedding, LangChainEmbedding, WordLlamaEmbedding
from evoharness.experience.entries import Entry

__all__ = [
    "Embedding",
    "Entry",
    "ExperienceBank",
    "LangChainEmbedding",
    "Recalled",
    "WordLlamaEmbedding",
]
