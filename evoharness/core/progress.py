"""Progress: the committed subgoals, as a plain list of `{"text", "status"}`.

The first open subgoal is the active one. `commit` takes

- `find a mug`: the active subgoal is complete, this one is active now;
- `find a mug | heat it | place it`: several, in this order;
- `blocked: find a mug`, or just `blocked`: the named, or the active, subgoal has this status.
"""

from __future__ import annotations

import re
from typing import Literal, TypedDict, get_args

Status = Literal["open", "partial", "complete", "blocked", "dropped"]
STATUSES: tuple[Status, ...] = get_args(Status)
_WIDTH = 200
_STATUS = re.compile(rf"({'|'.join(STATUSES)})\s*(?::\s*(.*))?$", re.IGNORECASE | re.DOTALL)
_MARK: dict[Status, str] = {
    "open": "[ ]",
    "partial": "[~]",
    "complete": "[x]",
    "blocked": "[!]",
    "dropped": "[-]",
}


class Subgoal(TypedDict):
    """One committed subgoal."""

    text: str
    status: Status


def commit(subgoals: list[Subgoal], argument: str, limit: int) -> tuple[list[Subgoal], str, bool]:
    """Apply one `commit`.

    Args:
        subgoals: Progress so far; not changed.
        argument: what was committed, in the grammar above.
        limit: subgoals kept; the oldest that are closed make room first.

    Returns:
        The new Progress, the result that the agent is shown, and whether the commit was valid.
    """
    parts = [" ".join(part.split()) for part in argument.split("|")]
    parts = [part for part in parts if part]
    if not parts:
        return subgoals, "Nothing committed: name a subgoal, as in `commit find the key`.", False
    kept = [Subgoal(text=item["text"], status=item["status"]) for item in subgoals]
    problems: list[str] = []
    opened: list[Subgoal] = []
    for part in parts:
        if match := _STATUS.match(part):
            problem = _set_status(kept, _status(match[1]), _short(match[2] or ""))
        else:
            problem = _open(kept, _short(part), limit, opened)
        if problem:
            problems.append(problem)
    valid = len(problems) < len(parts)
    return kept, "\n".join([*problems, render(kept)]), valid


def active(subgoals: list[Subgoal]) -> Subgoal | None:
    """Return the subgoal being worked on, or None."""
    return next((item for item in subgoals if item["status"] == "open"), None)


def render(subgoals: list[Subgoal]) -> str:
    """Return Progress as lines that a policy can read."""
    if not subgoals:
        return "No subgoal is committed yet."
    now = active(subgoals)
    return "\n".join(
        f"{_MARK[item['status']]} {item['text']}"
        + (" (now)" if item is now else "")
        + ("" if item["status"] in ("open", "complete") else f" ({item['status']})")
        for item in subgoals
    )


def _status(word: str) -> Status:
    return next(status for status in STATUSES if status == word.lower())


def _short(text: str) -> str:
    return text.strip()[:_WIDTH].strip()


def _find(subgoals: list[Subgoal], text: str) -> Subgoal | None:
    wanted = text.lower()
    return next((item for item in reversed(subgoals) if item["text"].lower() == wanted), None)


def _set_status(subgoals: list[Subgoal], status: Status, text: str) -> str:
    item = _find(subgoals, text) if text else active(subgoals)
    if item is None:
        return f"No subgoal {text!r} is committed." if text else "No subgoal is open."
    item["status"] = status
    return ""


def _open(subgoals: list[Subgoal], text: str, limit: int, opened: list[Subgoal]) -> str:
    """Add a subgoal, or take up one that was planned before.

    The first of a commit becomes active and closes what was: the active subgoal, or when it was
    planned before, all planned before it. Each later one comes after the one before it.

    Args:
        subgoals: Progress, changed in place.
        text: the subgoal.
        limit: subgoals kept.
        opened: what this commit has opened so far; this one is added.
    """
    item = _find(subgoals, text)
    if item is not None and item in opened:
        return ""
    if not opened:
        _complete(subgoals[: subgoals.index(item)] if item else subgoals, every=item is not None)
    if item is not None and opened and subgoals.index(item) < _after(subgoals, opened):
        subgoals.remove(item)
        subgoals.insert(_after(subgoals, opened), item)
    if item is None:
        if len(subgoals) >= limit and not _forget_closed(subgoals):
            return f"Not committed: {text!r}. {limit} subgoals are open; close or drop one first."
        item = Subgoal(text=text, status="open")
        subgoals.insert(_after(subgoals, opened), item)
    item["status"] = "open"
    opened.append(item)
    return ""


def _complete(subgoals: list[Subgoal], *, every: bool) -> None:
    """Complete every open subgoal, or the active one."""
    for item in subgoals:
        if item["status"] == "open":
            item["status"] = "complete"
            if not every:
                return


def _after(subgoals: list[Subgoal], opened: list[Subgoal]) -> int:
    """Return the place behind what this commit opened last; at first, that of the active one."""
    if opened and opened[-1] in subgoals:
        return subgoals.index(opened[-1]) + 1
    now = active(subgoals)
    return len(subgoals) if now is None else subgoals.index(now)


def _forget_closed(subgoals: list[Subgoal]) -> bool:
    for status in ("complete", "dropped", "blocked", "partial"):
        for index, item in enumerate(subgoals):
            if item["status"] == status:
                del subgoals[index]
                return True
    return False
