"""New games in ALFWorld's domain, without end.

`habits` is what the training games teach about rooms, `recipe` what decides a game, `rooms`
furnishes one for a task, `writing` makes it a game file, `walkthrough` solves it, and `generate`
does all of that.
"""

from evoharness_alfworld.generator.generate import Generated, generate, write
from evoharness_alfworld.generator.recipe import Recipe

__all__ = ["Generated", "Recipe", "generate", "write"]
