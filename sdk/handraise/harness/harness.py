"""The harness: runs one turn for a transmission, and turns its outcome into the caller's reply.

A turn is one call of ``invoke()``. The harness returns when that does: a suspended invocation waits at the server, and
not here. It keeps nothing between turns and never touches the store of sessions.

Source: OpenArmature harness §2 to §5, §7, §8. Open points: ``docs/decisions/0066-the-harness.md``.
"""

from __future__ import annotations

import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias

from pydantic import JsonValue

from handraise.harness.buckets import Bucket, Categorized, categorized
from handraise.harness.classification import (
    NO_SIGNAL,
    DispatchPath,
    HarnessMode,
    InboundDispatch,
    Transmission,
    classify,
)
from handraise.harness.errors import HarnessSignalCorrelationFailed
from handraise.harness.outbound import (
    ErrorResponse,
    Outbound,
    ResumedAcknowledgment,
    SuspendedAcknowledgment,
    outbound_of,
)
from handraise.harness.signal_coordinator import SignalCoordinator, Unfinished
from handraise.receiver import SessionEnded
from handraise.records import SuspensionRecord
from handraise.session_turn import Turn
from handraise.suspension.errors import SuspensionRecordInvalid, SuspensionResumePayloadInvalid
from handraise.suspension.outcomes import Outcome, Runner, StateT, SuspendedOutcome

log = logging.getLogger("handraise")

First: TypeAlias = Mapping[str, JsonValue] | StateT | None


def payload_session(transmission: Transmission) -> JsonValue:
    """The resolver of sessions unless you give your own: the payload's ``session_id``."""
    return transmission.payload.get("session_id")


class Harness(Generic[StateT]):
    """Serves a ``runner`` to one transport. One harness serves any number of turns at once.

    - ``mode`` is fixed. A sessioned harness passes a ``session_id`` to each turn; a stateless one never does, whether
      or not the runner has a store.
    - ``initial_state`` makes the state that a turn begins with out of the transmission.
    - ``resolve_session`` finds the session of a transmission (:func:`payload_session` if you give none).
    - ``buckets`` are those of your own errors' categories.

    Mount :meth:`resumed` in a :class:`handraise.ResumeReceiver`: by it come the answers of people, and the end of a
    question that nobody answers.
    """

    def __init__(
        self,
        runner: Runner[StateT],
        mode: HarnessMode,
        coordinator: SignalCoordinator,
        *,
        initial_state: Callable[[Transmission], First[StateT] | Awaitable[First[StateT]]],
        resolve_session: Callable[[Transmission], JsonValue] = payload_session,
        buckets: Mapping[str, Bucket] | None = None,
    ) -> None:
        self._runner = runner
        self._mode = HarnessMode(mode)
        self._coordinator = coordinator
        self._initial_state = initial_state
        self._resolve_session = resolve_session
        self._buckets = dict(buckets or {})

    @property
    def mode(self) -> HarnessMode:
        return self._mode

    def dispatch(self, transmission: Transmission) -> InboundDispatch:
        """The path that :meth:`receive` will take. Nothing is run and nothing looked up.

        Raises :class:`HarnessPathClassificationAmbiguous` and :class:`HarnessSessionIdUnresolved`.
        """
        session = None if self._mode is HarnessMode.STATELESS else self._resolve_session(transmission)
        return classify(self._mode, transmission, session)

    async def receive(self, transmission: Transmission) -> Outbound[StateT]:
        """One turn, and what to answer. An error is an :class:`ErrorResponse`; nothing is raised and nothing repeated.

        A signal is recorded first and its invocation resumed then. If this process ends in between, the signal's
        sender or the callback brings it again.
        """
        path = None
        try:
            dispatch = self.dispatch(transmission)
            path = dispatch.path
            if dispatch.resumes:
                return await self._signalled(path, transmission)
            return await self._begun(dispatch, transmission)
        except Exception as error:  # noqa: BLE001 (whatever a node may raise)
            found = self._categorized(error)
            log.warning("A turn has failed (%s, %s).", found.category, found.bucket.value)
            return ErrorResponse(path, found, error)

    async def resumed(self, turn: Turn[Any]) -> Outbound[StateT]:
        """The handler for a :class:`handraise.ResumeReceiver`: a question of an invocation has ended.

        Returns what :meth:`receive` would answer to a signal. Raises what the server shall try again: an error that
        passes, one that nobody has put into a bucket, and an invocation that another process goes on with. Raises
        :class:`handraise.SessionEnded` for an error that stays, so that the server stops and records a failure.
        """
        told = turn.resumed
        path = DispatchPath.STATELESS if self._mode is HarnessMode.STATELESS else DispatchPath.SIGNAL_RESUME
        try:
            if told.invocation_id is None:
                raise SuspensionRecordInvalid("unknown", "The question belongs to no invocation.")
            newest = await self._coordinator.newest(told.invocation_id)
            if newest is not None and newest.id != told.suspension_id:
                return ResumedAcknowledgment(path, told.invocation_id)
            return await self._gone_on(path, told.invocation_id, told.suspension_id, told.signal_payload)
        except Exception as error:
            found = self._categorized(error)
            if not found.is_known or found.bucket is Bucket.RETRYABLE_TRANSIENT:
                raise
            log.error("The invocation %s can't go on (%s).", told.invocation_id, found.category)
            raise SessionEnded(f"The invocation can't go on ({found.category}).") from error

    async def _begun(self, dispatch: InboundDispatch, transmission: Transmission) -> Outbound[StateT]:
        made = self._initial_state(transmission)
        first = await made if inspect.isawaitable(made) else made
        if dispatch.path is DispatchPath.STATELESS:
            return await self._handled(dispatch.path, await self._runner.invoke(first))
        session_id = dispatch.session_id or str(uuid.uuid4())
        return await self._handled(dispatch.path, await self._runner.invoke(first, session_id=session_id))

    async def _signalled(self, path: DispatchPath, transmission: Transmission) -> Outbound[StateT]:
        invocation_id, payload = transmission.invocation_id, transmission.signal_payload
        ended: SuspensionRecord | Unfinished
        if payload is NO_SIGNAL:
            ended = await self._coordinator.last_of(invocation_id)
        else:
            signal_id, delivery_id = transmission.signal_id, transmission.delivery_id
            ended = await self._coordinator.deliver(invocation_id, signal_id, payload, delivery_id)
        if isinstance(ended, Unfinished):
            return SuspendedAcknowledgment(path, None, ended.received, ended.required)
        if ended.invocation_id is None:
            raise HarnessSignalCorrelationFailed("The signal is recorded, and its question is no invocation's.")
        try:
            return await self._gone_on(path, ended.invocation_id, ended.id, ended.signal_payload)
        except SuspensionRecordInvalid as refusal:
            if refusal.reason != "running":
                raise
            return ResumedAcknowledgment(path, ended.invocation_id)

    async def _gone_on(
        self, path: DispatchPath, invocation_id: str, suspension_id: str, payload: JsonValue
    ) -> Outbound[StateT]:
        """Resume the invocation from the end of this question, unless it has gone on from there already."""
        try:
            outcome = await self._runner.invoke(resume_invocation=invocation_id, signal_payload=payload)
        except (SuspensionRecordInvalid, SuspensionResumePayloadInvalid) as refusal:
            if await self._has_gone_on(refusal, invocation_id, suspension_id):
                return ResumedAcknowledgment(path, invocation_id)
            raise
        return await self._handled(path, outcome)

    async def _has_gone_on(self, refusal: Exception, invocation_id: str, suspension_id: str) -> bool:
        if isinstance(refusal, SuspensionRecordInvalid):
            if refusal.reason == "resumed":
                return True
            if refusal.reason == "running":
                return False
        newest = await self._coordinator.newest(invocation_id)
        return newest is not None and newest.id != suspension_id

    async def _handled(self, path: DispatchPath, outcome: Outcome[StateT]) -> Outbound[StateT]:
        if isinstance(outcome, SuspendedOutcome):
            await self._coordinator.register(outcome)
        return outbound_of(path, outcome)

    def _categorized(self, error: Exception) -> Categorized:
        return categorized(error, self._buckets)
