"""What Experience holds: skills, mistakes and search hints, each an entry with its record.

An entry's content says what was learned. The entry around it says whether it is recalled, where it
comes from and how it has served. All strings are cleaned on construction, so that an entry can be
stored, shown and put into a prompt anywhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from evoharness.core.parsing import clean

Kind = Literal["skill", "mistake", "hint"]
KINDS: tuple[Kind, ...] = ("skill", "mistake", "hint")
Status = Literal["active", "disputed", "archived"]

LINE_WIDTH = 500
"""Characters kept of a sentence, a note's included."""
LABEL_WIDTH = 300
"""Characters kept of a name: a task type, a context, a source, a thing, a place."""
PLACES_SHOWN = 5
"""Places that a hint's text names at most."""
MAX_PLACES = 16
"""Places that a hint keeps."""
MAX_SOURCES = 32
"""Sources that an entry names; what its further evidence was is in the bank's history."""
_ID_LENGTH = 24
_JOINERS = "\u200c\u200d"
# Invisible, though Unicode does not call them format characters: fillers, blanks and variation
# selectors, of which only those between text and emoji are in use; and whole rows of joiners.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"
    "\U000e0100-\U000e01ef]|(?<=[\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+"
)
_DOUBT = 0.5
"""How many looks the order weighs in which a hint was given, before anybody looked."""


def clean_text(text: str, width: int) -> str:
    """Return text as one bounded line that every store, prompt and terminal can hold.

    Lone surrogates become U+FFFD, control characters and invisible characters go (a text must not
    say more to a model than to its reader), white space collapses to single spaces.

    Args:
        text: any string.
        width: the most characters to keep; a longer text ends in an ellipsis.
    """
    visible = _HIDDEN.sub("", "".join(char for char in clean(text) if _stays(char)))
    line = " ".join(visible.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _stays(char: str) -> bool:
    # Several scripts and joined emoji need the two joiners, alone among the format characters.
    return char.isspace() or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf")


def _needed(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


Line = Annotated[str, AfterValidator(lambda text: clean_text(text, LINE_WIDTH))]
"""A sentence, cleaned; may be empty."""
Label = Annotated[str, AfterValidator(lambda text: clean_text(text, LABEL_WIDTH))]
"""A name, cleaned; may be empty."""
Sentence = Annotated[Line, AfterValidator(_needed)]
"""A sentence that says something."""
Name = Annotated[Label, AfterValidator(_needed)]
"""A name that is there."""


class Plain(BaseModel):
    """Plain data: does not change, and refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Skill(Plain):
    """What to do."""

    kind: Literal["skill"] = "skill"
    principle: Sentence
    title: Label = ""
    when: Line = ""
    """When to apply it."""

    @property
    def text(self) -> str:
        """The skill in one line."""
        head = f"{self.title}: " if self.title else ""
        return f"{head}{self.principle}{f' When: {self.when}' if self.when else ''}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it another skill."""
        return (self.title, self.principle)


class Mistake(Plain):
    """What goes wrong."""

    kind: Literal["mistake"] = "mistake"
    what: Sentence
    why: Line = ""
    avoid: Line = ""
    """What to do instead."""

    @property
    def text(self) -> str:
        """The mistake in one line."""
        because = f" Because: {self.why}" if self.why else ""
        return f"{self.what}{because}{f' Instead: {self.avoid}' if self.avoid else ''}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it another mistake."""
        return (self.what,)


class Place(Plain):
    """A place where a thing may be, and what looking there brought."""

    name: Name
    found: int = Field(default=0, ge=0)
    """Looks that found the thing there."""
    looked: int = Field(default=0, ge=0)
    """Looks into such a place in episodes that had the thing somewhere."""
    trust: float = Field(default=0.0, ge=0, le=1)
    """What was believed before anybody looked."""

    @property
    def worth(self) -> float:
        """The estimated chance that a look there finds the thing, between 0 and 1."""
        return (self.found + _DOUBT * self.trust) / max(self.looked + _DOUBT, 1e-9)


class Hint(Plain):
    """Where a thing usually is."""

    kind: Literal["hint"] = "hint"
    thing: Name
    places: tuple[Place, ...] = Field(min_length=1)

    @property
    def ranked(self) -> list[Place]:
        """The places worth a look, the best first; equal ones in their order."""
        worth = [place for place in self.places if place.worth > 0]
        return sorted(worth, key=lambda place: -round(place.worth, 6))

    @property
    def text(self) -> str:
        """The hint in one line."""
        shown = [_shown(place) for place in self.ranked[:PLACES_SHOWN]]
        return f"Where to find {self.thing}: {', then '.join(shown) or 'not known any more'}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it another hint."""
        return (self.thing,)

    def named_in(self, text: str) -> bool:
        """Return whether a text names the thing, one or several of it."""
        return bool(re.search(rf"\b{re.escape(self.thing)}(?:s|es)?\b", text, re.IGNORECASE))


def _shown(place: Place) -> str:
    return (
        f"{place.name} (found in {place.found} of {place.looked})" if place.looked else place.name
    )


Content = Skill | Mistake | Hint


class Entry(Plain):
    """One piece of Experience with its record."""

    content: Annotated[Content, Field(discriminator="kind")]
    task_type: Label = ""
    """The task type it is about; empty when it holds for all of them."""
    context: Label = ""
    """The kind of situation it holds in, such as a kind of room; empty for all."""
    status: Status = "active"
    """Active and disputed entries are recalled, disputed ones behind; archived ones are not."""
    sources: tuple[Name, ...] = ()
    """The episodes, and other origins, that it comes from; the newest `MAX_SOURCES`."""
    uses: int = Field(default=0, ge=0)
    """Finished episodes in which it was recalled."""
    wins: int = Field(default=0, ge=0)
    """Those of them that succeeded."""
    last_used: int = Field(default=0, ge=0)
    """How many episodes the bank had seen when it was used last, or made."""
    version: int = Field(default=1, ge=1)
    """Counts what its content was."""
    id: str = ""
    """Stable: it follows from what the entry was when it was made."""

    def model_post_init(self, context: Any, /) -> None:
        """Give a new entry its id."""
        if not self.id:
            object.__setattr__(self, "id", self._first_id())

    @property
    def kind(self) -> Kind:
        """`skill`, `mistake` or `hint`."""
        return self.content.kind

    @property
    def text(self) -> str:
        """The entry in one line, as it is recalled and searched."""
        where = f" (in {self.context})" if self.context else ""
        return f"{self.content.text}{where}"

    @property
    def utility(self) -> float:
        """How it has served: the share of its episodes that succeeded, 1/2 before any did."""
        return (self.wins + 1) / (self.uses + 2)

    def changed(self, **fields: Any) -> Entry:
        """Return the entry with other fields, checked again.

        Raises:
            pydantic.ValidationError: a value is not possible.
        """
        return Entry.model_validate({**dict(self), **fields})

    def _first_id(self) -> str:
        parts = [self.kind, self.task_type, self.context, *self.content.identity]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_ID_LENGTH]


def hint(thing: str, places: Sequence[str]) -> Hint:
    """Return a hint that nobody has checked yet.

    Args:
        thing: what is looked for.
        places: where it may be, the likeliest first.
    """
    return Hint(
        thing=thing,
        places=tuple(Place(name=place, trust=1 / (1 + n)) for n, place in enumerate(places)),
    )


def with_sources(known: tuple[str, ...], new: list[str]) -> tuple[str, ...]:
    """Return sources with new ones added, each once, the newest kept."""
    return tuple(dict.fromkeys([*known, *new]))[-MAX_SOURCES:]


def seed_entry(index: int, mapping: Mapping[str, Any]) -> Entry:
    """Return the entry that a mapping of `Adapter.experience` describes.

    Args:
        index: its place in the list, for the message.
        mapping: `kind`, then `text`, or for a hint `thing` and `places`; `task_type`, `context`.

    Raises:
        ValueError: it is no entry; says which one, and why.
    """
    kind = mapping.get("kind")
    if kind not in KINDS:
        raise ValueError(f"seed entry {index} has kind {kind!r}: use one of {KINDS}")
    try:
        if kind == "hint":
            if isinstance(mapping["places"], str):
                raise ValueError(f"seed entry {index}: places is a list of names, not a string")
            content: Any = hint(mapping["thing"], [*mapping["places"]])
        else:
            name = {"skill": "principle", "mistake": "what"}[kind]
            content = {"kind": kind, name: mapping["text"]}
        return Entry(
            content=content,
            task_type=mapping.get("task_type", ""),
            context=mapping.get("context", ""),
            sources=("seed",),
        )
    except KeyError as error:
        raise ValueError(f"seed entry {index} is a {kind} and needs {error}") from None
    except ValidationError as error:
        raise ValueError(f"seed entry {index}: {first_problem(error)}") from None


def first_problem(error: ValidationError) -> str:
    """Return the first thing that is wrong, in words."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
