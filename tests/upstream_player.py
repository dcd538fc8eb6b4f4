"""Lets upstream's own environment and expert play a split; a process of its own in the tests.

    ALFWORLD_DATA=… python upstream_player.py SPLIT

It prints how many games upstream finds, and whether its expert won the first one it was given.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from alfworld.agents.environment.alfred_tw_env import (  # pyright: ignore[reportMissingImports]
    AlfredTWEnv,
)

BUDGET = {"training": {"max_nb_steps_per_episode": 50}}
CONFIG: dict[str, Any] = {
    "env": {
        "goal_desc_human_anns_prob": 0,
        "task_types": [1, 2, 3, 4, 5, 6],
        "domain_randomization": False,
        "expert_type": "handcoded",
    },
    "dataset": {
        "data_path": f"{os.environ['ALFWORLD_DATA']}/json_2.1.1/{sys.argv[1]}",
        "num_train_games": 0,
    },
    "general": {"training_method": "dagger"},
    "dagger": BUDGET,
    "rl": BUDGET,
}

if __name__ == "__main__":
    found: Any = AlfredTWEnv(CONFIG, "train")
    environment = found.init_env(batch_size=1)
    _, facts = environment.reset()
    won = False
    for _ in range(50):
        [plan] = facts["extra.expert_plan"]
        _, _, [done], facts = environment.step([plan[0]])
        if done:
            [won] = facts["won"]
            break
    environment.close()
    print(f"games {found.num_games} won {won}")
