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
        """Check the values; equal recipes have equal values of the same types.

        Raises:
            ValueError: one is out of range; says which.
        """
        for name in ("seed", "number"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        for name in ("receptacles", "distractors", "moved"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
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

    @property
    def name(self) -> str:
        """A name that other recipes do not have: seed, number, and the knobs that were turned."""
        knobs = (("r", self.receptacles, 1.0), ("d", self.distractors, 1.0), ("m", self.moved, 0.0))
        turned = "".join(f"_{key}{value!r}" for key, value, usual in knobs if value != usual)
        return f"S{self.seed}_{self.number:06}{turned}"


def _whole(name: str, value: Any) -> int:
    try:
        if int(value) == value:  # 7.0 and numpy's integers are whole numbers, too.
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {value!r}; it is a whole number")


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it is a number") from None
