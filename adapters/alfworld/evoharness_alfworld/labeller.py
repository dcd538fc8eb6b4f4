"""What the expert would do in any state that a learner gets into, from the text alone.

A label costs some microseconds, so that a learner can be corrected on its own states (DAgger).
"""

from __future__ import annotations

from collections.abc import Container

from evoharness_alfworld import acting, scene
from evoharness_alfworld.objective import read_objective
from evoharness_alfworld.simulator import NOTHING_HAPPENS
from evoharness_alfworld.wording import room_only


class Labeller:
    """Follows one episode, whoever plays it, and says what the expert would do next.

    labeller = Labeller(task.objective, environment.reset().observation)
    while not done:
        label = labeller.label()
        action = learner(...)
        labeller.see(action, environment.step(action).observation)
    """

    def __init__(self, objective: str, observation: str) -> None:
        """Begin with the task and the first observation, an engine's own text or without banner.

        Raises:
            ValueError: the objective is none of ALFWorld's.
        """
        self._goal = read_objective(objective)
        self._scene = scene.first(objective, room_only(observation).strip())
        self._done: list[acting.Did] = []

    def see(self, action: str, observation: str) -> None:
        """Take note of an action of anybody's and what came of it."""
        self._scene = scene.update(self._scene, action, observation)
        valid = observation.strip() != NOTHING_HAPPENS
        self._done.append({"argument": action, "result": observation, "valid": valid})

    def label(self, admissible: Container[str] | None = None) -> str:
        """Return the expert's next action.

        Args:
            admissible: the admissible actions, if the expert may see them too; then its action is
                one of them.
        """
        here = acting.situation(self._goal, self._scene, self._done, {}, admissible)
        return acting.act(here, self._done, admissible)[0]
