"""What the commands of `evoharness bank` share: their options, and how they open a bank."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from evoharness.experience import Embedding, ExperienceBank

PlaceOption = Annotated[
    str,
    typer.Option(
        "--bank",
        metavar="FOLDER_OR_URL",
        help="The bank's folder, or the address of a Chroma server, e.g. http://localhost:8000.",
    ),
]
DomainOption = Annotated[
    str | None,
    typer.Option("--domain", help="Whose bank, where the place keeps several domains'."),
]
EmbeddingOption = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        metavar="MODULE:OBJECT",
        help="The embedding that the bank was written with, when it is not the default one: a "
        "LangChain Embeddings object (its name is this very text), or an Embedding of evoharness.",
    ),
]


@contextmanager
def reading(place: str, domain: str | None, embedding: str | None) -> Generator[ExperienceBank]:
    """Open a bank to read it; a folder's files stay as they are."""
    from evoharness.experience import ExperienceBank

    name = domain_in(place, domain)
    with ExperienceBank.open(place, name, embedding_named(embedding), read_only=True) as bank:
        yield bank


@contextmanager
def changing(
    place: str, domain: str | None, embedding: str | None, *, new: bool = False
) -> Generator[ExperienceBank]:
    """Open a bank to change it; only a new one is made."""
    from evoharness.experience import ExperienceBank

    name = domain if new and domain else domain_in(place, domain)
    with ExperienceBank.open(place, name, embedding_named(embedding)) as bank:
        yield bank


def domain_in(place: str, domain: str | None) -> str:
    """Return the domain whose bank is meant.

    Raises:
        LookupError: the place keeps none of that name, or several and none is named.
        FileNotFoundError: there is no bank.
    """
    from evoharness.experience.chroma import domains

    known = domains(place)
    listed = ", ".join(map(repr, known)) or "none"
    if domain is not None and domain not in known:
        raise LookupError(f"{place} keeps no Experience of {domain!r}; its domains: {listed}")
    if not known:
        raise LookupError(f"{place} keeps no Experience bank")
    if domain is None and len(known) > 1:
        raise LookupError(f"{place} keeps several domains: choose one of {listed} with --domain")
    return known[0] if domain is None else domain


def domain_to_import_into(place: str, domain: str | None, origin: str) -> tuple[str, bool]:
    """Return the domain of the bank that a file goes into, and whether it has to be made.

    Args:
        place: a folder or server, with or without a bank.
        domain: the domain, if it is named.
        origin: the domain of the bank that the file comes from, if the file says so.

    Raises:
        LookupError: which domain is meant does not follow.
    """
    from evoharness.experience.chroma import domains

    try:
        known = domains(place)
    except FileNotFoundError:
        known = []
    if chosen := domain or (origin if origin in known or not known else ""):
        return chosen, chosen not in known
    if origin:
        raise LookupError(
            f"the file comes from a bank of {origin!r}, and {place} keeps {', '.join(known)}: name "
            "the domain to import into with --domain"
        )
    if not known:
        raise LookupError(f"there is no Experience bank in {place}: name the new one's --domain")
    return domain_in(place, None), False


def embedding_named(spec: str | None) -> Embedding | None:
    """Return the embedding that an option names; None stands for the default one.

    Raises:
        ValueError: it cannot be imported.
        TypeError: it is no embedding.
    """
    from importlib import import_module

    from evoharness.experience import LangChainEmbedding

    if spec is None or spec == "wordllama":
        return None
    module, colon, attribute = spec.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"embedding {spec!r} is neither wordllama nor of the form module:object")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"embedding {spec!r} cannot be imported: {error}") from error
    if isinstance(found, type):
        found = found()
    if all(hasattr(found, part) for part in ("name", "dimension", "embed")):
        return found
    return LangChainEmbedding(found, spec)


def full_id(given: str, known: set[str], what: str) -> str:
    """Return the one id that begins as given.

    Raises:
        LookupError: none does, or several do.
    """
    if given in known:
        return given
    fitting = sorted(id_ for id_ in known if given and id_.startswith(given))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise LookupError(f"{len(fitting)} ids begin with {given!r}: {', '.join(fitting[:5])}")
    raise LookupError(f"there is no {what} {given!r}")


def say_json(facts: dict[str, Any]) -> None:
    """Print one JSON object; everything beyond ASCII is escaped."""
    typer.echo(json.dumps(facts))
