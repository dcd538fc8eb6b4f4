from __future__ import annotations

import pytest
from evoharness_alfworld.wording import normalise
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Go to Bed 1.", "go to bed 1"),
        ("goto bed 1", "go to bed 1"),
        ("put mug 1 in/on desk 2", "move mug 1 to desk 2"),
        ("put mug 1 in desk 2", "move mug 1 to desk 2"),
        ("PUT MUG 1 ON DESK 2.", "move mug 1 to desk 2"),
        ("place the mug 1 into cabinet 3", "move the mug 1 to cabinet 3"),
        ("pick up mug 1 from desk 2", "take mug 1 from desk 2"),
        ("turn on desklamp 1", "use desklamp 1"),
        ("  open   fridge 1\n", "open fridge 1"),
        ("heat apple 1 with microwave 1 .", "heat apple 1 with microwave 1"),
        ("", ""),
    ],
)
def test_other_wordings_are_understood(said: str, meant: str) -> None:
    assert normalise(said) == meant


THING = st.from_regex(r"[a-z]{2,12} [1-9][0-9]?", fullmatch=True)


@given(THING, THING)
def test_the_engine_s_own_wordings_stay_as_they_are(thing: str, place: str) -> None:
    for action in (
        f"go to {place}",
        f"open {place}",
        f"take {thing} from {place}",
        f"move {thing} to {place}",
        f"heat {thing} with {place}",
        f"use {thing}",
        f"examine {thing}",
        "look",
        "inventory",
    ):
        assert normalise(action) == action


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
