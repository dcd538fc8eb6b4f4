"""A whole environment of one's own with its tests: a number to guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evoharness.core.environment import Adapter, Environment, Step, Task, Words
from evoharness.core.view import View
from evoharness.testing import EnvironmentContract


class Guessing(Environment):
    """A number from 1 to 100."""

    def __init__(self, task: Task) -> None:
        self._number = int(task.data["number"])

    def reset(self) -> Step:
        return Step("I think of a number from 1 to 100.")

    def step(self, action: str) -> Step:
        word, _, guess = action.partition(" ")
        if word != "guess" or not (guess.isascii() and guess.isdigit()):
            return Step("Say `guess N`.", valid=False)
        if int(guess) == self._number:
            return Step("That is it.", done=True, success=True, score=1.0)
        return Step(f"{guess} is too {'low' if int(guess) < self._number else 'high'}.")


class GuessingAdapter(Adapter):
    name = "guessing"
    words = Words(domain="You guess a number from 1 to 100.", actions="guess N")
    verbs = ("guess",)

    def tasks(self, split: str) -> Sequence[Task]:
        if split != "default":
            raise ValueError(f"guessing has no split {split!r}; it has 'default'")
        return [Task(f"number-{n}", "Guess my number.", data={"number": n}) for n in range(1, 101)]

    def make(self, task: Task) -> Environment:
        return Guessing(task)

    def normalise(self, action: str) -> str:
        return action.lower()

    def policies(self) -> Mapping[str, Callable[[View], str]]:
        return {"halving": halving}


def halving(view: View) -> str:
    """Guess the middle of what is left."""
    low, high = 1, 100
    for turn in view.turns:
        guess = int(turn["argument"].split()[1])
        low, high = (guess + 1, high) if "low" in turn["result"] else (low, guess - 1)
    return f"<think>{low} to {high}.</think><action>Guess {(low + high) // 2}</action>"


class TestGuessing(EnvironmentContract):
    @classmethod
    def make_adapter(cls) -> GuessingAdapter:
        return GuessingAdapter()

    def test_halving_needs_at_most_seven_guesses(self, adapter: GuessingAdapter) -> None:
        from evoharness import HarnessConfig, rollout
        from evoharness.policies import FunctionPolicy

        config = HarnessConfig(max_steps=7)
        states = rollout(FunctionPolicy(halving), adapter, adapter.tasks("default"), config=config)
        assert all(state["outcome"] and state["outcome"]["success"] for state in states)
