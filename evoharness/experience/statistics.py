"""The evolver that needs no model.

It counts where things were found, corrects hints that were wrong, keeps a note when a second episode
says the same, merges what is said twice, and lets go of what nobody uses. It works offline, in
milliseconds, and the same evidence gives the same edits in whatever order it came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evoharness.experience.corroboration import corroborated
from evoharness.experience.edits import Add, Archive, Edit, Restore, Skip
from evoharness.experience.entries import Entry, Mistake, Skill
from evoharness.experience.evidence import Note, denies
from evoharness.experience.evolver import Proposal, Situation, quarantine
from evoharness.experience.hints import hint_edits
from evoharness.experience.upkeep import arranged, clusters, doubt_is_over, tidied

ALIKE = 0.85
"""Cosine from which two notes say the same."""


@dataclass(frozen=True)
class StatisticalEvolver:
    """The default evolver: counts, similarity and use."""

    support: int = 2
    """Episodes that must say the same before a note becomes an entry."""
    patience: int = 20
    """Consolidations that a note waits for the others."""
    fade_after: int = 300
    """Episodes after which a skill or mistake that none of them used is archived."""

    name = "statistics"

    def evolve(self, situation: Situation) -> Proposal:
        """Propose edits."""
        made = Proposal(quarantined=quarantine(situation.evidence))
        evidence = [piece for piece in situation.evidence if piece.id not in made.quarantined]
        evidence.sort(key=lambda piece: piece.id)
        hints = hint_edits(situation.entries, evidence)
        texts = _Texts(self, situation, [piece for piece in evidence if isinstance(piece, Note)])
        texts.judge(made)
        tidy = tidied(situation, self.fade_after)
        made.edits = arranged(situation, tidy, [*hints, *texts.edits])
        return made


class _Texts:
    """Notes that are no matter of counting: what the bank knows already, what several say."""

    def __init__(
        self, settings: StatisticalEvolver, situation: Situation, notes: Sequence[Note]
    ) -> None:
        self.edits: list[Edit] = []
        self._settings = settings
        self._situation = situation
        self._notes = notes
        self._entries = {entry.id: entry for entry in situation.entries}

    def judge(self, made: Proposal) -> None:
        """Decide on each note."""
        plain: list[Note] = []
        for note in self._notes:
            disputed = [self._entries[id_] for id_ in note.disputes if id_ in self._entries]
            if not disputed:
                plain.append(note)
            elif all(entry.kind == "hint" for entry in disputed):
                self.edits.append(
                    Skip(evidence=(note.id,), reason="what the episode found settles it")
                )
            else:
                self._dispute(note, disputed, made)
        self._confirm(plain, made)

    def _dispute(self, note: Note, disputed: Sequence[Entry], made: Proposal) -> None:
        for entry in disputed:
            same = {other.episode: other for other in self._notes if entry.id in other.disputes}
            if len(same) >= self._settings.support:
                archived = any(isinstance(e, Archive) and e.id == entry.id for e in self.edits)
                if entry.status != "archived" and not archived:
                    against = tuple(sorted(other.id for other in same.values()))
                    why = f"{len(same)} episodes say that it is wrong"
                    self.edits.append(Archive(id=entry.id, evidence=against, reason=why))
            elif note.waited < self._settings.patience:
                made.waiting.add(note.id)
            elif entry.status == "disputed" and entry.kind != "hint":
                self.edits.append(doubt_is_over(entry))

    def _confirm(self, notes: Sequence[Note], made: Proposal) -> None:
        entries = [entry for entry in self._situation.entries if entry.kind != "hint"]
        known = self._situation.embed([entry.content.text for entry in entries])
        for cluster in clusters(notes, self._situation.embed, ALIKE, 0.0):
            first = cluster[0]
            vector = self._situation.embed([first.text])[0]
            evidence = tuple(note.id for note in cluster)
            episodes = {note.episode for note in cluster}
            # What the owner released is the owner's own word.
            enough = len(episodes) >= self._settings.support or any(n.released for n in cluster)
            near = _nearest(vector, known, entries)
            if near is not None and near[0] >= ALIKE:
                if near[1].status == "archived" and enough:
                    self.edits.append(
                        Restore(id=near[1].id, evidence=evidence, reason="noted again")
                    )
                else:
                    self.edits.append(Skip(evidence=evidence, reason="the bank says so already"))
            elif enough and corroborated(cluster, self._situation.embed, self._settings.support):
                self.edits.append(self._entry(cluster, evidence))
            elif first.waited < self._settings.patience:
                made.waiting.update(evidence)
            else:
                self.edits.append(Skip(evidence=evidence, reason="no other episode said so"))

    def _entry(self, notes: Sequence[Note], evidence: tuple[str, ...]) -> Edit:
        # One that says more than the others must not bring in what it alone says.
        said = corroborated(notes, self._situation.embed, self._settings.support)
        text = min(said.values(), key=lambda text: (-len(text), text))
        types, contexts = {note.task_type for note in notes}, {note.context for note in notes}
        warns = sum(denies(note.text) or bool(_WARNING.search(note.text)) for note in notes)
        return Add(
            content=Mistake(what=text) if 2 * warns > len(notes) else Skill(principle=text),
            task_type=types.pop() if len(types) == 1 else "",
            context=contexts.pop() if len(contexts) == 1 else "",
            evidence=evidence,
            reason=f"{len({note.episode for note in notes})} episodes say so",
        )


_WARNING = re.compile(
    r"\b(?:avoid|never|do not|cannot|fail\w*|nothing happens|mistake|useless|in vain)\b", re.I
)


def _nearest(
    vector: Sequence[float], known: Sequence[Sequence[float]], entries: Sequence[Entry]
) -> tuple[float, Entry] | None:
    import numpy as np

    if not entries:
        return None
    likeness = np.round(np.asarray(known, dtype=np.float32) @ np.asarray(vector, np.float32), 6)
    at = int(np.argmax(likeness))
    return float(likeness[at]), entries[at]
