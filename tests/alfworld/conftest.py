from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from evoharness_alfworld import AlfworldAdapter, games


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Official games are played where they are, the stock engine where it is installed."""
    skips: list[tuple[str, pytest.MarkDecorator]] = []
    if not os.environ.get(games.VARIABLE):
        reason = f"{games.VARIABLE} names no official games (`evoharness alfworld download`)"
        skips.append(("official", pytest.mark.skip(reason=reason)))
    if not find_spec("textworld"):
        reason = "the stock engine is not installed (`make reference` installs it)"
        skips.append(("stock", pytest.mark.skip(reason=reason)))
    for item in items:
        for marker, skip in skips:
            if item.get_closest_marker(marker):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def adapter() -> AlfworldAdapter:
    return AlfworldAdapter()


@pytest.fixture(scope="session")
def stock() -> Iterator[AlfworldAdapter]:
    adapter = AlfworldAdapter(engine="textworld", workers=2)
    yield adapter
    adapter.close()
