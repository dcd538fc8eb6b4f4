"""What decides a generated game."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from evoharness_alfworld.words import TASK_TYPES


@dataclass(frozen=True, slots=True)
class Recipe:
    """The same recipe makes the same game, on every machine."""

    seed: int = 0
    number: int = 0
    """Which game of the seed."""
    kind: str = ""
    """The task type; empty leaves it to chance, as in the training games."""
    receptacles: float = 1.0
    """How many receptacles there are, against the usual number."""
    distractors: float = 1.0
    """How many objects that the task does not need, against the usual number."""
    moved: float = 0.0
    """Share of objects that lie where such objects usually are not: 0 is as usual, 1 reversed."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: one is out of range; says which.
        """
        if self.kind and self.kind not in TASK_TYPES:
            raise ValueError(f"there is no task type {self.kind!r}; one of {', '.join(TASK_TYPES)}")
        for name, low, high in (("receptacles", 0.1, 2), ("distractors", 0, 5), ("moved", 0, 1)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}; it goes from {low} to {high}")
        if self.number < 0:
            raise ValueError(f"number is {self.number}; games are counted from 0")

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the defaults, and the seed and number."""
        every = asdict(self)
        return {
            field.name: every[field.name]
            for field in fields(self)
            if field.name in ("seed", "number") or every[field.name] != field.default
        }
