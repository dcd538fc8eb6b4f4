"""The stock engine: TextWorld through the alfworld package, one game in one process.

It is slow (about 0.1 s a step, 2 s a load) and breaks when two games are stepped from different
threads, so it runs in the workers of `evoharness.workers`, never in the harness's own process.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from importlib import import_module
from typing import Any

from evoharness.core.environment import JSON, Environment
from evoharness_alfworld.environments import AlfworldEnvironment, Said
from evoharness_alfworld.games import VARIABLE

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
    remember_parses()
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
    alfworld = _alfworld()
    infos = textworld.EnvInfos(won=True, admissible_commands=True)
    return alfworld.AlfredDemangler(pddl.PddlEnv(infos))


def _alfworld() -> Any:
    # Without this variable its import makes a folder in the user's home and sets the variable.
    before = os.environ.pop(VARIABLE, None)
    os.environ[VARIABLE] = before or tempfile.gettempdir()
    try:
        return import_module("alfworld.agents.environment.alfred_tw_env")
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def give_back(environment: Any) -> None:
    """Keep an environment that is done with for this process's next game."""
    _SPARE.append(environment)


@cache
def remember_parses() -> None:
    """Let the stock engine parse every text only once in this process, from now on.

    As it comes, it parses the phrases of its grammar again at every step and translates a game's
    problem both when it loads the game and when it starts it. What comes out depends on the text
    alone; remembered, steps and starts in a kitchen are three and fifteen times faster. A benchmark
    of the engine as its users have it leaves this out.
    """
    for name in ("textworld.envs.pddl.textgen", "textworld.logic"):
        module: Any = import_module(name)
        module._parse_and_convert = _remembered(module._parse_and_convert)
    planner: Any = import_module("fast_downward")
    # A game's two translations, which nothing changes.
    planner.pddl2sas = lru_cache(maxsize=2)(planner.pddl2sas)


def _remembered(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what a parser returns, and return a new copy each time: callers change it."""

    @lru_cache(maxsize=4096)
    def parsed(*args: Any, **options: Any) -> bytes:
        return pickle.dumps(parse(*args, **options), pickle.HIGHEST_PROTOCOL)

    @wraps(parse)
    def remembered(*args: Any, **options: Any) -> Any:
        return pickle.loads(parsed(*args, **options))

    return remembered


def _said(state: Any) -> Said:
    return Said(state["feedback"], state["admissible_commands"], bool(state["won"]))
