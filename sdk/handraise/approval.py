"""Tools that a person has to approve: one decorator for the function.

Source: API.md §5 (receipts); readings: ``docs/decisions/0051-yield-and-resume.md``.
"""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, Unpack, cast, get_args, overload

from pydantic import JsonValue

from handraise.client import Handraise
from handraise.errors import AlreadyDenied, HandraiseError
from handraise.questions import APPROVAL_CHOICES, APPROVE, ApprovalOptions, Options, check_names
from handraise.records import SuspensionRecord
from handraise.sync_client import HandraiseSync
from handraise.tool_arguments import BoundCall, CallSignature

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Client = Handraise | HandraiseSync
OnDenied = Literal["raise", "return"]

_SAID = {
    "person": "a person has said no",
    "silence": "nobody has answered in time",
    "cancelled": "the question was taken back",
}


class Denied(HandraiseError):
    """The call was not approved, and has not run.

    ``cause`` is ``person``, ``silence`` (nobody decided) or ``cancelled``. ``reason`` is the person's, if they gave
    one; it is not in the message. ``suspension`` is the ended record.
    """

    def __init__(self, tool: str, suspension: SuspensionRecord) -> None:
        self.cause: Literal["person", "silence", "cancelled"] = _cause(suspension)
        self.reason = suspension.reason
        self.suspension = suspension
        super().__init__(f"{tool} was not approved: {_SAID[self.cause]} ({suspension.ref or 'no reference'}).")

    def tool_result(self) -> str:
        """What to tell the model in place of the tool's result (:meth:`SuspensionRecord.tool_result`)."""
        return self.suspension.tool_result()


class _ToldInstead(Protocol):
    """Decorates a function so that it returns what the model is to be told, if the call is not approved."""

    @overload
    def __call__(
        self, function: Callable[Parameters, Coroutine[Any, Any, Result]], /
    ) -> Callable[Parameters, Coroutine[Any, Any, Result | str]]: ...

    @overload
    def __call__(self, function: Callable[Parameters, Result], /) -> Callable[Parameters, Result | str]: ...


@overload
def needs_approval(
    *,
    question: str | Callable[..., str] | None = None,
    when: Callable[..., bool] | None = None,
    people: Client | Callable[[], Client] | None = None,
    tool: str | None = None,
    idempotency_key: Callable[..., str] | None = None,
    allow_silence: bool = False,
    denied: Literal["raise"] = "raise",
    **options: Unpack[ApprovalOptions],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]: ...


@overload
def needs_approval(
    *,
    question: str | Callable[..., str] | None = None,
    when: Callable[..., bool] | None = None,
    people: Client | Callable[[], Client] | None = None,
    tool: str | None = None,
    idempotency_key: Callable[..., str] | None = None,
    allow_silence: bool = False,
    denied: Literal["return"],
    **options: Unpack[ApprovalOptions],
) -> _ToldInstead: ...


def needs_approval(
    *,
    question: str | Callable[..., str] | None = None,
    when: Callable[..., bool] | None = None,
    people: Client | Callable[[], Client] | None = None,
    tool: str | None = None,
    idempotency_key: Callable[..., str] | None = None,
    allow_silence: bool = False,
    denied: OnDenied = "raise",
    **options: Unpack[ApprovalOptions],
) -> Any:
    """Decorate a function, ``async`` or not, that may run only if a person approves this very call.

    - ``question``: a template over the arguments, ``"Refund {amount} for order {order_id}?"``, or a function of them.
      If you give none, it is "May … run?" with the tool's name.
    - ``when``: a function of the arguments that says whether approval is needed; without it, always. This and the other
      functions name those arguments that they want.
    - ``people``: the client, or a function that returns it. Without it, each call uses one of its own, made from
      ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``. A plain function needs a :class:`HandraiseSync`.
    - ``tool``: its name in the action; the function's by default.
    - ``idempotency_key``: a function of the arguments. A process that starts again, and calls again with the same key
      and arguments, waits for the same answer.
    - ``allow_silence``: nobody's answer in time (``timeout_seconds`` or ``deadline_seconds``) approves. Otherwise it
      never does.
    - ``denied``: with ``"return"`` a call that is not approved returns what to tell the model
      (:meth:`Denied.tool_result`), also after silence, a cancellation and :class:`AlreadyDenied`. For frameworks that
      turn an exception into "an error occurred, please try again".
    - ``options``: whom to ask, and how often (:class:`ApprovalOptions`).

    People are asked with ``{"tool": …, "arguments": {…}}`` as the action: every argument by name, the defaults applied,
    without the ``self`` of a method. An argument that JSON has no form for is a ``TypeError`` or ``ValueError`` that
    names it, before anything is sent. The receipt is used up right before the function runs, for the arguments as they
    are then, so that one approval is one run. Whoever has approved is told if it raises an exception: by the name of
    its class alone.

    The call raises :class:`Denied` if it is not approved (or returns its text), and :class:`ReceiptRefused` if its
    approval has been used up already (``used``), is too old, or was for other arguments. In no case has the function
    run.
    """
    asking = _Asking(question, when, people, tool, idempotency_key, allow_silence, denied, options)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, staticmethod | classmethod):
            raise TypeError("needs_approval goes below @staticmethod and @classmethod")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("needs_approval takes functions that return once: this one yields")
        approved = _ApprovedFunction(function, asking)
        make = approved.asynchronous if inspect.iscoroutinefunction(function) else approved.synchronous
        return functools.wraps(function)(make())

    return decorate


class _Asking:
    """The decorator's arguments: how to ask for approval."""

    def __init__(
        self,
        question: str | Callable[..., str] | None,
        when: Callable[..., bool] | None,
        people: Client | Callable[[], Client] | None,
        tool: str | None,
        idempotency_key: Callable[..., str] | None,
        allow_silence: bool,
        denied: OnDenied,
        options: ApprovalOptions,
    ) -> None:
        check_names(options, ApprovalOptions)
        for name, given in (("when", when), ("idempotency_key", idempotency_key), ("question", question)):
            if inspect.iscoroutinefunction(given):
                raise TypeError(f"{name} must be a plain function")
        if allow_silence and options.get("timeout_seconds") is None and options.get("deadline_seconds") is None:
            raise ValueError("allow_silence needs timeout_seconds or deadline_seconds: else no silence ever ends")
        if denied not in get_args(OnDenied):
            raise ValueError('denied is "raise" or "return"')
        self.question, self.when, self.people, self.tool = question, when, people, tool
        self.idempotency_key, self.allow_silence, self.options = idempotency_key, allow_silence, options
        self.denied = denied


class _ApprovedFunction:
    """One decorated function. Both of its forms take the same steps; only the waiting differs."""

    def __init__(self, function: Callable[..., Any], asking: _Asking) -> None:
        self._function, self._asking = function, asking
        self._tool = str(asking.tool or getattr(function, "__name__", "the tool"))
        self._signature = CallSignature(function)
        if isinstance(asking.question, str):
            _check_template(asking.question, self._signature.names)

    def asynchronous(self) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            bound = self._signature.bind(args, kwargs)
            if not self._is_needed(bound):
                return await self._function(*args, **kwargs)
            asked = self._question(bound), self._options(bound)
            async with _client(self._asking.people) as people:
                try:
                    suspended = await people.suspend(asked[0], **asked[1])
                except AlreadyDenied as denied:
                    return self._instead(denied)
                ended = await people.wait(suspended.suspension_id)
                if not self._may_run(ended):
                    return self._instead(Denied(self._tool, ended))
                async with await people.execute_once(ended.receipt, self._action(bound), **self._permission()):
                    return await self._function(*args, **kwargs)

        return call

    def synchronous(self) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = self._signature.bind(args, kwargs)
            if not self._is_needed(bound):
                return self._function(*args, **kwargs)
            asked = self._question(bound), self._options(bound)
            with _sync_client(self._asking.people) as people:
                try:
                    suspended = people.suspend(asked[0], **asked[1])
                except AlreadyDenied as denied:
                    return self._instead(denied)
                ended = people.wait(suspended.suspension_id)
                if not self._may_run(ended):
                    return self._instead(Denied(self._tool, ended))
                with people.execute_once(ended.receipt, self._action(bound), **self._permission()):
                    return self._function(*args, **kwargs)

        return call

    def _is_needed(self, bound: BoundCall) -> bool:
        return self._asking.when is None or bool(bound.to(self._asking.when))

    def _question(self, bound: BoundCall) -> str:
        match self._asking.question:
            case None:
                return f"May {self._tool} run?"
            case str() as template:
                return template.format_map(bound.arguments)
            case function:
                return str(bound.to(function))

    def _options(self, bound: BoundCall) -> Options:
        asking = self._asking
        options: Options = {"choices": APPROVAL_CHOICES, "action": self._action(bound), "fallback_policy": "fail"}
        if asking.allow_silence:
            options |= {"fallback_policy": "complete_with_fallback", "fallback_value": APPROVE}
        if asking.idempotency_key is not None:
            options["idempotency_key"] = str(bound.to(asking.idempotency_key))
        return cast("Options", {**asking.options, **options})

    def _action(self, bound: BoundCall) -> dict[str, JsonValue]:
        return {"tool": self._tool, "arguments": bound.json()}

    def _may_run(self, ended: SuspensionRecord) -> bool:
        """The server decides finally, when the receipt is used."""
        if ended.resolution == "responded" and ended.response == APPROVE:
            return True
        silent = ended.resolution == "expired" and ended.error is None and ended.continued_with == APPROVE
        return silent and self._asking.allow_silence

    def _instead(self, denied: Denied | AlreadyDenied) -> str:
        """What the call returns in place of the function's result. Raises ``denied`` unless it is to be told."""
        if self._asking.denied == "raise":
            raise denied
        return denied.tool_result()

    def _permission(self) -> dict[str, Any]:
        return {"when": APPROVE, "allow_silence": self._asking.allow_silence}


def _check_template(template: str, names: frozenset[str]) -> None:
    """Raises ``ValueError`` if the question names an unknown argument."""
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(template) if field is not None]
    except ValueError as problem:
        raise ValueError(f"question: {problem}; write {{{{ and }}}} for braces") from None
    for field in fields:
        name = field.partition(".")[0].partition("[")[0]
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise ValueError(f"question: {{{field}}} names no argument; there is {known}. Write {{{{ for a brace")


def _client(people: Client | Callable[[], Client] | None) -> AbstractAsyncContextManager[Handraise]:
    """A given client stays open; a call's own client is closed with it."""
    given = people() if callable(people) else people
    if given is None:
        return Handraise()
    if not isinstance(given, Handraise):
        raise TypeError("people: an async function needs a Handraise")
    return nullcontext(given)


def _sync_client(people: Client | Callable[[], Client] | None) -> AbstractContextManager[HandraiseSync]:
    given = people() if callable(people) else people
    if given is None:
        return HandraiseSync()
    if not isinstance(given, HandraiseSync):
        raise TypeError("people: a function that is not async needs a HandraiseSync")
    return nullcontext(given)


def _cause(suspension: SuspensionRecord) -> Literal["person", "silence", "cancelled"]:
    match suspension.resolution:
        case "responded":
            return "person"
        case "cancelled":
            return "cancelled"
    return "silence"
