"""The harness's own settings, in one place."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["inline", "always_on", "env_only"]
Part = Literal["belief", "progress", "experience"]
PARTS: tuple[Part, ...] = ("belief", "progress", "experience")


class HarnessConfig(BaseModel):
    """How the harness presents itself to the policy, and what a turn costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = "inline"
    """`inline`: the policy calls the meta-actions when it wants them. `always_on`: the parts are
    shown as panels at every turn and there are no meta-actions. `env_only`: neither (ReAct)."""
    belief: bool = True
    """False removes Belief (and `track`) from what the policy sees."""
    progress: bool = True
    """False removes Progress (and `commit`)."""
    experience: bool = True
    """False removes Experience (and `recall` and `note`)."""
    context: Literal["per_turn", "accumulated"] = "per_turn"
    """`per_turn`: each turn's prompt stands alone, with the last actions listed. `accumulated`:
    one growing conversation."""
    reply_format: Literal["tags", "tools"] = "tags"
    """`tags`: `<think>…</think><action>…</action>`. `tools`: native tool calls."""
    max_steps: int = Field(default=50, ge=1)
    """Charged turns until the episode ends with `budget`."""
    free_meta: int = Field(default=0, ge=0)
    """So many meta-actions an episode are not charged; later ones are."""
    history: int = Field(default=10, ge=0)
    """Past actions listed in a `per_turn` prompt."""
    max_subgoals: int = Field(default=8, ge=1)
    """Subgoals that Progress holds."""
    recall_limit: int = Field(default=3, ge=1)
    """Entries that one `recall` returns."""
    recall_budget: int = Field(default=400, ge=1)
    """Tokens, about, of the entries that one `recall` returns together."""

    def has(self, part: Part) -> bool:
        """Whether the policy may see this part at all (in any form)."""
        return self.mode != "env_only" and bool(getattr(self, part))

    def without(self, *parts: Part) -> HarnessConfig:
        """Return the ablated settings, with these parts switched off.

        Raises:
            ValueError: there is no such part.
        """
        if unknown := set(parts) - set(PARTS):
            raise ValueError(f"no part {sorted(unknown)}; the parts are {', '.join(PARTS)}")
        return self.model_copy(update=dict.fromkeys(parts, False))
