"""What decides: a policy answers a `View` with a `Reply`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from evoharness.core.parsing import Reply
from evoharness.core.view import View


class Policy(ABC):
    """A controller. Only `decide` is needed; override the others where they can be quicker."""

    name: str = "policy"
    """Shown in summaries and traces."""

    @abstractmethod
    def decide(self, view: View) -> Reply:
        """Answer one view. An exception ends the episode with `policy_error`."""

    async def adecide(self, view: View) -> Reply:
        """Answer one view without blocking the event loop."""
        return await asyncio.to_thread(self.decide, view)

    def decide_batch(self, views: Sequence[View]) -> list[Reply | Exception]:
        """Answer several views of different episodes; one failure does not touch the others."""
        return [self._caught(view) for view in views]

    def _caught(self, view: View) -> Reply | Exception:
        try:
            return self.decide(view)
        except Exception as error:
            return error


class FunctionPolicy(Policy):
    """A scripted policy: a function from the view to the reply's text.

    A function without memory of its own lets an episode go on in another process.
    """

    def __init__(self, function: Callable[[View], str | Reply], name: str = "") -> None:
        self._function = function
        self.name = name or getattr(function, "__name__", "function")

    def decide(self, view: View) -> Reply:
        """Call the function.

        Raises:
            TypeError: it returned neither text nor a `Reply`.
        """
        reply: Any = self._function(view)
        if reply is None or isinstance(reply, str):
            return Reply(reply)
        if isinstance(reply, Reply):
            return reply
        raise TypeError(f"{self.name} returned {reply!r}; return the reply's text or a Reply")
