"""Policies: a chat model, a scripted function, or chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from evoharness.policies.base import FunctionPolicy, Policy
from evoharness.policies.random import RandomPolicy

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["FunctionPolicy", "Policy", "RandomPolicy", "as_policy"]


def as_policy(value: Policy | BaseChatModel | str | Callable[[Any], Any]) -> Policy:
    """Return the policy that a value stands for.

    Args:
        value: a policy; a LangChain chat model; a model string (`openai:gpt-4.1-mini`); or a
            function from the view to the reply's text.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(value, Policy):
        return value
    if isinstance(value, str) or hasattr(value, "bind_tools"):
        from evoharness.policies.chat import ChatPolicy

        if isinstance(value, str):
            return ChatPolicy.from_string(value)
        return ChatPolicy(cast("BaseChatModel", value))
    if callable(value):
        return FunctionPolicy(value)
    raise TypeError(
        f"{value!r} is no policy: give a Policy, a LangChain chat model, a model string such as "
        "'openai:gpt-4.1-mini', or a function from the view to a reply"
    )
