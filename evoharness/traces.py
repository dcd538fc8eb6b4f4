"""Traces: a finished episode as an ATIF v1.7 trajectory (Harbor's interchange format).

What ATIF has no field for goes under `extra`: of the trajectory (task, outcome, measures,
settings) and of each agent step (the exact prompt, parse codes, whether it was charged, the ids of
recalled Experience). There are no clock times, so that the same episode is the same trace, byte for byte.
"""

from __future__ import annotations

from typing import Any

from evoharness import __version__
from evoharness.core.actions import offered
from evoharness.core.environment import Adapter
from evoharness.core.measures import measure
from evoharness.core.prompts import system_prompt, tool_arguments
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Episode, Turn

SCHEMA = "ATIF-v1.7"


def to_atif(
    state: Episode, adapter: Adapter, config: HarnessConfig, *, policy: str
) -> dict[str, Any]:
    """Return a finished episode as an ATIF trajectory.

    Args:
        state: the finished episode.
        adapter: the domain it was played in.
        config: the settings it was played with, ablations included.
        policy: the policy's name.

    Raises:
        ValueError: the episode has not ended.
    """
    measures = measure(state, config.max_steps)
    system = system_prompt(adapter.words, config, offered(config))
    opening = f"Task: {state['task']['objective']}\n\n{state['first_observation']}"
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "source": "system", "message": system},
        {"step_id": 2, "source": "user", "message": opening},
    ]
    steps += [_agent_step(turn) for turn in state["turns"]]
    return {
        "schema_version": SCHEMA,
        "session_id": state["task"]["id"],
        "agent": {"name": "evoharness", "version": __version__, "model_name": policy},
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": measures.input_tokens,
            "total_completion_tokens": measures.output_tokens,
            "total_steps": len(steps),
        },
        "extra": {
            "adapter": adapter.name,
            "task": state["task"],
            "config": config.model_dump(),
            "outcome": state["outcome"],
            "progress": state["progress"],
            "measures": measures.model_dump(),
        },
    }


def _agent_step(turn: Turn) -> dict[str, Any]:
    step: dict[str, Any] = {
        "step_id": turn["index"] + 3,
        "source": "agent",
        "message": turn["reply"]["text"],
    }
    if turn["thought"]:
        step["reasoning_content"] = turn["thought"]
    result: dict[str, Any] = {"content": turn["result"]}
    if turn["verb"]:
        call_id = f"call_{turn['index']}"
        arguments = tool_arguments(turn["verb"], turn["argument"])
        step["tool_calls"] = [
            {"tool_call_id": call_id, "function_name": turn["verb"], "arguments": arguments}
        ]
        result["source_call_id"] = call_id
    step["observation"] = {"results": [result]}
    usage = turn["reply"]["usage"]
    if usage:
        step["metrics"] = {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
        }
    step["extra"] = {
        "prompt": turn["prompt"],
        "call": turn["reply"]["call"],
        "reasoning": turn["reply"]["reasoning"],
        "codes": turn["codes"],
        "kind": turn["kind"],
        "valid": turn["valid"],
        "charged": turn["charged"],
        "recalled": turn["recalled"],
    }
    return step
