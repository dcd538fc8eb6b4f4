"""One episode as functions over plain data: what a turn does is written here and only here.

State is a dict of plain JSON. Each function takes it and returns an update: a dict with the keys
that changed, where `turns` holds only the new turn. The graph's nodes and the batched rollout
loop are thin callers of these functions:

    begin -> [ look -> policy -> read -> track | commit | recall | note | act | reject ]* -> ended
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from evoharness.core import progress as plan
from evoharness.core.actions import Experience, offered, refusal, render_recalled
from evoharness.core.environment import JSON, Adapter, Step, Task
from evoharness.core.parsing import ACT, META_VERBS, Reply, clean, parse_reply
from evoharness.core.settings import HarnessConfig
from evoharness.core.state import (
    Episode,
    Outcome,
    Pending,
    Reason,
    StoredReply,
    Turn,
    Update,
    blank,
    follow,
    merge,
    recalled,
)
from evoharness.core.view import View

REJECT = "reject"
"""The route of a reply in which there is nothing to execute."""
_FAULT_WIDTH = 500


def begin(
    task: Task, step: Step, adapter: Adapter, config: HarnessConfig, experience: Experience | None
) -> Episode:
    """Return the state after the environment's reset."""
    step = _clean(step)
    state = blank(task)
    state["first_observation"] = state["observation"] = step.observation
    state["admissible"] = _listed(step)
    state["belief"] = adapter.first_belief(task, step)
    if config.mode == "always_on" and config.experience:
        try:
            context = adapter.context(state["belief"])
            hints, state["hinted"] = _recall(experience, task.objective, task, context, config)
            state["hints"] = clean(hints)
        except Exception as error:
            state["hints"] = clean(_unreadable(error))
    state["score"] = step.score
    state["outcome"] = _outcome(step, 0, config)
    return state


def stillborn(task: Task, detail: str) -> Episode:
    """Return the state of an episode whose environment could not be started."""
    state = blank(task)
    return merge(state, ended(state, "environment_error", detail))


def look(state: Episode, adapter: Adapter, config: HarnessConfig) -> View:
    """Return what the policy sees now."""
    admissible = state["admissible"]
    return View(
        task=Task.from_json(state["task"]),
        turns=state["turns"],
        first_observation=state["first_observation"],
        observation=state["observation"],
        admissible=None if admissible is None else tuple(admissible),
        spent=state["spent"],
        verbs=offered(config),
        panels=_panels(state, adapter, config) if config.mode == "always_on" else (),
        config=config,
        adapter=adapter,
    )


def read(view: View, reply: Reply) -> Update:
    """Read a reply into the pending action and its route."""
    parsed = parse_reply(reply, view.adapter.verbs)
    known = parsed.verb == ACT or parsed.verb in view.verbs
    call = reply.tool_calls[0] if reply.tool_calls else None
    stored = StoredReply(
        text=clean(reply.text or ""),
        reasoning=clean(reply.reasoning or ""),
        call=call.to_json(f"call_{len(view.turns)}") if call else None,
        usage=dict(reply.usage),
    )
    pending = Pending(
        prompt=view.prompt,
        reply=stored,
        thought=parsed.thought,
        verb=parsed.verb,
        argument=parsed.argument,
        codes=list(parsed.codes),
        route=parsed.verb if known and parsed.usable else REJECT,
    )
    return {"pending": pending}


def track(state: Episode, adapter: Adapter, config: HarnessConfig) -> Update:
    """Answer from Belief."""
    answer = adapter.answer_belief(state["belief"], _pending(state)["argument"])
    return _turn(state, config, "meta", answer)


def commit(state: Episode, config: HarnessConfig) -> Update:
    """Write Progress."""
    argument = _pending(state)["argument"]
    subgoals, result, valid = plan.commit(state["progress"], argument, config.max_subgoals)
    return {"progress": subgoals, **_turn(state, config, "meta", result, valid=valid)}


def recall(
    state: Episode, adapter: Adapter, config: HarnessConfig, experience: Experience | None
) -> Update:
    """Answer from Experience; an empty query stands for the objective.

    A store that fails is told to the agent; a broken memory does not end its work.
    """
    task = Task.from_json(state["task"])
    query = _pending(state)["argument"] or task.objective
    try:
        context = adapter.context(state["belief"])
        answer, ids = _recall(experience, query, task, context, config)
    except Exception as error:
        return _turn(state, config, "meta", _unreadable(error), valid=False)
    return _turn(state, config, "meta", answer, recalled=ids)


def note(
    state: Episode,
    adapter: Adapter,
    config: HarnessConfig,
    experience: Experience | None,
    source: str,
) -> Update:
    """Hand an insight to Experience as evidence.

    Args:
        state: the episode.
        adapter: the domain.
        config: the settings.
        experience: the store.
        source: where the note comes from; with the turn it makes the entry's identity, so that
            a turn that runs twice after a crash leaves one note.
    """
    insight = _pending(state)["argument"]
    if not insight:
        return _turn(state, config, "meta", "Nothing noted: the note was empty.", valid=False)
    if experience is None:
        return _turn(state, config, "meta", "Nothing noted: there is no store.", valid=False)
    where = f"{source}#{len(state['turns'])}"
    try:
        experience.note(
            insight,
            source=where,
            task_type=state["task"]["type"],
            context=adapter.context(state["belief"]),
            recalled=recalled(state),
        )
    except Exception as error:
        return _turn(state, config, "meta", f"Nothing noted: {error}", valid=False)
    return _turn(state, config, "meta", "Noted; it is reviewed after the episode.")


def conclusion(state: Episode, adapter: Adapter, source: str) -> JSON | None:
    """Return what Experience is told of an episode that has ended; None when it broke.

    Args:
        state: the episode.
        adapter: the domain.
        source: the episode's name, as in its notes.
    """
    outcome = state["outcome"]
    if outcome is None or outcome["reason"] not in ("success", "failure", "budget"):
        return None
    task = Task.from_json(state["task"])
    steps = [(turn["argument"], turn["result"]) for turn in state["turns"] if turn["kind"] == "env"]
    return {
        "source": source,
        "task_type": task.type,
        "context": adapter.context(state["belief"]),
        "recalled": recalled(state),
        "success": outcome["success"],
        "steps": state["spent"],
        "reason": outcome["reason"],
        "findings": list(adapter.findings(task, state["first_observation"], steps)),
    }


def env_action(state: Episode, adapter: Adapter) -> str:
    """Return the pending environment action in the domain's own spelling."""
    return adapter.normalise(_pending(state)["argument"])


def absorb(
    state: Episode,
    action: str,
    step: Step,
    adapter: Adapter,
    config: HarnessConfig,
    snapshot: JSON | None,
) -> Update:
    """Take in what the environment answered to `action`."""
    step = _clean(step)
    update = _turn(state, config, "env", step.observation, valid=step.valid, argument=action)
    return {
        **update,
        "observation": step.observation,
        "admissible": _listed(step),
        "belief": adapter.update_belief(state["belief"], action, step),
        "trail": follow(state["trail"], action),
        "snapshot": snapshot,
        "score": step.score,
        "outcome": _outcome(step, update["spent"], config),
    }


def reject(state: Episode, config: HarnessConfig) -> Update:
    """Charge a turn in which nothing could be executed, and say why."""
    return _turn(state, config, "invalid", _problem(_pending(state), config), valid=False)


def ended(state: Episode, reason: Reason, detail: str = "") -> Update:
    """End the episode from outside: a fault, or a wish to stop."""
    outcome = Outcome(
        reason=reason, success=False, score=state["score"], detail=clean(detail)[:_FAULT_WIDTH]
    )
    return {"outcome": outcome, "pending": None}


def _turn(
    state: Episode,
    config: HarnessConfig,
    kind: Literal["env", "meta", "invalid"],
    result: str,
    *,
    valid: bool = True,
    argument: str | None = None,
    recalled: Sequence[str] = (),
) -> Update:
    """Close the pending turn: record it, charge it, and end the episode when the budget is out."""
    pending = _pending(state)
    free = kind == "meta" and state["free_used"] < config.free_meta
    spent = state["spent"] + (not free)
    turn = Turn(
        index=len(state["turns"]),
        prompt=pending["prompt"],
        reply=pending["reply"],
        thought=pending["thought"],
        verb=pending["verb"],
        argument=pending["argument"] if argument is None else argument,
        codes=pending["codes"],
        kind=kind,
        valid=valid,
        charged=not free,
        result=clean(result),
        recalled=list(recalled),
    )
    outcome = None
    if spent >= config.max_steps:
        outcome = Outcome(reason="budget", success=False, score=state["score"], detail="")
    return {
        "turns": [turn],
        "pending": None,
        "spent": spent,
        "free_used": state["free_used"] + free,
        "outcome": outcome,
    }


def _outcome(step: Step, spent: int, config: HarnessConfig) -> Outcome | None:
    if step.done:
        reason: Reason = "success" if step.success else "failure"
        return Outcome(reason=reason, success=step.success, score=step.score, detail="")
    if spent >= config.max_steps:
        return Outcome(reason="budget", success=False, score=step.score, detail="")
    return None


def _problem(pending: Pending, config: HarnessConfig) -> str:
    if pending["verb"] in META_VERBS:
        return refusal(pending["verb"], config)
    how = "one <action>…</action>" if config.reply_format == "tags" else "one tool call"
    codes = pending["codes"]
    if "unknown_verb" in codes:
        first = pending["argument"].split()[0] if pending["argument"].split() else ""
        return f"Nothing was done: there is no action {first!r}."
    if "unclosed" in codes:
        return f"Nothing was done: the reply broke off before {how} was complete."
    if "empty" in codes:
        return f"Nothing was done: the action was empty. Answer with {how}."
    return f"Nothing was done: no action was found. Answer with {how}."


def _panels(state: Episode, adapter: Adapter, config: HarnessConfig) -> tuple[tuple[str, str], ...]:
    panels: list[tuple[str, str]] = []
    if config.belief:
        panels.append(("Belief", adapter.answer_belief(state["belief"], "")))
    if config.progress:
        subgoals = adapter.progress(Task.from_json(state["task"]), state["belief"])
        panels.append(("Progress", plan.render(list(subgoals))))
    if config.experience and state["hints"]:
        panels.append(("Experience", state["hints"]))
    return tuple(panels)


def _recall(
    experience: Experience | None, query: str, task: Task, context: str, config: HarnessConfig
) -> tuple[str, list[str]]:
    """Return what Experience answers, in words, and the ids of its entries."""
    if experience is None:
        return render_recalled([]), []
    found = experience.recall(
        query,
        task_type=task.type,
        context=context,
        limit=config.recall_limit,
        budget=config.recall_budget,
    )
    return render_recalled(found), [entry.id for entry in found]


def _unreadable(error: Exception) -> str:
    return f"Experience cannot be read: {error}"


def _pending(state: Episode) -> Pending:
    pending = state["pending"]
    if pending is None:
        raise ValueError("no action is pending: call `read` with the policy's reply first")
    return pending


def _listed(step: Step) -> list[str] | None:
    return None if step.admissible is None else list(step.admissible)


def _clean(answer: Any) -> Step:
    """Return the step with text that every store can hold; environments read files of users.

    Raises:
        TypeError: the environment answered with something else.
    """
    if not isinstance(answer, Step):
        raise TypeError(f"the environment answered {answer!r}; `reset` and `step` return a Step")
    step = answer
    listed = step.admissible
    return replace(
        step,
        observation=clean(step.observation),
        admissible=None if listed is None else tuple(clean(action) for action in listed),
        events=tuple(_clean_json(event) for event in step.events),
    )


def _clean_json(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {clean(key): _clean_json(item) for key, item in pairs}
    if isinstance(value, (list, tuple)):
        return [_clean_json(item) for item in cast(Sequence[Any], value)]
    return value
