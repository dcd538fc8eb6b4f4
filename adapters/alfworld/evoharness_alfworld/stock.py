"""The stock engine: TextWorld through the alfworld package, one game in one process.

It is slow (about 0.1 s a step, 2 s a load) and breaks when two games are stepped from different
threads, so it runs in the workers of `evoharness.workers`, never in the harness's own process.
"""

from __future__ import annotations

import re
from typing import Any

from evoharness.core.environment import JSON, Environment, Step
from evoharness_alfworld import houses

FACTORY = f"{__name__}:open_game"
"""Names `open_game` for the workers."""

_BANNER = re.compile(r"-= Welcome to TextWorld, ALFRED! =-\s*|\s*Your task is to: [^\n]*")
_NOTHING = "Nothing happens."
# TextWorld loads a copy of its planner for each engine and keeps it for ever, 2.3 MB each, so an
# engine is used again for the next game.
_SPARE: list[Any] = []
_OVER = "The episode is over; nothing more can be done."


class TextWorldGame(Environment):
    """One game, official or packaged."""

    def __init__(self, game: Any) -> None:
        """Prepare a game; it is loaded at the first reset.

        Args:
            game: the path of a `game.tw-pddl` file, or what such a file holds.
        """
        self._game = game
        self._env: Any = None
        self._last: Step | None = None

    def reset(self) -> Step:
        """Load the game if it is not yet, and start it."""
        if self._env is None:
            self._env = load(self._game)
        state = self._env.reset()
        self._last = _step(state, _BANNER.sub("", state["feedback"]), done=False)
        return self._last

    def step(self, action: str) -> Step:
        """Take one action, in the engine's own wording."""
        if self._last is None:
            raise RuntimeError("step was called before reset")
        if self._last.done:
            last = self._last
            return Step(_OVER, (), done=True, success=last.success, score=last.score, valid=False)
        state, _, done = self._env.step(action)
        self._last = _step(state, state["feedback"], done=bool(done))
        return self._last

    def close(self) -> None:
        """Give the engine to this process's next game."""
        if self._env is not None:
            give_back(self._env)
            self._env = None


def open_game(task: JSON) -> Environment:
    """Make the environment of a task whose data names a packaged house or a game file's path."""
    data = task["data"]
    return TextWorldGame(houses.compose(data["house"]) if "house" in data else data["path"])


def load(game: Any) -> Any:
    """Return TextWorld's own environment with a game loaded; `give_back` it afterwards.

    Args:
        game: the path of a `game.tw-pddl` file, or what such a file holds.
    """
    # TextWorld takes a second to import, and nobody but a worker needs it.
    from alfworld.agents.environment.alfred_tw_env import (  # pyright: ignore[reportMissingImports]
        AlfredDemangler,
    )
    from textworld import EnvInfos
    from textworld.envs.pddl import PddlEnv

    if _SPARE:
        environment: Any = _SPARE.pop()
    else:
        environment = AlfredDemangler(PddlEnv(EnvInfos(won=True, admissible_commands=True)))
    environment.load(game)
    return environment


def give_back(environment: Any) -> None:
    """Keep an environment that is done with for this process's next game."""
    _SPARE.append(environment)


def _step(state: Any, text: str, *, done: bool) -> Step:
    observation = text.strip()
    won = bool(state["won"])
    return Step(
        observation=observation,
        admissible=tuple(sorted(set(state["admissible_commands"]))),
        done=done,
        success=won,
        score=float(won),
        valid=observation != _NOTHING,
    )
