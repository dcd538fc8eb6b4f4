"""The Typer application and its lazily mounted groups."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evoharness import __version__
from evoharness.cli.bank_changes import app as bank

GROUP = "evoharness.commands"
"""The entry point group in which an adapter's package registers a Typer app of its own."""

EXITS = (
    "Exit codes: 0 done (for `run`: solved), 1 something failed, 2 bad input, "
    "3 the episode ended unsolved, 130 interrupted."
)


_ORDER = ("demo", "run", "eval", "compare", "bank", "adapters", "tasks")


class _Groups(TyperGroup):
    """Mounts other packages' commands, loading each only when it is called or listed."""

    # Typer brings its own copy of Click's types, so these are not named here.
    def list_commands(self, ctx: Any) -> list[str]:
        """Return our own commands as a newcomer needs them, then the mounted ones."""
        return [*sorted(super().list_commands(ctx), key=_ORDER.index), *_mounted()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; a package whose commands cannot be loaded disturbs no other."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in _mounted():
            return own
        try:
            command = typer.main.get_command(_mounted()[cmd_name].load())
        except ImportError as error:
            typer.echo(f"warning: no `evoharness {cmd_name}`: {error}", err=True)
            return None
        command.name = cmd_name
        return command


def _mounted() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def _version(value: bool) -> None:
    if value:
        typer.echo(f"evoharness {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Groups,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=EXITS,
)
app.add_typer(bank, name="bank")


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Belief, Progress and Experience for LLM agents, behind four meta-actions.

    Start with `evoharness demo`: one household task, played live.
    """
