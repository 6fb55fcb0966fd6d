"""What the fixture ``handraise`` is: the server's address and keys, its clock, and what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from datetime import datetime
from typing import Any

from handraise_testing.clock import Duration, parse_duration
from handraise_testing.humans import Humans
from handraise_testing.plans import Act, Which
from handraise_testing.questions import Question, SentMessage
from handraise_testing.server import EventLoop, Server
from handraise_testing.settings import AGENT_KEY, WEBHOOK_SECRET, key_of


class TestFailed(Exception):
    """The test can't go on; the text says why."""

    __test__ = False


class Moved:
    """A movement of the clock. In an async test it has to be awaited: agents on the same event loop go on meanwhile.
    In a synchronous test it is over when it is returned."""

    def __init__(self, future: Future[str | None], what: str) -> None:
        self._future = future
        self.what = what
        self.is_over = False
        if not _in_event_loop():
            self._end(future.result())

    def __await__(self) -> Generator[Any, None, None]:
        if not self.is_over:
            self._end((yield from asyncio.wrap_future(self._future).__await__()))

    def _end(self, problem: str | None) -> None:
        self.is_over = True
        if problem is not None:
            raise TestFailed(problem)


class Clock:
    """The time of the server. It moves by itself whenever every agent waits, until it is stopped.

    ``advance`` and ``finish`` are awaited in an async test, and called in a synchronous one.
    """

    def __init__(self, loop: EventLoop, server: Server) -> None:
        self._loop = loop
        self._server = server
        self.movements: list[Moved] = []

    def now(self) -> datetime:
        """The instant, in UTC."""
        return self._server.clock.now()

    def stop(self) -> None:
        """From now on the clock moves by ``advance`` and ``finish`` alone."""
        self._loop.run(self._server.set_running(False))

    def start(self) -> None:
        """From now on it moves by itself again."""
        self._loop.run(self._server.set_running(True))

    def advance(self, by: Duration) -> Moved:
        """Move on by ``"2h"``, a ``timedelta`` or seconds. Whatever becomes due on the way is done in order, callbacks
        to agents included."""
        return self._moved(self._advance(by), "advance")

    def finish(self) -> Moved:
        """Move on until no question is open, and every callback has been tried. Raises :class:`TestFailed` if a
        question waits for ever."""
        return self._moved(self._finish(), "finish")

    def _moved(self, job: Any, what: str) -> Moved:
        moved = Moved(self._loop.begin(job), what)
        self.movements.append(moved)
        return moved

    async def _advance(self, by: Duration) -> str | None:
        await self._server.scheduler.advance(parse_duration(by))
        return self._server.gate.failed

    async def _finish(self) -> str | None:
        return await self._server.scheduler.finish() or self._server.gate.failed


class HandraiseServer:
    """A Handraise server of the test's own, reached over HTTP on loopback. The fixture ``handraise``.

    ``url`` and ``api_key`` are in the environment too (``HANDRAISE_URL``, ``HANDRAISE_API_KEY``), where ``Handraise()``
    finds them. ``webhook_secret`` signs what the server sends to ``resume.callback_url``.
    """

    def __init__(self, loop: EventLoop, server: Server) -> None:
        self._loop = loop
        self._server = server
        self.url = server.url
        self.api_key = AGENT_KEY
        self.webhook_secret = WEBHOOK_SECRET
        self.clock = Clock(loop, server)
        self.humans = Humans(self._plan, server.journal)

    @property
    def questions(self) -> list[Question]:
        """What was asked so far, in order, as it stands now."""
        return self._server.journal.questions()

    @property
    def messages(self) -> list[SentMessage]:
        """What people were sent so far on every channel, in order."""
        sent = (message for channel in self._server.channels.values() for message in channel.sent)
        return sorted(sent, key=lambda message: message.number)

    def key_of(self, person: str) -> str:
        """The API key with which ``person``, an e-mail, answers over HTTP."""
        return key_of(person)

    def refuse(self, channel: str, reason: str = "channel_not_found") -> None:
        """From now on ``slack``, ``email``, ``pagerduty`` or ``inbox`` takes no message: each is refused for good."""
        if channel not in self._server.channels:
            raise ValueError(f"{channel!r} is no channel: it is one of {', '.join(self._server.channels)}.")
        self._server.channels[channel].refusal = reason

    def problem(self) -> str | None:
        """Why the test has failed, whatever it has found by itself; ``None`` if it has not."""
        return self._server.gate.failed

    def left_over(self) -> str | None:
        """What the test has planned or begun, and what never came; ``None`` if there is nothing."""
        for moved in self.clock.movements:
            if not moved.is_over:
                return f"handraise.clock.{moved.what}(…) was not awaited: in an async test, await it."
        for plan in self._server.schedule.unused:
            which = "" if plan.which is None else f" that to={plan.which!r} fits"
            return f"{plan} was planned, and no question was asked{which}."
        return None

    def _plan(self, act: Act, which: Which | None) -> None:
        self._loop.run(self._server.plan(act, which))


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
