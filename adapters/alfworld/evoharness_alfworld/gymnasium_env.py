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
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
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

_INFO: dict[str, type] = {
    "admissible_commands": object,  # a tuple of str, sorted
    "won": bool,
    "score": float,  # 1 when won
    "valid": bool,  # whether the last action did anything
    "objective": object,
    "task": object,  # its id
    "task_type": object,
}


class AlfworldEnv(gymnasium.Env[str, str]):
    """One ALFWorld game at a time; each reset picks one.

    Observations and actions are text. The first observation of an episode ends with the sentence
    of the task, as the stock engine says it, so that a policy needs nothing but observations; it is
    in `info["objective"]` at every step too, for policies without memory. The reward is 1 for the
    action that wins, which also ends the episode, and else 0. An action that cannot be done is an
    observation with `info["valid"]` False. Actions may be spelled in any way the harness knows.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - declared so by Gymnasium

    def __init__(
        self,
        split: str = "demo",
        data: str | Path | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Find the games; none is started yet.

        Args:
            split: `demo`, which needs no download, `train`, `valid_seen`, `valid_unseen`, or
                another folder of games.
            data: the folder that holds `json_2.1.1`; by default the one that ALFWORLD_DATA names.
            render_mode: `ansi` for the last command and observation as text.

        Raises:
            ValueError: there is no such split or render mode.
            FileNotFoundError: the games are not there; the message says how to get them.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"ALFWorld has no render mode {render_mode!r}; use 'ansi' or None")
        text = string.printable
        self.observation_space = Text(LONGEST_OBSERVATION, charset=text)
        self.action_space = Text(LONGEST_ACTION, min_length=0, charset=text)
        self.render_mode = render_mode
        self.split = split
        self._adapter = AlfworldAdapter(data=data)
        self.tasks = self._adapter.tasks(split)
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
            f"the split {self.split!r} has no task {id!r}; it has {len(self.tasks)} of them, "
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
        _refuse_unknown(options, "task")
        if options and options.get("task") is not None:
            task = self.named(options["task"])
        else:
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
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(_no_text(action))
        step = self._game.step(self._adapter.normalise(action))
        # A step after the end is not valid: what was won is rewarded once.
        reward = float(step.success and step.valid)
        self._screen = f"> {action}\n{step.observation}"
        return step.observation, reward, step.done, False, _info(self._task, step)

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the last command and observation, if the render mode is `ansi`."""
        return self._screen if self.render_mode == "ansi" else None


class AlfworldVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], NDArray[Any]]):
    """Many ALFWorld games in lock-step, in one process and thread.

    Equal to Gymnasium's SyncVectorEnv of as many `AlfworldEnv` in observations, rewards, infos and
    autoreset modes. What it has beyond that: groups of sub-environments that play the same games,
    and with AutoresetMode.DISABLED a sub-environment that is done may be stepped while others go
    on: it stays as it is, with reward 0.
    """

    metadata = {"render_modes": ["ansi"], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        split: str = "demo",
        data: str | Path | None = None,
        max_episode_steps: int | None = None,
        group_size: int = 1,
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
            group_size: how many neighbours play the same games one after the other, because they
                pick them with the same random numbers; their number divides `num_envs`.
            autoreset_mode: when a sub-environment that is done begins its next episode.
            render_mode: see `AlfworldEnv`.

        Raises:
            ValueError: there is no such split or mode, or the groups do not fill the environment.
            FileNotFoundError: the games are not there; the message says how to get them.
        """
        if num_envs < 1 or group_size < 1 or num_envs % group_size:
            raise ValueError(
                f"{num_envs} sub-environments cannot be had in groups of {group_size}; num_envs is "
                "a positive multiple of group_size"
            )
        steps = MAX_STEPS if max_episode_steps is None else max_episode_steps
        games = [AlfworldEnv(split, data, render_mode) for _ in range(num_envs)]
        self.envs = tuple(game if steps == -1 else TimeLimit(game, steps) for game in games)
        self.num_envs = num_envs
        self.group_size = group_size
        self.render_mode = render_mode
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.single_observation_space = games[0].observation_space
        self.single_action_space = games[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._named = games[0].named
        self._observations = [""] * num_envs
        self._infos: list[dict[str, Any]] = [{}] * num_envs
        self._terminated = [False] * num_envs
        self._truncated = [False] * num_envs

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride] - a list, as SyncVectorEnv has it
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin a game in every sub-environment, or in those of a mask.

        Args:
            seed: group g is seeded with `seed + g`; or one seed for each sub-environment. Without a
                seed the random numbers go on, and groups get new ones, each its own.
            options: `tasks` names the games of this one episode: as many ids as there are
                sub-environments, or fewer, each of which as many neighbours play. `reset_mask`
                is an array of bool of shape (num_envs,): the others stay where they are.

        Raises:
            ValueError: there is no such option or task; or a number of something is wrong.
        """
        _refuse_unknown(options, "tasks", "reset_mask")
        given = options or {}
        seeds, names = self._seeds(seed), self._names(given.get("tasks"))
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"reset_mask is an array of bool of shape ({self.num_envs},) with at least one "
                f"True; this one has shape {mask.shape}, type {mask.dtype} and {mask.sum()} True"
            )
        chosen = [int(i) for i in np.flatnonzero(mask)]
        for i in chosen:
            named = {"task": names[i]} if names else None
            self._observations[i], self._infos[i] = self.envs[i].reset(seed=seeds[i], options=named)
            self._terminated[i] = self._truncated[i] = False
        return tuple(self._observations), self._batched({i: self._infos[i] for i in chosen})

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take one action in each sub-environment.

        Where one begins its next episode, or is done for good, its action is not looked at.

        Raises:
            ResetNeeded: reset was not called.
            TypeError: an action is no text.
            ValueError: there are more or fewer actions than sub-environments.
        """
        self._check(actions)
        rewards = np.zeros(self.num_envs)
        finals: dict[str, Any] = {}
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if self._over(i):
                if self._mode is AutoresetMode.DISABLED:
                    self._infos[i] = {**self._infos[i], "valid": False}
                    continue
                self._observations[i], self._infos[i] = env.reset()
                self._terminated[i] = self._truncated[i] = False
                continue
            observation, reward, terminated, truncated, info = env.step(action)
            if self._mode is AutoresetMode.SAME_STEP and (terminated or truncated):
                final = {"final_obs": observation, "final_info": info}
                finals = self._add_info(finals, final, i)
                observation, info = env.reset()
            self._observations[i], self._infos[i] = observation, info
            self._terminated[i], self._truncated[i] = terminated, truncated
            rewards[i] = reward
        infos = {**self._batched(dict(enumerate(self._infos))), **finals}
        terminations, truncations = np.array(self._terminated), np.array(self._truncated)
        return tuple(self._observations), rewards, terminations, truncations, infos

    def render(self) -> tuple[str | None, ...] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the last command and observation of each, if the render mode is `ansi`."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)  # pyright: ignore

    def _over(self, i: int) -> bool:
        """Whether this one waits for a reset; in mode SAME_STEP it already had it."""
        over = self._terminated[i] or self._truncated[i]
        return over and self._mode is not AutoresetMode.SAME_STEP

    def _check(self, actions: Sequence[str]) -> None:
        """Refuse bad actions before any game has moved."""
        if "" in self._observations:
            raise ResetNeeded("step was called before reset; call reset first")
        if isinstance(actions, str) or len(actions) != self.num_envs:
            count = "one text" if isinstance(actions, str) else f"a list of {len(actions)}"
            raise ValueError(
                f"step got {count} for {self.num_envs} sub-environments; give a list of one "
                "action for each"
            )
        for i, action in enumerate(actions):
            if not isinstance(action, str) and not self._over(i):  # pyright: ignore
                raise TypeError(f"sub-environment {i}: {_no_text(action)}")

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if isinstance(seed, Sequence):
            if len(seed) != self.num_envs:
                raise ValueError(
                    f"there are {len(seed)} seeds for {self.num_envs} sub-environments"
                )
            return seed
        super().reset(seed=seed)
        if seed is None and self.group_size == 1:
            return [None] * self.num_envs
        # Members of a group may have played differently many games: they need a common start.
        first = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        return [first + i // self.group_size for i in range(self.num_envs)]

    def _names(self, names: Sequence[str] | None) -> list[str]:
        if names is None:
            return []
        names = [names] if isinstance(names, str) else list(names)
        if not names or self.num_envs % len(names):
            raise ValueError(
                f"{len(names)} tasks cannot be shared out evenly over {self.num_envs} "
                "sub-environments; give as many, or a number that divides theirs"
            )
        return [self._named(name).id for name in names for _ in range(self.num_envs // len(names))]

    def _batched(self, infos: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """Return what `_add_info` makes of these infos, at a tenth of its cost."""
        where, batched = list(infos), dict[str, Any]()
        for key, kind in _INFO.items():
            values = np.full(self.num_envs, None if kind is object else 0, dtype=kind)
            values[where] = np.fromiter((info[key] for info in infos.values()), kind, len(where))
            mask = np.zeros(self.num_envs, dtype=bool)
            mask[where] = True
            batched[key], batched[f"_{key}"] = values, mask
        return batched


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


def _refuse_unknown(options: Mapping[str, Any] | None, *known: str) -> None:
    for name in options or {}:
        if name not in known:
            raise ValueError(f"reset has no option {name!r}; it knows {', '.join(known)}")


def _no_text(action: object) -> str:
    return f"an action is text such as 'look'; this one is {action!r}, a {type(action).__name__}"


gymnasium.register(
    id="evoharness/ALFWorld-v0",
    entry_point=f"{__name__}:AlfworldEnv",
    vector_entry_point=f"{__name__}:AlfworldVectorEnv",
    max_episode_steps=MAX_STEPS,
)
