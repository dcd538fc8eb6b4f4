"""For tests of your own: a toy domain, a scripted model, and the contract of environments."""

from evoharness.testing.contract import EnvironmentContract
from evoharness.testing.models import ScriptedModel
from evoharness.testing.toy import ToyAdapter, open_in_order

__all__ = ["EnvironmentContract", "ScriptedModel", "ToyAdapter", "open_in_order"]
