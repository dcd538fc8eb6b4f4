"""Experience: what past episodes taught, kept in a bank that evolves and recalled by meaning.

Importing this package costs nothing of Chroma, NumPy or the word vectors: they are loaded when a
bank is first opened.
"""

from evoharness.experience.bank import ExperienceBank
from evoharness.experience.edits import Edit, Limits
from evoharness.experience.embedding import Embedding, LangChainEmbedding, WordLlamaEmbedding
from evoharness.experience.entries import Entry, Hint, Mistake, Place, Skill, hint
from evoharness.experience.evidence import Finding, FinishedEpisode, Note
from evoharness.experience.evolver import EvolutionError, Evolver
from evoharness.experience.frozen import FrozenBank
from evoharness.experience.model_evolver import ModelEvolver
from evoharness.experience.retrieval import Recalled
from evoharness.experience.statistics import StatisticalEvolver

__all__ = [
    "Edit",
    "Embedding",
    "Entry",
    "EvolutionError",
    "Evolver",
    "ExperienceBank",
    "Finding",
    "FinishedEpisode",
    "FrozenBank",
    "Hint",
    "LangChainEmbedding",
    "Limits",
    "Mistake",
    "ModelEvolver",
    "Note",
    "Place",
    "Recalled",
    "Skill",
    "StatisticalEvolver",
    "WordLlamaEmbedding",
    "hint",
]
