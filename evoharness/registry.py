"""Finds adapters: by the name they are registered under, or by `module:Class`."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import Any

from evoharness.core.environment import Adapter

GROUP = "evoharness.adapters"
"""The entry point group in which a package registers its adapter class."""


def registered() -> dict[str, EntryPoint]:
    """Return the registered adapters by name, none of them loaded."""
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def load_adapter(name: str, /, **settings: Any) -> Adapter:
    """Make an adapter.

    Args:
        name: a registered name, or `module:Class`.
        settings: passed to the adapter's class.

    Raises:
        LookupError: no such adapter; names those that there are.
        ImportError: its package, or an extra it needs, is not installed.
        TypeError: what was found is no adapter.
        ValueError: it does not take these settings; says which it takes.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), attribute)):
            raise LookupError(f"adapter {name!r} is not of the form `module:Class`")
        try:
            found = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise LookupError(f"adapter {name!r} cannot be imported: {error}") from error
    else:
        found = _load(name)
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise TypeError(f"{name!r} is {found!r}, not a subclass of evoharness.Adapter")
    takes = signature(found)
    try:
        takes.bind(**settings)
    except TypeError as error:
        listed = ", ".join(takes.parameters) or "none"
        raise ValueError(f"adapter {name!r}: {error}; its settings are {listed}") from None
    return found(**settings)


def _load(name: str) -> Any:
    known = registered()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(known) or "none"
        raise LookupError(
            f"no adapter is registered as {name!r}.{guess} Registered: {listed}. "
            "Your own goes as `module:Class`."
        )
    point = known[name]
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        owner = point.dist.name if point.dist else "its package"
        raise ImportError(f"adapter {name!r} of {owner} cannot be loaded: {error}") from error
