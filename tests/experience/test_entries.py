"""Entries: stable ids, and strings that every store, prompt and terminal can hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from evoharness.experience import Entry, Hint, Mistake, Place, Skill, hint
from evoharness.experience.entries import MAX_SOURCES, clean_text, seed_entry, with_sources

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)  # surrogates too
HEAT = Entry(content=Skill(principle="Heat the mug.", title="Heat"), task_type="heat")


class TestCleaning:
    @given(ANY_TEXT, st.integers(1, 60))
    @example("\u200c\u200d" * 9, 60)
    @example("a\ufe0f\u200d\ufe0f\u200d", 3)
    @example("ab \u202e", 2)
    def test_a_clean_text_is_one_bounded_line_and_stays_as_it_is(
        self, text: str, width: int
    ) -> None:
        kept = clean_text(text, width)
        assert len(kept) <= width
        assert kept == " ".join(kept.split())
        assert kept.encode().decode() == kept
        assert not {unicodedata.category(char) for char in kept} & {"Cc", "Cs"}
        assert {char for char in kept if unicodedata.category(char) == "Cf"} <= {*"\u200c\u200d"}
        assert clean_text(kept, width) == kept

    @pytest.mark.parametrize(
        ("text", "kept"),
        [
            ("\ud83d bad, \ud83d\ude00 good", "\ufffd bad, 😀 good"),
            ("  open\n\n the\tta\x00p \x1b[31m", "open the tap [31m"),
            ("one\u2028two\u2029three\u00a0four", "one two three four"),
            ("\u202eright to left\u2066\u2069", "right to left"),
            ("tags \U000e0041\U000e0042", "tags"),
            ("selectors \u2764\ufe00\U000e0101\U000e01ef", "selectors \u2764"),
            ("fillers \u3164\u115f\u2800\uffa0", "fillers"),
            ("an emoji \u2764\ufe0f\u200d\U0001f525", "an emoji \u2764\ufe0f\u200d\U0001f525"),
            ("می\u200cخواهم", "می\u200cخواهم"),
            ("row \u200c\u200d\u200c\u200c\u200d", "row \u200c\u200d"),
        ],
    )
    def test_what_a_reader_would_not_see_goes(self, text: str, kept: str) -> None:
        assert clean_text(text, 80) == kept

    def test_a_long_text_ends_in_an_ellipsis(self) -> None:
        assert Skill(principle="word " * 1000).principle.endswith("word…")
        assert clean_text("abc def", 5) == "abc…"

    @given(ANY_TEXT)
    def test_an_entry_is_the_same_after_a_trip_through_json(self, text: str) -> None:
        entry = Entry(
            content=hint(f"mug {text}", [f"shelf {text}"]), task_type=text, context=text,
            sources=(f"run {text}",),
        )  # fmt: skip
        assert Entry.model_validate_json(entry.model_dump_json()) == entry


class TestIds:
    def test_the_id_is_the_same_in_every_process_and_version(self) -> None:
        """A change here would double every entry of the banks that exist."""
        assert HEAT.id == "3ff9a64150aff86249d3c638"
        assert Entry(content=hint("kettle", ["shelf"])).id == "8fb78714815c8f2b82409a1c"
        assert Entry(content=Mistake(what="It was shut.")).id == "f5062a5d10105e24d18bf85f"

    def test_the_id_follows_from_what_the_entry_is_about_and_stays(self) -> None:
        skill = Skill(principle=" Heat  the mug.\n", title="Heat")
        assert Entry(content=skill, task_type="heat", sources=("x",), uses=3, wins=1).id == HEAT.id
        assert HEAT.changed(content=Skill(principle="Boil it."), task_type="cool").id == HEAT.id

    def test_task_type_context_kind_and_wording_make_another_entry(self) -> None:
        mug = Skill(principle="mug")
        others = [
            Entry(content=mug),
            Entry(content=mug, task_type="heat"),
            Entry(content=mug, context="heat"),
            Entry(content=Mistake(what="mug")),
            Entry(content=hint("mug", ["shelf"])),
            Entry(content=Skill(principle="mug", title="mug")),
        ]
        assert len({entry.id for entry in others}) == len(others)

    def test_a_hint_is_about_its_thing_wherever_that_is(self) -> None:
        assert (
            Entry(content=hint("mug", ["shelf"])).id
            == Entry(content=Hint(thing="mug", places=(Place(name="sink", found=3, looked=9),))).id
        )


class TestHint:
    def test_before_anybody_looked_the_given_order_holds(self) -> None:
        made = hint("mug", ["shelf", "sink", "desk", "bed"])
        assert [place.name for place in made.ranked] == ["shelf", "sink", "desk", "bed"]
        assert made.text == "Where to find mug: shelf, then sink, then desk, then bed"

    def test_looks_outweigh_what_was_believed(self) -> None:
        places = (
            Place(name="shelf", found=0, looked=2, trust=1),
            Place(name="sink", found=2, looked=3),
            Place(name="bed", found=0, looked=5),
        )
        made = Hint(thing="mug", places=places)
        assert [place.name for place in made.ranked] == ["sink", "shelf"]
        assert made.text == (
            "Where to find mug: sink (found in 2 of 3), then shelf (found in 0 of 2)"
        )

    def test_when_no_place_is_left_it_says_so(self) -> None:
        made = Hint(thing="mug", places=(Place(name="shelf", looked=4),))
        assert made.text == "Where to find mug: not known any more"

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("The KETTLE was hot", True),
            ("two kettles", True),
            ("no kettledrum here", False),
            ("teakettle", False),
        ],
    )
    def test_a_text_names_the_thing_as_a_word_of_its_own(self, text: str, named: bool) -> None:
        assert hint("kettle", ["shelf"]).named_in(text) is named

    def test_a_thing_may_have_signs_of_patterns_in_it(self) -> None:
        assert hint("c++ file", ["src"]).named_in("look, a c++ file!")


class TestEntry:
    def test_its_text_says_where_it_holds(self) -> None:
        assert Entry(content=hint("soap", ["sink"]), context="bathroom").text.endswith(
            "soap: sink (in bathroom)"
        )
        assert HEAT.text == "Heat: Heat the mug."
        mistake = Mistake(what="It was shut.", why="I forgot.", avoid="Open it.")
        assert mistake.text == "It was shut. Because: I forgot. Instead: Open it."
        assert Skill(principle="Boil it.", when="It is cold.").text == "Boil it. When: It is cold."

    def test_its_utility_is_a_half_before_it_was_used(self) -> None:
        assert HEAT.utility == 0.5
        assert HEAT.changed(uses=8, wins=8).utility == 0.9

    def test_the_newest_sources_are_kept_each_once(self) -> None:
        many = [f"run {n}" for n in range(MAX_SOURCES + 5)]
        assert with_sources(("run 3", "old"), [*many, "run 36"]) == tuple(many[-MAX_SOURCES:])

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"content": {"kind": "rumour", "text": "x"}}, "rumour"),
            ({"content": {"kind": "skill", "principle": " \x00 "}}, "it is empty"),
            ({"content": {"kind": "hint", "thing": "mug", "places": []}}, "at least 1 item"),
            ({"content": HEAT.content, "status": "gone"}, "status"),
            ({"content": HEAT.content, "uses": -1}, "uses"),
            ({"content": HEAT.content, "colour": "red"}, "colour"),
        ],
    )
    def test_what_is_no_entry_is_refused(self, fields: dict[str, object], problem: str) -> None:
        with pytest.raises(ValidationError, match=problem):
            Entry.model_validate(fields)


class TestSeed:
    def test_it_is_an_entry_of_the_domain_that_nobody_has_checked(self) -> None:
        made = seed_entry(
            0, {"kind": "hint", "thing": "mug", "places": ["shelf", "sink"], "context": "kitchen"}
        )
        assert made == Entry(
            content=hint("mug", ["shelf", "sink"]), context="kitchen", sources=("seed",)
        )
        skill = seed_entry(1, {"kind": "skill", "text": "Look up.", "task_type": "heat"})
        assert (skill.text, skill.task_type, skill.status) == ("Look up.", "heat", "active")

    @pytest.mark.parametrize(
        ("seed", "problem"),
        [
            ({"kind": "note", "text": "x"}, "seed entry 4 has kind 'note'"),
            ({"text": "x"}, "seed entry 4 has kind None"),
            ({"kind": "skill"}, "seed entry 4 is a skill and needs 'text'"),
            ({"kind": "hint", "thing": "mug"}, "seed entry 4 is a hint and needs 'places'"),
            ({"kind": "hint", "thing": "mug", "places": "shelf"}, "seed entry 4: places is a list"),
            ({"kind": "hint", "thing": "mug", "places": []}, "seed entry 4: places"),
            ({"kind": "mistake", "text": "\n"}, "seed entry 4: .*it is empty"),
        ],
    )
    def test_what_is_none_is_named_with_the_reason(
        self, seed: dict[str, object], problem: str
    ) -> None:
        with pytest.raises(ValueError, match=problem):
            seed_entry(4, seed)
