"""Embed the harness in a LangGraph app: a parent graph hands it a task and reads the outcome.

Run it with a model of yours: `python cookbook/01_embed.py openai:gpt-4.1-mini`.
"""

from __future__ import annotations

import sys
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from evoharness import ExperienceBank, create_harness
from evoharness.testing import ScriptedModel, ToyAdapter

REPLIES = [
    "<think>I may know such doors.</think><action>recall where is the key</action>",
    "<think>Boxes first.</think><action>commit find the key | open the door</action>",
    "<think>The hint names box 1.</think><action>open box 1</action>",
    "<think>I have it.</think><action>open door</action>",
]


class App(TypedDict, total=False):
    """The parent's state: `task` and `outcome` are shared with the harness by name."""

    task: str
    outcome: dict[str, Any]
    report: str


def report(state: App) -> App:
    """Turn the outcome into the app's own words."""
    outcome = state.get("outcome", {})
    return {"report": f"The door is {'open' if outcome.get('success') else 'still closed'}."}


def main(model: Any = None) -> str:
    """Play one episode inside the parent graph and return its report."""
    adapter = ToyAdapter()
    with ExperienceBank.in_memory(adapter.name) as bank:
        bank.seed(adapter.experience())
        app = StateGraph(App)
        app.add_node("harness", create_harness(model or ScriptedModel(REPLIES), adapter, bank))
        app.add_node("report", report)
        app.add_edge(START, "harness")
        app.add_edge("harness", "report")
        app.add_edge("report", END)
        return app.compile().invoke({"task": "door-00"})["report"]


if __name__ == "__main__":
    print(main(sys.argv[1] if len(sys.argv) > 1 else None))
