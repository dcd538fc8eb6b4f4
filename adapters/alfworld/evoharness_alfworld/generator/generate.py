"""Makes a game from a recipe, checks that it can be won, and writes it where others are."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evoharness.core.environment import Task
from evoharness.files import write_atomically
from evoharness_alfworld.generator import habits, rooms, writing
from evoharness_alfworld.generator.recipe import Recipe
from evoharness_alfworld.generator.rooms import LOOK, Quest
from evoharness_alfworld.generator.walkthrough import walkthrough
from evoharness_alfworld.index import GAME
from evoharness_alfworld.simulator import House, interpret

_SCENES = {room: 1001 + 100 * hundred for hundred, room in habits.ROOMS.items()}
"""Kind of room to the number of its first scene, out of the way of the official ones."""


@dataclass(frozen=True)
class Generated:
    """A new game."""

    recipe: Recipe
    quest: Quest
    house: House
    text: str
    """What its `game.tw-pddl` file holds."""
    walkthrough: tuple[str, ...]
    """Commands that win it."""

    @property
    def game(self) -> dict[str, Any]:
        """What its file holds, parsed."""
        return json.loads(self.text)

    @property
    def folder(self) -> str:
        """Where the game lies in a split, in the manner of the official ones."""
        quest, recipe = self.quest, self.recipe
        scene = _SCENES[quest.room] + recipe.number % 30
        kind = f"{quest.kind}-{quest.thing}-None-{quest.target}-{scene}"
        return f"{kind}/trial_{recipe.name}"

    def task(self, split: str) -> Task:
        """Return the task, which needs no file: its data is the recipe."""
        id = f"{split}/{self.folder}"
        return Task(id, self.house.objective, self.quest.kind, {"recipe": self.recipe.to_json()})


@lru_cache(maxsize=256)
def generate(recipe: Recipe) -> Generated:
    """Make a game that can be won and is not won yet; the same recipe makes the same game."""
    rng = random.Random(f"{recipe.seed}/{recipe.number}")
    table = habits.load()
    quest = rooms.choose_quest(table, recipe, rng)
    room = rooms.furnish(table, quest, recipe, rng)
    game = writing.game(table, quest, room, f"generated_{recipe.seed}_{recipe.number}", rng)
    house = interpret(game)
    commands = walkthrough(house)
    text = json.dumps({**game, "walkthrough": commands}) + "\n"
    return Generated(recipe, quest, house, text, tuple(commands))


def write(generated: Generated, split: Path) -> Path:
    """Write a game below a split's folder, and beside it what upstream's tools look for.

    Returns:
        The game file.
    """
    folder = split / generated.folder
    folder.mkdir(parents=True, exist_ok=True)
    quest = generated.quest
    looking = quest.kind == LOOK
    facts = {
        "task_type": quest.kind,
        "task_id": folder.name,
        "pddl_params": {
            "object_target": quest.thing,
            "parent_target": "" if looking else quest.target,
            "toggle_target": quest.target if looking else "",
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": [{"task_desc": generated.house.objective}]},
        "recipe": generated.recipe.to_json(),
    }
    write_atomically(folder / "traj_data.json", json.dumps(facts, indent=1) + "\n")
    path = folder / GAME
    write_atomically(path, generated.text)
    return path
