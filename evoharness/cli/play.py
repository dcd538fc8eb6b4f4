"""`evoharness run` and `evoharness demo`: one episode, live."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evoharness.cli import options as o
from evoharness.cli.app import app

if TYPE_CHECKING:
    from evoharness.core.environment import Adapter, Task
    from evoharness.core.settings import HarnessConfig
    from evoharness.experience import ExperienceBank
    from evoharness.policies import Policy

UNSOLVED = 3


@app.command()
def run(
    adapter: o.AdapterName,
    settings: o.Settings = None,
    task: Annotated[
        str | None, typer.Option("--task", help="A task's id; by default the split's first.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Where to look for the task.")
    ] = None,
    policy: o.PolicyName = None,
    model: o.ModelName = None,
    base_url: o.BaseUrl = None,
    temperature: o.Temperature = 0.0,
    max_tokens: o.MaxTokens = 512,
    seed: o.Seed = 0,
    mode: o.ModeOption = o.Mode.inline,
    ablate: o.Ablate = None,
    context: o.ContextOption = o.Context.per_turn,
    reply_format: o.FormatOption = o.Format.tags,
    max_steps: o.MaxSteps = 50,
    free_meta: o.FreeMeta = 0,
    bank: o.Bank = None,
    evolve: o.Evolve = False,
    empty_bank: o.EmptyBank = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="SQLite file that makes the episode durable: killed and called again, the same "
            "command goes on at the same turn.",
        ),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Play one episode, live in the terminal.

    [dim]evoharness run alfworld --policy expert[/dim]

    [dim]evoharness run alfworld --split valid_unseen --model openai:qwen3-8b --base-url
    http://localhost:8000/v1[/dim]
    """
    from evoharness.registry import load_adapter

    domain = load_adapter(adapter, **o.adapter_settings(settings))
    try:
        chosen = o.make_policy(
            domain, policy, model, base_url, temperature, max_tokens, seed
        ).policy
        config = o.make_config(mode, ablate, context, reply_format, max_steps, free_meta)
        wanted = _find_task(domain, task, split)
        with o.open_bank(domain, bank, evolve=evolve, empty=empty_bank) as experience:
            solved = _play(domain, wanted, chosen, config, experience, checkpoint, as_json=as_json)
            if evolve:
                experience.consolidate()
    finally:
        domain.close()
    if not solved:
        raise typer.Exit(UNSOLVED)


@app.command()
def demo(
    task: Annotated[str | None, typer.Option("--task", help="Another packaged task's id.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Watch the scripted expert solve a household task with all four meta-actions.

    The house is packaged: nothing is downloaded.
    """
    from evoharness.registry import load_adapter

    domain = load_adapter("alfworld")
    try:
        chosen = o.make_policy(domain, "expert", None, None, 0.0, 1, 0).policy
        config = o.make_config(
            o.Mode.inline, None, o.Context.per_turn, o.Format.tags, max_steps=50, free_meta=0
        )
        wanted = _find_task(domain, task, None)
        with o.open_bank(domain, None) as experience:
            solved = _play(domain, wanted, chosen, config, experience, None, as_json=as_json)
    finally:
        domain.close()
    if not solved:
        raise typer.Exit(UNSOLVED)


def _find_task(adapter: Adapter, task: str | None, split: str | None) -> Task:
    if task is None:
        return adapter.tasks(split or adapter.splits[0])[0]
    if split is None:
        return adapter.task(task)
    found = next((one for one in adapter.tasks(split) if one.id == task), None)
    if found is None:
        raise KeyError(
            f"{adapter.name} has no task {task!r} in split {split!r}; "
            "`evoharness tasks` lists the tasks"
        )
    return found


def _play(
    adapter: Adapter,
    task: Task,
    policy: Policy,
    config: HarnessConfig,
    experience: ExperienceBank,
    checkpoint: Path | None,
    *,
    as_json: bool,
) -> bool:
    """Play through the graph, show it, and return whether the task was solved."""
    from rich.live import Live
    from rich.markup import escape

    from evoharness.cli import show
    from evoharness.core.measures import measure
    from evoharness.graph import create_harness, unfinished
    from evoharness.traces import to_atif

    screen = show.console(quiet=as_json)
    with _saver(checkpoint) if checkpoint else nullcontext() as saver:
        harness = create_harness(policy, adapter, experience, config=config, checkpointer=saver)
        settings: Any = {"configurable": {"thread_id": task.id}}
        # Played again, it is another episode to the bank.
        start: Any = {"task": task.to_json(), "source": f"{task.id}@{uuid.uuid4().hex[:12]}"}
        if saver is not None:
            before = harness.get_state(settings)
            if unfinished(before):
                turn = len(before.values.get("turns", ())) + 1
                screen.print(f"[dim]going on at turn {turn}[/dim]")
                start = None
        who = f"[dim]{escape(task.id)} · {escape(policy.name)}[/dim]"
        screen.print(f"[bold]{escape(task.objective)}[/bold]  {who}")
        state: Any = None
        with Live(console=screen, refresh_per_second=8, transient=True) as live:
            stream = harness.stream(start, settings, stream_mode=["custom", "values"])
            for kind, event in stream:
                happened = cast(Any, event)
                if kind == "values":
                    state = happened
                    if state.get("belief"):
                        live.update(show.workspace(state, adapter))
                elif happened["type"] == "turn":
                    screen.print(show.turn_lines(happened["turn"]))
    if state["belief"]:
        screen.print(show.workspace(state, adapter))
    measures = measure(state, config.max_steps)
    screen.print(show.outcome_line(state, measures.steps, config.max_steps))
    if as_json:
        trace = to_atif(state, adapter, config, policy=policy.name)
        facts = {"task": task.id, "outcome": state["outcome"], "measures": measures.model_dump()}
        typer.echo(json.dumps({**facts, "trace": trace}))
    return bool(state["outcome"]["success"])


@contextmanager
def _saver(path: Path) -> Generator[Any]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError as error:
        raise ImportError(
            'durable episodes need SQLite checkpoints: pip install "evoharness[sqlite]"'
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with SqliteSaver.from_conn_string(str(path)) as saver:
            saver.setup()
            yield saver
    except sqlite3.Error as error:
        raise OSError(f"--checkpoint {path} cannot be used: {error}") from error
