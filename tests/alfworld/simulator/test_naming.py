from __future__ import annotations

from evoharness_alfworld.simulator.naming import class_of, names
from hypothesis import given
from hypothesis import strategies as st


def test_the_first_id_of_a_class_gets_the_highest_number() -> None:
    named = names(["mug_bar_b", "mug_bar_c", "mug_bar_a", "pan_bar_z"])
    assert named == {"mug_bar_a": "mug 3", "mug_bar_b": "mug 2", "mug_bar_c": "mug 1",
                     "pan_bar_z": "pan 1"}  # fmt: skip


def test_basins_are_a_class_of_their_own() -> None:
    named = names(["sink_bar_1", "sink_bar_1_bar_sinkbasin", "bathtub_bar_1_bar_bathtubbasin"])
    assert sorted(named.values()) == ["bathtubbasin 1", "sink 1", "sinkbasin 1"]


def test_what_has_no_coordinates_has_no_number() -> None:
    assert names(["appletype", "agent1"]) == {"agent1": "agent1 ", "appletype": "appletype "}


@given(st.sets(st.from_regex(r"(mug|pan|sink)_bar_[a-z0-9]{1,3}", fullmatch=True)))
def test_each_class_counts_from_one_without_gaps(ids: set[str]) -> None:
    named = names(ids)
    for kind in {class_of(id) for id in ids}:
        numbers = sorted(int(named[id].split()[1]) for id in ids if class_of(id) == kind)
        assert numbers == list(range(1, len(numbers) + 1))
