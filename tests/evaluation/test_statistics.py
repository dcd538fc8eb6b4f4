import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoharness.evaluation.statistics import mcnemar_exact, paired_bootstrap, wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (134, 134, 0.9721, 1.0),
    ],
)
def test_wilson_intervals_are_the_published_ones(
    successes: int, n: int, low: float, high: float
) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_nothing_observed_says_nothing() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share(pair: tuple[int, int]) -> None:
    successes, n = pair
    low, high = wilson_interval(successes, n)
    assert 0.0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1.0


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (0, 6, 2 / 64), (5, 5, 1.0), (1, 9, 22 / 1024)],
)
def test_mcnemar_is_the_exact_binomial_test(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_exact(only_first, only_second) == pytest.approx(p)
    assert mcnemar_exact(only_second, only_first) == pytest.approx(p)


def test_the_bootstrap_is_repeatable_and_covers_the_mean() -> None:
    differences = [1.0] * 20 + [0.0] * 70 + [-1.0] * 10
    low, high = paired_bootstrap(differences)
    assert (low, high) == paired_bootstrap(differences)
    assert low < 0.1 < high
    spread = math.sqrt(0.29 / 100) * 1.96
    assert high - low == pytest.approx(2 * spread, rel=0.15)


def test_without_pairs_there_is_no_difference() -> None:
    assert paired_bootstrap([]) == (0.0, 0.0)
