"""The contract of adapters as a test class: subclass it and give it your adapter.

Example::

    class TestMyAdapter(EnvironmentContract):
        @classmethod
        def make_adapter(cls):
            return MyAdapter()
"""

from __future__ import annotations

import copy
import json
import random
import threading
from collections.abc import Iterator

import pytest

from evoharness.core.environment import Adapter, Environment, Step, Task
from evoharness.core.parsing import META_VERBS
from evoharness.experience.entries import LABEL_WIDTH, clean_text, seed_entry
from evoharness.experience.evidence import Finding
from evoharness.policies import FunctionPolicy
from evoharness.rollouts import rollout

_NONSENSE = "evoharness-contract does nothing"


class EnvironmentContract:
    """What every adapter keeps; optional abilities are checked where they are declared."""

    split: str | None = None
    """The split that is checked; None for the adapter's first."""
    steps: int = 8
    """Steps that each check plays."""

    @classmethod
    def make_adapter(cls) -> Adapter:
        """Make the adapter under test; override this."""
        raise NotImplementedError("override `make_adapter`")

    @pytest.fixture(scope="class")
    @classmethod
    def adapter(cls) -> Iterator[Adapter]:
        """Give the adapter, one for all tests of the class."""
        adapter = cls.make_adapter()
        yield adapter
        adapter.close()

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls, adapter: Adapter) -> Task:
        """Give the split's first task."""
        return adapter.tasks(cls.split or adapter.splits[0])[0]

    def test_tasks_are_stable_plain_data_with_distinct_ids(self, adapter: Adapter) -> None:
        split = self.split or adapter.splits[0]
        tasks = list(adapter.tasks(split))
        assert tasks, "a split without tasks"
        assert len({task.id for task in tasks}) == len(tasks)
        assert tasks == list(adapter.tasks(split))
        assert Task.from_json(json.loads(json.dumps(tasks[0].to_json()))) == tasks[0]
        assert adapter.task(tasks[-1].id) == tasks[-1]

    def test_an_unknown_split_is_refused(self, adapter: Adapter) -> None:
        with pytest.raises(ValueError, match="no-such-split"):
            adapter.tasks("no-such-split")

    def test_no_verb_clashes_with_a_meta_action(self, adapter: Adapter) -> None:
        assert not {*META_VERBS, "record"} & {verb.lower() for verb in adapter.verbs}

    def test_normalising_twice_changes_nothing_more(self, adapter: Adapter, task: Task) -> None:
        _, steps = _play(adapter, task, self.steps)
        for action in [a for step in steps for a in step.admissible or ()]:
            once = adapter.normalise(action)
            assert adapter.normalise(once) == once

    def test_an_impossible_action_is_told_and_is_no_exception(
        self, adapter: Adapter, task: Task
    ) -> None:
        environment = adapter.make(task)
        try:
            environment.reset()
            step = environment.step(_NONSENSE)
        finally:
            environment.close()
        assert not step.valid
        assert step.observation
        assert not step.done

    def test_admissible_actions_are_listed_as_declared(self, adapter: Adapter, task: Task) -> None:
        _, steps = _play(adapter, task, self.steps)
        for step in steps:
            if adapter.capabilities.lists_admissible and not step.done:
                assert step.admissible
            assert step.admissible is None or len(set(step.admissible)) == len(step.admissible)

    def test_scores_are_shares_and_success_means_done(self, adapter: Adapter, task: Task) -> None:
        _, steps = _play(adapter, task, self.steps)
        for step in steps:
            assert 0.0 <= step.score <= 1.0
            assert step.done or not step.success

    def test_the_same_actions_give_the_same_steps(self, adapter: Adapter, task: Task) -> None:
        if not adapter.capabilities.deterministic:
            pytest.skip("declared not deterministic")
        actions, steps = _play(adapter, task, self.steps)
        environment = adapter.make(task)
        try:
            again = [environment.reset(), *(environment.step(action) for action in actions)]
        finally:
            environment.close()
        assert again == steps

    def test_a_restored_environment_goes_on_the_same_way(
        self, adapter: Adapter, task: Task
    ) -> None:
        if not adapter.capabilities.restorable:
            pytest.skip("declared not restorable")
        actions, steps = _play(adapter, task, self.steps)
        half = len(actions) // 2
        first = adapter.make(task)
        try:
            first.reset()
            for action in actions[:half]:
                first.step(action)
            snapshot = json.loads(json.dumps(first.snapshot()))
        finally:
            first.close()
        second = adapter.make(task)
        try:
            second.restore(snapshot, actions[:half])
            rest = [second.step(action) for action in actions[half:]]
        finally:
            second.close()
        assert rest == steps[half + 1 :]

    def test_belief_is_plain_json_and_updates_leave_the_old_one_alone(
        self, adapter: Adapter, task: Task
    ) -> None:
        actions, steps = _play(adapter, task, self.steps)
        belief = adapter.first_belief(task, steps[0])
        for action, step in zip(actions, steps[1:], strict=True):
            before = copy.deepcopy(belief)
            new = adapter.update_belief(belief, action, step)
            assert belief == before
            assert json.loads(json.dumps(new)) == new
            belief = new
        assert adapter.answer_belief(belief, "")
        assert adapter.answer_belief(belief, "no such thing \x00 ☃ [")

    def test_environments_in_threads_do_not_touch_each_other(
        self, adapter: Adapter, task: Task
    ) -> None:
        if not adapter.capabilities.thread_safe:
            pytest.skip("declared not thread-safe")
        expected = _play(adapter, task, self.steps)
        results: list[tuple[list[str], list[Step]]] = []

        def play() -> None:
            results.append(_play(adapter, task, self.steps))

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [expected] * 4

    def test_scripted_policies_play_to_an_end(self, adapter: Adapter, task: Task) -> None:
        for name, function in adapter.policies().items():
            [state] = rollout(FunctionPolicy(function, name), adapter, [task])
            outcome = state["outcome"]
            assert outcome is not None
            assert outcome["reason"] in ("success", "failure", "budget"), outcome["detail"]

    def test_seed_experience_is_what_a_bank_can_hold(self, adapter: Adapter) -> None:
        entries = [seed_entry(n, mapping) for n, mapping in enumerate(adapter.experience())]
        assert len({entry.id for entry in entries}) == len(entries), "an entry twice"

    def test_the_context_of_experience_is_a_name_that_follows_from_belief(
        self, adapter: Adapter, task: Task
    ) -> None:
        actions, steps = _play(adapter, task, self.steps)
        belief = adapter.first_belief(task, steps[0])
        for action, step in zip(actions, steps[1:], strict=True):
            context = adapter.context(belief)
            assert context == clean_text(context, LABEL_WIDTH)
            assert context == adapter.context(copy.deepcopy(belief))
            belief = adapter.update_belief(belief, action, step)

    def test_findings_are_looks_that_a_bank_can_count(self, adapter: Adapter, task: Task) -> None:
        actions, steps = _play(adapter, task, self.steps)
        seen = [step.observation for step in steps]
        played = list(zip(actions, seen[1:], strict=True))
        for mapping in adapter.findings(task, seen[0], played):
            finding = Finding.model_validate(mapping)
            assert finding.found <= finding.looked


def _play(adapter: Adapter, task: Task, steps: int) -> tuple[list[str], list[Step]]:
    """Play seeded random admissible actions (a domain that lists none gets nonsense)."""
    environment: Environment = adapter.make(task)
    chance = random.Random(task.id)
    try:
        seen = [environment.reset()]
        actions: list[str] = []
        while len(actions) < steps and not seen[-1].done:
            admissible = seen[-1].admissible
            action = chance.choice(admissible) if admissible else _NONSENSE
            actions.append(action)
            seen.append(environment.step(action))
        return actions, seen
    finally:
        environment.close()
