"""A game that can be played: a house and its present state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evoharness_alfworld.simulator import phrases, problem, rules
from evoharness_alfworld.simulator.actions import Action
from evoharness_alfworld.simulator.archive import changed, changes
from evoharness_alfworld.simulator.house import House, State, build


class Game:
    """One game being played. The house is shared and never changes; the state is immutable."""

    __slots__ = ("_commands", "house", "state")

    def __init__(self, house: House, state: State | None = None) -> None:
        """Stand in a house: at its start, or in a state of it."""
        self.house = house
        self.state = house.start if state is None else state
        self._commands: dict[str, Action] | None = None

    def reset(self) -> str:
        """Start anew, and return what is said at the start."""
        self.state = self.house.start
        self._commands = None
        return phrases.intro(self.house)

    def step(self, command: str) -> str:
        """Do what the command says, if it can be done now, and return what is said."""
        action = self._possible().get(command.strip())
        if action is None:
            return phrases.NOTHING_HAPPENS
        self.state = rules.after(self.house, self.state, action)
        self._commands = None
        return phrases.answer(self.house, self.state, action)

    @property
    def admissible(self) -> list[str]:
        """The commands that can be done now, sorted."""
        return sorted(self._possible())

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return rules.won(self.house, self.state)

    def fork(self) -> Game:
        """Return a game of its own in the same state."""
        return Game(self.house, self.state)

    def snapshot(self) -> dict[str, Any]:
        """Return where the game is, as plain JSON: the house's fingerprint, and what is no more as
        it was at the start.
        """
        return {"house": self.house.fingerprint, **changes(self.house, self.state)}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to where a game of the same house was.

        Raises:
            ValueError: the snapshot is of another house, or none at all.
        """
        if not isinstance(snapshot, Mapping) or snapshot.get("house") != self.house.fingerprint:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("the snapshot is of another game than this one")
        self.state = changed(self.house, snapshot)
        self._commands = None

    def _possible(self) -> dict[str, Action]:
        if self._commands is None:
            self._commands = rules.possible(self.house, self.state)
        return self._commands


def open_game(text: str) -> House:
    """Return the house of a `game.tw-pddl` file's text.

    Raises:
        GameError: it is no game of ALFWorld; says why.
    """
    return interpret(problem.parse(text))


def interpret(game: Any) -> House:
    """Return the house of a `game.tw-pddl` file, parsed.

    Raises:
        GameError: it is no game of ALFWorld; says why.
    """
    return build(problem.interpret(game))
