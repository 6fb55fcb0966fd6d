"""Agents in OpenIntent's style: a class that asks people, with hooks for the results.

Source: RFC-0025 §9; RFC-0026 §4.5, §5, §8; docs/decisions/0050.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar, Unpack, overload

from pydantic import JsonValue

from handraise.client import Handraise
from handraise.errors import SuspensionNotSupported
from handraise.hook_listener import HookListener
from handraise.questions import EngagementSignals, HumanRetryPolicy, Options
from handraise.records import EngagementDecision

log = logging.getLogger("handraise")

CLOSING_SECONDS = 5.0
"""How long an agent that ends waits for the hooks of questions that have ended."""


Kind = TypeVar("Kind", bound="BaseAgent")


class _Decorator(Protocol):
    """Its result for a class that is not a :class:`BaseAgent` has no type: Python can't say "both"."""

    @overload
    def __call__(self, kind: type[Kind]) -> type[Kind]: ...
    @overload
    def __call__(self, kind: type) -> Any: ...


class _Run:
    """``agent.run()`` runs that agent; ``MyAgent.run(url, api_key)`` makes it first.

    It starts the agent and runs its ``main()``. It ends when that ends, or quietly on SIGTERM, Ctrl-C or ``stop()``.
    """

    def __get__(self, agent: BaseAgent | None, kind: type[BaseAgent]) -> Callable[..., None]:
        if agent is not None:
            return lambda: _run(agent)
        return lambda url=None, api_key=None: _run(kind(url, api_key))


class BaseAgent:
    """An agent that asks people: inherit from it, or decorate a class with ``@Agent("my-agent")``.

    ``url`` and ``api_key`` default to ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``. The server knows an agent by its
    key's name; ``agent_id`` is for people and logs. ``async with`` starts and closes it; without that, the first
    question starts it, and ``aclose()`` closes it.

    ``default_human_retry_policy`` becomes the policy of every question of this key when the agent starts, and stays
    so. Set it on the class or in ``__init__``. ``None`` leaves the server's as it is.
    """

    agent_id: str | None = None
    default_human_retry_policy: HumanRetryPolicy | Mapping[str, JsonValue] | None = None
    run: ClassVar[_Run] = _Run()

    _url: str | None = None
    _api_key: str | None = None
    _starting: asyncio.Task[_Connection] | None = None
    _is_closed: bool = False
    _stop: Callable[[], None] | None = None

    def __init__(self, url: str | None = None, api_key: str | None = None, *, agent_id: str | None = None) -> None:
        # Nothing that was given is forgotten if the class of a decorated agent calls this again.
        self._url = url or self._url
        self._api_key = api_key or self._api_key
        self.agent_id = agent_id or self.agent_id

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def main(self) -> None:
        """The work of ``run()`` once the agent has started; ``run()`` ends with it. By default it calls the hooks
        for ever."""
        await asyncio.Event().wait()

    # --- Asking -----------------------------------------------------------------------------------------------------

    async def request_input(self, intent_id: str | None, /, question: str, **options: Unpack[Options]) -> Any:
        """Suspend the intent, ask a person, and return the answer (RFC-0025 §9.1); an ``intent_id`` of ``None`` makes
        an intent.

        Takes, returns and raises the same as :meth:`Handraise.request_input`. With an ``idempotency_key`` of your own,
        a restarted agent waits for the same question instead of asking twice. Raises :class:`SuspensionNotSupported` if
        the server knows no suspensions (RFC-0025 §12).
        """
        connection = await self._started()
        if intent_id is not None:
            options = {**options, "intent_id": intent_id}
        suspended = await connection.people.suspend(question, **options)
        ended = await connection.people.wait(suspended.suspension_id)
        connection.listener.expect(suspended.suspension_id)
        model = options.get("response_model")
        return ended.result() if model is None else ended.result(model)

    async def should_request_input(
        self,
        intent_id: str,
        signals: EngagementSignals | None = None,
        *,
        confidence: float | None = None,
        risk: float | None = None,
        reversibility: float | None = None,
        context: Mapping[str, JsonValue] | None = None,
    ) -> EngagementDecision:
        """Whether a person should be asked (RFC-0025 §7). The server decides, and logs it in the intent's log.

        Keyword arguments take precedence over ``signals``.
        """
        people = (await self._started()).people
        given = {"confidence": confidence, "risk": risk, "reversibility": reversibility, "context": context}
        change = {name: value for name, value in given.items() if value is not None}
        sure = (signals or EngagementSignals()).model_copy(update=change)
        return await people.decide_engagement(
            intent_id,
            confidence=sure.confidence,
            risk=sure.risk,
            reversibility=sure.reversibility,
            context=sure.context,
        )

    @property
    def people(self) -> Handraise:
        """The client of this agent, for everything else in the API. There is none before the start."""
        if self._starting is None or not self._starting.done() or self._is_closed:
            raise RuntimeError("The agent has not started, or is closed: use `async with agent:`.")
        return self._starting.result().people

    # --- Start and end ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Register the default policy and begin to listen for the hooks: from now on, no event is missed.

        A second call does nothing. Raises :class:`RequestRefused` if the key is not valid, :class:`ServerUnavailable`
        if the server stays away.
        """
        await self._started()

    async def aclose(self) -> None:
        """Stop listening. Questions stay open on the server. Waits a few seconds for the hooks of ended questions."""
        self._is_closed = True
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await (await starting).close()

    def stop(self) -> None:
        """End ``run()``; may be called from any thread."""
        if self._stop is not None:
            self._stop()

    async def _started(self) -> _Connection:
        if self._is_closed:
            raise RuntimeError("The agent is closed. Make another one.")
        starting = self._starting
        if starting is None or (starting.done() and (starting.cancelled() or starting.exception() is not None)):
            starting = self._starting = asyncio.create_task(_Connection.open(self))
        return await asyncio.shield(starting)

    async def _work(self) -> None:
        listening = (await self._started()).listening
        main = asyncio.create_task(self.main())
        try:
            await asyncio.wait({main} | ({listening} if listening else set()), return_when=asyncio.FIRST_COMPLETED)
            if listening is not None and listening.done():
                listening.result()  # the server tells nothing any more, and why
            main.result()
        finally:
            main.cancel()
            await asyncio.wait({main})


def Agent(agent_id: str) -> _Decorator:  # noqa: N802 (RFC-0026 §8 writes it so)
    """``@Agent("my-agent")`` makes a class an agent; it need not inherit from :class:`BaseAgent`.

    Such a class becomes a subclass of both, under its own name. Its ``__init__`` gets what is left once ``url`` and
    ``api_key`` are taken.
    """
    if not isinstance(agent_id, str) or not agent_id:
        raise TypeError('@Agent takes the name of the agent: @Agent("my-agent").')

    def decorated(kind: type) -> Any:
        if issubclass(kind, BaseAgent):
            kind.agent_id = agent_id
            return kind

        def __init__(  # noqa: N807
            self: BaseAgent, url: str | None = None, api_key: str | None = None, *args: object, **named: object
        ) -> None:
            BaseAgent.__init__(self, url, api_key)
            kind.__init__(self, *args, **named)

        own = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
        own |= {"__init__": __init__, "agent_id": agent_id}
        return types.new_class(kind.__name__, (kind, BaseAgent), exec_body=lambda names: names.update(own))

    return decorated


@dataclass
class _Connection:
    """A started agent's connection. ``listening`` is ``None`` if there is no hook to call, or no stream to read."""

    people: Handraise
    listener: HookListener
    listening: asyncio.Task[None] | None
    opened: AsyncExitStack

    @classmethod
    async def open(cls, agent: BaseAgent) -> _Connection:
        async with AsyncExitStack() as opening:
            people = await opening.enter_async_context(Handraise(agent._url, agent._api_key))
            listener, listening = HookListener(people, agent), None
            try:
                await listener.identify()
                if agent.default_human_retry_policy is not None:
                    await people.set_default_retry_policy(agent.default_human_retry_policy)
                if listener.has_hooks:
                    stream = await opening.enter_async_context(people.follow())
                    listening = asyncio.create_task(listener.listen(stream))
            except SuspensionNotSupported as missing:
                log.warning("Agent %s goes on without hooks and default policy: %s", agent.agent_id, missing)
            return cls(people, listener, listening, opening.pop_all())
        raise AssertionError("unreachable")

    async def close(self) -> None:
        try:
            if self.listening is not None and not self.listening.done():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CLOSING_SECONDS):
                        await self.listener.settle()
        finally:
            if self.listening is not None:
                self.listening.cancel()
                await asyncio.gather(self.listening, return_exceptions=True)
            await self.listener.stop()
            await self.opened.aclose()


def _run(agent: BaseAgent) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run_until_stopped(agent))
    else:
        raise RuntimeError("run() blocks. If a loop runs already, use `async with agent:`.")


async def _run_until_stopped(agent: BaseAgent) -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has stopped
            loop.call_soon_threadsafe(stopping.set)

    agent._stop = stop
    work, stopped = asyncio.create_task(agent._work()), asyncio.create_task(stopping.wait())
    try:
        with _stopping_at_signals(loop, stopping.set):
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not stopped.done():
                work.result()
    finally:
        agent._stop = None
        for task in (work, stopped):
            task.cancel()
        await asyncio.gather(work, stopped, return_exceptions=True)
        await agent.aclose()


@contextmanager
def _stopping_at_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """The first SIGTERM or Ctrl-C calls ``stop``; a second one ends the process as usual."""
    caught: list[signal.Signals] = []

    def give_back() -> None:
        while caught:
            loop.remove_signal_handler(caught.pop())

    def caught_one() -> None:
        give_back()
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; a thread not the main one
            loop.add_signal_handler(number, caught_one)
            caught.append(number)
    try:
        yield
    finally:
        give_back()
