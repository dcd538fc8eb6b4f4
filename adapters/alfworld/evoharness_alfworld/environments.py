"""ALFWorld games behind the harness's contract, whichever engine runs them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from evoharness.core.environment import JSON, Environment, Step
from evoharness_alfworld.simulator import NOTHING_HAPPENS, Game, House
from evoharness_alfworld.wording import room_only

_OVER = "The episode is over; nothing more can be done."


class Said(NamedTuple):
    """What an engine says after an action."""

    feedback: str
    admissible: Sequence[str]
    """Sorted, each command once."""
    won: bool


class AlfworldEnvironment(Environment):
    """One game: it ends when it is won, and the task's sentence is not repeated at the start."""

    _last: Step | None = None

    @abstractmethod
    def _begin(self) -> Said:
        """Start the engine anew."""

    @abstractmethod
    def _act(self, action: str) -> Said:
        """Let the engine do one action, in its own wording."""

    def reset(self) -> Step:
        """Start the game."""
        said = self._begin()
        self._last = _step(said, room_only(said.feedback))
        return self._last

    def step(self, action: str) -> Step:
        """Take one action, in the engine's wording."""
        last = self._last
        if last is None:
            raise RuntimeError("step was called before reset")
        if last.done:
            return Step(_OVER, (), done=True, success=last.success, score=last.score, valid=False)
        said = self._act(action)
        self._last = _step(said, said.feedback)
        return self._last


class NativeEnvironment(AlfworldEnvironment):
    """A game in the native engine; environments share nothing that changes."""

    def __init__(self, house: House) -> None:
        self._game = Game(house)

    def _begin(self) -> Said:
        return self._said(self._game.reset())

    def _act(self, action: str) -> Said:
        return self._said(self._game.step(action))

    def _said(self, feedback: str) -> Said:
        return Said(feedback, self._game.admissible, self._game.won)

    def fork(self) -> NativeEnvironment:
        """Return an environment of its own in the same state."""
        other = NativeEnvironment(self._game.house)
        other._game = self._game.fork()
        other._last = self._last
        return other

    def snapshot(self) -> JSON | None:
        """Return where the game is, as small JSON."""
        return self._game.snapshot()

    def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
        """Bring the game to where it was.

        Raises:
            ValueError: the snapshot is of another game.
        """
        if snapshot is None:
            super().restore(snapshot, actions)
            return
        self._game.restore(snapshot)
        self._last = _step(self._said(""), "")

    def close(self) -> None:
        """Do nothing: there is nothing to be closed."""


def _step(said: Said, text: str) -> Step:
    observation = text.strip()
    return Step(
        observation=observation,
        admissible=tuple(said.admissible),
        done=said.won,
        success=said.won,
        score=float(said.won),
        valid=observation != NOTHING_HAPPENS,
    )
