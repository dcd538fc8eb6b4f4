"""Experience that evolves: learn from new houses, see what that is worth, look into it, take it back.

python cookbook/04_experience.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from evoharness_alfworld import AlfworldAdapter, games
from evoharness_alfworld.generator import Recipe, generate, write

from evoharness import ExperienceBank
from evoharness.evaluation import evaluate
from evoharness.policies import FunctionPolicy

LEARN, TEST = 40, 15


def make_games(folder: Path) -> AlfworldAdapter:
    """Write new games of all types, some to learn from and others to be tested on."""
    for split, numbers in (("learn", range(LEARN)), ("unseen", range(LEARN, LEARN + TEST))):
        for number in numbers:
            write(generate(Recipe(number=number)), folder / games.FOLDER / split)
    return AlfworldAdapter(data=folder)


def main(model: None = None) -> dict[str, bool]:
    """Return whether the player got better, and whether an episode could be taken back."""
    del model  # The player is scripted: it knows nothing of houses but what it recalls.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adapter = make_games(folder)
        newcomer = FunctionPolicy(adapter.policies()["newcomer"], "newcomer")
        with ExperienceBank.open(folder / "bank", "alfworld") as bank:

            def steps(split: str, learn_after: int | None = None) -> float:
                summary = evaluate(
                    newcomer, adapter, split=split, out=folder / f"{split}-{len(bank.cycles())}",
                    experience=bank, evolve_every=learn_after,
                )  # fmt: skip
                return summary["mean_steps"]

            before = steps("unseen")  # the bank is empty, and frozen
            steps("learn", learn_after=10)  # consolidated after every ten games
            after = steps("unseen")
            print(
                f"mean steps in houses never seen: {before:.1f}, with what was learned {after:.1f}"
            )

            for found in bank.recall("where is the mug", context="kitchen"):
                print(f"  {found.score:.2f} {found.text}")
            last = bank.cycles()[-1]
            print(f"cycle {last.number} made", {op: n for op, n in last.counts.items() if n})

            episode = bank.evidence("used")[0].episode
            forgotten = bank.forget(episode)
            print(f"without {episode}: {len(forgotten.changes)} entries are counted anew")
            left = {piece.episode for piece in bank.evidence()}
    return {"success": after < before and episode not in left}


if __name__ == "__main__":
    main()
