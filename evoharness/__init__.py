"""evoharness: Belief, Progress and Experience behind four meta-actions an agent can learn to use.

Names are loaded when they are first used, so that importing the package costs nothing of
LangGraph or Chroma.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evoharness.core.environment import Adapter, Environment, Step, Task
    from evoharness.core.settings import HarnessConfig
    from evoharness.experience import ExperienceBank
    from evoharness.graph import HarnessContext, create_harness
    from evoharness.registry import load_adapter
    from evoharness.rollouts import rollout

__version__ = "0.1.0"
__all__ = [
    "Adapter",
    "Environment",
    "ExperienceBank",
    "HarnessConfig",
    "HarnessContext",
    "Step",
    "Task",
    "create_harness",
    "load_adapter",
    "rollout",
]

_HOME = {
    "Adapter": "core.environment",
    "Environment": "core.environment",
    "Step": "core.environment",
    "Task": "core.environment",
    "HarnessConfig": "core.settings",
    "ExperienceBank": "experience",
    "HarnessContext": "graph",
    "create_harness": "graph",
    "load_adapter": "registry",
    "rollout": "rollouts",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evoharness' has no attribute {name!r}")
    return getattr(import_module(f"evoharness.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
