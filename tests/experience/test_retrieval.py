"""Recall: which entries answer a question, in which order, and what is said of why."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoharness.experience import Entry, Hint, Mistake, Place, Recalled, Skill, WordLlamaEmbedding
from evoharness.experience.entries import Content
from evoharness.experience.retrieval import CHARACTERS_PER_TOKEN, Index, intent

EMBEDDING = WordLlamaEmbedding()
AWAY = [1.0, *[0.0] * 255]
"""The vector of texts that are about something else than the questions are."""
ALIKE = [0.0, 1.0, *[0.0] * 254]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # surrogates too


def skill(text: str, **fields: Any) -> Entry:
    return Entry(content=Skill(principle=text), **fields)


def mistake(text: str, **fields: Any) -> Entry:
    return Entry(content=Mistake(what=text), **fields)


def hint(thing: str, *places: str, **fields: Any) -> Entry:
    found = tuple(Place(name=place, found=1, looked=2) for place in places or ("shelf",))
    return Entry(content=Hint(thing=thing, places=found), **fields)


class Bank:
    """An index over entries, with their real vectors unless one is given for all of them."""

    def __init__(self, *entries: Entry, vector: Sequence[float] | None = None) -> None:
        texts = [entry.text for entry in entries]
        self._vector = vector
        self.index = Index(entries, [vector for _ in texts] if vector else EMBEDDING.embed(texts))

    def recall(self, query: str, **options: Any) -> list[Recalled]:
        vector = self._vector or EMBEDDING.embed([query])[0]
        return self.index.search(query, vector, **options)

    def texts(self, query: str, **options: Any) -> list[str]:
        return [found.text for found in self.recall(query, **options)]

    def ids(self, query: str, **options: Any) -> list[str]:
        return [found.id for found in self.recall(query, **options)]


HOME = Bank(
    hint("mug", "countertop", "cabinet"),
    hint("soapbar", "sinkbasin", "toilet"),
    hint("book", "shelf", "desk"),
    skill("Hold the food in your hand and heat it with the microwave."),
    mistake("Food that lies in the microwave is not heated by closing the door."),
    skill("Write a failing test before you mend the parser."),
)


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        ("query", "kind"),
        [
            ("where is a mug", "hint"),
            ("Look for the remote control", "hint"),
            ("mug location", "hint"),
            ("how do I heat an egg", "skill"),
            ("steps to clean a plate", "skill"),
            ("what mistakes to avoid with the microwave", "mistake"),
            ("why did it fail", "mistake"),
            ("mug", None),
            ("showing somewhat plants", None),  # how, what and plan are no words of it
            ("", None),
        ],
    )
    def test_the_words_of_a_question_say_which_kind_it_wants(
        self, query: str, kind: str | None
    ) -> None:
        assert intent(query) == kind

    @pytest.mark.parametrize(
        ("query", "kind"),
        [
            ("how to heat food in the microwave", "skill"),
            ("what to avoid with food in the microwave", "mistake"),
            ("where to find a mug for the microwave", "hint"),
        ],
    )
    def test_an_entry_of_the_wanted_kind_comes_first(self, query: str, kind: str) -> None:
        best = HOME.recall(query)[0]
        assert (best.kind, best.intended) == (kind, True)

    def test_a_question_that_wants_no_kind_prefers_none(self) -> None:
        found = HOME.recall("food in the microwave", limit=6)
        assert not any(entry.intended for entry in found)

    def test_an_entry_that_has_nothing_to_do_with_a_question_is_not_found(self) -> None:
        bank = Bank(skill("Rinse the plate."), vector=AWAY)
        assert bank.index.search("how to tune a piano", ALIKE) == []

    def test_a_question_in_other_words_finds_what_means_the_same(self) -> None:
        assert HOME.texts("repair a tokenizer")[0].startswith("Write a failing test")


class TestWords:
    """By words alone: all vectors are the same."""

    @pytest.mark.parametrize(
        ("entry", "query"),
        [
            ("the soapbar", "soap bar"),
            ("a papertowelroll", "paper towel roll"),
            ("a remotecontrol", "remote controls"),
            ("a box", "boxes"),
            ("its knives", "knives"),
            ("a policy", "policies"),
            ("the cache", "caches"),
            ("a tomato", "TOMATOES"),
            ("max_retry_count", "retry"),
            ("retry", "max_retry_count"),
            ("a ValueError", "value error"),
        ],
    )
    def test_spellings_of_a_word_are_one(self, entry: str, query: str) -> None:
        bank = Bank(skill(entry), skill("something else"), vector=AWAY)
        best = bank.recall(query, method="lexical")[0]
        assert (best.text, best.words > 0) == (entry, True)

    def test_different_words_are_not_one(self) -> None:
        bank = Bank(*map(skill, ("a glass", "the status", "a pan", "a pen", "a note")), vector=AWAY)
        for query in ("gla", "stat", "pant", "open", "not"):
            assert bank.recall(query, method="lexical") == [], query

    def test_words_that_all_questions_have_say_nothing(self) -> None:
        bank = Bank(skill("find where it is"), vector=AWAY)
        assert bank.recall("where is it to be found", method="lexical") == []

    def test_a_rare_word_says_more_than_a_common_one(self) -> None:
        common = [skill(f"open the drawer {n}") for n in range(9)]
        bank = Bank(*common, skill("dust the ottoman"), vector=AWAY)
        assert bank.texts("drawer ottoman", limit=1) == ["dust the ottoman"]

    def test_their_share_falls_with_each_word_that_is_missing(self) -> None:
        bank = Bank(skill("clean the plate"), skill("other"), vector=AWAY)
        shares = [
            bank.recall(query)[0].words
            for query in ("clean plate", "clean plate quickly", "clean yellow plate quickly")
        ]
        assert 1 >= shares[0] > shares[1] > shares[2] > 0

    def test_a_question_for_an_exact_name_finds_it_among_alike_ones(self) -> None:
        names = [
            f"{verb}_{noun}" for verb in ("read", "load", "drop") for noun in ("row", "column")
        ]
        bank = Bank(*[mistake(f"`{name}` fails on empty input") for name in names])
        for name in names:
            assert name in bank.texts(f"why does {name} fail", limit=1)[0]

    def test_each_method_uses_its_part_alone(self) -> None:
        bank = Bank(skill("rinse the plate"), vector=AWAY)
        [lexical] = bank.recall("plate", method="lexical")
        [dense] = bank.recall("plate", method="dense")
        [hybrid] = bank.recall("plate", method="hybrid")
        assert (lexical.similarity, lexical.words > 0) == (0, True)
        assert (dense.similarity, dense.words) == (1, 0)
        assert (hybrid.similarity, hybrid.words) == (1, lexical.words)


class TestFilters:
    def test_only_entries_of_the_task_type_and_of_all_types_are_found(self) -> None:
        bank = Bank(
            skill("heat the egg", task_type="heat"),
            skill("heat the soup"),
            skill("heat the room", task_type="clean"),
        )
        assert {*bank.texts("heat", task_type="heat")} == {"heat the egg", "heat the soup"}
        assert bank.texts("heat", task_type="unknown") == ["heat the soup"]
        assert bank.texts("heat") == ["heat the soup"]

    def test_the_hint_of_the_room_comes_before_the_general_one_and_that_before_others(self) -> None:
        bank = Bank(
            *[hint("kettle", room, context=room) for room in ("attic", "kitchen", "zoo")],
            hint("kettle"),
            vector=AWAY,
        )
        order = [found.context for found in bank.recall("kettle", context="kitchen", limit=4)]
        assert order == ["kitchen", "", "attic", "zoo"] or order == ["kitchen", "", "zoo", "attic"]

    def test_what_is_known_of_another_room_is_better_than_what_was_not_asked_for(self) -> None:
        bank = Bank(hint("vase", context="hall"), hint("kettle", context="kitchen"))
        assert bank.recall("where is a vase", context="kitchen")[0].context == "hall"

    def test_without_a_context_none_is_preferred(self) -> None:
        bank = Bank(hint("pan", context="hall", id="b"), hint("pan", context="hull", id="a"),
                    vector=AWAY)  # fmt: skip
        scores = {found.score for found in bank.recall("where is a pan")}
        assert len(scores) == 1

    def test_an_archived_entry_is_not_found(self) -> None:
        bank = Bank(skill("heat the egg", status="archived"), skill("heat the soup"))
        assert bank.texts("heat the egg") == ["heat the soup"]


class TestService:
    def test_of_two_equal_ones_that_which_served_better_comes_first(self) -> None:
        bank = Bank(
            skill("heat the egg", id="a", uses=4, wins=0),
            skill("heat the egg", id="b", uses=4, wins=4),
            skill("heat the egg", id="c"),
            vector=AWAY,
        )
        found = bank.recall("heat the egg")
        assert [entry.id for entry in found] == ["b", "c", "a"]
        assert [entry.utility for entry in found] == pytest.approx([5 / 6, 1 / 2, 1 / 6])

    def test_service_does_not_outweigh_what_was_asked_for(self) -> None:
        bank = Bank(skill("rinse the plate", uses=50, wins=50), skill("fold the towel", uses=50))
        assert bank.texts("how to fold a towel", limit=1) == ["fold the towel"]

    @pytest.mark.parametrize("context", ["", "here", "elsewhere"])
    def test_a_disputed_entry_is_found_behind_its_equal_and_marked(self, context: str) -> None:
        """Elsewhere, with one word of the question, the score of both is below zero."""
        bank = Bank(
            skill("heat the egg", id="a", context="here", status="disputed"),
            skill("heat the egg", id="b", context="here"),
            vector=AWAY,
        )
        found = bank.recall("egg with toast, beans, tea", context=context, method="lexical")
        assert [(entry.id, entry.disputed) for entry in found] == [("b", False), ("a", True)]


class TestOrder:
    def test_equal_ones_are_ordered_by_id_however_the_bank_was_filled(self) -> None:
        entries = [skill("heat the egg", id=f"{n:03}") for n in range(50)]
        for seed in range(3):
            random.Random(seed).shuffle(entries)
            assert Bank(*entries, vector=AWAY).ids("egg", limit=7) == [f"{n:03}" for n in range(7)]

    def test_no_more_than_the_limit_are_found_and_fewer_if_there_are_fewer(self) -> None:
        bank = Bank(*[skill(f"heat the egg {n}") for n in range(3)])
        assert [len(bank.recall("egg", limit=n)) for n in (1, 2, 100)] == [1, 2, 3]

    def test_a_budget_of_tokens_ends_the_list_but_the_best_is_always_there(self) -> None:
        bank = Bank(*[skill(f"heat the egg {n} {'very slowly ' * 5}") for n in range(9)])
        whole = bank.texts("heat the egg", limit=9)
        cost = [len(text) // CHARACTERS_PER_TOKEN + 1 for text in whole]
        for count in range(1, 9):
            assert bank.texts("heat the egg", limit=9, budget=sum(cost[:count])) == whole[:count]
        assert bank.texts("heat the egg", limit=9, budget=cost[0] + cost[1] - 1) == whole[:1]
        assert bank.texts("heat the egg", limit=9, budget=1) == whole[:1]

    def test_an_answer_says_why(self) -> None:
        [best, *_] = HOME.recall("where is the mug", context="kitchen")
        query, entry = EMBEDDING.embed(["where is the mug", best.text])
        assert best.similarity == pytest.approx(sum(map(float.__mul__, query, entry)), abs=1e-5)
        assert (
            best.text
            == "Where to find mug: countertop (found in 1 of 2), then cabinet (found in 1 of 2)"
        )
        assert (best.kind, best.intended, best.disputed, best.utility) == ("hint", True, False, 0.5)
        assert 0 < best.words <= 1
        assert 0 < best.score <= 1

    @pytest.mark.parametrize("entries", [[], [skill("heat the egg", status="archived")]])
    def test_a_bank_without_entries_answers_nothing(self, entries: list[Entry]) -> None:
        assert Bank(*entries).recall("egg") == []

    def test_entries_without_words_are_no_hindrance(self) -> None:
        bank = Bank(skill("…"), skill("the"), skill("egg"))
        assert bank.texts("egg", limit=1) == ["egg"]
        assert Bank(skill("…")).recall("egg", method="lexical") == []


CONTENTS: st.SearchStrategy[Content] = st.one_of(
    st.builds(Skill, principle=st.just("heat the egg") | ANY_TEXT.map(lambda text: f"a{text}")),
    st.builds(Mistake, what=st.sampled_from(["egg is cold", "why not", "0"])),
    st.builds(
        Hint,
        thing=st.sampled_from(["egg", "soapbar", "?", "a.b"]),
        places=st.just((Place(name="bin"),)),
    ),
)
ENTRIES = st.builds(
    Entry,
    content=CONTENTS,
    context=st.sampled_from(["", "kitchen"]),
    status=st.sampled_from(["active", "disputed", "archived"]),
    uses=st.integers(2, 3),
    wins=st.integers(0, 2),
)
QUERIES = ANY_TEXT | st.sampled_from(
    ["where is the egg", "how", "why (", "soap bar " * 200, "[egg]", "\\d+", "e\u0301gg", "🥚"]
)


class TestAnything:
    @given(
        st.lists(ENTRIES, max_size=6, unique_by=lambda entry: entry.id),
        QUERIES,
        st.sampled_from(["", "kitchen"]),
        st.integers(1, 4),
        st.none() | st.integers(0, 30),
        st.sampled_from(["hybrid", "dense", "lexical"]),
    )
    def test_any_question_gets_a_sound_answer(
        self,
        entries: list[Entry],
        query: str,
        context: str,
        limit: int,
        budget: int | None,
        method: str,
    ) -> None:
        bank = Bank(*entries)
        options = {"context": context, "limit": limit, "budget": budget, "method": method}
        found = bank.recall(query, **options)
        assert found == Bank(*reversed(entries)).recall(query, **options)
        known = {entry.id: entry for entry in entries if entry.status != "archived"}
        assert len({entry.id for entry in found}) == len(found) <= limit
        scores = [entry.score for entry in found]
        assert scores == sorted(scores, reverse=True)
        for entry in found:
            assert entry.text == known[entry.id].text
            assert all(0 <= x <= 1 for x in (entry.score, entry.similarity, entry.words))

    def test_threads_share_an_index(self) -> None:
        queries = ["where is the mug", "how to heat food", "soap bar", "failing test"] * 25
        expected = [HOME.ids(query) for query in queries]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(HOME.ids, queries)) == expected
