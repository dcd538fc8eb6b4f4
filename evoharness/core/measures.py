"""What is counted of an episode, once, for the reward, the evaluation and the plots."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from evoharness.core.state import Episode


class EpisodeMeasures(BaseModel):
    """The counts of one finished episode."""

    model_config = ConfigDict(frozen=True)

    success: bool
    reason: str
    score: float = 0.0
    steps: int
    """Charged turns, meta-actions included; |tau| of the reward."""
    max_steps: int
    turns: int = 0
    """All turns, the free ones too."""
    env_actions: int = 0
    meta_calls: dict[str, int] = {}
    """Meta-actions that did something, by verb (an empty note did not, and earns no diversity);
    verbs that were not used are absent."""
    repeats: int = 0
    """Actions that repeat the one just before (S)."""
    invalid: int = 0
    """Turns that were malformed, refused, or not possible (I)."""
    codes: dict[str, int] = {}
    """Turns by parse code, `ok` included."""
    input_tokens: int = 0
    output_tokens: int = 0


def measure(state: Episode, max_steps: int) -> EpisodeMeasures:
    """Count one finished episode.

    Raises:
        ValueError: the episode has not ended.
    """
    outcome = state["outcome"]
    if outcome is None:
        raise ValueError(f"episode of task {state['task']['id']!r} has not ended yet")
    turns = state["turns"]
    executed = [turn for turn in turns if turn["kind"] == "meta" and turn["valid"]]
    actions = [(turn["verb"], turn["argument"]) for turn in turns]
    return EpisodeMeasures(
        success=outcome["success"],
        reason=outcome["reason"],
        score=outcome["score"],
        steps=state["spent"],
        max_steps=max_steps,
        turns=len(turns),
        env_actions=sum(turn["kind"] == "env" for turn in turns),
        meta_calls=dict(sorted(Counter(turn["verb"] for turn in executed).items())),
        repeats=sum(now == before and now[0] != "" for before, now in pairwise(actions)),
        invalid=sum(not turn["valid"] for turn in turns),
        codes=dict(sorted(Counter(code for turn in turns for code in turn["codes"]).items())),
        input_tokens=sum(turn["reply"]["usage"].get("input_tokens", 0) for turn in turns),
        output_tokens=sum(turn["reply"]["usage"].get("output_tokens", 0) for turn in turns),
    )
