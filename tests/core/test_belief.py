from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from evoharness.core import belief as plain


def seen(*pairs: tuple[str, str]) -> dict[str, object]:
    belief = plain.first("A room with a desk.")
    for action, observation in pairs:
        belief = plain.update(belief, action, observation)
    return belief


def test_a_query_is_answered_by_the_memories_that_share_most_words() -> None:
    belief = seen(("go to desk", "A red mug and a pen."), ("go to bed", "A pillow."))
    assert plain.answer(belief, "red mug").splitlines() == [
        "after 'go to desk': A red mug and a pen."
    ]


def test_an_empty_query_is_answered_by_the_newest() -> None:
    belief = seen(*((f"go {n}", f"Place {n}.") for n in range(5)))
    assert plain.answer(belief, "").splitlines() == [
        f"after 'go {n}': Place {n}." for n in (4, 3, 2)
    ]


def test_an_action_that_is_repeated_is_remembered_once_and_newest() -> None:
    belief = seen(("look", "Dark."), ("wait", "Time passes."), ("look", "Light."))
    assert belief["seen"] == [
        ["start", "A room with a desk."],
        ["wait", "Time passes."],
        ["look", "Light."],
    ]


def test_a_query_that_matches_nothing_is_told_so() -> None:
    assert plain.answer(seen(), "zebra") == "Nothing seen so far matches 'zebra'."


@given(st.lists(st.tuples(st.text(max_size=500), st.text(max_size=500)), max_size=30), st.text())
def test_belief_is_plain_and_bounded_and_updates_leave_the_old_one_alone(
    pairs: list[tuple[str, str]], query: str
) -> None:
    belief = plain.first("x" * 1000)
    for action, observation in pairs:
        before = json.dumps(belief)
        new = plain.update(belief, action * 9, observation * 9)
        assert json.dumps(belief) == before
        belief = new
    assert json.loads(json.dumps(belief)) == belief
    assert len(belief["seen"]) <= plain.KEPT
    assert len(json.dumps(belief, ensure_ascii=False)) < plain.KEPT * 2000 * 3
    assert all(len(part) <= 400 for pair in belief["seen"] for part in pair)
    assert plain.answer(belief, query)
