"""Traces hold everything an episode was, in ATIF's shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evoharness import HarnessConfig, rollout
from evoharness.core.measures import EpisodeMeasures
from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.view import View
from evoharness.experience import ExperienceBank
from evoharness.policies import FunctionPolicy
from evoharness.testing import ToyAdapter, open_in_order
from evoharness.traces import to_atif

CONFIG = HarnessConfig(max_steps=9)


def trace_of(policy: FunctionPolicy, config: HarnessConfig = CONFIG) -> dict[str, Any]:
    adapter = ToyAdapter()
    with ExperienceBank.in_memory("toy") as bank:
        bank.seed(adapter.experience())
        [state] = rollout(
            policy, adapter, [adapter.task("door-02")], experience=bank, config=config
        )
    return to_atif(state, adapter, config, policy=policy.name)


EXPERT = FunctionPolicy(open_in_order, "expert")


def test_the_skeleton_is_atif() -> None:
    trace = trace_of(EXPERT)
    assert trace["schema_version"] == "ATIF-v1.7"
    assert trace["session_id"] == "door-02"
    assert trace["agent"]["model_name"] == "expert"
    assert [step["step_id"] for step in trace["steps"]] == list(range(1, len(trace["steps"]) + 1))
    assert [step["source"] for step in trace["steps"][:3]] == ["system", "user", "agent"]
    assert trace["final_metrics"]["total_steps"] == len(trace["steps"])
    assert json.loads(json.dumps(trace)) == trace


def test_every_call_has_its_result() -> None:
    for step in trace_of(EXPERT)["steps"][2:]:
        [call] = step["tool_calls"]
        [result] = step["observation"]["results"]
        assert result["source_call_id"] == call["tool_call_id"]
        assert result["content"]


def test_meta_actions_and_environment_actions_are_named_calls() -> None:
    calls = [step["tool_calls"][0] for step in trace_of(EXPERT)["steps"][2:]]
    assert [call["function_name"] for call in calls] == [
        "recall",
        "commit",
        "act",
        "act",
        "act",
        "track",
        "note",
        "act",
    ]
    assert calls[0]["arguments"] == {"query": "where is the key"}
    assert calls[2]["arguments"] == {"action": "open box 1"}


def test_the_exact_prompt_and_the_harness_s_own_facts_are_under_extra() -> None:
    trace = trace_of(EXPERT)
    step = trace["steps"][4]
    assert "Task: Open the door." in step["extra"]["prompt"]
    assert step["extra"]["codes"] == ["ok"]
    assert step["extra"]["charged"] is True
    assert EpisodeMeasures(**trace["extra"]["measures"]).success
    assert trace["extra"]["outcome"]["reason"] == "success"
    assert HarnessConfig(**trace["extra"]["config"]) == CONFIG


def test_a_malformed_reply_is_kept_without_a_call() -> None:
    trace = trace_of(FunctionPolicy(lambda view: "I would rather not."))
    step = trace["steps"][2]
    assert step["message"] == "I would rather not."
    assert "tool_calls" not in step
    assert step["extra"]["codes"] == ["missing"]
    assert "source_call_id" not in step["observation"]["results"][0]


def test_native_calls_reasoning_and_tokens_are_kept() -> None:
    def reply(view: View) -> Reply:
        call = ToolCall("act", {"action": "open box 1"}, "abc")
        return Reply("", (call,), "Box one.", {"input_tokens": 11, "output_tokens": 3})

    trace = trace_of(FunctionPolicy(reply), HarnessConfig(max_steps=2, reply_format="tools"))
    step = trace["steps"][2]
    assert step["reasoning_content"] == "Box one."
    assert step["metrics"] == {"prompt_tokens": 11, "completion_tokens": 3}
    assert step["extra"]["call"] == {
        "id": "abc",
        "name": "act",
        "arguments": '{"action": "open box 1"}',
    }
    assert trace["final_metrics"]["total_prompt_tokens"] == 22


def test_the_same_episode_is_the_same_trace() -> None:
    assert json.dumps(trace_of(EXPERT)) == json.dumps(trace_of(EXPERT))


def test_an_unfinished_episode_has_no_trace() -> None:
    adapter = ToyAdapter()
    [state] = rollout(EXPERT, adapter, [adapter.task("door-02")])
    state["outcome"] = None
    with pytest.raises(ValueError, match="has not ended"):
        to_atif(state, adapter, CONFIG, policy="expert")
