from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoharness.core.progress import STATUSES, Subgoal, active, commit, render


def after(*commits: str, limit: int = 8) -> list[tuple[str, str]]:
    """Progress as pairs after these commits, all of which are valid."""
    subgoals: list[Subgoal] = []
    for argument in commits:
        subgoals, _, valid = commit(subgoals, argument, limit)
        assert valid, argument
    return [(item["text"], item["status"]) for item in subgoals]


def test_the_first_commit_opens_a_subgoal() -> None:
    assert after("find a mug") == [("find a mug", "open")]


def test_committing_the_next_completes_the_open_one() -> None:
    assert after("find a mug", "heat it") == [("find a mug", "complete"), ("heat it", "open")]


def test_several_are_opened_in_order_and_the_first_is_active() -> None:
    assert after("a | b|c") == [("a", "open"), ("b", "open"), ("c", "open")]


def test_a_planned_subgoal_completes_those_before_it() -> None:
    assert after("a | b | c", "c") == [("a", "complete"), ("b", "complete"), ("c", "open")]
    assert after("a | b | c", "B") == [("a", "complete"), ("b", "open"), ("c", "open")]


def test_committing_the_active_one_again_changes_nothing() -> None:
    assert after("a | b", "a") == after("a | b")


def test_an_unplanned_one_comes_before_what_is_still_planned() -> None:
    assert after("a | b", "x") == [("a", "complete"), ("x", "open"), ("b", "open")]


def test_several_unplanned_ones_stay_together() -> None:
    assert [text for text, _ in after("a | b", "x | y")] == ["a", "x", "y", "b"]


def test_several_keep_their_order_when_one_was_done_before() -> None:
    assert after("a", "b", "c | a") == [("b", "complete"), ("c", "open"), ("a", "open")]


def test_a_planned_one_stays_in_its_place_when_it_is_named_later_in_a_commit() -> None:
    assert after("a | b | c", "x | c") == [
        ("a", "complete"),
        ("x", "open"),
        ("b", "open"),
        ("c", "open"),
    ]


def test_a_subgoal_named_twice_is_one() -> None:
    assert after("a | b | A") == [("a", "open"), ("b", "open")]


def test_an_earlier_one_that_is_taken_up_again_is_active_and_the_open_one_waits() -> None:
    assert after("a", "b", "a") == [("a", "open"), ("b", "open")]


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_set_by_name(status: str) -> None:
    assert after("a | b", f"{status}: b") == [("a", "open"), ("b", status)]
    assert after("a | b", f"{status.upper()} :  B ") == [("a", "open"), ("b", status)]


@pytest.mark.parametrize("argument", ["blocked", "blocked:", "Blocked : "])
def test_a_bare_status_is_that_of_the_active_one(argument: str) -> None:
    assert after("a | b", argument) == [("a", "blocked"), ("b", "open")]


def test_a_closed_one_is_not_completed_by_the_next() -> None:
    assert after("a", "blocked | b") == [("a", "blocked"), ("b", "open")]
    assert after("a", "dropped: a", "b") == [("a", "dropped"), ("b", "open")]


def test_a_subgoal_may_begin_with_the_word_of_a_status() -> None:
    assert after("open the door") == [("open the door", "open")]
    assert after("complete the form") == [("complete the form", "open")]


def test_a_status_reaches_a_subgoal_as_long_as_can_be() -> None:
    long = "x" * 300
    assert after(long, f"blocked: {long}") == [("x" * 200, "blocked")]


def test_white_space_is_evened_out() -> None:
    assert after(" find \n a   mug ") == [("find a mug", "open")]


@pytest.mark.parametrize("argument", ["", "  ", "|", " | | "])
def test_an_empty_commit_is_refused_and_told(argument: str) -> None:
    subgoals: list[Subgoal] = [Subgoal(text="a", status="open")]
    same, result, valid = commit(subgoals, argument, 8)
    assert (same, valid) == (subgoals, False)
    assert "name a subgoal" in result


def test_a_status_of_nothing_is_refused_and_told() -> None:
    _, result, valid = commit([], "blocked", 8)
    assert not valid
    assert result.startswith("No subgoal is open.")
    _, result, valid = commit([Subgoal(text="a", status="open")], "blocked: b", 8)
    assert not valid
    assert "'b'" in result


def test_a_commit_that_works_in_part_is_valid_and_tells_the_rest() -> None:
    subgoals, result, valid = commit([], "a | dropped: x", 8)
    assert valid
    assert [item["text"] for item in subgoals] == ["a"]
    assert "No subgoal 'x' is committed." in result


def test_closed_ones_make_room_oldest_first_and_complete_ones_before_blocked() -> None:
    assert after("a", "b", "c", limit=2) == [("b", "complete"), ("c", "open")]
    assert after("a", "blocked", "b", "c", limit=2) == [("a", "blocked"), ("c", "open")]


def test_open_ones_are_never_forgotten_for_a_new_one() -> None:
    subgoals, result, valid = commit([], "a | b | c", 2)
    assert valid
    assert [item["text"] for item in subgoals] == ["a", "b"]
    assert "Not committed: 'c'" in result


def test_the_bound_of_eight_holds_for_a_long_plan() -> None:
    texts = [f"step {n}" for n in range(12)]
    assert [text for text, _ in after(*texts)] == texts[-8:]


def test_what_is_shown_marks_statuses_and_the_active_one() -> None:
    subgoals, _, _ = commit([], "a | b | c | d | e", 8)
    subgoals, shown, _ = commit(subgoals, "blocked | partial: b | complete: c | dropped: d", 8)
    assert shown == render(subgoals)
    assert shown.splitlines() == [
        "[!] a (blocked)",
        "[~] b (partial)",
        "[x] c",
        "[-] d (dropped)",
        "[ ] e (now)",
    ]
    assert render([]) == "No subgoal is committed yet."


NAME = st.sampled_from(["a", "b", "c", "d", "e", "F", "f", "x" * 250, "  g  h "])
PART = st.one_of(
    NAME,
    st.sampled_from(STATUSES),
    st.builds("{}: {}".format, st.sampled_from(STATUSES), NAME),
    st.text(max_size=6),
)
COMMIT = st.lists(PART, max_size=4).map(" | ".join)


@given(st.lists(COMMIT, max_size=12), st.integers(1, 4))
def test_what_always_holds(commits: list[str], limit: int) -> None:
    subgoals: list[Subgoal] = []
    for argument in commits:
        before = copy.deepcopy(subgoals)
        new, result, _ = commit(subgoals, argument, limit)
        assert subgoals == before, "the old Progress was changed in place"
        subgoals = new
        texts = [item["text"].lower() for item in subgoals]
        assert len(texts) == len(set(texts)) <= limit
        assert all(text == text.strip() and 0 < len(text) <= 200 for text in texts)
        assert all(item["status"] in STATUSES for item in subgoals)
        assert result
        now = active(subgoals)
        assert (now is None) == all(item["status"] != "open" for item in subgoals)
        assert render(subgoals).count("(now)") == (now is not None)


@given(st.lists(COMMIT, max_size=6), st.lists(NAME, min_size=1, max_size=4), st.integers(1, 4))
def test_the_first_of_a_commit_is_active_afterwards(
    commits: list[str], names: list[str], limit: int
) -> None:
    subgoals: list[Subgoal] = []
    for argument in commits:
        subgoals, _, _ = commit(subgoals, argument, limit)
    subgoals, _, valid = commit(subgoals, " | ".join(names), limit)
    now = active(subgoals)
    assert valid
    assert now is not None
    assert now["text"].lower() == " ".join(names[0].split())[:200].lower()
