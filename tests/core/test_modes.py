"""What each mode and ablation shows the policy, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

from evoharness.core.actions import PART_OF, Recalled, describe
from evoharness.core.parsing import META_VERBS
from evoharness.core.settings import PARTS, HarnessConfig, Part
from evoharness.core.state import Episode
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ToyAdapter

DOOR = ToyAdapter().task("door-12")


class Entry:
    id, kind, text, score, disputed = "key", "hint", "The key is in box 1.", 0.9, False


class Shelf:
    def recall(self, query: str, **more: Any) -> Sequence[Recalled]:
        return [Entry()]

    def note(self, text: str, **more: Any) -> None:
        return None

    def finished(self, episode: dict[str, Any]) -> None:
        return None


def play(
    config: HarnessConfig, *actions: str, experience: Shelf | None = None
) -> tuple[Episode, list[View]]:
    """Play these actions, then `open box 5`; return the episode and all that was shown."""
    views: list[View] = []

    def decide(view: View) -> str:
        views.append(view)
        turn = len(view.turns)
        return f"<action>{actions[turn] if turn < len(actions) else 'open box 5'}</action>"

    shelf = experience or Shelf()
    [state] = rollout(FunctionPolicy(decide), ToyAdapter(), [DOOR], experience=shelf, config=config)
    return state, views


def shown(view: View) -> str:
    """All that the policy may read."""
    return json.dumps([view.messages, view.tools, view.panels])


def ablations() -> Iterator[tuple[Part, ...]]:
    for size in range(len(PARTS) + 1):
        yield from combinations(PARTS, size)


@pytest.mark.parametrize("reply_format", ["tags", "tools"])
@pytest.mark.parametrize("context", ["per_turn", "accumulated"])
@pytest.mark.parametrize("mode", ["inline", "always_on", "env_only"])
@pytest.mark.parametrize("off", list(ablations()), ids="+".join)
def test_what_is_off_is_never_shown(
    off: tuple[Part, ...], mode: Any, context: Any, reply_format: Any
) -> None:
    config = HarnessConfig(mode=mode, max_steps=3, context=context, reply_format=reply_format)
    config = config.without(*off)
    _, views = play(config)
    for view in views:
        text = shown(view)
        on = {"inline": PARTS, "always_on": (), "env_only": ()}[mode]
        for verb in META_VERBS:
            offered = PART_OF[verb] in on and PART_OF[verb] not in off
            assert (verb in view.verbs) == offered
            assert (describe(verb, ToyAdapter.words) in text) == offered
            assert (f"{verb} [" in text) == offered
        for part in PARTS:
            visible = mode != "env_only" and part not in off
            assert config.has(part) == visible
            assert (part.capitalize() in text) == visible
        assert ("Harness actions" in text) == bool(view.verbs)


@pytest.mark.parametrize("off", PARTS)
def test_a_verb_whose_part_is_off_answers_so_and_is_charged(off: Part) -> None:
    for verb in META_VERBS:
        state, _ = play(HarnessConfig(max_steps=2, free_meta=2).without(off), f"{verb} key")
        turn = state["turns"][0]
        if PART_OF[verb] == off:
            assert turn["result"] == (
                f"`{verb}` did nothing: {off.capitalize()} is switched off in this run."
            )
            assert (turn["kind"], turn["valid"], turn["charged"]) == ("invalid", False, True)
        else:
            assert turn["kind"] == "meta"


@pytest.mark.parametrize("mode", ["env_only", "always_on"])
@pytest.mark.parametrize("verb", META_VERBS)
def test_modes_without_meta_actions_refuse_them_all(mode: Any, verb: str) -> None:
    state, views = play(HarnessConfig(mode=mode, max_steps=2, free_meta=2), f"{verb} key")
    turn = state["turns"][0]
    assert turn["result"] == f"`{verb}` did nothing: this run has environment actions only."
    assert (turn["kind"], turn["charged"]) == ("invalid", True)
    assert turn["result"] in views[1].prompt
    assert state["progress"] == []


def test_always_on_shows_fresh_panels_at_every_turn() -> None:
    _, views = play(HarnessConfig(mode="always_on", max_steps=2), "open box 2")
    first, second = (dict(view.panels) for view in views)
    assert list(first) == ["Belief", "Progress", "Experience"]
    assert first["Experience"].endswith('- hint (0.90): "The key is in box 1."')
    assert first["Progress"] == "[ ] Open the door. (now)"
    assert "Box 2 is empty." not in first["Belief"]
    assert "Box 2 is empty." in second["Belief"]
    for view in views:
        for title, text in view.panels:
            assert f"{title}:\n{text}" in view.prompt


def test_other_modes_have_no_panels() -> None:
    for mode in ("inline", "env_only"):
        _, views = play(HarnessConfig(mode=mode, max_steps=1))
        assert views[0].panels == ()


def test_without_a_store_experience_is_off() -> None:
    for mode in ("inline", "always_on"):
        views: list[View] = []

        def decide(view: View, views: list[View] = views) -> str:
            views.append(view)
            return "<action>recall key</action>"

        config = HarnessConfig(mode=mode, max_steps=1)
        [state] = rollout(FunctionPolicy(decide), ToyAdapter(), [DOOR], config=config)
        assert state["turns"][0]["kind"] == "invalid"
        assert "Experience" not in shown(views[0])


def test_tools_are_offered_in_the_tools_format_only() -> None:
    _, [view] = play(HarnessConfig(max_steps=1, reply_format="tools"))
    assert [tool["function"]["name"] for tool in view.tools] == ["act", *META_VERBS]
    for tool in view.tools:
        parameters = tool["function"]["parameters"]
        assert parameters["required"] == list(parameters["properties"])
    assert "tool call" in view.system
    assert "<action>" not in view.system
    _, [view] = play(HarnessConfig(max_steps=1))
    assert view.tools == []
    assert "<think>your reasoning</think><action>your action</action>" in view.system


def test_the_price_of_meta_actions_is_told_as_it_is() -> None:
    _, [view] = play(HarnessConfig(max_steps=1))
    assert "Each costs one step" in view.system
    _, [view] = play(HarnessConfig(max_steps=1, free_meta=4))
    assert "The first 4 are free, each later one costs one step" in view.system


def test_a_prompt_counts_charged_steps() -> None:
    _, views = play(HarnessConfig(max_steps=2, free_meta=1), "track", "track")
    assert [view.prompt.splitlines()[-1] for view in views] == [
        "Step 1 of 2.",
        "Step 1 of 2.",
        "Step 2 of 2.",
    ]


def test_a_prompt_of_its_own_has_all_that_is_needed() -> None:
    _, views = play(HarnessConfig(max_steps=4, history=2), "open box 2", "fly away", "track box")
    assert views[-1].prompt == (
        "Task: Open the door.\n\n"
        "Last turns:\n"
        "2. fly away -> Nothing was done: there is no action 'fly'.\n"
        "3. track box -> after 'open box 2': Box 2 is empty.\n\n"
        "Result: after 'open box 2': Box 2 is empty.\n\n"
        "Observation: Box 2 is empty.\n\n"
        "Possible actions: open box 1; open box 2; open box 3; open box 4; open box 5; open door"
        "\n\nStep 4 of 4."
    )


def test_without_history_no_turns_are_listed() -> None:
    _, views = play(HarnessConfig(max_steps=2, history=0))
    assert "Last turns" not in views[1].prompt


def test_a_long_result_is_shortened_in_the_list_and_whole_below() -> None:
    long = "x" * 1000
    _, views = play(HarnessConfig(max_steps=2), f"commit {long}")
    listed = views[1].prompt.split("Last turns:\n")[1].splitlines()[0]
    assert len(listed) < 500
    assert "…" in listed


def test_ablating_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="belief, progress, experience"):
        HarnessConfig().without("beleif")  # pyright: ignore[reportArgumentType]


def test_ablating_leaves_the_settings_themselves_alone() -> None:
    whole = HarnessConfig()
    assert not whole.without("belief").belief
    assert whole.belief
    assert whole.without() == whole
