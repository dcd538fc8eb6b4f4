"""The stock engine as the harness runs it."""

from __future__ import annotations

import json
from typing import Any

import processes
import pytest
from evoharness_alfworld import stock
from evoharness_alfworld.generator import Recipe, generate

GAME = generate(Recipe(13)).game


def play() -> None:
    """Print all that the engine says along a game that is started twice."""
    environment = stock.load(GAME)
    said: list[Any] = [environment.reset(), environment.reset()]
    said += [environment.step(command)[0] for command in [*GAME["walkthrough"], "look", "hm"]]
    kept = ("feedback", "admissible_commands", "won")
    print(json.dumps([[state[key] for key in kept] for state in said]))


def play_remembering() -> None:
    stock.remember_parses()
    play()


@pytest.mark.stock
def test_what_is_parsed_once_is_said_as_if_it_were_parsed_again() -> None:
    fresh, remembered = (processes.run(program) for program in (play, play_remembering))
    assert fresh.returncode == remembered.returncode == 0, fresh.stderr + remembered.stderr
    assert fresh.stdout == remembered.stdout
    assert len(json.loads(fresh.stdout)) > 10
