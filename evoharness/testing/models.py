"""A scripted LangChain chat model, so that tests and cookbooks run without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr

Script = Sequence[str | AIMessage] | Callable[[list[BaseMessage]], str | AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers from a list, in order and from the start again at its end, or by a function.

    A batch of prompts is asked from several threads, so which of them gets which reply of a list
    is left open: give a function there.

    Raises:
        ValueError: the list is empty.
    """

    script: Any = Field(description="a list of replies, or a function from messages to a reply")
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])
    _lock: Any = PrivateAttr(default_factory=Lock)
    _tools: list[Any] = PrivateAttr(default_factory=list[Any])

    def __init__(self, script: Script) -> None:
        if not callable(script) and not script:
            raise ValueError("the script is empty: give at least one reply, or a function")
        super().__init__(script=script)  # pyright: ignore[reportCallIssue]

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of every call so far."""
        return self._calls

    @property
    def tools(self) -> list[Any]:
        """The tools bound last."""
        return self._tools

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Remember the tools; the script decides what is called."""
        self._tools = list(tools)
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        script: Script = self.script
        with self._lock:  # a batch asks from several threads
            turn = len(self._calls)
            self._calls.append(messages)
        reply = script(messages) if callable(script) else script[turn % len(script)]
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])
