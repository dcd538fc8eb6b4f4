"""The toy domain keeps the contract, and the contract catches those that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from evoharness.core.environment import JSON, Capabilities, Environment, Step, Task
from evoharness.core.view import View
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout
from evoharness.testing import EnvironmentContract, ScriptedModel, ToyAdapter, open_in_order
from evoharness.testing.toy import ToyEnvironment


class TestToy(EnvironmentContract):
    steps = 30

    @classmethod
    def make_adapter(cls) -> ToyAdapter:
        return ToyAdapter()


def test_every_door_can_be_opened() -> None:
    tasks = ToyAdapter().tasks("default")
    states = rollout(FunctionPolicy(open_in_order), ToyAdapter(), tasks)
    assert all(state["outcome"] and state["outcome"]["success"] for state in states)
    assert {task.data["boxes"] for task in tasks} == set(range(1, 9))


def test_the_door_needs_the_key() -> None:
    room = ToyEnvironment(Task("t", "Open the door.", "door", {"boxes": 3, "key": 2}))
    assert room.reset().observation == "A locked door and 3 closed boxes."
    assert room.step("open door") == replace(room.reset(), observation="The door is locked.")
    assert room.step("open box 1").observation == "Box 1 is empty."
    assert not room.step("open box 4").valid
    assert not room.step("open box ²").valid
    assert "holds the key" in room.step("open box 2").observation
    opened = room.step("open door")
    assert (opened.done, opened.success, opened.score) == (True, True, 1.0)
    assert not room.step("open box 1").valid
    assert not room.reset().done


# --- what the contract catches ---------------------------------------------------------------


class Shared(ToyEnvironment):
    """Counts its steps over all environments."""

    steps = 0

    def step(self, action: str) -> Step:
        type(self).steps += 1
        return replace(super().step(action), observation=f"step {type(self).steps}")


class Raising(ToyEnvironment):
    def step(self, action: str) -> Step:
        if not action.startswith("open"):
            raise ValueError(action)
        return super().step(action)


class Boasting(ToyEnvironment):
    def step(self, action: str) -> Step:
        return replace(super().step(action), score=100.0)


class Silent(ToyEnvironment):
    def step(self, action: str) -> Step:
        return replace(super().step(action), admissible=None)


class Forgetful(ToyEnvironment):
    def restore(self, snapshot: JSON | None, actions: Sequence[str]) -> None:
        self.reset()
        if actions:
            self._done = True


def in_place(self: Any, belief: JSON, action: str, step: Step) -> JSON:
    belief["seen"].append([action, step.observation])
    return belief


def repeated(self: Any, split: str) -> list[Task]:
    task = Task("same", "Open the door.", "door", {"boxes": 1, "key": 1})
    if split != "default":
        raise ValueError(split)
    return [task, task]


def any_split(self: Any, split: str) -> list[Task]:
    return [Task("a", "Open the door.", "door", {"boxes": 1, "key": 1})]


def longer(self: Any, action: str) -> str:
    return f"please {action}"


def unknown_kind(self: Any) -> Sequence[Mapping[str, str]]:
    return [{"kind": "opinion", "text": "x", "task_type": ""}]


def two_lines(self: Any, belief: JSON) -> str:
    return "a room\nwith a view"


def found_unseen(self: Any, *episode: Any) -> Sequence[JSON]:
    return [{"thing": "key", "place": "box 1", "looked": 1, "found": 2}]


def lost(view: View) -> str:
    raise RuntimeError("lost")


def lost_expert(self: Any) -> Mapping[str, Any]:
    return {"expert": lost}


FAULTS: list[tuple[str, type[Environment], dict[str, Any]]] = [
    ("test_tasks_are_stable_plain_data_with_distinct_ids", ToyEnvironment, {"tasks": repeated}),
    ("test_an_unknown_split_is_refused", ToyEnvironment, {"tasks": any_split}),
    ("test_no_verb_clashes_with_a_meta_action", ToyEnvironment, {"verbs": ("Record",)}),
    ("test_normalising_twice_changes_nothing_more", ToyEnvironment, {"normalise": longer}),
    ("test_an_impossible_action_is_told_and_is_no_exception", Raising, {}),
    ("test_admissible_actions_are_listed_as_declared", Silent, {}),
    ("test_scores_are_shares_and_success_means_done", Boasting, {}),
    ("test_the_same_actions_give_the_same_steps", Shared, {}),
    ("test_a_restored_environment_goes_on_the_same_way", Forgetful, {}),
    (
        "test_belief_is_plain_json_and_updates_leave_the_old_one_alone",
        ToyEnvironment,
        {"update_belief": in_place},
    ),
    ("test_environments_in_threads_do_not_touch_each_other", Shared, {}),
    ("test_scripted_policies_play_to_an_end", ToyEnvironment, {"policies": lost_expert}),
    (
        "test_seed_experience_is_what_a_bank_can_hold",
        ToyEnvironment,
        {"experience": unknown_kind},
    ),
    (
        "test_the_context_of_experience_is_a_name_that_follows_from_belief",
        ToyEnvironment,
        {"context": two_lines},
    ),
    (
        "test_findings_are_looks_that_a_bank_can_count",
        ToyEnvironment,
        {"findings": found_unseen},
    ),
]


@pytest.mark.parametrize(("check", "environment", "changes"), FAULTS, ids=[f[0] for f in FAULTS])
def test_the_contract_catches(
    check: str, environment: type[Environment], changes: dict[str, Any]
) -> None:
    class Faulty(ToyAdapter):
        def make(self, task: Task) -> Environment:
            return environment(task)  # pyright: ignore[reportCallIssue]

    for name, value in changes.items():
        setattr(Faulty, name, value)
    adapter = Faulty()
    task = Task("t", "Open the door.", "door", {"boxes": 3, "key": 2})
    given = {"adapter": adapter, "task": task}
    test = getattr(EnvironmentContract(), check)
    names = test.__code__.co_varnames[1 : test.__code__.co_argcount]
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        test(**{name: given[name] for name in names})


def test_what_is_not_promised_is_not_checked() -> None:
    class Modest(ToyAdapter):
        capabilities = Capabilities(deterministic=False, thread_safe=False, restorable=False)

    adapter, contract = Modest(), EnvironmentContract()
    for check in (
        contract.test_the_same_actions_give_the_same_steps,
        contract.test_a_restored_environment_goes_on_the_same_way,
        contract.test_environments_in_threads_do_not_touch_each_other,
    ):
        with pytest.raises(pytest.skip.Exception, match="declared not"):
            check(adapter, adapter.tasks("default")[0])


def test_every_check_of_the_contract_is_shown_to_catch_something() -> None:
    checks = {name for name in vars(EnvironmentContract) if name.startswith("test_")}
    assert checks == {name for name, _, _ in FAULTS}


# --- the adapter's own lookups ---------------------------------------------------------------


def test_a_task_is_found_by_its_id_and_a_miss_is_told() -> None:
    adapter = ToyAdapter()
    assert adapter.task("door-12").id == "door-12"
    with pytest.raises(KeyError, match="toy has no task 'door-99'"):
        adapter.task("door-99")


def test_a_miss_tells_which_splits_could_not_be_searched() -> None:
    class Partial(ToyAdapter):
        splits = ("default", "more")

        def tasks(self, split: str) -> Sequence[Task]:
            if split == "more":
                raise FileNotFoundError("run `get more` first")
            return super().tasks(split)

    assert Partial().task("door-12").id == "door-12"
    with pytest.raises(KeyError, match="Not searched: more: run `get more` first"):
        Partial().task("door-99")


# --- the scripted model ----------------------------------------------------------------------


def test_a_script_is_played_in_order_and_again() -> None:
    model = ScriptedModel(["a", AIMessage("b")])
    assert [model.invoke("hi").text for _ in range(3)] == ["a", "b", "a"]
    assert [messages[0].text for messages in model.calls] == ["hi"] * 3


def test_a_script_may_be_a_function() -> None:
    model = ScriptedModel(lambda messages: messages[-1].text.upper())
    assert [reply.text for reply in model.batch(["a", "b", "c"])] == ["A", "B", "C"]
    assert len(model.calls) == 3


def test_a_batch_uses_each_reply_of_a_list_once() -> None:
    model = ScriptedModel([str(n) for n in range(20)])
    assert {reply.text for reply in model.batch(["x"] * 20)} == {str(n) for n in range(20)}


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="the script is empty"):
        ScriptedModel([])
