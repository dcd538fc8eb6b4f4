"""A bank as Markdown: people read it, and what an entry says stays text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evoharness.experience import Entry, ExperienceBank, Mistake, Skill, hint
from evoharness.experience.entries import clean_text
from evoharness.experience.exchange import to_markdown
from evoharness.experience.markdown import escaped

SPECIAL = st.text(st.sampled_from("ab1w. \\`*_{}[]<>()#+-!|~&;:/@$=\"'^"), max_size=30)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@settings(max_examples=300)
@given(
    st.one_of(SPECIAL, st.text(max_size=60)).map(lambda text: clean_text(text, 500)).filter(bool)
)
def test_a_text_is_shown_as_it_is_and_does_nothing(text: str) -> None:
    for before in ("", "- ", "### ", "- **a:** "):
        tokens = PARSER.parse(before + escaped(text))
        assert [t.type for t in tokens] == [t.type for t in PARSER.parse(f"{before}x")]
        [inline] = [token for token in tokens if token.type == "inline"]
        parts = inline.children or []
        shown = "".join(part.content for part in parts)
        assert shown == ("a: " if "*" in before else "") + text
        assert {part.type for part in parts} <= {"text", "strong_open", "strong_close"}


def test_addresses_are_no_links_where_bare_ones_would_be() -> None:
    assert escaped("see https://a.org or www.a.org") == r"see https\://a.org or www\.a.org"


def test_it_is_ordered_by_kind_type_and_context_with_archived_ones_last() -> None:
    old = Entry(content=Skill(principle="Shout."), task_type="heat", status="archived")
    some = [
        Entry(content=Mistake(what="It was shut.", avoid="Open it."), status="disputed"),
        Entry(content=Skill(principle="Boil it.", title="Heat"), task_type="heat", uses=3, wins=2),
        Entry(content=Skill(principle="Look # up <b>"), context="kitchen"),
        Entry(content=hint("mug", ["shelf"])),
        old,
    ]
    with ExperienceBank.in_memory("kitchen") as bank:
        bank.write(some, by="a test")
        shown = to_markdown(bank)
    assert shown == (
        "# Experience of kitchen\n\n"
        "2 skills, 1 mistake, 1 search hint.\n\n"
        "## Skills\n\n"
        "### All task types\n\n"
        "#### In kitchen\n\n"
        "- Look \\# up \\<b\\> *(not used yet)*\n\n"
        "### heat\n\n"
        "- **Heat:** Boil it. *(helped in 2 of 3 episodes)*\n\n"
        "## Mistakes\n\n"
        "### All task types\n\n"
        "- **Disputed:** It was shut. *Instead:* Open it. *(not used yet)*\n\n"
        "## Search hints\n\n"
        "### All task types\n\n"
        "- Where to find mug: shelf *(not used yet)*\n\n"
        "## Archived\n\n"
        "No longer recalled.\n\n"
        "- Shout. *(not used yet)* · skill, heat\n"
    )
