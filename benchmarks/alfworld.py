"""The native ALFWorld engine beside the stock one, in one process and one run.

Both play the same games with the same commands: official games where ALFWORLD_DATA names them,
else generated ones. A step is one command with the admissible commands and the won flag after it.
A warm reset starts a loaded game again; a cold load opens a game's file and starts it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from evoharness_alfworld import games, stock
from evoharness_alfworld.generator import Recipe, generate, write
from evoharness_alfworld.labeller import Labeller
from evoharness_alfworld.simulator import Game, House, open_game
from rich.console import Console

GAMES = 40
STEPS = 12
"""Commands a game: its walkthrough, then random ones."""
PARALLEL = 1024
ROUNDS = 60
STARTS = 5


def measure(screen: Console) -> dict[str, float]:
    """Run the benchmark.

    Returns:
        step_ratio, warm_reset_ratio, cold_load_ratio: the stock engine's time over the native
            one's, medians over 40 games.
        step_us, stock_step_us: microseconds a step with its admissible commands.
        warm_reset_us, stock_warm_reset_us: microseconds to start a loaded game again.
        cold_load_us, stock_cold_load_us: microseconds to open a game's file and start it.
        steps_per_s_1024: steps a second of one process over 1,024 games in lock-step.
        fork_us, snapshot_us: microseconds to copy a game, to write down where it is.
        label_us: microseconds in which the labeller reads an observation and says what to do.
        generate_ms: milliseconds to make a new game, checked.
        game_kb: kilobytes of memory a game, all of its house included.
        open_all_s: seconds to open all games of the folder in a fresh process with an index.
        import_s: seconds to import the native engine in a fresh interpreter.
        official: 1 where official games were played, 0 for generated ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        data, paths = _games(Path(folder))
        native: dict[str, list[float]] = {"load": [], "reset": [], "step": []}
        stocks: dict[str, list[float]] = {"load": [], "reset": [], "step": []}
        with screen.status("") as status:
            for number, path in enumerate(paths):
                status.update(f"both engines, game {number + 1} of {len(paths)}")
                _both(path, native, stocks)
            status.update(f"{PARALLEL} games in lock-step")
            houses = [open_game(path.read_text()) for path in paths]
            per_second = _lock_step([houses[n % len(houses)] for n in range(PARALLEL)])
            copies = _copies(houses)
            label = _label(houses)
            memory = _memory(paths)
            made = _timed(lambda: [generate(Recipe(99, n)) for n in range(100)]) / 100
            status.update("starting interpreters")
            opened = _fresh(_OPEN.format(data=str(data)))
            imported = _fresh(_IMPORT)
    step, reset, load = (median(native[key]) for key in ("step", "reset", "load"))
    return {
        "step_ratio": median(stocks["step"]) / step,
        "warm_reset_ratio": median(stocks["reset"]) / reset,
        "cold_load_ratio": median(stocks["load"]) / load,
        "step_us": 1e6 * step,
        "stock_step_us": 1e6 * median(stocks["step"]),
        "warm_reset_us": 1e6 * reset,
        "stock_warm_reset_us": 1e6 * median(stocks["reset"]),
        "cold_load_us": 1e6 * load,
        "stock_cold_load_us": 1e6 * median(stocks["load"]),
        "steps_per_s_1024": per_second,
        "fork_us": 1e6 * copies[0],
        "snapshot_us": 1e6 * copies[1],
        "label_us": 1e6 * label,
        "generate_ms": 1e3 * made,
        "game_kb": memory / 1000,
        "open_all_s": opened,
        "import_s": imported,
        "official": float(bool(os.environ.get(games.VARIABLE))),
    }


def _games(folder: Path) -> tuple[Path, list[Path]]:
    """Return the data folder and the files of the games to play."""
    if os.environ.get(games.VARIABLE):
        tasks = [task for split in games.SPLITS for task in games.find(split).tasks]
        chosen = random.Random(0).sample(tasks, GAMES)
        return games.home(None), [games.path_of(task.id) for task in chosen]
    split = folder / games.FOLDER / "generated"
    return folder, [write(generate(Recipe(number=number)), split) for number in range(GAMES)]


def _both(path: Path, native: dict[str, list[float]], stocks: dict[str, list[float]]) -> None:
    """Play one game in both engines, command by command."""
    made: list[Any] = []

    def load_native() -> None:
        made[:] = [Game(open_game(path.read_text()))]
        _start(made[0])

    def load_stock() -> None:
        made[:] = [stock.load(str(path))]
        made[0].reset()

    # One engine after the other, as both are used: neither finds the other's data in the caches.
    native["load"].append(_timed(load_native))
    game: Game = made[0]
    native["reset"].append(_timed(lambda: _start(game)))
    commands: list[str] = json.loads(path.read_text())["walkthrough"]
    rng = random.Random(str(path))
    for number in range(STEPS):
        if number >= len(commands):
            commands.append(rng.choice(game.admissible))
        native["step"].append(_timed(lambda command=commands[number]: _step(game, command)))
    stocks["load"].append(_timed(load_stock))
    other = made[0]
    stocks["reset"].append(_timed(other.reset))
    for command in commands[:STEPS]:
        stocks["step"].append(_timed(lambda command=command: other.step(command)))
    stock.give_back(other)


def _start(game: Game) -> tuple[str, list[str], bool]:
    return game.reset(), game.admissible, game.won


def _step(game: Game, command: str) -> tuple[str, list[str], bool]:
    return game.step(command), game.admissible, game.won


def _lock_step(houses: Sequence[House]) -> float:
    """Return steps a second; the choice of the commands is not in the time."""
    playing = [Game(house) for house in houses]
    rng = random.Random(1)
    possible = [_start(game)[1] for game in playing]
    seconds = 0.0
    for _ in range(ROUNDS):
        commands = [rng.choice(each) for each in possible]
        before = time.perf_counter()
        for number, game in enumerate(playing):
            _, possible[number], won = _step(game, commands[number])
            if won:
                possible[number] = _start(game)[1]
        seconds += time.perf_counter() - before
    return len(playing) * ROUNDS / seconds


def _copies(houses: Sequence[House]) -> tuple[float, float]:
    """Return seconds a fork and a snapshot, of games that have been played a while."""
    rng = random.Random(2)
    playing = [Game(house) for house in houses]
    for game in playing:
        game.snapshot()
        for _ in range(20):
            game.step(rng.choice(game.admissible))
    forks = _timed(lambda: [game.fork() for game in playing for _ in range(100)])
    snapshots = _timed(lambda: [game.snapshot() for game in playing for _ in range(100)])
    return forks / len(playing) / 100, snapshots / len(playing) / 100


def _label(houses: Sequence[House]) -> float:
    """Return seconds a label along the labeller's own games."""
    seconds, labels = 0.0, 0
    for house in houses:
        game = Game(house)
        labeller = Labeller(house.objective, game.reset())
        for _ in range(50):
            before = time.perf_counter()
            label = labeller.label()
            seconds += time.perf_counter() - before
            said = game.step(label)
            before = time.perf_counter()
            labeller.see(label, said)
            seconds += time.perf_counter() - before
            labels += 1
            if game.won:
                break
    return seconds / labels


def _memory(paths: Sequence[Path]) -> float:
    """Return bytes a game that is being played."""
    texts = [path.read_text() for path in paths]
    tracemalloc.start()
    playing = [Game(open_game(text)) for text in texts]
    for game in playing:
        _start(game)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(playing)


_OPEN = """
import pathlib, time
before = time.perf_counter()
from evoharness_alfworld import games
data = pathlib.Path({data!r})
for split in games.splits(data):
    for task in games.find(split, data).tasks:
        games.house(task.id, data)
print(time.perf_counter() - before)
"""
_IMPORT = """
import time
before = time.perf_counter()
import evoharness_alfworld.simulator
print(time.perf_counter() - before)
"""


def _fresh(program: str) -> float:
    """Return the median of what a program prints in fresh interpreters, the first one left out."""
    printed = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(STARTS + 1)
    ]
    return median(float(done.stdout) for done in printed[1:])


def _timed(call: Callable[[], Any]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before
