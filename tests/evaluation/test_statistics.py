import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoharness.evaluation.statistics import (
    mcnemar_exact,
    paired_difference_interval,
    wilson_interval,
)


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


def test_the_interval_of_a_paired_difference_is_the_published_one() -> None:
    """Newcombe 1998, table II, first example, method 10."""
    interval = paired_difference_interval(both=36, only_first=2, only_second=12, neither=0)
    assert interval == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_where_no_pair_differs_a_difference_is_still_possible() -> None:
    low, high = paired_difference_interval(both=134, only_first=0, only_second=0, neither=0)
    assert low == -high
    assert 0.02 < high < 0.04


PAIRS = st.tuples(*[st.integers(0, 200)] * 4)


@given(PAIRS)
def test_the_interval_holds_the_difference_and_turns_with_the_systems(
    pairs: tuple[int, int, int, int],
) -> None:
    both, first, second, neither = pairs
    low, high = paired_difference_interval(both, first, second, neither)
    difference = (second - first) / max(1, sum(pairs))
    assert -1 <= low <= difference + 1e-9
    assert difference - 1e-9 <= high <= 1
    turned = paired_difference_interval(both, second, first, neither)
    assert turned == pytest.approx((-high, -low))


def test_without_pairs_anything_is_possible() -> None:
    assert paired_difference_interval(0, 0, 0, 0) == (-1.0, 1.0)
