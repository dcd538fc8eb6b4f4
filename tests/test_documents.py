"""What the documents show is run: the README's Python, and every cookbook."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from evoharness import create_harness
from evoharness.cli.app import app
from evoharness.testing import EnvironmentContract, ToyAdapter

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COOKBOOK = sorted((ROOT / "cookbook").glob("[0-9]*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type hints are looked up there
    spec.loader.exec_module(module)
    return module


def test_the_readmes_first_example_solves_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[0], {"__name__": "readme"})
    assert capsys.readouterr().out.splitlines() == [
        "open box 1 -> Box 1 holds the key. You take it.",
        "open door -> The door swings open.",
        "success",
    ]


class TestTheReadmesAdapter(EnvironmentContract):
    @classmethod
    def make_adapter(cls) -> Any:
        room: dict[str, Any] = {"__name__": "readme"}
        exec(BLOCKS[1], room)
        return room["CounterAdapter"]()


def test_the_readmes_engine_example_wins_its_game(capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[2], {"__name__": "readme"})
    assert capsys.readouterr().out.endswith("True\n")


def test_the_readmes_gymnasium_example_runs() -> None:
    room: dict[str, Any] = {"__name__": "readme"}
    exec(BLOCKS[3], room)
    assert len(room["observations"]) == 64
    assert len(set(room["observations"])) == 8
    assert room["info"]["valid"]


def test_the_readmes_picture_is_the_graph() -> None:
    picture = re.search(r"```mermaid\n(.*?)```", README, re.DOTALL)
    assert picture is not None
    drawn: set[tuple[str, str]] = set()
    for line in picture[1].splitlines():
        if "->" in line:
            names = re.sub(r"\(\[.*?\]\)", "", line.strip().rstrip(";"))
            sources, targets = re.split(r"-\.->|-->", names)
            drawn |= {
                (a.strip(), b.strip()) for a in sources.split("&") for b in targets.split("&")
            }
    graph = create_harness(lambda view: "", ToyAdapter()).get_graph()
    edges = {(edge.source, edge.target) for edge in graph.edges}
    assert drawn | {("reset", "finish")} == edges


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    start = README.split("## Start")[1].split("## ")[0]
    assert re.findall(r"^make (\w+)", start, re.MULTILINE) == ["demo", "test"]


def commands() -> list[list[str]]:
    """Return what the README calls on the command line, without comments and variables."""
    blocks = README.split("```")[1::2]
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    called = [line for line in lines if re.match(r"(\w+=\S+ )*evoharness ", line)]
    words = [shlex.split(line.partition("  #")[0]) for line in called]
    return [line[line.index("evoharness") + 1 :] for line in words]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_readmes_commands_are_understood(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while isinstance(command, TyperGroup):
        with command.make_context("evoharness", [*words]) as context:
            _, command, words = command.resolve_command(context, words)
    command.make_context("evoharness", [*words]).close()  # checks names and values of options


@pytest.mark.parametrize("path", COOKBOOK, ids=lambda path: path.stem)
def test_cookbooks_run(path: Path) -> None:
    result = load(path).main()
    assert "open" in result if isinstance(result, str) else result["success"]


class TestTheCookbooksAdapter(EnvironmentContract):
    @classmethod
    def make_adapter(cls) -> Any:
        return load(ROOT / "cookbook" / "02_adapter.py").CardsAdapter()
