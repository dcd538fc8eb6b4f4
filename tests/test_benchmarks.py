"""Benchmarks run and say what they promise; how fast anything is stands in their output alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import alfworld

ROOT = Path(__file__).parent.parent


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_harness_benchmark_writes_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = benchmarks("harness", "--json", file)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    assert set(figures) == {
        "turn_ms_p50",
        "turn_ms_p50_at_turn_200",
        "react_agent_turn_ms_p50",
        "checkpoint_bytes_per_turn",
        "import_s",
        "help_s",
        "context",
    }
    assert all(figures[name] > 0 for name in set(figures) - {"context"})


@pytest.mark.stock
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # TextWorld's files
def test_the_alfworld_benchmark_compares_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, value in {"GAMES": 2, "STEPS": 6, "PARALLEL": 8, "ROUNDS": 3, "STARTS": 1}.items():
        monkeypatch.setattr(alfworld, size, value)
    figures = alfworld.measure(Console(stderr=True))
    ratios = {"step_ratio", "warm_reset_ratio", "cold_load_ratio"}
    assert {*ratios, "steps_per_s_1024", "game_kb", "import_s", "open_all_s"} <= set(figures)
    assert all(figures[ratio] > 1 for ratio in ratios)


def test_an_unknown_benchmark_is_refused() -> None:
    done = benchmarks("horse")
    assert done.returncode == 2
    assert "there is harness" in done.stderr
