"""How hints follow from what episodes found, and from what notes say against them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from evoharness.experience.edits import Add, Edit, Modify
from evoharness.experience.entries import MAX_PLACES, Entry, Hint, Place
from evoharness.experience.evidence import Finding, FinishedEpisode, Note, like_an_instruction

_LONGEST_NAME = 60
_STILL_BELIEVED = 0.1
"""What is left of the trust in a hint's other places when one was wrong."""


def hint_edits(entries: Sequence[Entry], evidence: Sequence[Note | FinishedEpisode]) -> list[Edit]:
    """Return how hints change by what episodes found, and by what notes say against them.

    What was found counts for the hint of the thing in the episode's context, and for one of its
    task type alone where there is one. A hint that a note disputes, of whatever context, takes in
    what the note's episode found, and loses the trust in the places that the episode searched in
    vain.
    """
    hints = {entry.id: entry for entry in entries if isinstance(entry.content, Hint)}
    general = {
        entry.content.thing: entry.content
        for entry in hints.values()
        if isinstance(entry.content, Hint) and not entry.context
    }
    episodes = [piece for piece in evidence if isinstance(piece, FinishedEpisode)]
    notes = [piece for piece in evidence if isinstance(piece, Note)]
    refuted = {(note.episode, id_) for note in notes for id_ in note.disputes if id_ in hints}
    changes: dict[str, _HintChange] = {}
    for episode in episodes:
        disputed = [hints[id_] for who, id_ in sorted(refuted) if who == episode.episode]
        by_thing: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in episode.findings:
            if _plausible(finding):
                by_thing[finding.thing].append(finding)
        for thing, findings in by_thing.items():
            if not any(finding.found for finding in findings):
                continue
            blank = Entry(
                content=general.get(thing) or Hint(thing=thing, places=(Place(name="?"),)),
                context=episode.context,
            )
            # The id follows from thing and context alone.
            target = hints.get(blank.id, blank)
            typed = [e for e in hints.values() if _about(e, thing) and _is_for(e, episode)]
            known = {target.id, *(entry.id for entry in typed)}
            doubted = [e for e in disputed if e.id not in known and _about(e, thing)]
            for entry in (target, *typed, *doubted):
                change = changes.setdefault(entry.id, _HintChange(entry, entry.id in hints))
                change.take(findings, episode.id, doubt=(episode.episode, entry.id) in refuted)
                if entry.id in known and doubted:
                    change.doubt(findings)
    return [edit for id_ in sorted(changes) if (edit := changes[id_].edit()) is not None]


def _plausible(finding: Finding) -> bool:
    return all(
        len(name) <= _LONGEST_NAME and not like_an_instruction(name)
        for name in (finding.thing, finding.place)
    )


def _is_for(entry: Entry, episode: FinishedEpisode) -> bool:
    """Return whether an entry is for the episode's task type alone."""
    return (
        entry.task_type != ""
        and entry.task_type == episode.task_type
        and entry.context in ("", episode.context)
    )


def _about(entry: Entry, thing: str) -> bool:
    return isinstance(entry.content, Hint) and entry.content.thing == thing


class _HintChange:
    """A hint and what is added to its counts."""

    def __init__(self, entry: Entry, known: bool) -> None:
        assert isinstance(entry.content, Hint)
        self._entry = entry
        self._known = known
        self._thing = entry.content.thing
        self._places = {place.name: place for place in entry.content.places if place.name != "?"}
        self._evidence: dict[str, None] = {}

    def take(self, findings: Sequence[Finding], evidence: str, *, doubt: bool) -> None:
        for finding in findings:
            place = self._places.get(finding.place) or Place(name=finding.place)
            self._places[finding.place] = place.model_copy(
                update={
                    "found": place.found + finding.found,
                    "looked": place.looked + finding.looked,
                }
            )
        if doubt:
            self.doubt(findings)
        self._evidence[evidence] = None

    def doubt(self, findings: Sequence[Finding]) -> None:
        """Believe less of what was said before anybody looked: nothing of places that were
        searched in vain, little of the others.
        """
        vain = {finding.place for finding in findings if not finding.found}
        for name, place in self._places.items():
            trust = 0.0 if name in vain else place.trust * _STILL_BELIEVED
            self._places[name] = place.model_copy(update={"trust": trust})

    def edit(self) -> Edit | None:
        places = sorted(self._places.values(), key=lambda p: (-p.worth, -p.looked, p.name))
        content = Hint(thing=self._thing, places=tuple(places[:MAX_PLACES]))
        evidence = tuple(self._evidence)
        if self._known:
            return Modify(id=self._entry.id, content=content, evidence=evidence, reason="counted")
        return Add(content=content, context=self._entry.context, evidence=evidence, reason="found")
