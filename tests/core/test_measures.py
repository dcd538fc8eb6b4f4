from __future__ import annotations

import pytest

from evoharness.core.episode import begin
from evoharness.core.measures import measure
from evoharness.core.parsing import Reply
from evoharness.core.reward import episode_reward
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter

DOOR = ToyAdapter().task("door-12")


def play(*replies: str | Reply, max_steps: int = 50, free_meta: int = 0) -> Episode:
    def decide(view: View) -> str | Reply:
        return replies[len(view.turns)]

    config = HarnessConfig(max_steps=max_steps, free_meta=free_meta)
    return rollout(FunctionPolicy(decide), ToyAdapter(), [DOOR], config=config)[0]


def test_an_episode_by_hand() -> None:
    usage = {"input_tokens": 100, "output_tokens": 7}
    state = play(
        "<action>track</action>",
        Reply("<action>open box 2</action>", usage=usage),
        Reply("<action>open box 2</action><action>open box 3</action>", usage=usage),
        "hm",
        "hm",
        "<action>open window</action>",
        "<action>commit find the key</action>",
        "<action>open box 1",
        "<action>open door</action>",
        free_meta=1,
    )
    counted = measure(state, 50)
    assert counted.model_dump() == {
        "success": True,
        "reason": "success",
        "score": 1.0,
        "steps": 8,
        "max_steps": 50,
        "turns": 9,
        "env_actions": 5,
        "meta_calls": {"commit": 1, "track": 1},
        "repeats": 1,
        "invalid": 3,
        "codes": {"missing": 2, "ok": 5, "several": 1, "unclosed": 1},
        "input_tokens": 200,
        "output_tokens": 14,
    }
    assert episode_reward(counted).total == pytest.approx(10 + 0.5 + 42 / 50 - 0.1 - 0.3)


def test_a_meta_action_that_was_refused_is_no_call() -> None:
    state = play("<action>recall key</action>", max_steps=1)
    counted = measure(state, 1)
    assert (counted.meta_calls, counted.invalid) == ({}, 1)


def test_the_same_verb_with_another_argument_is_no_repeat() -> None:
    state = play("<action>track a</action>", "<action>track b</action>", max_steps=2)
    assert measure(state, 2).repeats == 0


def test_an_episode_that_has_not_ended_is_not_measured() -> None:
    adapter, config = ToyAdapter(), HarnessConfig()
    state = begin(DOOR, adapter.make(DOOR).reset(), adapter, config, None)
    with pytest.raises(ValueError, match="door-12"):
        measure(state, 50)
