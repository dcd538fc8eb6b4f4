"""Evaluations side by side, with paired tests over the tasks that they share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from evoharness.evaluation.records import Manifest, Record, load_records
from evoharness.evaluation.statistics import (
    bootstrap_mean_interval,
    mcnemar_exact,
    paired_difference_interval,
)
from evoharness.evaluation.summary import summarise


def compare(folders: Sequence[Path]) -> dict[str, Any]:
    """Compare evaluations with the first of them.

    Returns:
        `runs`: a summary each; `pairs`: for every later folder the shared tasks, how many only
        one of both won, McNemar's exact p-value, the difference in success rate with its 95 %
        interval (Newcombe's for pairs), and the same of the mean steps (bootstrap over the pairs;
        an episode without success counts with the steps that it took).

    Raises:
        ValueError: a folder holds no evaluation, or there is none.
    """
    if not folders:
        raise ValueError("name at least one folder of an evaluation")
    loaded = [(folder, *load_records(folder)) for folder in folders]
    return {
        "runs": [_run(folder, manifest, records) for folder, manifest, records in loaded],
        "pairs": [
            _pair(loaded[0][0], loaded[0][2], folder, records) for folder, _, records in loaded[1:]
        ],
    }


def _run(folder: Path, manifest: Manifest, records: dict[str, Record]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "planned": manifest.tasks,
        **summarise(manifest, list(records.values())),
    }


def _pair(
    first: Path, base: dict[str, Record], second: Path, other: dict[str, Record]
) -> dict[str, Any]:
    shared = sorted(base.keys() & other.keys())
    outcomes = [(base[task].measures.success, other[task].measures.success) for task in shared]
    only_first = sum(a and not b for a, b in outcomes)
    only_second = sum(b and not a for a, b in outcomes)
    both = sum(a and b for a, b in outcomes)
    neither = len(outcomes) - both - only_first - only_second
    low, high = paired_difference_interval(both, only_first, only_second, neither)
    steps = [other[task].measures.steps - base[task].measures.steps for task in shared]
    return {
        "first": str(first),
        "second": str(second),
        "shared_tasks": len(shared),
        "only_first_won": only_first,
        "only_second_won": only_second,
        "mcnemar_p": mcnemar_exact(only_first, only_second),
        "difference": (only_second - only_first) / len(shared) if shared else 0.0,
        "difference_95": [low, high],
        "steps_difference": fmean(steps) if steps else 0.0,
        "steps_difference_95": list(bootstrap_mean_interval(steps)) if steps else None,
    }
