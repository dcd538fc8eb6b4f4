"""The stock engine: TextWorld through the alfworld package, one game in one process.

It is slow (about 0.1 s a step, 2 s a load) and breaks when two games are stepped from different
threads, so it runs in the workers of `evoharness.workers`, never in the harness's own process.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from evoharness.core.environment import JSON, Environment
from evoharness_alfworld.environments import AlfworldEnvironment, Said

FACTORY = f"{__name__}:open_game"
"""Names `open_game` for the workers."""

# TextWorld loads a copy of its planner for each engine and keeps it for ever, 2.3 MB each, so an
# engine is used again for the next game.
_SPARE: list[Any] = []


class TextWorldEnvironment(AlfworldEnvironment):
    """A game in the stock engine."""

    def __init__(self, game: Any) -> None:
        """Prepare a game; it is loaded at the first reset.

        Args:
            game: the path of a `game.tw-pddl` file, or what such a file holds.
        """
        self._game = game
        self._env: Any = None

    def _begin(self) -> Said:
        if self._env is None:
            self._env = load(self._game)
        return _said(self._env.reset())

    def _act(self, action: str) -> Said:
        state, _, _ = self._env.step(action)
        return _said(state)

    def close(self) -> None:
        """Give the engine to this process's next game."""
        if self._env is not None:
            give_back(self._env)
            self._env = None


def open_game(task: JSON) -> Environment:
    """Make the environment of a task whose data has a game, or names the path of its file."""
    data = task["data"]
    return TextWorldEnvironment(data["text"] if "text" in data else data["path"])


def load(game: Any) -> Any:
    """Return TextWorld's own environment with a game loaded; `give_back` it afterwards.

    Args:
        game: the path of a `game.tw-pddl` file, or what such a file holds.
    """
    environment = _SPARE.pop() if _SPARE else _make()
    environment.load(game)
    return environment


def _make() -> Any:
    # TextWorld takes a second to import, and nobody but a worker needs it.
    textworld: Any = import_module("textworld")
    pddl: Any = import_module("textworld.envs.pddl")
    alfworld: Any = import_module("alfworld.agents.environment.alfred_tw_env")
    infos = textworld.EnvInfos(won=True, admissible_commands=True)
    return alfworld.AlfredDemangler(pddl.PddlEnv(infos))


def give_back(environment: Any) -> None:
    """Keep an environment that is done with for this process's next game."""
    _SPARE.append(environment)


def _said(state: Any) -> Said:
    return Said(state["feedback"], state["admissible_commands"], bool(state["won"]))
