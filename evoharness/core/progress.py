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
    parts = [" ".join(part.split())[:_WIDTH] for part in argument.split("|")]
    parts = [part for part in parts if part]
    if not parts:
        return subgoals, "Nothing committed: name a subgoal, as in `commit find the key`.", False
    kept = [Subgoal(text=item["text"], status=item["status"]) for item in subgoals]
    problems: list[str] = []
    closing = True
    for part in parts:
        if match := _STATUS.match(part):
            problem = _set_status(kept, _status(match[1]), (match[2] or "").strip())
        else:
            problem = _open(kept, part, limit, closing=closing)
            closing = False
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


def _find(subgoals: list[Subgoal], text: str) -> Subgoal | None:
    wanted = text.lower()
    return next((item for item in reversed(subgoals) if item["text"].lower() == wanted), None)


def _set_status(subgoals: list[Subgoal], status: Status, text: str) -> str:
    item = _find(subgoals, text) if text else active(subgoals)
    if item is None:
        return f"No subgoal {text!r} is committed." if text else "No subgoal is open."
    item["status"] = status
    return ""


def _open(subgoals: list[Subgoal], text: str, limit: int, *, closing: bool) -> str:
    """Add a subgoal. The first of a commit becomes active and closes what was; when it was
    planned before, all planned before it is complete.
    """
    planned = _find(subgoals, text)
    if closing:
        ahead = subgoals[: subgoals.index(planned)] if planned else [active(subgoals)]
        for item in ahead:
            if item is not None and item is not planned and item["status"] == "open":
                item["status"] = "complete"
    if planned is not None:
        planned["status"] = "open"
        return ""
    if len(subgoals) >= limit and not _forget_closed(subgoals):
        return f"Not committed: {text!r}. {limit} subgoals are open; close or drop one first."
    later = active(subgoals) if closing else None
    position = subgoals.index(later) if later is not None else len(subgoals)
    subgoals.insert(position, Subgoal(text=text, status="open"))
    return ""


def _forget_closed(subgoals: list[Subgoal]) -> bool:
    for status in ("complete", "dropped", "blocked", "partial"):
        for index, item in enumerate(subgoals):
            if item["status"] == status:
                del subgoals[index]
                return True
    return False
