"""Figures over the records of an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from evoharness.core.parsing import META_VERBS
from evoharness.evaluation.records import Manifest, Record
from evoharness.evaluation.statistics import wilson_interval


def summarise(manifest: Manifest, records: Sequence[Record]) -> dict[str, Any]:
    """Return the summary that `summary.json` holds; it does not depend on the records' order."""
    measures = [record.measures for record in records]
    turns = sum(m.turns for m in measures)
    won = [m.steps for m in measures if m.success]
    kinds = sorted({record.type for record in records})
    return {
        **success_rate(records),
        "by_task_type": {
            kind: success_rate([record for record in records if record.type == kind])
            for kind in kinds
        },
        "reasons": _total(Counter([m.reason]) for m in measures),
        "mean_steps": _mean([m.steps for m in measures]),
        "mean_steps_of_successes": _mean(won),
        "mean_env_actions": _mean([m.env_actions for m in measures]),
        "meta_actions_per_episode": {
            verb: _mean([m.meta_calls.get(verb, 0) for m in measures]) for verb in META_VERBS
        },
        "invalid_rate": sum(m.invalid for m in measures) / turns if turns else 0.0,
        "parse_codes": _total(m.codes for m in measures),
        "tokens": {
            "input": sum(m.input_tokens for m in measures),
            "output": sum(m.output_tokens for m in measures),
        },
        **manifest.model_dump(exclude={"format", "tasks"}),
    }


def success_rate(records: Sequence[Record]) -> dict[str, Any]:
    """Return episodes, successes, their share and its 95 % Wilson interval."""
    successes = sum(record.measures.success for record in records)
    low, high = wilson_interval(successes, len(records))
    return {
        "episodes": len(records),
        "successes": successes,
        "success_rate": successes / len(records) if records else 0.0,
        "wilson_95": [low, high],
    }


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _total(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))
