"""`python -m benchmarks NAME [--json FILE]`: run one benchmark and show its figures."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import alfworld, experience, harness, recall, retrieval
from evoharness.files import write_atomically

BENCHMARKS: dict[str, Callable[..., dict[str, Any]]] = {
    "harness": harness.measure,
    "alfworld": alfworld.measure,
    "experience": experience.measure,
    "recall": recall.measure,
    "retrieval": retrieval.measure,
}


def main(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    out: Annotated[Path | None, typer.Option("--json", help="Also write the figures here.")] = None,
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=1, help="Entries, for `recall`; repeatable.")
    ] = None,
) -> None:
    """Run one benchmark. Ratios hold within a run; times hold for the machine they are from."""
    if name not in BENCHMARKS:
        raise typer.BadParameter(
            f"there is no benchmark {name!r}; there is {', '.join(BENCHMARKS)}"
        )
    if out is not None and not out.resolve().parent.is_dir():
        raise typer.BadParameter(f"--json {out}: there is no folder {out.resolve().parent}")
    if sizes and name != "recall":
        raise typer.BadParameter(f"--size is for `recall`, not for {name!r}")
    screen = Console(stderr=True)
    figures = BENCHMARKS[name](screen, **({"sizes": sizes} if sizes else {}))
    table = Table(title=name)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for key, value in _flat(figures):
        table.add_row(key, f"{value:.4g}")
    screen.print(table)
    facts: dict[str, Any] = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        **{package: version(package) for package in ("evoharness", "langgraph", "langchain-core")},
    }
    if out is not None:
        write_atomically(out, json.dumps({**figures, "context": facts}, indent=2) + "\n")
        screen.print(f"written to {out}")


def _flat(figures: dict[Any, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Give the figures with their keys in one line each."""
    for key, value in figures.items():
        name = f"{path} {key}".strip()
        if isinstance(value, dict):
            yield from _flat(cast("dict[Any, Any]", value), name)
        else:
            yield name, value


if __name__ == "__main__":
    typer.run(main)
