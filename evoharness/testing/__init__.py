"""For tests of your own: a toy domain, a scripted model, and the contract of adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evoharness.testing.models import ScriptedModel
from evoharness.testing.toy import ToyAdapter, open_in_order

if TYPE_CHECKING:
    from evoharness.testing.contract import EnvironmentContract

__all__ = ["EnvironmentContract", "ScriptedModel", "ToyAdapter", "open_in_order"]


def __getattr__(name: str) -> Any:
    """Load the contract when it is asked for: it alone needs pytest."""
    if name == "EnvironmentContract":
        from evoharness.testing.contract import EnvironmentContract

        return EnvironmentContract
    raise AttributeError(f"module 'evoharness.testing' has no attribute {name!r}")
