"""ALFWorld for evoharness: household tasks in text, played with the stock TextWorld engine."""

from evoharness_alfworld.adapter import AlfworldAdapter

__all__ = ["AlfworldAdapter"]
