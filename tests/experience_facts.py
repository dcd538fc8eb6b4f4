"""What the tests of Experience share: short ways to say what happened in an episode."""

from __future__ import annotations

from typing import Any

from evoharness.experience import Entry, ExperienceBank, Finding, FinishedEpisode, Note

KETTLE = {"kind": "hint", "thing": "kettle", "places": ["countertop", "cabinet"]}
HEAT = {"kind": "skill", "text": "Heat the mug in the microwave before you place it."}
TAP = {"kind": "mistake", "text": "The sink was empty: open the tap before cleaning."}


def episode(
    source: str, *findings: tuple[str, str, int, int], success: bool = True, **more: Any
) -> FinishedEpisode:
    """Return a finished episode.

    Args:
        source: its name.
        findings: thing, place, looks that found it, looks.
        success: how it ended.
        more: other fields.
    """
    found = tuple(Finding(thing=t, place=p, found=n, looked=of) for t, p, n, of in findings)
    return FinishedEpisode(source=source, success=success, steps=9, findings=found, **more)


def note(source: str, text: str, **more: Any) -> Note:
    """Return a note of an episode's third turn."""
    return Note(source=f"{source}#3", text=text, **more)


def state(bank: ExperienceBank) -> tuple[list[Entry], list[tuple[str, str]]]:
    """Return the entries, and the evidence with its status."""
    return bank.entries(), [(piece.id, piece.status) for piece in bank.evidence()]


def places(entry: Entry) -> list[str]:
    """Return the places of a hint, the best first."""
    assert entry.content.kind == "hint"
    return [place.name for place in entry.content.ranked]
