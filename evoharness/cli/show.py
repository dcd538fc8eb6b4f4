"""How episodes and figures look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from evoharness.core import progress as plan
from evoharness.core.environment import Adapter
from evoharness.core.parsing import format_action
from evoharness.core.state import Episode, Turn

_COLOUR = {
    "track": "cyan",
    "commit": "green",
    "recall": "magenta",
    "note": "yellow",
    "act": "bold",
}
_MOST_LINES = 8


def turn_lines(turn: Turn) -> RenderableType:
    """Return one turn: its number, thought, action and result."""
    colour = _COLOUR.get(turn["verb"], "red")
    action = format_action(turn["verb"], turn["argument"]) or "(no action)"
    mark = "" if turn["valid"] else " [red]✗[/red]"
    lines = [f"[dim]{turn['index'] + 1:>3}[/dim] [{colour}]{escape(action)}[/{colour}]{mark}"]
    if turn["thought"]:
        lines.append(f"    [dim italic]{escape(_one_line(turn['thought']))}[/dim italic]")
    lines += [f"    {escape(line)}" for line in turn["result"].splitlines()[:_MOST_LINES]]
    return "\n".join(lines)


def workspace(state: Episode, adapter: Adapter) -> RenderableType:
    """Return the three parts of the workspace as panels."""
    asked = [turn for turn in state["turns"] if turn["verb"] in ("recall", "note")]
    heard = [
        f"{turn['verb']}: {turn['result'] if turn['verb'] == 'recall' else turn['argument']}"
        for turn in asked
    ]
    return Group(
        Panel(escape(adapter.answer_belief(state["belief"], "")), title="Belief", style="cyan"),
        Panel(escape(plan.render(state["progress"])), title="Progress", style="green"),
        Panel(escape("\n".join(heard) or "Not asked yet."), title="Experience", style="magenta"),
    )


def outcome_line(state: Mapping[str, Any], steps: int, max_steps: int) -> str:
    """Return how the episode ended, in one line."""
    outcome = state["outcome"]
    word = "[bold green]solved" if outcome["success"] else "[bold red]not solved"
    detail = f": {escape(outcome['detail'])}" if outcome["detail"] else ""
    return f"{word}[/] ({outcome['reason']}{detail}) in {steps} of {max_steps} steps"


def summary_table(runs: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Return evaluations as the columns of one table."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for run in runs:
        folder = Path(run.get("folder", run["policy"]["name"]))
        table.add_column(escape(folder.name), justify="right")
    rows: list[tuple[str, list[str]]] = [
        ("policy", [run["policy"]["name"] for run in runs]),
        ("mode", [_mode(run["config"]) for run in runs]),
        ("episodes", [str(run["episodes"]) for run in runs]),
        ("success", [_share(run["success_rate"]) for run in runs]),
        (
            "95 % interval",
            [f"{_share(run['wilson_95'][0])} - {_share(run['wilson_95'][1])}" for run in runs],
        ),
    ]
    kinds = sorted({kind for run in runs for kind in run["by_task_type"]})
    for kind in kinds:
        cells = [_of_kind(run["by_task_type"].get(kind)) for run in runs]
        rows.append((f"  {kind or '(no type)'}", cells))
    rows.append(("mean steps", [_number(run["mean_steps"]) for run in runs]))
    for verb in ("track", "commit", "recall", "note"):
        per_episode = [_number(run["meta_actions_per_episode"][verb]) for run in runs]
        rows.append((f"  {verb} an episode", per_episode))
    rows.append(("invalid turns", [_share(run["invalid_rate"]) for run in runs]))
    rows.append(("ended by", [_counts(run["reasons"]) for run in runs]))
    rows.append(
        ("tokens in / out", [f"{r['tokens']['input']} / {r['tokens']['output']}" for r in runs])
    )
    for name, cells in rows:
        table.add_row(escape(name), *map(escape, cells))
    return table


def pairs_table(pairs: Sequence[Mapping[str, Any]]) -> Table:
    """Return the paired tests."""
    table = Table(title="Paired over shared tasks", title_justify="left")
    for name in ("against", "shared", "only first won", "only second won", "success", "p", "steps"):
        table.add_column(name, justify="right")
    for pair in pairs:
        low, high = pair["difference_95"]
        table.add_row(
            escape(f"{Path(pair['first']).name} -> {Path(pair['second']).name}"),
            str(pair["shared_tasks"]),
            str(pair["only_first_won"]),
            str(pair["only_second_won"]),
            f"{100 * pair['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
            f"{pair['mcnemar_p']:.3g}",
            _steps(pair),
        )
    return table


def _steps(pair: Mapping[str, Any]) -> str:
    if pair["steps_difference_95"] is None:
        return "-"
    low, high = pair["steps_difference_95"]
    return f"{pair['steps_difference']:+.2f} [{low:+.2f}, {high:+.2f}]"


def console(*, quiet: bool = False) -> Console:
    """Return the terminal that people read; standard output stays free for `--json`."""
    return Console(stderr=quiet, quiet=quiet, highlight=False)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:159]}…"


def _mode(config: Mapping[str, Any]) -> str:
    off = [part for part in ("belief", "progress", "experience") if not config[part]]
    hidden = "" if config["mode"] == "env_only" else "".join(f" -{part}" for part in off)
    return f"{config['mode']}{hidden}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _of_kind(figures: Mapping[str, Any] | None) -> str:
    return f"{figures['successes']}/{figures['episodes']}" if figures else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"
