from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoharness.experience import ExperienceBank


@pytest.fixture
def bank() -> Iterator[ExperienceBank]:
    with ExperienceBank.in_memory("kitchen") as bank:
        yield bank


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Chroma server.

    Its tests are in the group `chroma`, so that one worker runs them all and one server serves them.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    command = [Path(sys.executable).with_name("chroma"), "run", "--path", folder]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen([*command, *where], stdout=log, stderr=log) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, process, folder / "log")
            yield url
        finally:
            process.terminate()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            return ExperienceBank.open(url, "nobody").close()
        except ConnectionError:
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"the Chroma server did not start: {log.read_text()}")
            time.sleep(0.05)
