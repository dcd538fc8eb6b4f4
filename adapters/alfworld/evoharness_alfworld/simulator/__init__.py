"""The native engine: ALFWorld's games in plain Python, equal to the stock engine byte for byte.

A game file is read by `problem`, its ids get their names in `naming`, `house` builds what never
changes and the first state, `rules` say what can be done and what it changes, `phrases` what is
said, and `game` is one game being played.
"""

from evoharness_alfworld.simulator.game import Game, interpret, open_game
from evoharness_alfworld.simulator.house import House, State
from evoharness_alfworld.simulator.phrases import NOTHING_HAPPENS
from evoharness_alfworld.simulator.problem import GameError, Goal, parse

__all__ = [
    "NOTHING_HAPPENS",
    "Game",
    "GameError",
    "Goal",
    "House",
    "State",
    "interpret",
    "open_game",
    "parse",
]
