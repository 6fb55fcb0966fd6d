"""The signal coordinator: routes a suspended invocation to its signal, and a signal back to its invocation.

The server does both. Suspending is one transaction, so there is no time in which an invocation is paused and its signal
has nowhere to go, and no subscription that could be lost with a process. This module checks that the way back leads
somewhere, records a signal, and says which invocation it was for.

Source: OpenArmature harness §5.3, §6; API.md §5.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import JsonValue

from handraise.client import Handraise
from handraise.environment import segment
from handraise.errors import HandraiseError, RequestRefused, ServerUnavailable
from handraise.harness.errors import HarnessSignalCorrelationFailed, HarnessSignalSubscriptionFailed
from handraise.records import Answered, Received, SuspensionRecord
from handraise.suspension.errors import SuspensionResumePayloadInvalid
from handraise.suspension.outcomes import SuspendedOutcome
from handraise.suspension.paused import last_question

log = logging.getLogger("handraise")

_LATE = {"already_answered", "suspension_ended", "idempotency_conflict"}
"""Refusals of what may have been recorded before: a delivery's id conflicts if its invocation waits for another signal
by now."""

_NO_WAY_BACK = "The invocation has no way back: neither the question nor its session names a callback_url."


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The signal counts, and more people have to answer."""

    received: int | None
    required: int | None


class _Session(Received):
    callback_url: str | None = None


class SignalCoordinator:
    """Over one server. ``agent`` has the key that asks; ``signals`` has one with the role ``operator``, since nobody
    answers their own question."""

    def __init__(self, agent: Handraise, signals: Handraise) -> None:
        self._agent = agent
        self._signals = signals
        self._name: str | None = None

    async def register(self, outcome: SuspendedOutcome[Any]) -> None:
        """Look that the answer to ``outcome`` has a way to this program: a signal by its id, a person by a callback.

        Raises :class:`HarnessSignalSubscriptionFailed` if not, and takes the question back: nobody is to answer what
        would not be heard. A server that can't be reached now has stored the question all the same.
        """
        try:
            missing = await self._missing(outcome)
        except ServerUnavailable as away:
            log.warning("The way back of %s could not be looked at (%s).", outcome.suspended.ref, type(away).__name__)
            return
        if missing is None:
            return
        try:
            await self._agent.cancel(outcome.suspended.suspension_id, "harness_signal_subscription_failed")
        except HandraiseError as problem:
            log.warning("%s could not be taken back (%s).", outcome.suspended.ref, type(problem).__name__)
        raise HarnessSignalSubscriptionFailed(missing)

    async def _missing(self, outcome: SuspendedOutcome[Any]) -> str | None:
        try:
            stored = await self._agent.get(outcome.suspended.suspension_id)
        except RequestRefused as refusal:
            return f"The question can't be found with the key that should have asked it ({refusal.code})."
        if (stored.invocation_id, stored.signal_id) != (outcome.invocation_id, outcome.descriptor.signal_id):
            return "The question is stored for another invocation, or for another signal."
        if stored.resume is None:
            return "The question was asked by another key than the coordinator's."
        if stored.resume.callback_url is not None:
            return None
        return None if await self._session_is_called(stored.session_id) else _NO_WAY_BACK

    async def _session_is_called(self, session_id: str | None) -> bool:
        if session_id is None:
            return False
        try:
            session = await self._agent._get(_Session, f"sessions/{segment(session_id)}")
        except RequestRefused:  # it was never registered
            return False
        return session.callback_url is not None

    async def deliver(
        self, invocation_id: str | None, signal_id: str | None, payload: JsonValue, delivery_id: str | None = None
    ) -> SuspensionRecord | Unfinished:
        """Record the signal as the answer, once. Returns the question that it has ended, with what was recorded.

        Delivered again, also after a crash, it returns the same. With ``delivery_id`` that holds even if another
        question has the same signal by now.

        Raises :class:`HarnessSignalCorrelationFailed` if nothing waits for it, and nothing of it is kept;
        :class:`SuspensionResumePayloadInvalid` if it is no answer, and the question stays open;
        :class:`RequestRefused` if somebody else has answered otherwise, or the key may not.
        """
        try:
            waited_for = await self._signal_of(invocation_id, signal_id)
            answered = await self._post(waited_for, payload, delivery_id)
        except (RequestRefused, HarnessSignalCorrelationFailed) as refusal:
            if isinstance(refusal, RequestRefused):
                if refusal.code not in _LATE:
                    raise
                if refusal.details.get("same_answer") is True and "required" in refusal.details:
                    return Unfinished(_count(refusal, "received"), _count(refusal, "required"))
            ended = await self._answered_before(invocation_id, signal_id, payload)
            if ended is None:
                raise
            return ended
        if answered.suspension_id is None:
            return Unfinished(answered.received, answered.required)
        return await self._agent.get(answered.suspension_id)

    async def last_of(self, invocation_id: str | None) -> SuspensionRecord:
        """The last question of the invocation. Raises :class:`HarnessSignalCorrelationFailed` if this key has no
        such invocation."""
        newest = None if invocation_id is None else await self.newest(invocation_id)
        if newest is None:
            raise HarnessSignalCorrelationFailed("A signal without a signal_payload names an invocation of this key.")
        return newest

    async def newest(self, invocation_id: str) -> SuspensionRecord | None:
        """The last question of the invocation."""
        return await last_question(self._agent, invocation_id)

    async def _signal_of(self, invocation_id: str | None, signal_id: str | None) -> str:
        if invocation_id is None:
            if signal_id is None:
                raise HarnessSignalCorrelationFailed("The signal names neither an invocation nor its signal_id.")
            return signal_id
        waiting = await self.newest(invocation_id)
        found = None if waiting is None else waiting.signal_id
        if found is None or signal_id not in {None, found}:
            raise HarnessSignalCorrelationFailed("This key has no such invocation, or it waits for another signal.")
        return found

    async def _post(self, signal_id: str, payload: JsonValue, delivery_id: str | None) -> Answered:
        if self._name is None:
            self._name = (await self._agent.me()).name
        try:
            once = _once(delivery_id)
            return await self._signals.signal(signal_id, payload, creator=self._name, idempotency_key=once)
        except RequestRefused as refusal:
            refused = refusal
        if refused.status in {400, 413, 422}:
            message = f"The signal's payload is no answer to the question ({refused.code})."
            raise SuspensionResumePayloadInvalid(message) from refused
        if refused.code == HarnessSignalCorrelationFailed.category:
            raise HarnessSignalCorrelationFailed("No invocation of this key waits for the signal.") from refused
        raise refused

    async def _answered_before(
        self, invocation_id: str | None, signal_id: str | None, payload: JsonValue
    ) -> SuspensionRecord | None:
        """The question that this very signal has ended before. By its ``signal_id`` alone, only the newest counts."""
        if invocation_id is None and signal_id is None:
            return None
        newest = None
        async for one in self._agent.list(invocation_id=invocation_id, signal_id=signal_id):
            newest = newest or one.suspended_at
            if invocation_id is None and one.suspended_at != newest:
                break
            if _is_the_answer(one, payload) and (whole := await self._agent.get(one.id)).resume is not None:
                return whole
        return None


def _once(delivery_id: str | None) -> str | None:
    """A delivery's id as a header may hold it."""
    if delivery_id is None:
        return None
    return f"signal-{sha256(json.dumps(delivery_id).encode()).hexdigest()}"


def _is_the_answer(record: SuspensionRecord, payload: JsonValue) -> bool:
    """Whether it is the recorded answer. In JSON, 1 and true are two values."""
    return record.resolution == "responded" and _canonical(record.response) == _canonical(payload)


def _count(refusal: RequestRefused, name: str) -> int | None:
    count = refusal.details.get(name)
    return count if isinstance(count, int) else None


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
