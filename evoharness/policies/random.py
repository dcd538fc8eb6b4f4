"""The floor of every comparison: an admissible action by chance."""

from __future__ import annotations

import random

from evoharness.core.parsing import ACT, Reply
from evoharness.core.view import View
from evoharness.policies.base import Policy


class RandomPolicy(Policy):
    """Chooses uniformly among `act` and the meta-verbs on offer; then, for `act`, uniformly among
    the admissible actions. A meta-verb's argument is the objective.

    The choice depends on the seed, the task and the turn alone, so that results do not depend on
    the order of episodes, and an episode can go on in another process.
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def decide(self, view: View) -> Reply:
        """Choose one action.

        Raises:
            ValueError: the environment does not list its admissible actions.
        """
        if not view.admissible:
            raise ValueError(
                f"the random policy needs admissible actions, and task {view.task.id!r} lists none"
            )
        chance = random.Random(f"{self.seed}/{view.task.id}/{len(view.turns)}")
        verb = chance.choice((ACT, *view.verbs))
        action = chance.choice(view.admissible) if verb == ACT else f"{verb} {view.task.objective}"
        return Reply(f"<think>By chance.</think><action>{action}</action>")
