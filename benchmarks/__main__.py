"""`python -m benchmarks NAME [--json FILE]`: run one benchmark and show its figures."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import alfworld, harness
from evoharness.files import write_atomically

BENCHMARKS: dict[str, Callable[[Console], dict[str, float]]] = {
    "harness": harness.measure,
    "alfworld": alfworld.measure,
}


def main(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    out: Annotated[Path | None, typer.Option("--json", help="Also write the figures here.")] = None,
) -> None:
    """Run one benchmark. Ratios hold within a run; times hold for the machine they are from."""
    if name not in BENCHMARKS:
        raise typer.BadParameter(
            f"there is no benchmark {name!r}; there is {', '.join(BENCHMARKS)}"
        )
    if out is not None and not out.resolve().parent.is_dir():
        raise typer.BadParameter(f"--json {out}: there is no folder {out.resolve().parent}")
    screen = Console(stderr=True)
    figures = BENCHMARKS[name](screen)
    table = Table(title=name)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for key, value in figures.items():
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


if __name__ == "__main__":
    typer.run(main)
