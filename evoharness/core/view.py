"""What a policy sees of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evoharness.core.actions import tool_schemas
from evoharness.core.environment import Adapter, Task
from evoharness.core.parsing import MetaVerb
from evoharness.core.prompts import Message, messages, system_prompt, user_prompt
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import Turn


@dataclass(frozen=True)
class View:
    """What a policy sees of an episode: nothing that the agent could not know."""

    task: Task
    turns: Sequence[Turn]
    first_observation: str
    observation: str
    admissible: tuple[str, ...] | None
    spent: int
    verbs: tuple[MetaVerb, ...]
    """The meta-verbs on offer."""
    panels: tuple[tuple[str, str], ...]
    """Titles and texts of the always-on panels."""
    config: HarnessConfig
    adapter: Adapter

    @cached_property
    def system(self) -> str:
        """The system message."""
        return system_prompt(self.adapter.words, self.config, self.verbs)

    @cached_property
    def prompt(self) -> str:
        """The user message of this turn."""
        return user_prompt(self)

    @cached_property
    def messages(self) -> list[Message]:
        """The whole prompt, as chat messages in the OpenAI form."""
        return messages(self)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tool schemas in the OpenAI form; empty in the `tags` format."""
        if self.config.reply_format == "tags":
            return []
        return tool_schemas(self.verbs, self.adapter.words)
