"""Options that `run` and `eval` share, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from evoharness.core.environment import Adapter
    from evoharness.core.settings import HarnessConfig
    from evoharness.experience import Evolver, ExperienceBank
    from evoharness.policies import Policy


class Mode(StrEnum):
    """The harness's modes."""

    inline = "inline"
    always_on = "always_on"
    env_only = "env_only"


class Part(StrEnum):
    """The parts that can be switched off."""

    belief = "belief"
    progress = "progress"
    experience = "experience"


class Context(StrEnum):
    """How turns are strung together."""

    per_turn = "per_turn"
    accumulated = "accumulated"


class Format(StrEnum):
    """How the policy answers."""

    tags = "tags"
    tools = "tools"


_WHO = "Who decides"
_HOW = "The harness"

AdapterName = Annotated[
    str, typer.Argument(help="A registered adapter (see `evoharness adapters`) or module:Class.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the adapter, such as engine=textworld for alfworld. May be repeated.",
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        help="expert (the adapter's scripted one), random, or module:function. "
        "Without --model the default is expert.",
        rich_help_panel=_WHO,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", help="A LangChain model string, e.g. openai:gpt-4.1-mini.", rich_help_panel=_WHO
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="An OpenAI-compatible server, e.g. http://localhost:8000/v1 (vLLM, llama.cpp, …).",
        rich_help_panel=_WHO,
    ),
]
Temperature = Annotated[
    float, typer.Option("--temperature", min=0, help="The model's.", rich_help_panel=_WHO)
]
MaxTokens = Annotated[
    int,
    typer.Option("--max-tokens", min=1, help="Most tokens of one reply.", rich_help_panel=_WHO),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        help="Of a shuffled split; of the random policy; of an openai: model's samples, mixed "
        "with task and turn.",
        rich_help_panel=_WHO,
    ),
]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="inline: meta-actions on demand. always_on: panels at every turn. env_only: neither.",
        rich_help_panel=_HOW,
    ),
]
Ablate = Annotated[
    list[Part] | None,
    typer.Option("--ablate", help="Switch a part off; may be repeated.", rich_help_panel=_HOW),
]
ContextOption = Annotated[
    Context,
    typer.Option(
        "--context",
        help="per_turn: each prompt stands alone. accumulated: one growing conversation.",
        rich_help_panel=_HOW,
    ),
]
FormatOption = Annotated[
    Format,
    typer.Option("--format", help="Tagged text or native tool calls.", rich_help_panel=_HOW),
]
MaxSteps = Annotated[
    int,
    typer.Option("--max-steps", min=1, help="Charged turns of an episode.", rich_help_panel=_HOW),
]
FreeMeta = Annotated[
    int,
    typer.Option(
        "--free-meta",
        min=0,
        help="Meta-actions of an episode that are not charged.",
        rich_help_panel=_HOW,
    ),
]
_MEMORY = "Experience"
Bank = Annotated[
    str | None,
    typer.Option(
        "--bank",
        help="Folder of an Experience bank, or the address of a Chroma server that keeps one. It "
        "stays as it is, byte for byte. Without it a bank in memory starts with the adapter's own "
        "entries.",
        rich_help_panel=_MEMORY,
    ),
]
Evolve = Annotated[
    bool,
    typer.Option(
        "--evolve",
        help="Let the bank learn from what is played; a new one is made where there is none.",
        rich_help_panel=_MEMORY,
    ),
]
EmptyBank = Annotated[
    bool,
    typer.Option(
        "--empty-bank",
        help="A new bank starts with nothing, not with the adapter's entries.",
        rich_help_panel=_MEMORY,
    ),
]
EvolverName = Annotated[
    str | None,
    typer.Option(
        "--evolver",
        metavar="MODEL",
        help="A chat model, e.g. openai:gpt-4.1-mini, that turns what several episodes noted into "
        "entries. Without it similarity and counts decide, and no model is asked.",
        rich_help_panel=_MEMORY,
    ),
]
EvolverUrl = Annotated[
    str | None,
    typer.Option(
        "--evolver-url",
        metavar="URL",
        help="An OpenAI-compatible server that serves the evolver.",
        rich_help_panel=_MEMORY,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True)
class Chosen:
    """A policy with the facts that identify it in an evaluation's manifest."""

    policy: Policy
    facts: dict[str, Any]


def make_config(
    mode: Mode,
    ablate: list[Part] | None,
    context: Context,
    reply_format: Format,
    max_steps: int,
    free_meta: int,
) -> HarnessConfig:
    """Return the harness's settings."""
    from evoharness.core.settings import HarnessConfig

    off = set(ablate or ())
    return HarnessConfig.model_validate(
        {
            "mode": mode.value,
            "context": context.value,
            "reply_format": reply_format.value,
            "max_steps": max_steps,
            "free_meta": free_meta,
            **{part.value: part not in off for part in Part},
        }
    )


def make_policy(
    adapter: Adapter,
    policy: str | None,
    model: str | None,
    base_url: str | None,
    temperature: float,
    max_tokens: int,
    seed: int,
) -> Chosen:
    """Return the policy that the options name.

    Raises:
        ValueError: both or no kinds are named, or the adapter has no such policy.
    """
    from evoharness.policies import FunctionPolicy, RandomPolicy

    if model is not None:
        if policy is not None:
            raise ValueError("--policy and --model exclude each other")
        from evoharness.policies.chat import ChatPolicy

        settings = {"temperature": temperature, "max_tokens": max_tokens}
        sent = seed if model.startswith("openai:") else None
        made = ChatPolicy.from_string(model, base_url=base_url, seed=sent, **settings)
        return Chosen(made, {**settings, "base_url": base_url})
    if base_url is not None:
        raise ValueError("--base-url needs --model, e.g. --model openai:NAME")
    name = policy or "expert"
    if name == "random":
        return Chosen(RandomPolicy(seed), {})
    if ":" in name:
        return Chosen(FunctionPolicy(_function(name), name), {})
    own = adapter.policies()
    if name not in own:
        listed = ", ".join([*own, "random"])
        raise ValueError(
            f"{adapter.name} has no policy {name!r}; it has {listed}. A model goes as --model, "
            "a function of yours as module:function"
        )
    return Chosen(FunctionPolicy(own[name], name), {})


def make_evolver(model: str | None, url: str | None) -> Evolver:
    """Return who decides on what a bank learns.

    Raises:
        ValueError: a server without a model is named, or the model is unknown.
    """
    from evoharness.experience import ModelEvolver, StatisticalEvolver

    if model is None:
        if url is not None:
            raise ValueError("--evolver-url needs --evolver, e.g. --evolver openai:NAME")
        return StatisticalEvolver()
    from evoharness.policies.chat import ChatPolicy

    chat = ChatPolicy.from_string(model, base_url=url, temperature=0, max_tokens=4096)
    return ModelEvolver(chat.model)


def adapter_settings(given: list[str] | None) -> dict[str, Any]:
    """Read `NAME=VALUE` settings; a value that is JSON, such as 3 or true, counts as that."""
    found: dict[str, Any] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not (name.isidentifier() and equals):
            raise ValueError(f"--set {item!r} is not of the form NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


@contextmanager
def open_bank(
    adapter: Adapter, place: str | None, *, evolve: bool = False, empty: bool = False
) -> Generator[ExperienceBank]:
    """Open the Experience bank that the options name.

    Raises:
        ValueError: the options do not fit together, or there is no bank to be read.
    """
    from evoharness.experience import ExperienceBank

    if place is None:
        if evolve:
            raise ValueError("--evolve needs --bank PATH, the folder that keeps what is learned")
        bank = ExperienceBank.in_memory(adapter.name)
    elif evolve:
        bank = ExperienceBank.open(place, adapter.name)
    else:
        if empty:
            raise ValueError("--empty-bank is for a new bank: give --evolve, or leave --bank out")
        try:
            bank = ExperienceBank.open(place, adapter.name, read_only=True)
        except (FileNotFoundError, LookupError) as error:
            raise ValueError(f"{error}; --evolve makes a new bank there") from error
    with bank:
        if not (empty or bank.read_only or bank.cycles()):
            bank.seed(adapter.experience())
        yield bank


def _function(name: str) -> Any:
    import sys
    from importlib import import_module

    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"policy {name!r} cannot be imported: {error}") from error
