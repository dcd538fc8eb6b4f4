from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evoharness.core.measures import EpisodeMeasures
from evoharness.core.parsing import META_VERBS
from evoharness.core.reward import Reward, RewardConfig, diversity_weight, episode_reward


def measures(**given: Any) -> EpisodeMeasures:
    success = given.setdefault("success", True)
    given.setdefault("turns", given["steps"])
    return EpisodeMeasures(reason="success" if success else "budget", max_steps=70, **given)


def test_a_success_by_hand() -> None:
    """14 of 70 steps, recall and track used, 2 repeats, 1 invalid, at the first update."""
    counted = measures(
        steps=14, env_actions=10, meta_calls={"recall": 1, "track": 2}, repeats=2, invalid=1
    )
    assert episode_reward(counted) == Reward(
        total=10 + 0.5 + 0.8 - 0.2 - 0.1,
        task=10,
        diversity=0.5,
        efficiency=0.8,
        spam=-0.2,
        invalid=-0.1,
        lambda_div=1,
    )


def test_a_failure_by_hand() -> None:
    """The budget ran out; all four verbs were used; half-way through annealing."""
    counted = measures(
        success=False, steps=70, env_actions=60, meta_calls=dict.fromkeys(META_VERBS, 2), repeats=30
    )
    reward = episode_reward(counted, update=75)
    assert reward.total == pytest.approx(0 + 0.5 * 1.0 + 0 - 1.0)
    assert (reward.task, reward.efficiency) == (0, 0)


def test_a_failure_that_ends_early_earns_no_efficiency() -> None:
    assert episode_reward(measures(success=False, steps=3)).efficiency == 0


def test_the_verb_ratio_by_hand() -> None:
    """Of 20 turns 18 were actions of the environment: three distinct verbs over twenty."""
    config = RewardConfig(diversity="verb_ratio")
    counted = measures(steps=20, env_actions=18, meta_calls={"recall": 1, "note": 1})
    assert episode_reward(counted, config).diversity == pytest.approx(3 / 20)


def test_the_verb_ratio_counts_free_turns_too() -> None:
    config = RewardConfig(diversity="verb_ratio")
    free = measures(steps=1, turns=5, env_actions=1, meta_calls=dict.fromkeys(META_VERBS, 1))
    assert episode_reward(free, config).diversity == 1.0
    nothing = measures(success=False, steps=0)
    assert episode_reward(nothing, config).diversity == 0.0


@pytest.mark.parametrize(
    ("update", "weight"),
    [(-1, 1.0), (0, 1.0), (75, 0.5), (50, 0.75), (100, 0.25), (150, 0.0), (9999, 0.0)],
)
def test_diversity_is_annealed_over_150_updates(update: int, weight: float) -> None:
    assert diversity_weight(RewardConfig(), update) == pytest.approx(weight, abs=1e-12)


def test_annealing_starts_and_ends_exactly() -> None:
    config = RewardConfig(lambda_div=0.3, anneal_updates=7)
    assert diversity_weight(config, 0) == 0.3
    assert diversity_weight(config, 7) == diversity_weight(config, 8) == 0.0


def test_spam_is_capped_at_ten_and_invalid_is_not() -> None:
    ten, many = (episode_reward(measures(steps=60, repeats=n)) for n in (10, 59))
    assert ten.spam == many.spam == pytest.approx(-1.0)
    assert episode_reward(measures(steps=60, invalid=50)).invalid == pytest.approx(-5.0)


def test_settings_that_are_none_are_refused() -> None:
    for wrong in ({"lambda_eff": -1}, {"anneal_updates": 0}, {"diversty": "coverage"}):
        with pytest.raises(ValidationError):
            RewardConfig(**wrong)  # pyright: ignore[reportArgumentType]


@st.composite
def episodes(draw: st.DrawFn) -> EpisodeMeasures:
    steps = draw(st.integers(0, 70))
    verbs = draw(st.lists(st.sampled_from(META_VERBS), max_size=steps))
    return measures(
        success=draw(st.booleans()),
        steps=steps,
        turns=steps + draw(st.integers(0, 5)),
        env_actions=draw(st.integers(0, steps - len(verbs))),
        meta_calls={verb: verbs.count(verb) for verb in set(verbs)},
        repeats=draw(st.integers(0, max(steps - 1, 0))),
        invalid=draw(st.integers(0, steps)),
    )


KINDS = st.sampled_from([RewardConfig(), RewardConfig(diversity="verb_ratio")])


@given(episodes(), KINDS, st.integers(0, 300))
def test_components_sum_to_the_total_and_have_their_signs(
    counted: EpisodeMeasures, config: RewardConfig, update: int
) -> None:
    reward = episode_reward(counted, config, update=update)
    parts = (reward.task, reward.diversity, reward.efficiency, reward.spam, reward.invalid)
    assert sum(parts) == pytest.approx(reward.total)
    assert 0 <= reward.diversity <= reward.lambda_div <= 1
    assert 0 <= reward.efficiency <= 1
    assert -1 <= reward.spam <= 0
    assert reward.invalid <= 0


@given(episodes(), st.integers(0, 300))
def test_one_step_more_never_pays(counted: EpisodeMeasures, update: int) -> None:
    if counted.steps == counted.max_steps:
        return
    longer = counted.model_copy(update={"steps": counted.steps + 1, "turns": counted.turns + 1})
    now, later = (episode_reward(each, update=update).total for each in (counted, longer))
    assert later < now if counted.success else later == now


@given(episodes())
def test_diversity_weighs_less_with_every_update(counted: EpisodeMeasures) -> None:
    totals = [episode_reward(counted, update=update).total for update in range(0, 160, 10)]
    assert totals == sorted(totals, reverse=True)
