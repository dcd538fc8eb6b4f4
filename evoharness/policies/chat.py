"""Any LangChain chat model as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from evoharness.core.parsing import Reply, ToolCall
from evoharness.core.view import View
from evoharness.policies.base import Policy

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import Runnable


class ChatPolicy(Policy):
    """A LangChain chat model that reads the rendered prompt and answers in either format."""

    def __init__(self, model: BaseChatModel, name: str = "", *, seed: int | None = None) -> None:
        """Take a model.

        Args:
            model: any LangChain chat model.
            name: how it is called in results; by default the model's own name.
            seed: sent along with each request, mixed with its task and turn, so that sampled
                episodes are independent of each other and can be repeated. For models that take
                one, such as those behind the OpenAI protocol.
        """
        self.model = model
        self.name = name or _model_name(model)
        self.seed = seed

    @classmethod
    def from_string(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> ChatPolicy:
        """Make a policy from a LangChain model string such as `openai:gpt-4.1-mini`.

        Args:
            model: `provider:name`.
            base_url: the address of an OpenAI-compatible server (vLLM, llama.cpp, …).
            seed: see `ChatPolicy`.
            settings: passed to the chat model: `temperature`, `max_tokens`, `timeout`, …

        Raises:
            ImportError: the provider's package is not installed; says what to install.
            ValueError: the string names no known provider, or its key is missing.
        """
        try:
            from langchain.chat_models import init_chat_model
        except ImportError as error:
            raise ImportError(
                'model strings need LangChain: pip install "evoharness[openai]"'
            ) from error
        if base_url is not None:
            settings["base_url"] = base_url
            # A server of one's own asks for no key, but the client insists on having one.
            if model.startswith("openai:"):
                settings.setdefault("api_key", _openai_key())
        try:
            made = cast(Any, init_chat_model)(model, **settings)
        except ImportError:
            raise
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise ValueError(f"no chat model can be made from {model!r}: {first}") from error
        return cls(made, model, seed=seed)

    def decide(self, view: View) -> Reply:
        """Ask the model."""
        model = self._bound(view)
        return as_reply(model.invoke(_langchain_messages(view), **self._seeded(view)))

    async def adecide(self, view: View) -> Reply:
        """Ask the model without blocking the event loop."""
        model = self._bound(view)
        return as_reply(await model.ainvoke(_langchain_messages(view), **self._seeded(view)))

    def decide_batch(self, views: Sequence[View]) -> list[Reply | Exception]:
        """Ask about several views at once, as the model's own batching does."""
        if not views:
            return []
        if self.seed is not None:  # A batch has one set of arguments, and each view its own seed.
            from langchain_core.runnables import RunnableLambda

            one = RunnableLambda[View, Reply | Exception](self.decide)
            return one.batch(list(views), return_exceptions=True)
        answers = self._bound(views[0]).batch(
            [_langchain_messages(view) for view in views], return_exceptions=True
        )
        return [item if isinstance(item, Exception) else as_reply(item) for item in answers]

    def _seeded(self, view: View) -> dict[str, Any]:
        if self.seed is None:
            return {}
        mixed = sha256(f"{self.seed}/{view.task.id}/{len(view.turns)}".encode()).digest()
        return {"seed": int.from_bytes(mixed[:4]) >> 1}  # Some servers take 31 bits.

    def _bound(self, view: View) -> Runnable[Any, AIMessage]:
        return self.model.bind_tools(view.tools) if view.tools else self.model


def as_reply(message: AIMessage) -> Reply:
    """Read a LangChain message: text, tool calls (broken ones too), reasoning, token counts."""
    blocks = message.content if isinstance(message.content, list) else [message.content]
    text: list[str] = []
    reasoning: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            text.append(block)
        elif block.get("type") == "text":
            text.append(str(block.get("text") or ""))
        elif block.get("type") in ("reasoning", "thinking"):
            reasoning.append(str(block.get("reasoning") or block.get("thinking") or ""))
    extra: dict[str, Any] = message.additional_kwargs  # pyright: ignore[reportUnknownMemberType]
    for key in ("reasoning_content", "reasoning"):
        if isinstance(extra.get(key), str):
            reasoning.append(extra[key])
            break
    calls = [ToolCall(c["name"], c["args"], c.get("id") or "") for c in message.tool_calls]
    calls += [
        ToolCall(c.get("name") or "", c.get("args") or "", c.get("id") or "")
        for c in message.invalid_tool_calls
    ]
    usage = message.usage_metadata
    counts = (
        {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
        if usage
        else {}
    )
    return Reply("".join(text), tuple(calls), "\n".join(reasoning) or None, counts)


def _langchain_messages(view: View) -> list[BaseMessage]:
    from langchain_core.messages import convert_to_messages

    return convert_to_messages(view.messages)


def _model_name(model: BaseChatModel) -> str:
    for attribute in ("model_name", "model"):
        value = getattr(model, attribute, None)
        if isinstance(value, str):
            return value
    return type(model).__name__


def _openai_key() -> str:
    import os

    return os.environ.get("OPENAI_API_KEY") or "none"
