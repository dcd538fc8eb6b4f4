from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from evoharness_alfworld import AlfworldAdapter, games


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Official games are played where they are; the packaged ones everywhere."""
    if os.environ.get(games.VARIABLE):
        return
    reason = f"{games.VARIABLE} names no official games (`evoharness alfworld download`)"
    for item in items:
        if item.get_closest_marker("official"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def adapter() -> Iterator[AlfworldAdapter]:
    adapter = AlfworldAdapter(workers=2)
    yield adapter
    adapter.close()
