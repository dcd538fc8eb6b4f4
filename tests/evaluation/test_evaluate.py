from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evoharness import HarnessConfig
from evoharness.core.view import View
from evoharness.evaluation import PolicyFailure, compare, evaluate, load_records
from evoharness.experience import ExperienceBank
from evoharness.policies import FunctionPolicy, RandomPolicy
from evoharness.testing import ToyAdapter, open_in_order

EXPERT = FunctionPolicy(open_in_order, "expert")


def play(out: Path, **settings: Any) -> dict[str, Any]:
    adapter = ToyAdapter()
    with ExperienceBank.in_memory("toy") as bank:
        bank.seed(adapter.experience())
        given: dict[str, Any] = {"split": "default", "experience": bank, **settings}
        return evaluate(given.pop("policy", EXPERT), adapter, out=out, **given)


def test_a_summary_holds_what_people_ask_for(tmp_path: Path) -> None:
    summary = play(tmp_path)
    assert summary == json.loads((tmp_path / "summary.json").read_text())
    assert summary["episodes"] == summary["successes"] == len(ToyAdapter().tasks("default"))
    assert summary["success_rate"] == 1.0
    assert summary["wilson_95"][0] > 0.85
    assert summary["by_task_type"]["door"]["success_rate"] == 1.0
    assert summary["meta_actions_per_episode"] == {
        "track": 1.0,
        "commit": 1.0,
        "recall": 1.0,
        "note": 1.0,
    }
    assert summary["reasons"] == {"success": summary["episodes"]}
    assert summary["invalid_rate"] == 0.0
    assert summary["mean_steps"] > 5
    assert summary["versions"]["evoharness"]
    assert summary["seed"] == 0


def test_traces_are_in_task_order_one_a_line(tmp_path: Path) -> None:
    play(tmp_path)
    lines = (tmp_path / "traces.jsonl").read_text().splitlines()
    traces = [json.loads(line) for line in lines]
    assert [trace["session_id"] for trace in traces] == [
        task.id for task in ToyAdapter().tasks("default")
    ]


def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    for workers in (1, 3):
        play(tmp_path / str(workers), workers=workers, policy=RandomPolicy(7))
    for product in ("summary.json", "traces.jsonl"):
        one, three = (tmp_path / str(workers) / product for workers in (1, 3))
        assert one.read_bytes() == three.read_bytes()


def test_a_finished_evaluation_is_not_played_again(tmp_path: Path) -> None:
    first = play(tmp_path, limit=4)

    def never(view: View) -> str:
        raise AssertionError("played again")

    assert play(tmp_path, limit=4, policy=FunctionPolicy(never, "expert")) == first


def test_a_torn_record_is_played_again(tmp_path: Path) -> None:
    first = play(tmp_path, limit=4)
    victim = sorted((tmp_path / "records").iterdir())[1]
    victim.write_text(victim.read_text()[:100])
    assert play(tmp_path, limit=4) == first


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"config": HarnessConfig(mode="env_only")}, "config.mode: 'inline' there, 'env_only' now"),
        ({"limit": 3}, "tasks: 4 there, 3 now"),
        ({"policy": RandomPolicy()}, "policy.name: 'expert' there, 'random' now"),
        ({"seed": 1}, "seed: 0 there, 1 now"),
    ],
)
def test_another_evaluation_is_refused_in_the_same_folder(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    play(tmp_path, limit=4)
    with pytest.raises(ValueError, match="choose another --out") as refused:
        play(tmp_path, **{"limit": 4, **changed})
    assert told in str(refused.value)


def test_a_second_writer_is_told_so(tmp_path: Path) -> None:
    told: list[str] = []

    def meddling(view: View) -> str:
        if not told:
            with pytest.raises(OSError, match="another evaluation is writing") as refused:
                play(tmp_path, limit=1)
            told.append(str(refused.value))
        return open_in_order(view)

    summary = play(tmp_path, limit=1, policy=FunctionPolicy(meddling, "expert"))
    assert told
    assert summary["success_rate"] == 1.0


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'nowhere'"):
        play(tmp_path, split="nowhere")


def test_a_policy_that_never_works_stops_the_evaluation(tmp_path: Path) -> None:
    def broken(view: View) -> str:
        raise ConnectionError("no server at localhost:1")

    with pytest.raises(PolicyFailure, match="no server at localhost:1"):
        play(tmp_path, policy=FunctionPolicy(broken, "down"), workers=2)
    _, records = load_records(tmp_path)
    assert records == {}


def test_single_failures_are_reported_and_can_be_retried(tmp_path: Path) -> None:
    asked: list[str] = []

    def sometimes(view: View) -> str:
        if view.task.id == "door-01" and view.task.id not in asked:
            asked.append(view.task.id)
            raise TimeoutError("too slow")
        return open_in_order(view)

    policy = FunctionPolicy(sometimes, "flaky")
    summary = play(tmp_path, policy=policy, limit=4)
    assert summary["reasons"] == {"policy_error": 1, "success": 3}
    assert play(tmp_path, policy=policy, limit=4) == summary
    mended = play(tmp_path, policy=policy, limit=4, retry_errors=True)
    assert mended["reasons"] == {"success": 4}


def test_killed_in_the_middle_it_goes_on_without_repeating_or_losing_a_task(
    tmp_path: Path,
) -> None:
    """A real process is killed with -9 while it plays; each task is begun at most twice (the
    one that was under way) and recorded once, and the result is that of an undisturbed run."""
    log = tmp_path / "log"
    program = f"""
import time
from pathlib import Path
from evoharness.evaluation import evaluate
from evoharness.policies import FunctionPolicy
from evoharness.testing import ToyAdapter, open_in_order

def slow(view):
    if not view.turns:
        with Path({str(log)!r}).open("a") as file:
            file.write(view.task.id + "\\n")
    time.sleep(0.02)
    return open_in_order(view)

evaluate(FunctionPolicy(slow, "expert"), ToyAdapter(), split="default",
         out=Path({str(tmp_path / "killed")!r}), workers=2)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    records = tmp_path / "killed" / "records"
    deadline = time.monotonic() + 60
    while len(list(records.glob("[!.]*.json")) if records.exists() else []) < 5:
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list(records.glob("[!.]*.json")))
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)

    tasks = [task.id for task in ToyAdapter().tasks("default")]
    begun = log.read_text().split()
    assert done < len(tasks)
    assert set(begun) == set(tasks)
    assert len(begun) <= len(tasks) + 2
    play(tmp_path / "whole", experience=None)
    for product in ("summary.json", "traces.jsonl"):
        killed, whole = (tmp_path / name / product for name in ("killed", "whole"))
        assert killed.read_bytes() == whole.read_bytes()


def test_comparisons_are_paired_over_shared_tasks(tmp_path: Path) -> None:
    def only_first_box(view: View) -> str:
        return f"<action>{'open door' if view.turns else 'open box 1'}</action>"

    play(tmp_path / "expert", limit=12)
    weak = FunctionPolicy(only_first_box, "weak")
    play(tmp_path / "weak", limit=12, policy=weak, config=HarnessConfig(max_steps=5))
    result = compare([tmp_path / "expert", tmp_path / "weak"])
    [pair] = result["pairs"]
    assert pair["shared_tasks"] == 12
    assert pair["only_second_won"] == 0
    lost = pair["only_first_won"]
    assert lost == 12 - result["runs"][1]["successes"] > 0
    assert pair["mcnemar_p"] == pytest.approx(2 / 2**lost)
    assert pair["difference"] == pytest.approx(-lost / 12)
    assert pair["difference_95"][0] <= pair["difference"] <= pair["difference_95"][1]


def test_a_folder_without_an_evaluation_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no evaluation.*evoharness eval"):
        compare([tmp_path])
