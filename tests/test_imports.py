"""What an import costs, and which way the imports go."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import evoharness

ROOT = Path(__file__).parent.parent
HEAVY = {"chromadb", "langgraph", "torch", "langchain_core", "langchain", "rich", "typer"}
CORE = sorted(
    f"evoharness.core.{path.stem}"
    for path in (ROOT / "evoharness" / "core").glob("*.py")
    if path.stem != "__init__"
)


def loaded_by(*statements: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after the statements."""
    code = "\n".join((*statements, "import sys", "print(*{n.split('.')[0] for n in sys.modules})"))
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import evoharness") & (HEAVY | {"pydantic"})


def test_the_core_loads_nothing_heavy() -> None:
    assert "evoharness.core.parsing" in CORE
    assert not loaded_by(*(f"import {name}" for name in CORE)) & HEAVY


def test_names_of_the_core_are_lazy_and_light() -> None:
    light = "from evoharness import Adapter, Environment, HarnessConfig, Step, Task, load_adapter"
    assert not loaded_by(light) & HEAVY


def test_policies_load_no_model_library() -> None:
    assert not loaded_by("import evoharness.policies") & HEAVY


@pytest.mark.parametrize("name", evoharness.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(evoharness, name)
    assert found.__module__.startswith("evoharness.")
    assert found.__doc__
    assert name in dir(evoharness)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'evoharness' has no attribute 'harness'"):
        evoharness.harness  # noqa: B018  # pyright: ignore


@pytest.mark.skipif(find_spec("importlinter") is None, reason="import-linter is not installed")
def test_imports_go_the_way_the_contracts_say() -> None:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "0 broken" in done.stdout
