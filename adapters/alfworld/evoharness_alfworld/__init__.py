"""ALFWorld for evoharness: household tasks in text, with an engine and games of our own.

from evoharness_alfworld import AlfworldAdapter                # for the harness
from evoharness_alfworld.simulator import Game, open_game      # the engine alone
from evoharness_alfworld.generator import Recipe, generate     # new games
from evoharness_alfworld.labeller import Labeller              # what the expert would do
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evoharness_alfworld.adapter import AlfworldAdapter

__all__ = ["AlfworldAdapter"]


def __getattr__(name: str) -> Any:
    # Loaded when it is first used: who wants the engine alone pays for nothing else.
    if name != "AlfworldAdapter":
        raise AttributeError(f"module 'evoharness_alfworld' has no attribute {name!r}")
    from evoharness_alfworld.adapter import AlfworldAdapter

    return AlfworldAdapter
