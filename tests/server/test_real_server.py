"""A real model behind a real OpenAI-compatible server, which these tests start themselves.

The model is tiny and random, so that nothing it says can be relied on: what is tested is that
every mode plays to an end and counts honestly.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from evoharness import HarnessConfig, create_harness
from evoharness.experience import EvolutionError, ExperienceBank, ModelEvolver
from evoharness.policies.chat import ChatPolicy
from evoharness.testing import ToyAdapter

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("server")]

TOY = "evoharness.testing:ToyAdapter"
EPISODES, STEPS = 3, 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a vLLM that serves a tiny Qwen3 made on the spot."""
    vllm = os.environ.get("EVOHARNESS_VLLM") or shutil.which("vllm")
    if not vllm:
        pytest.skip("no vLLM is installed (EVOHARNESS_VLLM names its executable)")
    folder = tmp_path_factory.mktemp("server")
    python = Path(vllm).with_name("python")
    maker = Path(__file__).with_name("make_tiny_model.py")
    subprocess.run([python, maker, folder / "model"], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [vllm, "serve", folder / "model", "--served-model-name", "tiny", "--port", str(port)]
    command += ["--dtype", "float32", "--enforce-eager", "--max-model-len", "16384"]
    # A seeded request whose prompt is read in several chunks breaks vLLM's CPU build.
    command += ["--max-num-batched-tokens", "16384"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    offline = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        command,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, **offline},
    )
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}/health", folder / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        # The engine's own processes may outlive the one that was waited for.
        _signal(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def _signal(group: int, number: signal.Signals) -> None:
    """Signal a group of processes, which may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")


def evaluate(server: str, out: Path, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "evoharness.cli", "eval", TOY, "--out", str(out), "--json"),
            *("--model", "openai:tiny", "--base-url", server, "--workers", "3"),
            *("--limit", str(EPISODES), "--max-steps", str(STEPS), "--max-tokens", "12"),
            *("--temperature", "1", *options),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


VARIANTS = {
    "inline": (),
    "always_on": ("--mode", "always_on"),
    "env_only": ("--mode", "env_only"),
    "no belief": ("--ablate", "belief"),
    "no progress": ("--ablate", "progress"),
    "no experience": ("--ablate", "experience"),
    "accumulated": ("--context", "accumulated"),
    "tools": ("--format", "tools"),
    "accumulated tools": ("--format", "tools", "--context", "accumulated"),
}
SHOWN = {
    "inline": ("track [", "commit [", "recall [", "note [", "Belief", "Progress", "Experience"),
    "always_on": ("Belief", "Progress", "Experience"),
}
HIDDEN = {
    "always_on": ("track [", "commit [", "recall [", "note ["),
    "env_only": ("track [", "commit [", "recall [", "note [", "Belief", "Progress", "Experience"),
    "no belief": ("track [", "Belief"),
    "no progress": ("commit [", "Progress"),
    "no experience": ("recall [", "note [", "Experience"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_plays_to_an_end_and_counts_what_happened(
    server: str, tmp_path: Path, name: str
) -> None:
    summary = evaluate(server, tmp_path, *VARIANTS[name])
    assert summary["episodes"] == sum(summary["reasons"].values()) == EPISODES
    assert set(summary["reasons"]) <= {"success", "failure", "budget"}
    traces = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text().splitlines()]
    turns = [step for trace in traces for step in trace["steps"] if step["source"] == "agent"]
    assert len(turns) == EPISODES * STEPS
    assert sum(summary["parse_codes"].values()) >= len(turns)
    assert all(turn["extra"]["codes"] for turn in turns)
    invalid = sum(not turn["extra"]["valid"] for turn in turns)
    assert summary["invalid_rate"] == pytest.approx(invalid / len(turns))
    used = [turn["metrics"] for turn in turns]
    assert summary["tokens"]["input"] == sum(one["prompt_tokens"] for one in used) > 0
    assert summary["tokens"]["output"] == sum(one["completion_tokens"] for one in used) > 0
    for trace in traces:
        system, *others = trace["steps"]
        prompts = [step["extra"]["prompt"] for step in others if step["source"] == "agent"]
        read = "\n".join([system["message"], *prompts])
        assert [word for word in HIDDEN.get(name, ()) if word in read] == []
        assert [word for word in SHOWN.get(name, ()) if word not in read] == []


async def test_tokens_stream_out_of_the_graph_and_it_works_without_blocking(server: str) -> None:
    policy = ChatPolicy.from_string("openai:tiny", base_url=server, max_tokens=8, temperature=1)
    harness = create_harness(policy, ToyAdapter(), config=HarnessConfig(max_steps=1))
    chunks = list(harness.stream({"task": "door-00"}, stream_mode="messages"))
    assert len(chunks) > 2
    final = cast(Any, await harness.ainvoke({"task": "door-00"}))
    assert final["outcome"]["reason"] == "budget"


def test_a_model_that_talks_nonsense_changes_no_bank(server: str) -> None:
    chat = ChatPolicy.from_string("openai:tiny", base_url=server, max_tokens=32, temperature=1)
    with ExperienceBank.in_memory("kitchen") as bank:
        for episode in ("one", "two"):
            bank.note("Open the door before the box.", source=episode)
        with pytest.raises(EvolutionError, match="answered without a list of edits"):
            bank.consolidate(ModelEvolver(chat.model))
        assert bank.entries() == []
        assert [piece.status for piece in bank.evidence()] == ["waiting", "waiting"]
