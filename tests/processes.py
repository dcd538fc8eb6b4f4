"""Runs a program in a process of its own that has the slow imports behind it.

A new interpreter needs more than a second until LangGraph and Chroma are there; hundreds of tests
want a process that they may kill, or whose exit code and output they look at. These are forked from
a server that has imported them once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

_FORKS = get_context("forkserver")
# Nothing of the command line, which looks at the environment when it is imported.
_FORKS.set_forkserver_preload(
    [
        "chromadb",
        "evoharness.graph",
        "evoharness.experience.bank",
        "langgraph.checkpoint.sqlite.aio",
    ]
)


def run(
    program: Callable[[], Any],
    arguments: Sequence[str | Path] = (),
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Call a function of a module in a process of its own; warnings are errors there.

    Args:
        program: reads its arguments from `sys.argv`.
        arguments: what it finds there after its name.
        folder: the working folder.
        variables: set in the environment, beside what this process has there.
    """
    command = [program.__module__, *map(str, arguments)]
    environment = {**os.environ, **(variables or {})}
    with tempfile.TemporaryDirectory() as outputs:
        files = [Path(outputs, name) for name in ("stdout", "stderr")]
        child = _FORKS.Process(
            target=_child, args=(program, command, folder or Path.cwd(), environment, files)
        )
        child.start()
        child.join(120)
        if child.exitcode is None:
            child.kill()
            raise TimeoutError(f"{command} still runs")
        # A process that was killed at once has written nothing.
        texts = [file.read_text() if file.exists() else "" for file in files]
    return subprocess.CompletedProcess(command, child.exitcode, *texts)


def _child(
    program: Callable[[], Any],
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    files: list[Path],
) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command
    warnings.simplefilter("error")
    program()
