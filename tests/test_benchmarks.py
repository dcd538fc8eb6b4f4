"""Benchmarks run and say what they promise; how fast anything is stands in their output alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer import BadParameter

from benchmarks import alfworld, recall, retrieval
from benchmarks.__main__ import main

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


def test_the_recall_benchmark_measures_each_size_beside_chroma_and_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"QUESTIONS": 8, "FILTERED": 4, "COMMITS": 1}.items():
        monkeypatch.setattr(recall, name, value)
    figures = recall.measure(Console(stderr=True), sizes=[30])
    times = {f"{way}{part}_ms" for way in ("", "chroma_", "chroma_where_", "json_")
             for part in ("p50", "p95")}  # fmt: skip
    memory = {"memory_mb", "chroma_memory_mb", "json_memory_mb", "disk_mb"}
    assert set(figures) == {*times, *memory, "write_s", "open_s", "index_s", "commit_s"}
    assert all(by_size.keys() == {30} and by_size[30] > 0 for by_size in figures.values())


def test_its_entries_are_all_different_and_always_the_same() -> None:
    made = recall.entries(2000)
    assert len({entry.text for entry in made}) > 1990
    assert {entry.kind for entry in made} == {"skill", "mistake", "hint"}
    assert recall.entries(50) == made[:50]
    assert recall.questions(20) == recall.questions(20)


def test_the_retrieval_benchmark_asks_both_labelled_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setattr(retrieval, "GAMES", 60)
    figures = retrieval.measure(Console(stderr=True))
    for half in (figures, figures["development"]):
        for name in ("houses_top3", "lessons_hit1", "lessons_hit3", "lessons_mrr"):
            assert {"hybrid", "dense", "lexical", "substring"} <= half[name].keys()
            assert all(0 <= share <= 1 for share in half[name].values())
        assert half["lessons_hit1"]["hybrid"] <= half["lessons_mrr"]["hybrid"]
        for gain in (half["houses_gain"], half["lessons_mrr_gain"]):
            assert all(each["low"] <= each["mean"] <= each["high"] for each in gain.values())
            assert gain["substring"]["low"] > 0
    assert figures["official"] == 0


def test_a_size_is_for_the_recall_benchmark() -> None:
    with pytest.raises(BadParameter, match="--size is for `recall`, not for 'harness'"):
        main("harness", sizes=[10])


def test_an_unknown_benchmark_is_refused() -> None:
    done = benchmarks("horse")
    assert done.returncode == 2
    assert "there is harness" in done.stderr
