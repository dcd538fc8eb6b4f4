"""Games are independent of each other, and can be forked, kept and gone on with."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alfworld_kitchen import do, file, kitchen
from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.simulator import Game, House
from evoharness_alfworld.simulator.archive import dumps, loads
from hypothesis import given
from hypothesis import strategies as st

SEEDS = st.integers(0, 40)


def house(seed: int) -> House:
    return generate(Recipe(seed, moved=(seed % 3) / 2)).house


def wander(game: Game, seed: int, steps: int) -> list[Any]:
    """Play random possible commands; return all that was said."""
    rng = random.Random(seed)
    said: list[Any] = []
    for _ in range(steps):
        command = rng.choice(game.admissible)
        said.append((command, game.step(command), game.admissible, game.won))
    return said


@given(SEEDS, st.integers(0, 30), st.integers(0, 9), st.integers(0, 9))
def test_a_fork_and_its_original_do_not_touch_each_other(
    seed: int, steps: int, one: int, other: int
) -> None:
    alone = Game(house(seed))
    wander(alone, seed, steps)
    expected = wander(alone, one, 20)

    game = Game(house(seed))
    wander(game, seed, steps)
    fork = game.fork()
    assert fork.state == game.state
    wander(fork, other, 20)
    assert wander(game, one, 20) == expected


@given(SEEDS, st.integers(0, 40))
def test_a_snapshot_at_any_step_goes_on_identically(seed: int, steps: int) -> None:
    game = Game(house(seed))
    wander(game, seed, steps)
    kept = json.loads(json.dumps(game.snapshot()))
    assert kept == game.snapshot()
    restored = Game(loads(dumps(house(seed))))
    restored.restore(kept)
    assert restored.state == game.state
    assert wander(restored, 1, 10) == wander(game, 1, 10)


def test_a_snapshot_is_small() -> None:
    sizes: list[int] = []
    for seed in range(40):
        game = Game(house(seed))
        wander(game, seed, 50)
        sizes.append(len(json.dumps(game.snapshot())))
    assert max(sizes) < 600
    assert len(json.dumps(Game(house(0)).snapshot())) < 30


def test_a_snapshot_goes_on_in_another_process_with_other_hashes() -> None:
    program = (
        "import json, sys\n"
        "from evoharness_alfworld.generator import Recipe, generate\n"
        "from evoharness_alfworld.simulator import Game\n"
        "games = [Game(generate(Recipe(3, n)).house) for n in range(40)]\n"
        "for game, snapshot in zip(games, json.load(sys.stdin)):\n"
        "    game.restore(snapshot) if snapshot else game.step(game.admissible[0])\n"
        "print(json.dumps([game.snapshot() for game in games]))"
    )

    def run(seed: str, given: list[Any]) -> list[Any]:
        command = [sys.executable, "-c", program]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            command,
            env=environment,
            input=json.dumps(given),
            capture_output=True,
            check=True,
            text=True,
        )
        return json.loads(done.stdout)

    snapshots = run("1", [None] * 40)
    assert all(run(seed, snapshots) == snapshots for seed in ("2", "3"))


@pytest.mark.parametrize(
    "damage",
    [{"place": 999}, {"held": 999}, {"held": "mug"}, {"clean": "ab"}, {"clean": [[1]]},
     {"inside": {"99": [1]}}, {"inside": {"0": [999]}}, {"inside": 3}, {"taken": [[1, 99]]},
     {"lying": [[1]]}, {"opened": [-1]}],
)  # fmt: skip
def test_a_damaged_snapshot_is_refused(damage: dict[str, Any]) -> None:
    game = kitchen()
    before = game.state
    with pytest.raises(ValueError, match="damaged"):
        game.restore({**game.snapshot(), **damage})
    assert game.state is before


@pytest.mark.parametrize("snapshot", [{}, {"house": "00000000"}, None, []])
def test_a_snapshot_of_another_game_is_refused(snapshot: Any) -> None:
    with pytest.raises(ValueError, match="another game"):
        kitchen().restore(snapshot)


def test_a_reset_forgets_everything() -> None:
    game = Game(house(5))
    first = (game.reset(), wander(game, 3, 30))
    assert (game.reset(), wander(game, 3, 30)) == first


@given(SEEDS)
def test_a_house_survives_the_archive(seed: int) -> None:
    original, again = house(seed), loads(dumps(house(seed)))
    for name in House.__dataclass_fields__:
        assert getattr(again, name) == getattr(original, name)
    assert again.fingerprint == original.fingerprint


def test_houses_differ_in_their_fingerprints() -> None:
    assert len({house(seed).fingerprint for seed in range(41)}) == 41
    assert kitchen().house.fingerprint == Game(loads(dumps(kitchen().house))).house.fingerprint
    assert file()["pddl_problem"]


def test_thirty_two_threads_with_a_hundred_games_each_are_all_right() -> None:
    """Houses are shared between the threads; what is said must be as if each played alone."""
    shared = [house(seed) for seed in range(25)]

    def play(number: int) -> list[Any]:
        return [wander(Game(shared[game % 25]), game, 12) for game in range(number, number + 100)]

    alone = {game: wander(Game(house(game % 25)), game, 12) for game in range(132)}
    with ThreadPoolExecutor(32) as threads:
        for number, played in enumerate(threads.map(play, range(32))):
            assert played == [alone[game] for game in range(number, number + 100)]


def test_two_forks_part_ways() -> None:
    game = kitchen()
    do(game, "go to countertop 1")
    fork = game.fork()
    do(game, "take apple 2 from countertop 1")
    do(fork, "take knife 1 from countertop 1")
    assert do(game, "inventory") == ["You are carrying: a apple 2."]
    assert do(fork, "inventory") == ["You are carrying: a knife 1."]
