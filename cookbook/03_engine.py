"""The ALFWorld engine alone: make a game, search it with forks, and ask the expert for labels.

python cookbook/03_engine.py
"""

from __future__ import annotations

import random
from collections import deque

from evoharness_alfworld.generator import Recipe, generate
from evoharness_alfworld.labeller import Labeller
from evoharness_alfworld.simulator import Game, House


def shortest(house: House, limit: int = 50_000) -> list[str]:
    """Return the fewest commands that win a game, by breadth-first search over forks.

    A fork costs less than a microsecond, and equal states are equal values, so that those seen
    before are known again.
    """
    start = Game(house)
    seen = {start.state}
    waiting: deque[tuple[Game, list[str]]] = deque([(start, [])])
    while waiting and len(seen) < limit:
        game, way = waiting.popleft()
        for command in game.admissible:
            fork = game.fork()
            fork.step(command)
            if fork.won:
                return [*way, command]
            if fork.state not in seen:
                seen.add(fork.state)
                waiting.append((fork, [*way, command]))
    return []


def stumble(house: House, seed: int) -> list[tuple[str, str]]:
    """Let a clumsy player play; return (what it did, what the expert would have done) pairs."""
    rng = random.Random(seed)
    game = Game(house)
    labeller = Labeller(house.objective, game.reset())
    pairs: list[tuple[str, str]] = []
    while not game.won and len(pairs) < 100:
        label = labeller.label()
        command = label if rng.random() < 0.7 else rng.choice(game.admissible)
        pairs.append((command, label))
        labeller.see(command, game.step(command))
    return pairs


def main(model: None = None) -> dict[str, bool]:
    """Search one game, and have another player corrected; return whether that went well."""
    del model  # No model takes part.
    small = Recipe(seed=1, kind="look_at_obj_in_light", receptacles=0.5, distractors=0.2)
    house = generate(small).house
    print(house.objective)
    way = shortest(house)
    for command in way:
        print(f"  {command}")

    house = generate(Recipe(seed=2, moved=1.0)).house  # where nothing lies where it usually does
    print(house.objective)
    pairs = stumble(house, seed=3)
    for did, label in pairs:
        print(f"  {did}" if did == label else f"  {did}  (the expert: {label})")
    return {"success": bool(way) and len(pairs) < 100}


if __name__ == "__main__":
    main()
