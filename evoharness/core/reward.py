"""The cost-aware reward of an episode (EvoHarness-RL, arXiv 2608.05446), paid at its end.

R(tau; u) = R_task + lambda_div(u) R_div + lambda_eff R_eff - lambda_spam min(S, 10) - lambda_inv I
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from evoharness.core.measures import EpisodeMeasures
from evoharness.core.parsing import META_VERBS


class RewardConfig(BaseModel):
    """The weights; the defaults are the published ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    success: float = 10.0
    """R_task of a successful episode."""
    lambda_div: float = Field(default=1.0, ge=0)
    """Weight of diversity at the first update; annealed to 0."""
    lambda_eff: float = Field(default=1.0, ge=0)
    lambda_spam: float = Field(default=0.1, ge=0)
    lambda_inv: float = Field(default=0.1, ge=0)
    spam_cap: int = Field(default=10, ge=0)
    """Repeats counted at most."""
    anneal_updates: int = Field(default=150, ge=1)
    """U: policy updates until diversity weighs nothing."""
    diversity: Literal["coverage", "verb_ratio"] = "coverage"
    """`coverage`: the share of the four meta-actions used at least once. `verb_ratio`: distinct
    verbs over turns (free ones too), the environment's verb counted as one."""


class Reward(BaseModel):
    """A reward and its weighted components, which sum to `total`."""

    model_config = ConfigDict(frozen=True)

    total: float
    task: float
    diversity: float
    efficiency: float
    spam: float
    """Zero or negative."""
    invalid: float
    """Zero or negative."""
    lambda_div: float
    """The annealed weight that `diversity` was multiplied by."""


def diversity_weight(config: RewardConfig, update: int) -> float:
    """Return lambda_div(u): a half cosine from its full value at u = 0 to 0 at u >= U."""
    share = min(max(update, 0), config.anneal_updates) / config.anneal_updates
    return config.lambda_div / 2 * (1 + math.cos(math.pi * share))


def episode_reward(
    measures: EpisodeMeasures, config: RewardConfig | None = None, *, update: int = 0
) -> Reward:
    """Return the reward of one finished episode.

    Args:
        measures: the episode's counts; its `steps` are |tau|, meta-actions included, its
            `max_steps` is T_max.
        config: the weights.
        update: u, the policy updates made so far.

    Returns:
        The total with every weighted component.
    """
    config = config or RewardConfig()
    weight = diversity_weight(config, update)
    if config.diversity == "coverage":
        spread = len(measures.meta_calls) / len(META_VERBS)
    else:
        distinct = len(measures.meta_calls) + (measures.env_actions > 0)
        turns = max(measures.turns, measures.steps)
        spread = distinct / turns if turns else 0.0
    left = (measures.max_steps - measures.steps) / measures.max_steps
    task = config.success if measures.success else 0.0
    efficiency = config.lambda_eff * left if measures.success else 0.0
    spam = -config.lambda_spam * min(measures.repeats, config.spam_cap)
    invalid = -config.lambda_inv * measures.invalid
    return Reward(
        total=task + weight * spread + efficiency + spam + invalid,
        task=task,
        diversity=weight * spread,
        efficiency=efficiency,
        spam=spam,
        invalid=invalid,
        lambda_div=weight,
    )
