"""Lifecycle hooks: the decorators that mark an agent's methods, and how a hook is called (RFC-0025 §9.3, RFC-0026
§4.5)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

log = logging.getLogger("handraise")

Hook = Callable[..., object]
Marked = TypeVar("Marked", bound=Hook)

_MARK = "__handraise_hook_kinds__"


class HookKind(StrEnum):
    INPUT_REQUESTED = "input_requested"
    INPUT_RECEIVED = "input_received"
    SUSPENSION_EXPIRED = "suspension_expired"
    ENGAGEMENT_DECISION = "engagement_decision"


def on_input_requested(hook: Marked) -> Marked:
    """``(self, intent, suspension)``: a person is asked, and again at each further attempt.

    ``suspension.context`` has ``_attempt`` and ``_max_attempts``; its ``channel_hint`` and ``notify_to`` are those of
    the attempt (RFC-0026 §4.5).
    """
    return _marked(hook, HookKind.INPUT_REQUESTED)


def on_input_received(hook: Marked) -> Marked:
    """``(self, intent, response)``: a person has answered; ``response`` is an :class:`InputResponse`."""
    return _marked(hook, HookKind.INPUT_RECEIVED)


def on_suspension_expired(hook: Marked) -> Marked:
    """``(self, intent, suspension)``: nobody has answered in time, whatever the policy makes of that."""
    return _marked(hook, HookKind.SUSPENSION_EXPIRED)


def on_engagement_decision(hook: Marked) -> Marked:
    """``(self, intent, decision)``: ``should_request_input()`` has decided; ``decision`` is an
    :class:`EngagementDecision`."""
    return _marked(hook, HookKind.ENGAGEMENT_DECISION)


def _marked(hook: Marked, kind: HookKind) -> Marked:
    function = getattr(hook, "__func__", hook)
    if not callable(function):
        raise TypeError(f"@on_{kind} marks a method of an agent, not a {type(hook).__name__}.")
    setattr(function, _MARK, getattr(function, _MARK, frozenset()) | {kind})
    return hook


def hooks_of(agent: object) -> Mapping[HookKind, Sequence[Hook]]:
    """The hooks of ``agent``, in the order of their definition, a base class's first.

    A method that overrides a hook is one, marked again or not. Set to ``None``, there is none.
    """
    marks: dict[str, frozenset[HookKind]] = {}
    for base in reversed(type(agent).__mro__):
        for name, member in vars(base).items():
            mark: frozenset[HookKind] = getattr(getattr(member, "__func__", member), _MARK, frozenset())
            marks[name] = marks.get(name, frozenset()) | mark
    hooks: dict[HookKind, list[Hook]] = {kind: [] for kind in HookKind}
    for name, kinds in marks.items():
        for kind in kinds:
            if callable(method := getattr(agent, name)):
                hooks[kind].append(method)
    return hooks


async def call_hook(hook: Hook, *arguments: object) -> None:
    """Call it and wait for its end. An error is logged without its message, which may hold a question.

    A plain function runs in a thread, so that it may block.
    """
    try:
        if inspect.iscoroutinefunction(hook):
            await hook(*arguments)
        elif inspect.isawaitable(result := await _in_thread(hook, *arguments)):
            await result
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        _log_failure(hook, error)
    except Exception as error:  # noqa: BLE001 (the author's code)
        _log_failure(hook, error)


def _log_failure(hook: Hook, error: BaseException) -> None:
    where = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    name = getattr(hook, "__qualname__", type(hook).__name__)
    log.error("The hook %s has failed (%s); the agent goes on.\n%s", name, type(error).__name__, where)


async def _in_thread(hook: Hook, *arguments: object) -> object:
    """In a daemon thread: a hook that hangs does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def told(result: object, failure: BaseException | None) -> None:
        if done.done():
            return
        if failure is None:
            done.set_result(result)
        else:
            done.set_exception(failure)

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(hook, *arguments)
        except BaseException as error:  # noqa: BLE001 (handed on to the waiting caller)
            failure = error
            if isinstance(error, StopIteration) or not isinstance(error, Exception):  # no future's, or the whole loop's
                failure = RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(told, result, failure)

    threading.Thread(target=run, name=f"hook {getattr(hook, '__name__', '')}", daemon=True).start()
    return await done
