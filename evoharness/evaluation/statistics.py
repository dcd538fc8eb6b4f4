"""The few statistics that a comparison of success rates and of steps needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

_RESAMPLES = 10_000
_CHUNK = 1_000_000
"""Values drawn at once."""


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion (Wilson 1927); (0, 1) when n is 0."""
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided p-value (the binomial test on discordant pairs).

    Args:
        only_first: pairs that only the first system won.
        only_second: pairs that only the second system won.
    """
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**n)


def paired_difference_interval(
    both: int, only_first: int, only_second: int, neither: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Return Newcombe's hybrid score interval of a difference of paired proportions: the second
    system's share minus the first one's (Newcombe 1998, Statistics in Medicine 17, method 10).

    It says how much could still be found where no pair differs at all; (-1, 1) without pairs.

    Args:
        both: pairs that both systems won.
        only_first: pairs that only the first one won.
        only_second: pairs that only the second one won.
        neither: pairs that neither of them won.
        confidence: how often the interval holds the true difference.
    """
    n = both + only_first + only_second + neither
    if n == 0:
        return -1.0, 1.0
    won = only_second + both, only_first + both
    (low_2, high_2), (low_1, high_1) = (wilson_interval(k, n, confidence) for k in won)
    share_2, share_1 = (k / n for k in won)
    spread = math.prod((*won, n - won[0], n - won[1]))
    gap = both * neither - only_first * only_second
    if gap > 0:
        gap = max(gap - n / 2, 0)
    together = gap / math.sqrt(spread) if spread else 0.0

    def reach(down: float, up: float) -> float:
        return math.sqrt(max(0.0, down * down - 2 * together * down * up + up * up))

    difference = share_2 - share_1
    return (
        max(-1.0, difference - reach(share_2 - low_2, high_1 - share_1)),
        min(1.0, difference + reach(high_2 - share_2, share_1 - low_1)),
    )


def bootstrap_mean_interval(
    values: Sequence[float], confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean (Efron 1979); NaN without values.

    Args:
        values: the sample, for a paired comparison the differences.
        confidence: how often the interval holds the true mean, about.
        seed: decides the resamples, so that the same values give the same interval.
    """
    import numpy as np

    sample = np.asarray(values, dtype=float)
    if sample.size == 0:
        return math.nan, math.nan
    drawn = np.random.default_rng(seed)
    rows = max(1, _CHUNK // sample.size)
    means = np.concatenate(
        [
            sample[
                drawn.integers(sample.size, size=(min(rows, _RESAMPLES - done), sample.size))
            ].mean(axis=1)
            for done in range(0, _RESAMPLES, rows)
        ]
    )
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)
