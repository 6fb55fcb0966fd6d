"""Paused invocations, and their store: the service itself.

A paused invocation is the ``resume.state`` of its question. The service writes both in one transaction, so there is
never one without the other (S-42). The service also knows the answer, and a resume uses only that. Every runner uses
this store: a :class:`handraise.Pipeline` and the adapter of an engine.

Source: OpenArmature suspension §3, §7, §8.6. Readings: ``docs/decisions/0064-suspension.md``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from handraise.client import Handraise
from handraise.environment import segment
from handraise.errors import HandraiseError, RequestRefused
from handraise.questions import Options, ResumeTarget
from handraise.records import Intent, Suspended, SuspensionRecord
from handraise.response_models import form_schema
from handraise.suspension import invocation_lease
from handraise.suspension.descriptor import SignalDescriptor
from handraise.suspension.errors import (
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
    SuspensionResumePayloadInvalid,
)
from handraise.suspension.invocation_lease import InvocationLease
from handraise.suspension.merging import StateModel, merged, payload_schema, read
from handraise.suspension.outcomes import CancelledOutcome, ExpiredOutcome

RESUMED = "_resumed_invocations"
"""Where an intent that was given says which invocations have gone on: by id, their last suspension."""

_ANSWERED_BY: tuple[str, ...] = ("response_type", "choices", "form_schema", "response_model", "kind")
"""Options that belong together: a call that gives one takes none of these from the defaults."""

_TRIES = 20


class StoredDescriptor(BaseModel):
    """A signal descriptor as it is stored."""

    model_config = ConfigDict(frozen=True)

    signal_id: str
    metadata: dict[str, JsonValue] | None = None


class PausedInvocation(BaseModel):
    """Everything that another process needs to go on, as JSON in ``resume.state``.

    ``runner`` is the kind of program that wrote it. ``suspends`` is how often the invocation has been suspended before.
    ``makes_intent``: the intent was made for it, and ends with it. ``engine`` is the runner's own.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    runner: str
    invocation_id: str
    correlation_id: str
    session_id: str | None = None
    makes_intent: bool = True
    suspends: int = 0
    node_name: str
    namespace: tuple[str, ...]
    mark_node_completed: bool
    descriptor: StoredDescriptor
    state: dict[str, JsonValue]
    engine: JsonValue = None

    def check_same(self, **given: str | None) -> None:
        """Raises ``ValueError`` if a given id or session differs from the record's."""
        for name, value in given.items():
            if value is not None and value != getattr(self, name):
                raise ValueError(f"{name} is another one than that of the paused invocation; leave it out")

    def idempotency_key(self) -> str:
        """The same for the same suspension of an invocation, in whatever process; a loop's next one has another."""
        named = json.dumps([self.invocation_id, *self.namespace, self.suspends])
        return f"suspend-{sha256(named.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class LoadedInvocation:
    """A paused invocation whose question has ended, and the ended question."""

    record: SuspensionRecord
    paused: PausedInvocation

    @property
    def descriptor(self) -> SignalDescriptor:
        stored = self.paused.descriptor
        return SignalDescriptor(stored.signal_id, stored.metadata)

    def state(self, model: type[StateModel]) -> StateModel:
        """The state at the suspension. Raises :class:`SuspensionRecordInvalid` if it is no such model (any more)."""
        try:
            return read(model, self.paused.state)
        except ValidationError:
            pass
        # Outside the handler, so that no traceback carries the state along.
        raise SuspensionRecordInvalid("foreign", f"The paused state is no {model.__name__}.")

    @property
    def intent_id(self) -> str:
        return str(self.record.intent_id)

    def ended(self, model: type[StateModel]) -> CancelledOutcome[StateModel] | ExpiredOutcome[StateModel] | None:
        """How the invocation ends without going on; ``None`` if there is a payload to go on with."""
        paused, record = self.paused, self.record
        if record.signal_payload is not None:
            return None
        shared = (paused.invocation_id, paused.correlation_id, self.state(model), self.descriptor)
        where = (paused.node_name, paused.namespace)
        if record.resolution == "cancelled":
            return CancelledOutcome(*shared, *where, record.reason)
        return ExpiredOutcome(*shared, *where, record.error or "input_timeout")

    def merged(self, model: type[StateModel], signal_payload: JsonValue) -> StateModel:
        """The state to go on with. The recorded answer counts; ``signal_payload`` is the caller's copy of it.

        Raises :class:`SuspensionResumePayloadInvalid` if it differs, or does not fit.
        """
        recorded = self.record.signal_payload
        if signal_payload is not None and _canonical(signal_payload) != _canonical(recorded):
            raise SuspensionResumePayloadInvalid("The payload is not the one that was recorded when somebody answered.")
        self.state(model)  # or else the payload would be blamed for it
        return merged(model, self.paused.state, recorded)


@dataclass(frozen=True, slots=True)
class PausedInvocations:
    """The store. ``asking`` are the defaults of every question; ``runner`` is the kind of program that asks."""

    client: Handraise
    runner: str
    asking: Options

    async def store(
        self,
        paused: PausedInvocation,
        descriptor: SignalDescriptor,
        model: type[BaseModel],
        question: str,
        options: Options,
        intent_id: str | None = None,
    ) -> Suspended:
        """Open the question, and with it store ``paused``. ``options`` are those of the call; ``intent_id`` is the
        intent that the invocation has been suspended with before.

        Raises :class:`SuspensionPersistenceFailed` if the server refuses it or stays away, and ``TypeError`` or
        ``ValueError`` for options that can't be any.
        """
        asked = _asked(self.asking, options)
        given = asked.get("intent_id")
        if intent_id is None and given is not None:
            paused = paused.model_copy(update={"makes_intent": False})
        elif intent_id is not None and given is not None and given != intent_id:
            raise ValueError("intent_id: an invocation suspends one intent, and has suspended another one before")
        asked["intent_id"] = intent_id or given
        asked["resume"] = _target(paused, descriptor, model, asked)
        asked["idempotency_key"] = paused.idempotency_key()
        try:
            return await self.client.suspend(question, **asked)
        except HandraiseError as failure:
            message = f"The paused invocation could not be stored ({_named(failure)})."
            raise SuspensionPersistenceFailed(message) from failure

    async def check_unused(self, invocation_id: str) -> None:
        """Raises :class:`SuspensionRecordInvalid` for an id whose question has ended: a new run of it would wait for an
        answer that has been given."""
        newest = await last_question(self.client, invocation_id)
        if newest is not None and not newest.is_open:
            raise SuspensionRecordInvalid("used", "The question of this invocation has ended: resume it.")

    async def load(self, invocation_id: str, suspension_id: str | None = None) -> LoadedInvocation:
        """What there is to resume. ``suspension_id`` is the question whose end the caller was told of.

        Raises :class:`SuspensionRecordInvalid`: ``unknown``, ``open``, ``foreign``, or ``resumed`` if the invocation
        has come to another question since that one.
        """
        newest = await last_question(self.client, invocation_id)
        if newest is None:
            raise SuspensionRecordInvalid("unknown", "This key has suspended no such invocation.")
        if suspension_id not in {None, newest.id}:
            raise SuspensionRecordInvalid("resumed", "The invocation has gone on, and has come to another question.")
        if newest.is_open:
            raise SuspensionRecordInvalid("open", "Nobody has answered yet.")
        return LoadedInvocation(newest, self._paused(newest))

    @asynccontextmanager
    async def going_on(self, loaded: LoadedInvocation) -> AsyncIterator[InvocationLease]:
        """Keep every other process from going on with it for as long as the block lasts.

        Raises :class:`SuspensionRecordInvalid`: ``running``, ``resumed`` or ``over``.
        """
        invocation_id, record = loaded.paused.invocation_id, loaded.record
        async with AsyncExitStack() as stack:
            try:
                held = invocation_lease.held(self.client, loaded.intent_id, invocation_id)
                lease = await stack.enter_async_context(held)
            except RequestRefused as refusal:
                raise await self._why(refusal, loaded) from refusal
            # Only now does nobody else move it.
            newest = await last_question(self.client, invocation_id)
            if newest is None or newest.id != record.id or _is_marked(await self._intent(loaded), loaded):
                raise _resumed()
            yield lease

    async def complete(self, loaded: LoadedInvocation) -> None:
        """Record that the invocation has run to its end. An intent that was made for it is completed by that."""
        for left in reversed(range(_TRIES)):
            intent = await self._intent(loaded)
            if _is_marked(intent, loaded) or (loaded.paused.makes_intent and intent.status == "abandoned"):
                return
            try:
                await self._mark(intent, loaded)
            except RequestRefused as refusal:
                # Somebody else has changed the intent meanwhile: look again.
                if not left or refusal.code not in {"version_conflict", "invalid_transition"}:
                    raise

    def _paused(self, record: SuspensionRecord) -> PausedInvocation:
        state = None if record.resume is None else record.resume.state
        try:
            paused = PausedInvocation.model_validate(state)
        except ValidationError:
            paused = None
        # Outside the handler, so that no traceback carries the state along.
        if paused is None or paused.runner != self.runner:
            raise SuspensionRecordInvalid("foreign", "The question was not asked by a program of this kind.")
        return paused

    async def _intent(self, loaded: LoadedInvocation) -> Intent:
        return await self.client.intent(loaded.intent_id)

    async def _mark(self, intent: Intent, loaded: LoadedInvocation) -> None:
        path = f"intents/{segment(intent.id)}"
        if loaded.paused.makes_intent:
            await self._post(f"{path}/status", {"status": "completed"}, intent.version)
            return
        key = loaded.paused.invocation_id.replace("~", "~0").replace("/", "~1")
        patch: JsonValue = {"op": "set", "path": f"{RESUMED}/{key}", "value": loaded.record.id}
        await self._post(f"{path}/state", {"patches": [patch]}, intent.version)

    async def _post(self, path: str, said: Mapping[str, JsonValue], version: int) -> None:
        await self.client._transport.call("POST", path, json.dumps(said).encode(), version=version)

    async def _why(self, refusal: RequestRefused, loaded: LoadedInvocation) -> Exception:
        match refusal.code:
            case "lease_held":
                return SuspensionRecordInvalid("running", "Another process goes on with this invocation.")
            case "intent_not_active":
                if _is_marked(await self._intent(loaded), loaded):
                    return _resumed()
                return SuspensionRecordInvalid("over", "The intent of this invocation is over.")
        return refusal


def _suspends(record: SuspensionRecord) -> int:
    state = None if record.resume is None else record.resume.state
    count = state.get("suspends") if isinstance(state, dict) else None
    return count if isinstance(count, int) else -1


async def last_question(client: Handraise, invocation_id: str) -> SuspensionRecord | None:
    """The last question of the invocation that this very key has asked; operators see others' too.

    It is the one that was suspended most often before: two processes of the server may give two questions the same
    instant, or the wrong order.
    """
    found = [one async for one in client.list(invocation_id=invocation_id)]
    last: SuspensionRecord | None = None
    for one in found:
        whole = await client.get(one.id)
        if whole.resume is None:
            continue
        if last is None or _suspends(whole) > _suspends(last):
            last = whole
        if _suspends(last) + 1 >= len(found):
            break
    return last


def _resumed() -> SuspensionRecordInvalid:
    return SuspensionRecordInvalid("resumed", "The invocation has gone on already.")


def _is_marked(intent: Intent, loaded: LoadedInvocation) -> bool:
    """Whether the invocation has run to its end."""
    if loaded.paused.makes_intent:
        return intent.status == "completed"
    marks = intent.state.get(RESUMED)
    return isinstance(marks, Mapping) and marks.get(loaded.paused.invocation_id) == loaded.record.id


def _asked(asking: Options, options: Options) -> Options:
    """The options of the question: the defaults, and over them those of the call."""
    said = {name: value for name, value in options.items() if value is not None}
    dropped = _ANSWERED_BY if said.keys() & set(_ANSWERED_BY) else ()
    asked = {name: value for name, value in asking.items() if name not in dropped} | said
    asked["resume"] = _plain(asking.get("resume")) | _plain(options.get("resume"))
    if not any(asked.get(name) is not None for name in ("response_type", "choices", "response_model", "kind")):
        asked["response_type"] = "form"
    return cast(Options, asked)


def _target(
    paused: PausedInvocation, descriptor: SignalDescriptor, model: type[BaseModel], asked: Options
) -> ResumeTarget:
    given = _plain(asked.get("resume"))
    is_form = asked.get("response_type") == "form" or asked.get("response_model") is not None
    if is_form and "payload_schema" not in given:
        given["payload_schema"] = payload_schema(model, _fields(asked))
    return ResumeTarget(
        session_id=given.get("session_id", paused.session_id),
        callback_url=given.get("callback_url"),
        payload_schema=given.get("payload_schema"),
        invocation_id=paused.invocation_id,
        correlation_id=paused.correlation_id,
        signal_id=descriptor.signal_id,
        signal_metadata=descriptor.metadata_json(),
        state=paused.model_dump(mode="json"),
    )


def _fields(asked: Options) -> Iterable[str] | None:
    """The fields of the person's form; ``None`` if any may be filled in. No other field of the state is theirs."""
    response_model = asked.get("response_model")
    form = asked.get("form_schema") if response_model is None else form_schema(response_model)
    properties = None if form is None else form.get("properties")
    return properties.keys() if isinstance(properties, Mapping) else None


def _plain(target: ResumeTarget | Mapping[str, JsonValue] | None) -> dict[str, Any]:
    if target is None:
        return {}
    said = dict(target) if not isinstance(target, BaseModel) else target.model_dump()
    return {name: value for name, value in said.items() if value is not None}


def _canonical(value: JsonValue) -> str:
    """A form in which 1, 1.0 and true are three values."""
    return json.dumps(value, sort_keys=True)


def _named(failure: HandraiseError) -> str:
    return failure.code if isinstance(failure, RequestRefused) else type(failure).__name__
