"""`evoharness bank` on real folders: what an owner reads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from bank_commands import CLEANED, RUNNER, WIDE, call, facts, failing, fill
from typer.main import get_command

from evoharness.cli.app import app
from evoharness.cli.bank import app as bank_app
from evoharness.experience import ExperienceBank


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank that the tests only read."""
    folder = tmp_path_factory.mktemp("seeded") / "bank"
    fill(folder)
    return folder


@pytest.fixture
def folder(seeded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(seeded, tmp_path / "bank"))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


READING = [
    ["show"],
    ["show", "--evidence"],
    ["search", "where is the mug"],
    ["history"],
    ["diff", "0"],
    ["export"],
    ["export", "--format", "markdown"],
    ["stats"],
]


def test_reading_leaves_every_byte_as_it_is(folder: Path) -> None:
    before = bytes_of(folder)
    for command in READING:
        assert call(*command, "--bank", folder)
        assert facts(*command, "--bank", folder)["domain"] == "kitchen"
    assert bytes_of(folder) == before


class TestShow:
    @pytest.mark.parametrize(
        ("filters", "count"),
        [
            ([], 6),
            (["--kind", "skill"], 4),
            (["--status", "archived"], 1),
            (["--type", "heat"], 3),
            (["--type", ""], 3),
            (["--kind", "hint", "--status", "archived"], 0),
        ],
    )
    def test_filters_can_be_combined(self, seeded: Path, filters: list[str], count: int) -> None:
        assert len(facts("show", "--bank", seeded, *filters)["entries"]) == count

    def test_what_an_entry_says_does_nothing_to_the_terminal(self, seeded: Path) -> None:
        for command in (["show"], ["history"], ["diff", "0"], ["search", "boil", "--type", "heat"]):
            shown = call(*command, "--bank", seeded)
            assert "\x1b" not in shown
            assert "\u202e" not in shown
            assert command == ["history"] or CLEANED in shown

    def test_in_colour_only_our_own_colours_are_there(self, seeded: Path) -> None:
        colour = {"COLUMNS": "200", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        done = RUNNER.invoke(app, ["bank", "show", "--bank", str(seeded)], env=colour)
        assert CLEANED in done.stdout
        assert "\x1b[32mactive" in done.stdout

    def test_evidence_says_where_it_comes_from_and_what_became_of_it(self, seeded: Path) -> None:
        listed = facts("show", "--bank", seeded, "--evidence", "--status", "quarantined")
        [note] = listed["evidence"]
        assert (note["source"], note["kind"]) == ("game-9@a#1", "note")
        assert "game-4@a#3" in call("show", "--bank", seeded, "--evidence", "--kind", "note")

    @pytest.mark.parametrize(
        ("filters", "said"),
        [
            (["--kind", "song"], "--kind 'song' is not one of skill, mistake, hint"),
            (["--status", "used"], "--status 'used' is not one of active, disputed, archived"),
            (["--evidence", "--kind", "hint"], "--kind 'hint' is not one of note, episode"),
        ],
    )
    def test_a_filter_that_nothing_can_pass_is_refused(
        self, seeded: Path, filters: list[str], said: str
    ) -> None:
        assert failing("show", "--bank", seeded, *filters) == said


class TestSearch:
    def test_it_says_why_an_entry_is_found(self, seeded: Path) -> None:
        [hit] = facts("search", "where is the mug", "--bank", seeded, "--limit", "1")["found"]
        assert hit["kind"] == "hint"
        assert hit["intended"]
        assert 0 < hit["words"] <= 1
        shown = call("search", "where is the mug", "--bank", seeded)
        assert f"words {hit['words']:.3f}, usefulness 0.50, its kind is asked for" in shown

    def test_an_entry_of_a_task_type_is_found_by_who_has_that_type(self, seeded: Path) -> None:
        query = ("search", "boil water", "--bank", seeded)
        assert "--type finds those of a task type too" in call(*query)
        assert "Tea: " in call(*query, "--type", "heat")

    def test_a_method_leaves_the_other_measure_out(self, seeded: Path) -> None:
        shown = call("search", "the mug", "--bank", seeded, "--method", "lexical")
        assert "words" in shown
        assert "meaning" not in shown


class TestHistory:
    def test_cycles_are_listed_with_what_changed(self, seeded: Path) -> None:
        cycles = facts("history", "--bank", seeded)["cycles"]
        assert [(c["by"], c["add"], c["update"], c["archive"]) for c in cycles] == [
            ("seed", 3, 0, 0),
            ("seed", 1, 0, 0),
            ("statistics", 1, 1, 0),
            ("owner", 0, 0, 1),
            ("statistics", 1, 1, 0),
        ]
        assert "1 add, 1 update" in call("history", "--bank", seeded)

    def test_an_entry_s_versions_show_which_words_changed(self, seeded: Path) -> None:
        [hint] = facts("show", "--bank", seeded, "--kind", "hint")["entries"]
        told = facts("history", hint["id"][:6], "--bank", seeded)
        assert [version["op"] for version in told["versions"]] == ["add", "update", "update"]
        shown = call("history", hint["id"], "--bank", seeded)
        assert "[-shelf,-] {+shelf (found in 2 of 2),+} then sink" in shown

    def test_an_id_that_is_none_or_several_is_refused(self, seeded: Path) -> None:
        assert failing("history", "zz", "--bank", seeded) == "there is no entry 'zz'"
        assert failing("history", "", "--bank", seeded) == "there is no entry ''"


class TestDiff:
    def test_the_second_cycle_is_now_by_default(self, seeded: Path) -> None:
        pairs = facts("diff", "2", "--bank", seeded)["entries"]
        kinds = [(bool(p["before"]), p["after"]["content"]["kind"]) for p in pairs]
        assert sorted(kinds) == [
            (False, "skill"), (False, "skill"), (True, "hint"), (True, "mistake"),
        ]  # fmt: skip
        assert "(status active -> archived)" in call("diff", "2", "--bank", seeded)

    def test_backwards_it_shows_what_an_undo_would_do(self, seeded: Path) -> None:
        [pair] = facts("diff", "4", "3", "--bank", seeded)["entries"]
        assert (pair["before"]["status"], pair["after"]["status"]) == ("archived", "active")

    def test_the_same_moment_has_no_difference(self, seeded: Path) -> None:
        assert call("diff", "5", "--bank", seeded) == "The entries say the same.\n"

    def test_an_unknown_cycle_is_refused(self, seeded: Path) -> None:
        told = failing("diff", "1", "9", "--bank", seeded)
        assert told == "the bank has no cycle 9; `evoharness bank history` lists its cycles"


def test_stats_count_entries_and_evidence_and_draw_the_growth(seeded: Path) -> None:
    done = facts("stats", "--bank", seeded)
    assert done["entries"]["skill"] == {"active": 4, "disputed": 0, "archived": 0}
    assert done["entries"]["mistake"]["archived"] == 1
    assert done["evidence"]["note"] == {"waiting": 2, "quarantined": 1, "used": 4}
    assert [cycle["size"] for cycle in done["cycles"]] == [3, 4, 5, 4, 5]
    assert done["episodes"] == 4
    shown = call("stats", "--bank", seeded, "--cycles", "2")
    assert "4 episodes seen, 5 cycles" in shown
    bars = [line.count("█") for line in shown.splitlines() if "█" in line]
    assert len(bars) == 2
    assert bars[0] < bars[1]


def test_a_place_with_several_domains_needs_the_domain(folder: Path) -> None:
    with ExperienceBank.open(folder, "office") as other:
        other.seed([{"kind": "skill", "text": "Staple it."}])
    told = failing("show", "--bank", folder)
    assert "choose one of 'kitchen', 'office' with --domain" in told
    assert len(facts("show", "--bank", folder, "--domain", "office")["entries"]) == 1
    assert "keeps no Experience of 'attic'" in failing(
        "show", "--bank", folder, "--domain", "attic"
    )


def test_every_command_teaches_by_an_example() -> None:
    command: Any = get_command(bank_app)
    assert len(command.commands) == 12
    for name in command.commands:
        shown = RUNNER.invoke(app, ["bank", name, "--help"], env=WIDE).stdout
        assert f"evoharness bank {name} " in shown
        assert "--bank" in shown
        assert "--json" in shown
    assert "bank" in RUNNER.invoke(app, ["--help"], env=WIDE).stdout
