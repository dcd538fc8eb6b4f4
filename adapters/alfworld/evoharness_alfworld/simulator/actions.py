"""The actions of the domain."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verb = Literal[
    "look", "inventory", "help", "examine receptacle", "examine object", "go", "open", "close",
    "take", "move", "clean", "heat", "cool", "use", "slice",
]  # fmt: skip


class Action(NamedTuple):
    """An action on things by their numbers; -1 stands for nothing."""

    verb: Verb
    object: int = -1
    receptacle: int = -1
    blade: int = -1
