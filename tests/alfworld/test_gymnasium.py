"""ALFWorld as Gymnasium's users know environments: one game, or many in lock-step."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from evoharness_alfworld import AlfworldAdapter
from evoharness_alfworld.gymnasium_env import AlfworldEnv, AlfworldVectorEnv
from evoharness_alfworld.labeller import Labeller
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

NAME = "evoharness/ALFWorld-v0"
IDS = [task.id for task in AlfworldAdapter().tasks("demo")]
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.fixture
def env() -> AlfworldEnv:
    return AlfworldEnv()


def walkthrough(env: gymnasium.Env[str, str], task: str) -> tuple[list[str], list[float]]:
    """Let the expert play a task; return its actions and their rewards."""
    observation, info = env.reset(options={"task": task})
    labeller = Labeller(info["objective"], observation)
    actions: list[str] = []
    rewards: list[float] = []
    done = False
    while not done:
        actions.append(labeller.label(info["admissible_commands"]))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        labeller.see(actions[-1], observation)
        rewards.append(float(reward))
        done = terminated or truncated
    return actions, rewards


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, arrays within them included, down to their types."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.tolist() == other.tolist()
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


class TestOne:
    def test_gymnasium_finds_no_fault(self) -> None:
        check_env(gymnasium.make(NAME).unwrapped)

    def test_the_name_of_the_module_is_enough(self) -> None:
        code = (
            "import gymnasium\n"
            f"env = gymnasium.make('evoharness_alfworld.gymnasium_env:{NAME}')\n"
            "print(env.reset(seed=0)[0])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "Your task is to: " in done.stdout, done.stderr

    def test_the_first_observation_says_all_that_an_agent_needs(self, env: AlfworldEnv) -> None:
        observation, info = env.reset(options={"task": IDS[2]})
        assert observation.startswith("You are in the middle of a room.")
        assert observation.endswith(f"\n\nYour task is to: {info['objective']}")
        assert info["task"] == IDS[2]
        assert info["task_type"] in IDS[2]
        assert (info["won"], info["score"], info["valid"]) == (False, 0.0, True)
        assert "look" in info["admissible_commands"]

    @pytest.mark.parametrize("task", IDS)
    def test_the_expert_is_rewarded_once_when_it_wins(self, task: str) -> None:
        env = gymnasium.make(NAME)
        _, rewards = walkthrough(env, task)
        assert rewards == [0.0] * (len(rewards) - 1) + [1.0]

    def test_winning_ends_the_episode(self, env: AlfworldEnv) -> None:
        actions, _ = walkthrough(env, IDS[0])
        env.reset(options={"task": IDS[0]})
        *_, last = [env.step(action) for action in actions]
        assert last[1:4] == (1.0, True, False)
        assert last[4]["won"]
        assert last[4]["score"] == 1.0
        assert env.step("look")[1:4] == (0.0, True, False)

    def test_an_action_that_cannot_be_done_is_said_to_be_invalid(self, env: AlfworldEnv) -> None:
        env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step("eat the fridge")
        assert (observation, reward, terminated, truncated) == ("Nothing happens.", 0, False, False)
        assert not info["valid"]
        assert env.step("")[0] == "Nothing happens."

    def test_actions_may_be_spelled_as_the_harness_allows(self, env: AlfworldEnv) -> None:
        _, info = env.reset(seed=0)
        way = next(c for c in info["admissible_commands"] if c.startswith("go to"))
        observation, _, _, _, info = env.step(f"  {way.upper()}. ")
        assert observation.startswith("You arrive at")
        assert info["valid"]

    def test_an_action_that_is_no_text_is_refused(self, env: AlfworldEnv) -> None:
        env.reset(seed=0)
        with pytest.raises(TypeError, match="an action is text such as 'look'; this is a int: 3"):
            env.step(3)  # pyright: ignore[reportArgumentType]

    def test_stepping_before_the_start_is_refused(self, env: AlfworldEnv) -> None:
        with pytest.raises(ResetNeeded, match="call reset first"):
            env.step("look")

    def test_the_time_limit_truncates(self) -> None:
        env = gymnasium.make(NAME, max_episode_steps=3)
        env.reset(seed=0)
        assert [env.step("look")[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]

    def test_the_same_seed_gives_the_same_games(self, env: AlfworldEnv) -> None:
        def games(seed: int) -> list[str]:
            first = env.reset(seed=seed)[1]["task"]
            return [first, *(env.reset()[1]["task"] for _ in range(20))]

        assert games(1) == games(1) != games(2)
        assert set(games(1)) <= set(IDS)

    def test_a_named_task_is_named_for_one_episode(self, env: AlfworldEnv) -> None:
        assert env.reset(options={"task": IDS[5]})[1]["task"] == IDS[5]
        assert len({env.reset()[1]["task"] for _ in range(20)}) > 1

    def test_an_unknown_task_or_option_is_refused(self, env: AlfworldEnv) -> None:
        with pytest.raises(ValueError, match="'demo' has no task 'x'; it has 12 of them, such as"):
            env.reset(options={"task": "x"})
        with pytest.raises(ValueError, match="no option 'game'; use 'task'"):
            env.reset(options={"game": IDS[0]})

    def test_an_unknown_split_or_render_mode_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no split 'test'"):
            AlfworldEnv("test")
        with pytest.raises(ValueError, match="no render mode 'human'"):
            AlfworldEnv(render_mode="human")

    def test_rendering_is_the_last_command_and_observation(self) -> None:
        env = AlfworldEnv(render_mode="ansi")
        observation, _ = env.reset(seed=0)
        assert env.render() == observation
        env.step("inventory")
        assert env.render() == "> inventory\nYou are not carrying anything."
        assert AlfworldEnv().render() is None


@pytest.mark.parametrize(
    "split", ["demo", pytest.param("valid_unseen", marks=pytest.mark.official)]
)
def test_the_spaces_contain_all_that_is_said_and_can_be_done(split: str) -> None:
    env, rng = AlfworldEnv(split), random.Random(0)
    for task in env.tasks:
        observation, info = env.reset(options={"task": task.id})
        for _ in range(15):
            assert observation in env.observation_space
            assert all(command in env.action_space for command in info["admissible_commands"])
            observation, *_, info = env.step(rng.choice(info["admissible_commands"]))


@pytest.mark.official
def test_official_games_are_won_too() -> None:
    env = AlfworldEnv("valid_seen")
    won = [walkthrough(gymnasium.wrappers.TimeLimit(env, 50), t.id)[1][-1] for t in env.tasks[::20]]
    assert won == [1.0] * 7


class TestMany:
    @pytest.mark.parametrize("mode", MODES)
    def test_it_does_as_gymnasiums_own_does(self, mode: AutoresetMode) -> None:
        """Half of them play at random and are cut off, half win: over several episodes."""
        won = sorted((walkthrough(AlfworldEnv(), id)[0], id) for id in IDS)
        short = sorted(won, key=lambda one: len(one[0]))[:3]
        limit = len(short[-1][0]) + 1
        ours = gymnasium.make_vec(NAME, 6, max_episode_steps=limit, autoreset_mode=mode)
        theirs = SyncVectorEnv(
            [lambda: gymnasium.make(NAME, max_episode_steps=limit)] * 6, autoreset_mode=mode
        )
        assert isinstance(ours.unwrapped, AlfworldVectorEnv)
        assert ours.metadata == theirs.metadata
        assert ours.action_space == theirs.action_space
        assert ours.observation_space == theirs.observation_space
        # The first reset picks the games by seed; the second ones are named.
        assert same(ours.reset(seed=7), theirs.reset(seed=7))
        named = [id for _, id in short]
        _, infos = ours.reset(seed=8, options={"tasks": named})
        theirs.reset(seed=8)
        for i, env in enumerate(theirs.envs):
            env.reset(seed=8 + i, options={"task": named[i // 2]})
        rng, ends = random.Random(0), set[tuple[bool, bool]]()
        for turn in range(3 * limit):
            actions = [rng.choice(commands) for commands in infos["admissible_commands"]]
            for i, (plan, _) in enumerate(short):
                actions[2 * i] = plan[turn] if turn < len(plan) else "dance"
            mine = ours.step(actions)
            assert same(mine, theirs.step(actions))
            assert mine[0] in ours.observation_space
            infos = mine[4]
            ends |= set(zip(mine[2].tolist(), mine[3].tolist(), strict=True))
        assert {(False, False), (True, False), (False, True)} <= ends

    def test_it_equals_as_many_single_ones(self) -> None:
        envs = gymnasium.make_vec(NAME, num_envs=4)
        alone = [gymnasium.make(NAME) for _ in range(4)]
        observations, infos = envs.reset(seed=3)
        firsts = [env.reset(seed=3 + i) for i, env in enumerate(alone)]
        assert list(observations) == [first[0] for first in firsts]
        rng = random.Random(1)
        for _ in range(20):
            actions = [rng.choice(commands) for commands in infos["admissible_commands"]]
            observations, rewards, terminations, truncations, infos = envs.step(actions)
            for i, (env, action) in enumerate(zip(alone, actions, strict=True)):
                observation, reward, terminated, truncated, info = env.step(action)
                assert observations[i] == observation
                assert (rewards[i], terminations[i], truncations[i]) == (
                    reward,
                    terminated,
                    truncated,
                )
                assert {key: infos[key][i] for key in info} == info
                assert all(infos[f"_{key}"][i] for key in info)

    def test_seeds_decide_the_games_and_sub_environments_differ(self) -> None:
        envs = AlfworldVectorEnv(16)
        games = envs.reset(seed=5)[1]["task"].tolist()
        assert envs.reset(seed=5)[1]["task"].tolist() == games
        assert envs.reset(seed=50)[1]["task"].tolist() != games
        assert len(set(games)) > 1

    def test_groups_play_the_same_task(self) -> None:
        envs = AlfworldVectorEnv(6)
        _, infos = envs.reset(seed=0, options={"tasks": IDS[:2]})
        assert infos["task"].tolist() == [IDS[0]] * 3 + [IDS[1]] * 3
        _, infos = envs.reset(options={"tasks": [IDS[4]]})
        assert infos["task"].tolist() == [IDS[4]] * 6
        assert len(set(envs.reset()[1]["task"].tolist())) > 1

    def test_a_part_can_begin_anew_with_named_tasks(self) -> None:
        envs = AlfworldVectorEnv(4, autoreset_mode=AutoresetMode.DISABLED)
        envs.reset(options={"tasks": IDS[:1]})
        envs.step(["inventory"] * 4)
        mask = np.array([False, True, False, True])
        observations, infos = envs.reset(options={"tasks": IDS[1:5], "reset_mask": mask})
        assert infos["task"].tolist() == [None, IDS[2], None, IDS[4]]
        assert infos["_task"].tolist() == mask.tolist()
        assert [text.startswith("You are not carrying") for text in observations] == [
            *(True, False, True, False)
        ]

    def test_a_thousand_games_take_a_step_together(self) -> None:
        envs = AlfworldVectorEnv(1000)
        _, infos = envs.reset(seed=0)
        assert len(set(infos["task"])) == len(IDS)
        ways = [commands[3] for commands in infos["admissible_commands"]]
        observations, rewards, _, _, infos = envs.step(ways)
        assert len(observations) == 1000
        assert rewards.shape == (1000,)
        assert infos["valid"].all()

    @pytest.mark.parametrize(
        ("actions", "error", "says"),
        [
            (["look"], ValueError, "step got 1 actions for 2 sub-environments; give a list of one"),
            (["look"] * 3, ValueError, "step got 3 actions for 2 sub-environments"),
            ("up", ValueError, "step got one text for 2 sub-environments"),
            (["look", None], TypeError, "sub-environment 1: an action is text such as 'look'"),
        ],
    )
    def test_bad_actions_are_refused_before_anything_moves(
        self, actions: Any, error: type[Exception], says: str
    ) -> None:
        envs = AlfworldVectorEnv(2, max_episode_steps=1)
        envs.reset(seed=0)
        with pytest.raises(error, match=says):
            envs.step(actions)
        assert envs.step(["look", "look"])[3].tolist() == [True, True]

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"tasks": ["x", IDS[0]]}, "has no task 'x'"),
            ({"tasks": IDS[:3]}, "3 tasks cannot be shared out evenly over 4 sub-environments"),
            ({"tasks": []}, "0 tasks cannot be shared out"),
            ({"game": IDS[:1]}, "no option 'game'"),
        ],
    )
    def test_bad_options_are_refused(self, options: dict[str, Any], says: str) -> None:
        with pytest.raises(ValueError, match=says):
            AlfworldVectorEnv(4).reset(options=options)

    def test_there_is_at_least_one(self) -> None:
        with pytest.raises(ValueError, match="num_envs is 0"):
            AlfworldVectorEnv(0)

    def test_without_a_limit_nothing_is_truncated(self) -> None:
        envs = AlfworldVectorEnv(2, max_episode_steps=-1)
        envs.reset(seed=0)
        assert not any(envs.step(["look"] * 2)[3].any() for _ in range(60))

    def test_rendering_gives_one_text_each(self) -> None:
        envs = AlfworldVectorEnv(2, render_mode="ansi")
        envs.reset(seed=0)
        envs.step(["look", "inventory"])
        shown = envs.render()
        assert shown is not None
        assert [str(text).splitlines()[0] for text in shown] == ["> look", "> inventory"]
