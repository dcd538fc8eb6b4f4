"""The command line: `evoharness run | eval | compare | demo | adapters`, and adapters' own."""

from __future__ import annotations

import os
import sys

from evoharness.cli import adapters, evaluate, play
from evoharness.cli.app import app

__all__ = ["adapters", "evaluate", "main", "play"]

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130


def main() -> None:
    """Run the command line; errors that a user can mend are one sentence on stderr."""
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on where it stopped")
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("EVOHARNESS_DEBUG"):
            raise
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        bad_input = isinstance(error, (LookupError, ValueError, TypeError, FileNotFoundError))
        if not text or not isinstance(error, (*_EXPECTED, RuntimeError)):
            text = f"{type(error).__name__}: {text} (EVOHARNESS_DEBUG=1 shows where)"
        _say(text)
        sys.exit(BAD_INPUT if bad_input else FAILED)


_EXPECTED = (LookupError, ValueError, OSError, ImportError)


def _say(text: str) -> None:
    print(f"error: {text}", file=sys.stderr)
