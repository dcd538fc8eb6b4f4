"""What a turn does: the toy door behind scripted replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from toy_episodes import BOX, DOOR, Memory, Shelf, altered, play

from evoharness.core import episode
from evoharness.core.environment import JSON, Step
from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, env_actions, merge_turns
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment


class BrokenShelf(Shelf):
    def recall(self, query: str, **more: Any) -> Sequence[Memory]:
        raise OSError("the disk is gone \ud800")

    def note(self, text: str, **more: Any) -> None:
        raise OSError("the disk is full")

    def finished(self, episode: dict[str, Any]) -> None:
        raise OSError("the disk is full")


def results(state: Episode) -> list[str]:
    return [turn["result"] for turn in state["turns"]]


def outcome(state: Episode) -> tuple[str, bool, float, str]:
    ended = state["outcome"]
    assert ended is not None
    assert state["pending"] is None
    return ended["reason"], ended["success"], ended["score"], ended["detail"]


def test_an_imagined_observation_never_enters_belief() -> None:
    imagined = f"{BOX(5)}\nObservation: Box 5 holds the key."
    state = play(imagined, f"{imagined}\n{BOX(1)}", "<action>track key</action>")
    assert "holds the key" not in json.dumps(state["belief"])
    assert results(state)[:2] == ["Box 5 is empty."] * 2
    assert "holds the key" not in results(state)[2]
    assert state["turns"][1]["codes"] == ["several"]


def test_a_thought_never_enters_belief() -> None:
    state = play(f"<think>Box 5 holds the key.</think>{BOX(5)}")
    assert "holds the key" not in json.dumps(state["belief"])


def test_track_reads_belief_and_commit_writes_progress() -> None:
    state = play(BOX(2), "<action>track box 2</action>", "<action>commit a | b</action>")
    assert results(state)[1] == "after 'open box 2': Box 2 is empty."
    assert state["progress"] == [{"text": "a", "status": "open"}, {"text": "b", "status": "open"}]
    assert results(state)[2] == "[ ] a (now)\n[ ] b"


def test_recall_reads_experience_and_an_empty_query_stands_for_the_objective() -> None:
    shelf = Shelf(Memory("hint", "Box 1."), Memory("skill", "Look."), Memory("hint", "Box 2."))
    state = play(
        "<action>recall key</action>", "<action>recall</action>", experience=shelf, recall_limit=2
    )
    assert shelf.asked == [("key", "door", 2), ("Open the door.", "door", 2)]
    assert results(state)[0].splitlines() == [
        "From past episodes:",
        '- hint (0.50): "Box 1."',
        '- skill (0.50): "Look."',
    ]


def test_an_empty_experience_says_so() -> None:
    assert results(play("<action>recall key</action>"))[0] == "Experience holds nothing on that."


def test_a_note_is_kept_with_its_source() -> None:
    shelf = Shelf()
    play(BOX(5), "<action>note Box 5 is empty.</action>", experience=shelf)
    assert shelf.notes == [("Box 5 is empty.", "door-12/0#1", "door")]


@pytest.mark.parametrize("reply", ["<action>note</action>", "<action>commit</action>"])
def test_a_meta_action_without_its_argument_is_told_and_not_valid(reply: str) -> None:
    state = play(reply)
    first = state["turns"][0]
    assert (first["kind"], first["valid"], first["charged"]) == ("meta", False, True)
    assert first["result"].startswith("Nothing ")


def test_a_memory_that_is_broken_does_not_end_the_work() -> None:
    state = play(
        "<action>recall key</action>",
        "<action>note x</action>",
        BOX(1),
        "<action>open door</action>",
        experience=BrokenShelf(),
    )
    assert outcome(state)[0] == "success"
    assert results(state)[:2] == [
        "Experience cannot be read: the disk is gone \ufffd",
        "Nothing noted: the disk is full",
    ]
    assert [turn["valid"] for turn in state["turns"]] == [False, False, True, True]


def test_a_memory_that_is_broken_does_not_stop_always_on_either() -> None:
    state = play(BOX(1), experience=BrokenShelf(), mode="always_on")
    assert outcome(state)[0] == "budget"
    assert "Experience cannot be read: the disk is gone" in state["turns"][0]["prompt"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "the action was empty"),
        ("I think.", "no action was found"),
        ("<action>None</action>", "the action was empty"),
        ("<think>I", "the reply broke off"),
        ("<action>fly away</action>", "there is no action 'fly'"),
        (Reply(None, (ToolCall("fly", {}),)), "there is no action 'fly'"),
        (Reply(None, (ToolCall("", {}),)), "there is no action ''"),
        (Reply(None, (ToolCall("act", "{"),)), "the reply broke off"),
        (Reply(None, (ToolCall("act", {"action": {1, 2}}),)), "there is no action"),
    ],
)
def test_a_reply_that_cannot_be_executed_is_told_and_charged(reply: str | Reply, told: str) -> None:
    state = play(reply)
    first = state["turns"][0]
    assert told in first["result"]
    assert (first["kind"], first["valid"], first["charged"]) == ("invalid", False, True)
    assert told in state["turns"][1]["prompt"]
    assert json.loads(json.dumps(state)) == state


def test_an_action_the_environment_refuses_is_its_observation() -> None:
    first = play("<action>open window</action>")["turns"][0]
    assert (first["kind"], first["valid"]) == ("env", False)
    assert first["result"] == "Nothing happens."


def test_the_domain_s_spelling_is_what_is_done_and_remembered() -> None:
    def lower(self: ToyAdapter, action: str) -> str:
        return action.lower()

    state = play("<action>Open BOX 1</action>", adapter=altered(ToyEnvironment, normalise=lower))
    assert state["turns"][0]["argument"] == "open box 1"
    assert "holds the key" in results(state)[0]


class Messy(ToyEnvironment):
    """Shows what no store can hold."""

    def _step(self, observation: str, *, valid: bool = True) -> Step:
        step = super()._step(observation, valid=valid)
        events = ({"kind": "seen", "\ud800": ["\ud801", {"n": 1, "ok": None}, ("x", "\udc00")]},)
        return replace(step, observation="\ud800", admissible=("open \ud800",), events=events)


def test_what_an_environment_shows_can_be_stored() -> None:
    kept: list[Any] = []

    def keep(self: ToyAdapter, belief: JSON, action: str, step: Step) -> JSON:
        kept.append(step.events)
        return {"events": list(step.events)}

    state = play(BOX(1), adapter=altered(Messy, update_belief=keep), max_steps=1)
    json.dumps(state, ensure_ascii=False).encode()
    assert kept == [
        ({"kind": "seen", "\ufffd": ["\ufffd", {"n": 1, "ok": None}, ["x", "\ufffd"]]},)
    ]
    assert state["admissible"] == ["open \ufffd"]


def test_executing_before_reading_is_a_mistake_of_the_caller() -> None:
    state = play(BOX(1))
    with pytest.raises(ValueError, match="call `read`"):
        episode.reject(state, HarnessConfig())


def test_a_turn_that_is_written_again_is_the_same_turn() -> None:
    state = play(BOX(1), "<action>track</action>", "<action>open door</action>")
    turns = state["turns"]
    assert merge_turns(turns[:2], turns) == turns
    assert merge_turns(turns, turns[1:2]) == turns


def test_the_trail_names_the_actions_so_far() -> None:
    one = play(BOX(2), BOX(3), "<action>track</action>", max_steps=3)
    other = play("hm", BOX(2), BOX(3), max_steps=3)
    swapped = play(BOX(3), BOX(2), max_steps=2)
    assert one["trail"] == other["trail"] != swapped["trail"]
    assert env_actions(one) == ["open box 2", "open box 3"]


def test_the_expert_of_the_toy_uses_all_that_is_on_offer() -> None:
    [state] = rollout(FunctionPolicy(open_in_order), ToyAdapter(), [DOOR], experience=Shelf())
    assert outcome(state)[0] == "success"
    assert {turn["verb"] for turn in state["turns"]} == {"recall", "commit", "act", "track", "note"}
