"""Write an adapter: a stack of cards to put in order, with its own Belief, and play it.

Run it with a model of yours: `python cookbook/02_adapter.py openai:gpt-4.1-mini`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from evoharness import Adapter, Environment, Step, Task, create_harness
from evoharness.core.environment import JSON, Capabilities, Words
from evoharness.testing import ScriptedModel

REPLIES = [
    "<action>look 1</action>",
    "<action>look 2</action>",
    "<action>look 3</action>",
    "<think>Which was smallest?</think><action>track smallest</action>",
    "<action>take 2</action>",
]


class Cards(Environment):
    """Face-down cards; the smallest is to be taken."""

    def __init__(self, task: Task) -> None:
        self._cards: list[int] = list(task.data["cards"])

    def reset(self) -> Step:
        """Lay the cards out."""
        return self._step(f"{len(self._cards)} cards lie face down.")

    def step(self, action: str) -> Step:
        """Look at a card, or take one, which ends the game."""
        verb, _, number = action.partition(" ")
        if number not in map(str, range(1, len(self._cards) + 1)) or verb not in ("look", "take"):
            return self._step("There is no such move.", valid=False)
        card = self._cards[int(number) - 1]
        if verb == "look":
            return self._step(f"Card {number} is a {card}.", [{"card": number, "value": card}])
        won = card == min(self._cards)
        return Step(f"You take a {card}.", done=True, success=won, score=float(won))

    def _step(self, text: str, events: Sequence[JSON] = (), *, valid: bool = True) -> Step:
        moves = [f"{v} {n + 1}" for v in ("look", "take") for n in range(len(self._cards))]
        return Step(text, tuple(moves), valid=valid, events=tuple(events))


class CardsAdapter(Adapter):
    """Three cards; Belief is built from typed events instead of prose."""

    name = "cards"
    words = Words(
        domain="Cards lie face down. Take the smallest one.",
        actions="look N\ntake N",
        track="the cards seen so far; `track smallest` names the smallest",
    )
    capabilities = Capabilities(lists_admissible=True)
    verbs = ("look", "take")

    def tasks(self, split: str) -> Sequence[Task]:
        """Return two deals."""
        if split != "default":
            raise ValueError(f"cards has no split {split!r}; it has 'default'")
        deals = {"deal-1": [7, 2, 9], "deal-2": [4, 8, 1]}
        return [Task(i, "Take the smallest card.", "", {"cards": c}) for i, c in deals.items()]

    def make(self, task: Task) -> Environment:
        """Deal."""
        return Cards(task)

    def first_belief(self, task: Task, step: Step) -> JSON:
        """Nothing is seen yet."""
        return {}

    def update_belief(self, belief: JSON, action: str, step: Step) -> JSON:
        """Remember each card that was shown."""
        return belief | {event["card"]: event["value"] for event in step.events}

    def answer_belief(self, belief: JSON, query: str) -> str:
        """Name the smallest card, or all."""
        if not belief:
            return "No card seen yet."
        if "small" in query:
            return f"Card {min(belief, key=lambda card: belief[card])} is the smallest seen."
        return ", ".join(f"card {card} is a {value}" for card, value in belief.items())


def main(model: Any = None) -> dict[str, Any]:
    """Play the first deal and return its outcome."""
    harness = create_harness(model or ScriptedModel(REPLIES), CardsAdapter())
    final = harness.invoke({"task": "deal-1"})
    for turn in final["turns"]:
        print(f"{turn['argument'] or turn['verb']}: {turn['result']}")
    return dict(final["outcome"] or {})


if __name__ == "__main__":
    print(main(sys.argv[1] if len(sys.argv) > 1 else None))
