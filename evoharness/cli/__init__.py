"""The command line: `evoharness run | eval | compare | demo | adapters`, and adapters' own."""

from __future__ import annotations

import io
import logging
import os
import sys

import typer

from evoharness.cli import adapters, evaluate, play
from evoharness.cli.app import app

__all__ = ["adapters", "evaluate", "main", "play"]

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130


def main() -> None:
    """Run the command line; errors that a user can mend are one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark instead.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Ctrl-C leaves tasks of LangGraph half done, which their executor would report at length.
    logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`); that is no fault of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except Exception as error:
        if show := getattr(error, "show", None):  # a usage error, which knows how to tell itself
            show()
            sys.exit(BAD_INPUT)
        if os.environ.get("EVOHARNESS_DEBUG"):
            raise
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        bad_input = isinstance(error, (LookupError, ValueError, TypeError, FileNotFoundError))
        if not text or not isinstance(error, (*_EXPECTED, RuntimeError)):
            text = f"{type(error).__name__}: {text} (EVOHARNESS_DEBUG=1 shows where)"
        _say(text)
        sys.exit(BAD_INPUT if bad_input else FAILED)
    if code == INTERRUPTED:  # Typer turns some interrupts into this code itself
        _say("interrupted; an evaluation, or a run with --checkpoint, goes on when called again")
    sys.exit(code)


_EXPECTED = (LookupError, ValueError, OSError, ImportError)


def _say(text: str) -> None:
    print(f"error: {text}", file=sys.stderr)
