"""The few statistics that a comparison of success rates needs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist


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


def paired_bootstrap(
    differences: Sequence[float], *, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean of paired differences.

    Returns (0, 0) when there are none.
    """
    if not differences:
        return 0.0, 0.0
    chance = random.Random(seed)
    n = len(differences)
    means = sorted(sum(chance.choices(differences, k=n)) / n for _ in range(resamples))
    return means[int(0.025 * resamples)], means[min(resamples - 1, int(0.975 * resamples))]
