"""Plays one game in both engines and compares everything that they say, byte for byte."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evoharness.files import write_atomically
from evoharness_alfworld import stock
from evoharness_alfworld.simulator import NOTHING_HAPPENS, Game, open_game, parse

STEPS = 30
"""Random actions a game, after its walkthrough."""
Observed = tuple[str, list[str], int, bool, bool]
"""Feedback, admissible commands, score, won, done."""
_FIELDS = ("feedback", "admissible", "score", "won", "done")


@dataclass
class Comparison:
    """How one game went."""

    game: str
    steps: int = 0
    """Observations compared, the first one included."""
    refused: int = 0
    """Actions among them that did nothing."""
    verbs: Counter[str] = field(default_factory=Counter[str])
    """Actions that did something, by verb."""
    digest: str = ""
    """The start of a SHA-256 over the commands and everything that the stock engine said."""
    differences: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problem: str = ""
    """Why the game could not be compared."""


def compare(game: str, text: str, seed: int = 0, steps: int = STEPS) -> Comparison:
    """Play a game's walkthrough, then random actions: possible, impossible and malformed ones.

    The walkthrough may win; play goes on, as both engines allow below the contract.

    Args:
        game: the game's id, which decides the random actions together with the seed.
        text: what its `game.tw-pddl` file holds.
        seed: other random actions.
        steps: how many of them.

    Raises:
        GameError: the native engine cannot play the game.
    """
    stock.remember_parses()
    result = Comparison(game)
    theirs = stock.load(parse(text))
    said = theirs.reset()
    digest = sha256()
    for command, native in play(game, text, seed, steps):
        score, done = 0, False
        if result.steps:
            said, score, done = theirs.step(command)
        stocks = (said["feedback"], said["admissible_commands"], score, said["won"], done)
        digest.update(_line(command, stocks))
        _note(result, command, stocks, native)
    stock.give_back(theirs)
    result.digest = digest.hexdigest()[:16]
    return result


def digest(game: str, text: str, seed: int = 0, steps: int = STEPS) -> str:
    """Return the digest that `compare` gives, from the native engine alone and at its speed."""
    total = sha256()
    for command, native in play(game, text, seed, steps):
        total.update(_line(command, native))
    return total.hexdigest()[:16]


def play(game: str, text: str, seed: int, steps: int) -> Iterator[tuple[str, Observed]]:
    """Play a game in the native engine; yield each command and what the engine says, the start
    first.
    """
    ours = Game(open_game(text))
    yield "", (ours.reset(), ours.admissible, 0, ours.won, False)
    walkthrough: list[str] = parse(text).get("walkthrough") or []
    for command in _commands(ours, walkthrough, random.Random(f"{seed}:{game}"), steps):
        feedback = ours.step(command)
        yield command, (feedback, ours.admissible, int(ours.won), ours.won, ours.won)


def _line(command: str, said: Observed) -> bytes:
    return json.dumps([command, *said]).encode()


def _note(result: Comparison, command: str, stocks: Observed, native: Observed) -> None:
    result.steps += 1
    if stocks[0] == NOTHING_HAPPENS:
        result.refused += 1
    elif command:
        result.verbs[command.split()[0]] += 1
    for name, theirs, ours in zip(_FIELDS, stocks, native, strict=True):
        if theirs != ours:
            facts = {"step": result.steps, "command": command, "what": name}
            result.differences.append({**facts, "stock": theirs, "native": ours})


def _commands(game: Game, walkthrough: list[str], rng: random.Random, steps: int) -> Iterator[str]:
    yield from walkthrough
    tried: Counter[str] = Counter()
    for _ in range(steps):
        kind = rng.choices((_possible, _impossible, _malformed), (0.75, 0.15, 0.1))[0]
        yield kind(game, rng, tried)


def _possible(game: Game, rng: random.Random, tried: Counter[str]) -> str:
    """Choose among the verbs that were tried least, so that rare ones have their turn."""
    by_verb: dict[str, list[str]] = {}
    for command in game.admissible:
        verb = command.split()[0]
        by_verb.setdefault("look" if verb in ("help", "inventory") else verb, []).append(command)
    verb = min(by_verb, key=lambda verb: (tried[verb] * rng.random(), verb))
    tried[verb] += 1
    return rng.choice(by_verb[verb])


_TEMPLATES = (
    *("go to {r}", "open {r}", "close {r}", "examine {r}", "examine {o}", "take {o} from {r}"),
    *("move {o} to {r}", "clean {o} with {r}", "heat {o} with {r}", "cool {o} with {r}"),
    *("use {o}", "slice {o} with {p}"),
)


def _impossible(game: Game, rng: random.Random, tried: Counter[str]) -> str:
    """Choose a well-formed command of this house's things; mostly it cannot be done now."""
    del tried
    house = game.house
    return rng.choice(_TEMPLATES).format(
        o=rng.choice(house.objects), p=rng.choice(house.objects), r=rng.choice(house.receptacles)
    )


_SLIPS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.title,
    lambda command: f"  {command}\n",
    lambda command: command.replace(" ", "  ", 1),
    lambda command: command[:-1],
    lambda command: f"{command}.",
    lambda command: f"{command} 1",
    lambda command: f"{command} {command}",
    lambda command: re.sub(r"\d+", "99", command),
    lambda command: re.sub(r" \d+", "", command),
    lambda command: command.replace("go to", "goto").replace("move", "put").replace(" to ", " in "),
    lambda command: f"{command}\u00a0\u200b",
    lambda command: f"do {command}",
    lambda command: command * 100,
    lambda command: "",
    lambda command: " \t ",
    lambda command: "{r} #look.feedback# [o | holds(a:agent, o:object)]",
)


def _malformed(game: Game, rng: random.Random, tried: Counter[str]) -> str:
    """Misspell a possible command."""
    del tried
    return rng.choice(_SLIPS)(rng.choice(game.admissible))


def compare_one(game_and_path: tuple[str, Path], seed: int, steps: int) -> Comparison:
    """Compare the game in a file; what goes wrong is in the result."""
    game, path = game_and_path
    try:
        return compare(game, path.read_text(encoding="utf-8"), seed, steps)
    except Exception as error:  # The stock engine raises whatever its parsers raise.
        return Comparison(game, problem=f"{type(error).__name__}: {error}")


class Report:
    """The file of a comparison of many games: a line of settings, then a line a game.

    It grows game by game, so that a run that was stopped goes on where it was.
    """

    def __init__(self, path: Path, seed: int, steps: int) -> None:
        """Open a report, new or begun before.

        Raises:
            ValueError: the file holds a comparison with other settings, or something else.
        """
        self.path = path
        self.settings = {
            "seed": seed,
            "steps": steps,
            **{package: version(package) for package in ("alfworld", "textworld")},
        }
        self.lines: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._read()
        self._write()

    def _read(self) -> None:
        # A line that was cut when the process was killed is played again.
        whole = self.path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        first: Any = None
        try:
            first, *lines = (json.loads(line) for line in whole)
            # What could not be compared is tried again.
            self.lines = {line["game"]: line for line in lines if "problem" not in line}
            ours = first.keys() == self.settings.keys()
        except (ValueError, KeyError, TypeError, AttributeError):
            ours = False
        if not ours and self.path.stat().st_size:
            raise ValueError(f"{self.path} is no report of this command; name another file")
        if ours and first != self.settings:
            raise ValueError(
                f"{self.path} holds a comparison with other settings ({first}); name another file"
            )

    def add(self, result: Comparison) -> None:
        """Write a game's line."""
        line = {key: value for key, value in vars(result).items() if value}
        self.lines[result.game] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def finish(self, games: Iterable[str]) -> dict[str, int]:
        """Put the lines in order, and return the totals over some games."""
        self._write()
        lines = [self.lines[game] for game in games]
        verbs: Counter[str] = Counter()
        for line in lines:
            verbs.update(line.get("verbs", {}))
        return {
            "games": len(lines),
            "steps": sum(line.get("steps", 0) for line in lines),
            "refused": sum(line.get("refused", 0) for line in lines),
            "differences": sum(len(line.get("differences", ())) for line in lines),
            "not_compared": sum("problem" in line for line in lines),
            **dict(sorted(verbs.items())),
        }

    def _write(self) -> None:
        lines = [self.settings, *(self.lines[game] for game in sorted(self.lines))]
        write_atomically(self.path, "".join(f"{json.dumps(line)}\n" for line in lines))
