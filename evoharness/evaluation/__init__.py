"""Evaluation: a policy over a split, its figures, and comparisons."""

from evoharness.evaluation.compare import compare
from evoharness.evaluation.evaluate import PolicyFailure, evaluate
from evoharness.evaluation.records import Record, load_records

__all__ = ["PolicyFailure", "Record", "compare", "evaluate", "load_records"]
