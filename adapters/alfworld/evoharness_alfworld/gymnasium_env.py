"""ALFWorld for Gymnasium: one game, or thousands of them in lock-step in one process.

import gymnasium, evoharness_alfworld.gymnasium_env              # registers the name
env = gymnasium.make("evoharness/ALFWorld-v0", split="demo")
envs = gymnasium.make_vec("evoharness/ALFWorld-v0", num_envs=1024)

Without that import the name of the module does the same, also in the worker processes of an
AsyncVectorEnv: `gymnasium.make("evoharness_alfworld.gymnasium_env:evoharness/ALFWorld-v0")`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from evoharness.core.environment import Environment, Step, Task
from evoharness_alfworld.adapter import AlfworldAdapter

MAX_STEPS = 50
"""The benchmark's time limit, the default."""
LONGEST_OBSERVATION = 8192
"""Official games stay below 1,100 characters, generated ones below 4,000 at every setting."""
LONGEST_ACTION = 256
"""Commands are shorter than 80; an agent may say more than one knows."""


class AlfworldEnv(gymnasium.Env[str, str]):
    """One ALFWorld game at a time; each reset picks one.

    Observations and actions are text. The first observation of an episode ends with the sentence
    of the task, as the stock engine says it, so that a policy needs nothing but observations; it is
    in `info["objective"]` at every step too, for policies without memory. The reward is 1 for the
    action that wins, which also ends the episode, and else 0. An action that cannot be done is an
    observation with `info["valid"]` False. Actions may be spelled in any way the harness knows.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - as Gymnasium wants it

    def __init__(
        self,
        split: str = "demo",
        data: str | Path | None = None,
        render_mode: str | None = None,
        *,
        adapter: AlfworldAdapter | None = None,
    ) -> None:
        """Find the games; none is started yet.

        Args:
            split: `demo`, which needs no download, `train`, `valid_seen`, `valid_unseen`, or
                another folder of games.
            data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.
            render_mode: `ansi` for the last command and observation as text.
            adapter: one that has found the games already, instead of `data`.

        Raises:
            ValueError: there is no such split or render mode.
            FileNotFoundError: its games are not there; says how to get them.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"ALFWorld has no render mode {render_mode!r}; use 'ansi' or None")
        text = string.printable
        self.observation_space = Text(LONGEST_OBSERVATION, charset=text)
        self.action_space = Text(LONGEST_ACTION, min_length=0, charset=text)
        self.render_mode = render_mode
        self._split = split
        self._adapter = adapter or AlfworldAdapter(data=data)
        self.tasks = self._adapter.tasks(split)
        self.next_task: Task | None = None
        """What resets begin, if the options name no task; None leaves it to chance."""
        self._task: Task | None = None
        self._game: Environment | None = None
        self._screen = ""

    def named(self, id: str) -> Task:
        """Return a task of the split.

        Raises:
            ValueError: the split has no such task.
        """
        for task in self.tasks:
            if task.id == id:
                return task
        raise ValueError(
            f"the split {self._split!r} has no task {id!r}; it has {len(self.tasks)} of them, "
            f"such as {self.tasks[0].id!r}"
        )

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a game that the random numbers pick, or the one that is named.

        Args:
            seed: seeds the picking, now and in later resets.
            options: `{"task": ID}` names the game of this one episode.

        Raises:
            ValueError: there is no such option or task.
        """
        super().reset(seed=seed)
        given = dict(options or {})
        task = self.named(given.pop("task")) if "task" in given else self.next_task
        if given:
            raise ValueError(f"reset has no option {', '.join(map(repr, given))}; use 'task'")
        if task is None:
            task = self.tasks[int(self.np_random.integers(len(self.tasks)))]
        self._task, self._game = task, self._adapter.make(task)
        step = self._game.reset()
        self._screen = f"{step.observation}\n\nYour task is to: {task.objective}"
        return self._screen, _info(task, step)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            ResetNeeded: no game has begun.
            TypeError: the action is no text.
        """
        if self._game is None or self._task is None:
            raise ResetNeeded("step was called before reset; call reset first")
        _check_text(action)
        step = self._game.step(self._adapter.normalise(action))
        # A step after the end is not valid: what was won is rewarded once.
        reward = float(step.success and step.valid)
        self._screen = f"> {action}\n{step.observation}"
        return step.observation, reward, step.done, False, _info(self._task, step)

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the last command and observation, if the render mode is `ansi`."""
        return self._screen if self.render_mode == "ansi" else None


class AlfworldVectorEnv(SyncVectorEnv):
    """Many ALFWorld games in lock-step, in one process and thread.

    Gymnasium's SyncVectorEnv, with groups of sub-environments that play the same game, and with
    infos that are put together faster.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        split: str = "demo",
        data: str | Path | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        """Find the games; none is started yet.

        Args:
            num_envs: how many sub-environments there are.
            split: see `AlfworldEnv`.
            data: see `AlfworldEnv`.
            max_episode_steps: steps after which an episode is truncated, by default 50; -1 for no
                limit, as in `gymnasium.make`.
            autoreset_mode: when a sub-environment that is done begins its next episode.
            render_mode: see `AlfworldEnv`.

        Raises:
            ValueError: there is no such split or mode, or no sub-environment.
            FileNotFoundError: the split's games are not there; says how to get them.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; there is at least one sub-environment")
        steps = MAX_STEPS if max_episode_steps is None else max_episode_steps
        adapter = AlfworldAdapter(data=data)
        self.games = [
            AlfworldEnv(split, render_mode=render_mode, adapter=adapter) for _ in range(num_envs)
        ]
        envs = [game if steps == -1 else TimeLimit(game, steps) for game in self.games]
        makers = [lambda env=env: env for env in envs]
        # The observations are a tuple of str, which needs no copy.
        super().__init__(makers, copy=False, autoreset_mode=autoreset_mode)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin a game in every sub-environment, or in those of a mask.

        Args:
            seed: sub-environment i is seeded with `seed + i`; or one seed for each.
            options: `tasks` names the games of this one episode: as many ids as there are
                sub-environments, or fewer, so that each is played by a group of as many
                neighbours. `reset_mask`, an array of bool of shape (num_envs,), says which
                sub-environments begin anew; the others stay where they are.

        Raises:
            ValueError: there is no such option or task; or a number of something is wrong.
        """
        others = dict(options or {})
        tasks = self._shared_out(others.pop("tasks", None))
        for game, task in zip(self.games, tasks, strict=True):
            game.next_task = task
        try:
            return super().reset(seed=seed, options=others)
        finally:
            for game in self.games:
                game.next_task = None

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take one action in each sub-environment.

        Raises:
            ResetNeeded: reset was not called.
            TypeError: an action is no text; nothing has been done then.
            ValueError: there are more or fewer actions than sub-environments.
        """
        if isinstance(actions, str) or len(actions) != self.num_envs:
            count = "one text" if isinstance(actions, str) else f"{len(actions)} actions"
            raise ValueError(
                f"step got {count} for {self.num_envs} sub-environments; give a list of one "
                "action for each"
            )
        for i, action in enumerate(actions):
            _check_text(action, f"sub-environment {i}: ")
        return super().step(actions)

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        # Upstream's makes a mask for each value of each sub-environment, only to drop it again.
        if "final_info" in env_info or not env_info.keys() <= vector_infos.keys():
            return super()._add_info(vector_infos, env_info, env_num)
        for key, value in env_info.items():
            vector_infos[key][env_num] = value
            vector_infos[f"_{key}"][env_num] = True
        return vector_infos

    def _shared_out(self, names: Sequence[str] | None) -> Sequence[Task | None]:
        if names is None:
            return [None] * self.num_envs
        names = [names] if isinstance(names, str) else names
        if not names or self.num_envs % len(names):
            raise ValueError(
                f"{len(names)} tasks cannot be shared out evenly over {self.num_envs} "
                "sub-environments; give as many, or a number that divides theirs"
            )
        tasks = [self.games[0].named(name) for name in names]
        return [task for task in tasks for _ in range(self.num_envs // len(tasks))]


def _info(task: Task, step: Step) -> dict[str, Any]:
    return {
        "admissible_commands": step.admissible,
        "won": step.success,
        "score": step.score,
        "valid": step.valid,
        "objective": task.objective,
        "task": task.id,
        "task_type": task.type,
    }


def _check_text(action: object, where: str = "") -> None:
    if not isinstance(action, str):
        kind = type(action).__name__
        raise TypeError(f"{where}an action is text such as 'look'; this is a {kind}: {action!r}")


gymnasium.register(
    id="evoharness/ALFWorld-v0",
    entry_point=f"{__name__}:AlfworldEnv",
    vector_entry_point=f"{__name__}:AlfworldVectorEnv",
    max_episode_steps=MAX_STEPS,
)
