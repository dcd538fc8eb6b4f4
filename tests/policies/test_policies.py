from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from evoharness.core.episode import begin, look
from evoharness.core.parsing import Reply, parse_reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy, Policy, RandomPolicy, as_policy
from evoharness.policies.chat import ChatPolicy
from evoharness.rollouts import rollout
from evoharness.testing import ScriptedModel, ToyAdapter, open_in_order

ADAPTER = ToyAdapter()
DOOR = ADAPTER.task("door-12")


def view(**settings: Any) -> View:
    config = HarnessConfig(**settings)
    return look(begin(DOOR, ADAPTER.make(DOOR).reset(), ADAPTER, config, None), ADAPTER, config)


# --- functions -------------------------------------------------------------------------------


def test_a_function_gives_text_or_a_reply_or_nothing() -> None:
    assert FunctionPolicy(lambda seen: "x").decide(view()) == Reply("x")
    assert FunctionPolicy(lambda seen: Reply("x", reasoning="y")).decide(view()).reasoning == "y"
    assert FunctionPolicy(lambda seen: None).decide(view()) == Reply(None)  # pyright: ignore


def test_a_function_that_gives_something_else_is_told() -> None:
    def number(seen: View) -> Any:
        return 7

    with pytest.raises(TypeError, match="number returned 7"):
        FunctionPolicy(number).decide(view())


def test_a_function_is_named_after_itself() -> None:
    assert FunctionPolicy(open_in_order).name == "open_in_order"
    assert FunctionPolicy(open_in_order, "expert").name == "expert"


async def test_asynchronously_a_function_does_not_block_the_loop() -> None:
    started, go_on = threading.Event(), threading.Event()

    def wait(seen: View) -> str:
        started.set()
        return "done" if go_on.wait(30) else "blocked"

    deciding = asyncio.create_task(FunctionPolicy(wait).adecide(view()))
    while not started.is_set():
        await asyncio.sleep(0.001)
    go_on.set()
    assert (await deciding).text == "done"


def test_in_a_batch_one_failure_does_not_touch_the_others() -> None:
    def only_tags(seen: View) -> str:
        if seen.tools:
            raise RuntimeError("no tools here")
        return "x"

    views = [view(), view(reply_format="tools"), view()]
    first, failed, last = FunctionPolicy(only_tags).decide_batch(views)
    assert first == last == Reply("x")
    assert isinstance(failed, RuntimeError)


# --- chance ----------------------------------------------------------------------------------


def test_chance_chooses_only_what_is_on_offer() -> None:
    seen = {parse_reply(RandomPolicy(seed).decide(view())).verb for seed in range(100)}
    assert seen == {"act", "track", "commit", "recall", "note"}
    for seed in range(50):
        parsed = parse_reply(RandomPolicy(seed).decide(view(mode="env_only")))
        assert parsed.verb == "act"
        assert parsed.argument in (view().admissible or ())


def test_chance_depends_on_seed_task_and_turn_alone() -> None:
    config = HarnessConfig(max_steps=20)
    tasks = ADAPTER.tasks("default")[:4]

    def play(*indices: int, seed: int = 0) -> list[str]:
        chosen = [tasks[index] for index in indices]
        states = rollout(RandomPolicy(seed), ADAPTER, chosen, config=config)
        return [json.dumps(state["turns"]) for state in states]

    forward, backward = play(0, 1, 2, 3), play(3, 2, 1, 0)
    assert forward == backward[::-1]
    assert play(2) == forward[2:3]
    assert play(2, seed=1) != forward[2:3]


def test_chance_needs_a_list_of_actions() -> None:
    unlisted = replace(view(), admissible=None)
    with pytest.raises(ValueError, match="door-12"):
        RandomPolicy().decide(unlisted)


# --- whatever stands for a policy ------------------------------------------------------------


def test_as_policy_takes_what_people_have() -> None:
    chance, model = RandomPolicy(), ScriptedModel(["x"])
    assert as_policy(chance) is chance
    made = as_policy(model)
    assert isinstance(made, ChatPolicy)
    assert made.model is model
    assert isinstance(as_policy(open_in_order), FunctionPolicy)


def test_as_policy_tells_what_it_takes() -> None:
    with pytest.raises(TypeError, match="7 is no policy: give a Policy"):
        as_policy(7)  # pyright: ignore[reportArgumentType]


def test_a_policy_needs_only_to_decide() -> None:
    class Mine(Policy):
        def decide(self, view: View) -> Reply:
            return Reply("<action>open box 1</action>")

    [state] = rollout(Mine(), ADAPTER, [DOOR], config=HarnessConfig(max_steps=1))
    assert state["turns"][0]["result"].startswith("Box 1 holds the key")
