"""How episodes end: the toy door behind scripted replies."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_episodes import BOX, DOOR, Shelf, altered, play

from evoharness.core.environment import JSON, EnvironmentFault, Step
from evoharness.core.measures import measure
from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter
from evoharness.testing.toy import ToyEnvironment


def outcome(state: Episode) -> tuple[str, bool, float, str]:
    ended = state["outcome"]
    assert ended is not None
    assert state["pending"] is None
    return ended["reason"], ended["success"], ended["score"], ended["detail"]


def test_success() -> None:
    state = play("<action>open box 1</action>", "<action>open door</action>")
    assert outcome(state) == ("success", True, 1.0, "")
    assert state["spent"] == 2


def test_success_on_the_last_step_is_a_success() -> None:
    state = play("<action>open box 1</action>", "<action>open door</action>", max_steps=2)
    assert outcome(state)[0] == "success"


class Trap(ToyEnvironment):
    """Opening the door without the key ends it."""

    def step(self, action: str) -> Step:
        step = super().step(action)
        lost = step.observation == "The door is locked."
        return replace(step, done=True, score=0.25) if lost else step


def test_failure() -> None:
    state = play("<action>open door</action>", adapter=altered(Trap))
    assert outcome(state) == ("failure", False, 0.25, "")


def test_budget_by_environment_actions_meta_actions_and_rejected_replies() -> None:
    for reply in ("<action>open box 5</action>", "<action>track</action>", "hm"):
        state = play(*[reply] * 3, max_steps=3)
        assert outcome(state) == ("budget", False, 0.0, "")
        assert len(state["turns"]) == state["spent"] == 3


def test_policy_error() -> None:
    def fail() -> str:
        raise ConnectionError("no answer")

    state = play("<action>open box 1</action>", fail)
    assert outcome(state) == ("policy_error", False, 0.0, "ConnectionError: no answer")
    assert len(state["turns"]) == 1


def test_policy_error_when_the_policy_answers_with_something_else() -> None:
    state = play(Reply, 7)  # pyright: ignore[reportArgumentType]
    reason, _, _, detail = outcome(state)
    assert reason == "policy_error"
    assert "7" in detail
    assert "Reply" in detail


def test_cancelled() -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    policy = FunctionPolicy(lambda view: "<action>open box 5</action>")
    [state] = rollout(policy, ToyAdapter(), [DOOR], cancelled=cancelled)
    assert outcome(state)[0] == "cancelled"
    assert len(state["turns"]) == 2


class ResetFault(ToyEnvironment):
    def reset(self) -> Step:
        raise EnvironmentFault("no room \ud800")


class StepFault(ToyEnvironment):
    def step(self, action: str) -> Step:
        if action == "open box 2":
            raise EnvironmentFault("the room collapsed")
        return super().step(action)


def no_belief(*_: Any) -> JSON:
    raise KeyError("object")


@pytest.mark.parametrize(
    ("adapter", "turns", "detail"),
    [
        (altered(ResetFault), 0, "EnvironmentFault: no room \ufffd"),
        (altered(StepFault), 1, "EnvironmentFault: the room collapsed"),
        (altered(ToyEnvironment, first_belief=no_belief), 0, "KeyError: 'object'"),
        (altered(ToyEnvironment, update_belief=no_belief), 0, "KeyError: 'object'"),
        (altered(ToyEnvironment, answer_belief=no_belief), 2, "KeyError: 'object'"),
        (altered(ToyEnvironment, normalise=no_belief), 0, "KeyError: 'object'"),
    ],
    ids=["reset", "step", "first belief", "update of belief", "track", "normalise"],
)
def test_environment_error(adapter: ToyAdapter, turns: int, detail: str) -> None:
    state = play(BOX(5), BOX(2), "<action>track key</action>", adapter=adapter)
    assert outcome(state) == ("environment_error", False, 0.0, detail)
    assert len(state["turns"]) == turns


@pytest.mark.parametrize("name", ["answer_belief", "progress"])
def test_environment_error_when_a_panel_cannot_be_shown(name: str) -> None:
    adapter = altered(ToyEnvironment, **{name: no_belief})
    state = play(BOX(5), adapter=adapter, mode="always_on")
    assert outcome(state) == ("environment_error", False, 0.0, "KeyError: 'object'")


def test_environment_error_when_a_later_panel_cannot_be_shown() -> None:
    def answer(self: ToyAdapter, belief: JSON, query: str) -> str:
        if len(belief["seen"]) > 1:
            raise KeyError("object")
        return "nothing"

    adapter = altered(ToyEnvironment, answer_belief=answer)
    state = play(BOX(5), adapter=adapter, mode="always_on")
    assert outcome(state)[0] == "environment_error"


def test_a_long_detail_is_cut() -> None:
    def fail() -> str:
        raise ValueError("x" * 9999)

    assert len(outcome(play(fail))[3]) == 500


def test_free_meta_actions_are_not_charged_later_ones_are() -> None:
    state = play(*["<action>track</action>"] * 4, BOX(5), free_meta=3, max_steps=2)
    assert [turn["charged"] for turn in state["turns"]] == [False, False, False, True, True]
    assert (state["spent"], state["free_used"]) == (2, 3)
    assert outcome(state)[0] == "budget"


def test_nothing_else_is_free() -> None:
    state = play("hm", "<action>fly</action>", BOX(5), free_meta=9, max_steps=3)
    assert all(turn["charged"] for turn in state["turns"])


REPLY = st.one_of(
    st.sampled_from(
        [
            BOX(1),
            BOX(5),
            "<action>open door</action>",
            "<action>track</action>",
            "<action>commit a | b</action>",
            "<action>blocked</action>",
            "<action>recall x</action>",
            "<action>note x</action>",
            "<think>",
            Reply(None, (ToolCall("note", {"insight": "x"}, "c"),)),
            Reply(None, (ToolCall("commit", '"b"'), ToolCall("act", "{"))),
            Reply(None, (ToolCall("act", "{"),)),
        ]
    ),
    st.text(st.characters(), max_size=10),
)
CONFIGS = st.builds(
    HarnessConfig,
    mode=st.sampled_from(["inline", "always_on", "env_only"]),
    belief=st.booleans(),
    progress=st.booleans(),
    experience=st.booleans(),
    context=st.sampled_from(["per_turn", "accumulated"]),
    reply_format=st.sampled_from(["tags", "tools"]),
    max_steps=st.integers(1, 6),
    free_meta=st.integers(0, 3),
    history=st.integers(0, 3),
    max_subgoals=st.integers(1, 3),
)


@settings(max_examples=150)
@given(st.lists(REPLY, min_size=1, max_size=6), CONFIGS)
def test_whatever_is_replied_an_episode_ends_in_its_budget(
    replies: list[str | Reply], config: HarnessConfig
) -> None:
    def decide(view: View) -> str | Reply:
        chat = view.messages
        assert chat[0]["role"] == "system"
        json.dumps([chat, view.tools], ensure_ascii=False).encode()
        return replies[len(view.turns) % len(replies)]

    adapter = ToyAdapter()
    [state] = rollout(FunctionPolicy(decide), adapter, [DOOR], experience=Shelf(), config=config)
    reason = outcome(state)[0]
    assert reason in ("success", "budget")
    assert len(state["turns"]) <= config.max_steps + config.free_meta
    assert state["spent"] == sum(turn["charged"] for turn in state["turns"]) <= config.max_steps
    assert state["free_used"] == sum(not turn["charged"] for turn in state["turns"])
    assert [turn["index"] for turn in state["turns"]] == list(range(len(state["turns"])))
    json.dumps(state, ensure_ascii=False).encode()
    assert json.loads(json.dumps(state)) == state
    counted = measure(state, config.max_steps)
    assert counted.turns == counted.env_actions + sum(counted.meta_calls.values()) + sum(
        turn["kind"] == "invalid" for turn in state["turns"]
    )
    if config.mode != "inline":
        assert not counted.meta_calls
