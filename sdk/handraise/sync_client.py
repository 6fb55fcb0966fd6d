"""The client: ask a person, wait, go on.

Generated from ``client.py`` by ``python sdk/generate_sync.py``: change that file.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack, overload

from pydantic import BaseModel, JsonValue

from handraise.closed_sets import YesOrNo
from handraise.environment import api_key_of, is_ref, segment, url_of
from handraise.errors import ReceiptRefused, Refusal
from handraise.questions import (
    AnyOptions,
    Choices,
    HumanRetryPolicy,
    InputOptions,
    Options,
    body,
    invocation_key,
    policy_body,
)
from handraise.receipt_claims import suspension_of
from handraise.records import (
    Answered,
    CallbackRecord,
    Claim,
    EngagementDecision,
    Intent,
    LoggedEvent,
    Me,
    Preview,
    Received,
    ShownNotice,
    Suspended,
    SuspensionRecord,
    TimelineItem,
)
from handraise.sync_execution import ExecutionSync
from handraise.work_records import Task, Workflow

if TYPE_CHECKING:
    from handraise.exchange import Record
    from handraise.sync_held_lease import LeaseSync
    from handraise.sync_streams import EventStreamSync
    from handraise.veto import VetoOutcome

Model = TypeVar("Model", bound=BaseModel)

_NO_RECEIPT = Refusal(422, "receipt_invalid", "There is no receipt.", details={"reason": "missing"})


class HandraiseSync:
    """A Handraise server, from an agent's side.

    ``url`` and ``api_key`` default to ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``. One client serves any number of
    questions at once. ``patience_seconds`` is how long a request is repeated while the server can't be reached;
    waiting for an answer is never given up unless you say so.

    Every method raises :class:`RequestRefused` if the server says no, and :class:`ServerUnavailable` if it stays away.
    """

    def __init__(self, url: str | None = None, api_key: str | None = None, *, patience_seconds: float = 60.0) -> None:
        from handraise.sync_transport import SyncTransport

        self._transport = SyncTransport(url_of(url), api_key_of(api_key), patience_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections. Questions stay open on the server."""
        self._transport.close()

    # --- Asking and waiting -----------------------------------------------------------------------------------------

    @overload
    def request_input(
        self,
        question: str,
        *,
        response_model: type[Model],
        response_type: Literal["form"] | None = None,
        fallback_value: Model | Mapping[str, JsonValue] | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[InputOptions],
    ) -> Model: ...

    @overload
    def request_input(
        self,
        question: str,
        *,
        response_type: Literal["confirm"],
        choices: Choices | None = None,
        fallback_value: YesOrNo | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[InputOptions],
    ) -> YesOrNo: ...

    @overload
    def request_input(
        self,
        question: str,
        *,
        response_type: Literal["text"],
        fallback_value: str | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[InputOptions],
    ) -> str: ...

    @overload
    def request_input(
        self,
        question: str,
        *,
        response_type: Literal["form"],
        form_schema: Mapping[str, JsonValue] | None = None,
        fallback_value: Mapping[str, JsonValue] | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[InputOptions],
    ) -> dict[str, JsonValue]: ...

    @overload
    def request_input(
        self,
        question: str,
        *,
        choices: Choices,
        response_type: Literal["choice"] | None = None,
        kind: Literal["input"] | None = None,
        fallback_value: str | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[InputOptions],
    ) -> str: ...

    @overload
    def request_input(
        self,
        question: str,
        *,
        kind: Literal["veto"],
        timeout_seconds: int,
        choices: Choices | None = None,
        response_type: Literal["choice"] | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[AnyOptions],
    ) -> str: ...

    def request_input(
        self, question: str, *, give_up_after_seconds: float | None = None, **options: Unpack[Options]
    ) -> JsonValue | BaseModel:
        """Ask a person and wait for as long as it takes; returns what to go on with (RFC-0025 §9.1).

        That is the answer (the ``value`` of a choice, ``"yes"`` or ``"no"`` for a confirm, a text, a form's object, or
        a ``response_model``), or the fallback value if the policy has one and nobody answered. Raises
        :class:`InputTimeoutError` if it has none, :class:`InputCancelledError` if the question was taken back,
        :class:`RequestRefused` if it can't be asked like this, and ``TypeError`` or ``ValueError``, before anything is
        sent, for an argument that can't be one.

        A restart of the server goes unnoticed. For one of the agent, give an ``idempotency_key`` of your own: asked
        again with it and the same question, a restarted agent waits for the same answer instead of asking twice. With
        ``give_up_after_seconds``, waiting ends with ``TimeoutError``; the question stays open.
        """
        suspended = self.suspend(question, **options)
        ended = self.wait(suspended.suspension_id, give_up_after_seconds=give_up_after_seconds)
        model = options.get("response_model")
        return ended.result() if model is None else ended.result(model)

    def suspend(self, question: str, **options: Unpack[Options]) -> Suspended:
        """Ask, and return as soon as the server has stored the question. :class:`Options` lists what may go with it.

        If ``resume`` names a session and an invocation, the same question asked again is the first one, also after its
        end. Otherwise an ``idempotency_key`` of your own does that.
        """
        intent_id, content = options.get("intent_id"), body(question, options)
        key = options.get("idempotency_key") or invocation_key(content, intent_id)
        path = "suspensions" if intent_id is None else f"intents/{segment(intent_id)}/suspend"
        return self._post(Suspended, path, content, key)

    def wait(self, suspension_id: str, *, give_up_after_seconds: float | None = None) -> SuspensionRecord:
        """The record once the question has ended, in whatever way; ``result()`` says what that means.

        Raises ``TimeoutError`` after ``give_up_after_seconds``; the question stays open.
        """
        from handraise.exchange import WaitLimit, parsed

        path = f"suspensions/{segment(suspension_id)}/wait"
        return parsed(SuspensionRecord, self._transport.poll(path, WaitLimit(give_up_after_seconds)))

    def wait_session(
        self,
        session_id: str,
        mode: Literal["all", "any"] = "all",
        *,
        known: Collection[str] = (),
        give_up_after_seconds: float | None = None,
    ) -> Sequence[SuspensionRecord]:
        """The ended questions of a session, in the order in which they were asked, with their receipts.

        ``all`` returns once none is open, ``any`` once there is one. ``known`` are the ids of those that you have dealt
        with: they count for nothing, and are left out. Returns at once, perhaps nothing, if none is open. With ``any``
        and several open questions it may learn of an answer up to ten seconds late.

        Raises ``TimeoutError`` after ``give_up_after_seconds``; the questions stay open.
        """
        from handraise.exchange import SessionWait

        wait = SessionWait(mode, give_up_after_seconds)
        while True:
            asked = [one for one in self.list(session_id=session_id) if one.id not in known]
            if wait.is_over(asked):
                shown = self.list(session_id=session_id, with_receipts=True)
                return tuple(reversed([one for one in shown if not one.is_open and one.id not in known]))
            waiting, limit = wait.next_wait(asked)
            # Without receipts: their time begins when they are shown, and other questions may take hours yet.
            path = f"suspensions/{segment(waiting)}/wait"
            try:
                self._transport.poll(path, limit, {"with_receipts": "false"})
            except TimeoutError:
                wait.limit.check()

    def request_veto(
        self,
        question: str,
        *,
        timeout_seconds: int,
        choices: Choices | None = None,
        give_up_after_seconds: float | None = None,
        **options: Unpack[AnyOptions],
    ) -> VetoOutcome:
        """Open a veto window of ``timeout_seconds`` and wait for its end: authorized, also by silence, or vetoed with
        a reason (issue 186).

        Raises :class:`InputTimeoutError` if nobody could have objected (``notice_undelivered``),
        :class:`InputCancelledError` if it was taken back, and otherwise as :meth:`request_input`.
        """
        from handraise.veto import outcome_of_record

        suspended = self.suspend(question, kind="veto", timeout_seconds=timeout_seconds, choices=choices, **options)
        return outcome_of_record(self.wait(suspended.suspension_id, give_up_after_seconds=give_up_after_seconds))

    def preview(self, question: str, **options: Unpack[Options]) -> Preview:
        """What asking would do: whom, where, when, and what is wrong with it. Nothing is stored, nobody is asked."""
        return self._post(Preview, "suspensions/preview", body(question, options))

    def cancel(self, suspension_id: str, reason: str | None = None) -> SuspensionRecord:
        """Take the question back. Raises :class:`RequestRefused` if it has ended already."""
        return self._say(suspension_id, "cancel", {} if reason is None else {"reason": reason})

    def clarification(self, suspension_id: str, text: str) -> SuspensionRecord:
        """Say more, if a person has asked back (the callback ``clarification_requested``): the clock goes on.

        With the key that has asked. Raises :class:`RequestRefused` if nobody has asked back.
        """
        return self._say(suspension_id, "clarification", {"text": text})

    def execute_once(
        self, receipt: str | None, action: Mapping[str, JsonValue], *, when: JsonValue, allow_silence: bool = False
    ) -> ExecutionSync:
        """Use up ``receipt``, right before running ``action``: it returns once, and only if a person answered ``when``
        to exactly this action (API.md §5).

        What it returns is a context manager: run the action in its block, and people are told what came of it.
        Otherwise say so by :meth:`report_outcome`.

        Raises :class:`ReceiptRefused`, whose ``reason`` says why, and then ``action`` must not run. With
        ``allow_silence`` a fallback or a veto's silence counts as an answer too. A process that ends between this and
        its action has used the receipt up: ask again.
        """
        if not receipt:
            raise ReceiptRefused(_NO_RECEIPT)
        asked = {"receipt": receipt, "action": dict(action), "when": when, "allow_silence": allow_silence}
        self._transport.call("POST", "receipts/verify", json.dumps(asked).encode(), str(uuid.uuid4()))
        return ExecutionSync(self._transport, suspension_of(receipt))

    def report_outcome(
        self, suspension_id: str, status: Literal["done", "failed"], text: str | None = None, *, url: str | None = None
    ) -> SuspensionRecord:
        """Say what came of a question that has ended: people see it, and whoever decided is told of a failure
        (API.md §5). ``text`` is plain text, ``url`` leads to more over HTTP or HTTPS.

        Once, with the key that has asked. Raises :class:`RequestRefused`: ``already_reported``, or
        ``invalid_transition`` while the question waits.
        """
        return self._say(suspension_id, "outcome", {"status": status, "text": text, "url": url})

    # --- Looking ----------------------------------------------------------------------------------------------------

    def get(self, suspension_id: str) -> SuspensionRecord:
        """Where the question stands now. Its ``ref`` (``HR-7F3K``) will do instead of its id."""
        if is_ref(suspension_id):
            named = {"q": suspension_id, "with_receipts": "true", "limit": "1"}
            for found in (self._get(_Page, "suspensions", named)).items:
                if found.ref == suspension_id.strip().upper():
                    return found
        return self._get(SuspensionRecord, f"suspensions/{segment(suspension_id)}")

    def list(
        self,
        *,
        status: Literal["open", "responded", "expired", "cancelled"] | None = None,
        session_id: str | None = None,
        invocation_id: str | None = None,
        signal_id: str | None = None,
        channel: str | None = None,
        q: str | None = None,
        with_receipts: bool = False,
    ) -> Iterator[SuspensionRecord]:
        """Every question that this key may read, newest first, page by page. ``q``: words of the question, or its
        ``ref``. ``with_receipts``: with ``resume``, ``signal_payload`` and ``receipt``, as :meth:`get` shows them; a
        receipt counts for a while after it was shown first."""
        wanted = {"status": status, "session_id": session_id, "invocation_id": invocation_id}
        wanted |= {"signal_id": signal_id, "channel": channel, "q": q, "limit": "200"}
        wanted |= {"with_receipts": "true"} if with_receipts else {}
        params = {name: value for name, value in wanted.items() if value is not None}
        while True:
            page = self._get(_Page, "suspensions", params)
            yield from page.items
            if page.next_cursor is None:
                return
            params["cursor"] = page.next_cursor

    def inbox(self) -> Iterator[SuspensionRecord]:
        """Every open question that waits for this key's answer, the soonest deadline first, page by page. With the key
        of somebody who answers."""
        params = {"limit": "200"}
        while True:
            page = self._get(_Page, "inbox", params)
            yield from page.items
            if page.next_cursor is None:
                return
            params["cursor"] = page.next_cursor

    def notice(self, suspension_id: str) -> ShownNotice:
        """What people are shown of a question, redacted, with its page, its plan, and the names of its people."""
        return self._get(ShownNotice, f"suspensions/{segment(suspension_id)}/notice")

    def callbacks(
        self, *, status: Literal["pending", "delivered", "refused", "dead"] | None = None
    ) -> Iterator[CallbackRecord]:
        """The callbacks to this key's agent, newest first, page by page; an operator's key sees everybody's."""
        params = {"limit": "200"} if status is None else {"limit": "200", "status": status}
        while True:
            page = self._get(_CallbackPage, "callbacks", params)
            yield from page.items
            if page.next_cursor is None:
                return
            params["cursor"] = page.next_cursor

    def redrive(self, callback_id: str) -> CallbackRecord:
        """Have a dead or refused callback sent again, under the same ``webhook-id``, once your endpoint works. Raises
        :class:`RequestRefused` for any other."""
        return self._post(CallbackRecord, f"callbacks/{segment(callback_id)}/redrive", _json({}))

    def timeline(self, suspension_id: str) -> Sequence[TimelineItem]:
        """Everything that has happened to a question, in order: events, attempts, deliveries, callbacks."""
        return (self._get(_Timeline, f"suspensions/{segment(suspension_id)}/timeline")).items

    def me(self) -> Me:
        """Whose the API key is, and what it may do."""
        return self._get(Me, "me")

    # --- For people, and what acts for them -------------------------------------------------------------------------

    def respond(
        self, intent_id: str, suspension_id: str, value: JsonValue | BaseModel, *, reason: str | None = None
    ) -> Answered:
        """Answer, with the key of somebody who may (RFC-0025 §8). Raises :class:`RequestRefused`: ``invalid_choice``
        if it is no answer to this question, ``suspension_ended`` if it is too late."""
        said: dict[str, JsonValue] = {"suspension_id": suspension_id, "value": _written(value)}
        if reason is not None:
            said["metadata"] = {"reason": reason}
        return self._post(Answered, f"intents/{segment(intent_id)}/suspend/respond", _json(said))

    def signal(
        self,
        signal_id: str,
        value: JsonValue | BaseModel,
        *,
        reason: str | None = None,
        creator: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answered:
        """Answer the open question that registered ``signal_id``. ``creator`` is the name of the key that asked, if two
        have it open (API.md §5). Sent again with the same ``idempotency_key``, it answers no other question."""
        said: dict[str, JsonValue] = {"value": _written(value)}
        said |= {} if reason is None else {"metadata": {"reason": reason}}
        said |= {} if creator is None else {"creator": creator}
        return self._post(Answered, f"signals/{segment(signal_id)}", _json(said), idempotency_key)

    def claim(self, suspension_id: str, seconds: int | None = None) -> Claim:
        """Say that you are on it: further attempts wait for ``seconds`` (60 to 7,200; 1,800 if left out). With the key
        of somebody who may answer."""
        said: dict[str, JsonValue] = {} if seconds is None else {"seconds": seconds}
        return self._post(Claim, f"suspensions/{segment(suspension_id)}/claim", _json(said))

    def release(self, suspension_id: str) -> Claim:
        """Give the claim back: what waited goes out."""
        return self._read(Claim, "DELETE", f"suspensions/{segment(suspension_id)}/claim")

    def assign(self, suspension_id: str, to: str) -> SuspensionRecord:
        """Hand the question over ``to`` a person, by e-mail: they are asked at once and may answer from now on.

        With the key of somebody who may answer, or an admin's. Raises :class:`RequestRefused` if that person can't
        be asked, or somebody else is on it (API.md §2).
        """
        return self._say(suspension_id, "assign", {"to": to})

    def clarify(self, suspension_id: str, question: str) -> SuspensionRecord:
        """Ask the agent back, with the key of somebody who may answer: the clock holds until it has said more, for a
        bounded time. Raises :class:`RequestRefused` if it is asked back already."""
        return self._say(suspension_id, "clarify", {"question": question})

    # --- Intents, and what an agent sets up -------------------------------------------------------------------------

    def create_intent(
        self,
        title: str,
        *,
        description: str | None = None,
        state: Mapping[str, JsonValue] | None = None,
        status: Literal["draft", "active"] = "active",
        idempotency_key: str | None = None,
    ) -> Intent:
        """An intent of your own (RFC-0001). It can be suspended while it is active."""
        said: dict[str, JsonValue] = {"title": title, "status": status}
        said |= {} if description is None else {"description": description}
        said |= {} if state is None else {"state": dict(state)}
        return self._post(Intent, "intents", _json(said), idempotency_key)

    def intent(self, intent_id: str) -> Intent:
        """Where an intent stands now."""
        return self._get(Intent, f"intents/{segment(intent_id)}")

    def events(self, intent_id: str) -> Sequence[LoggedEvent]:
        """The first thousand events of an intent's log, oldest first."""
        return (self._get(_Events, f"intents/{segment(intent_id)}/events", {"limit": "1000"})).events

    def follow(self, intent_id: str | None = None, *, after: str | None = None) -> EventStreamSync:
        """Events as they are written: of one intent, or of all that this key may read.

        The stream is a context manager and an iterator without an end. Once it is entered nothing more is missed,
        however often the connection is lost. With ``after``, the ``last_event_id`` of another stream, it begins there.
        """
        from handraise.sync_streams import EventStreamSync

        path = "events/stream" if intent_id is None else f"intents/{segment(intent_id)}/subscribe"
        return EventStreamSync(self._transport.http, path, after)

    def log_event(self, intent_id: str, event_type: str, payload: Mapping[str, JsonValue] | None = None) -> LoggedEvent:
        """Add an event of your own to the log. The RFCs' own types can't be logged (API.md §7)."""
        said: dict[str, JsonValue] = {"event_type": event_type, "payload": dict(payload or {})}
        return self._post(LoggedEvent, f"intents/{segment(intent_id)}/events", _json(said))

    def decide_engagement(
        self,
        intent_id: str,
        *,
        confidence: float = 1.0,
        risk: float = 0.0,
        reversibility: float = 1.0,
        context: Mapping[str, JsonValue] | None = None,
    ) -> EngagementDecision:
        """Whether a person should be asked (RFC-0025 §7); the decision is in the intent's log."""
        said: dict[str, JsonValue] = {"confidence": confidence, "risk": risk, "reversibility": reversibility}
        said |= {} if context is None else {"context": dict(context)}
        return self._post(EngagementDecision, f"intents/{segment(intent_id)}/engagement", _json(said))

    def set_default_retry_policy(self, policy: HumanRetryPolicy | Mapping[str, JsonValue]) -> None:
        """The policy of every question of this key that does not say otherwise (RFC-0026 §5). It replaces the one
        before; ``{}`` clears it."""
        self._transport.call("PUT", "agents/me/default-retry-policy", policy_body(policy))

    # --- Tasks, leases and workflows --------------------------------------------------------------------------------

    def create_workflow(
        self,
        name: str,
        phases: Sequence[Mapping[str, JsonValue]],
        *,
        trigger: Mapping[str, JsonValue] | None = None,
        initial_state: Mapping[str, JsonValue] | None = None,
        idempotency_key: str | None = None,
    ) -> Workflow:
        """A workflow (RFC-0024): an intent and a task for each phase. A phase has a ``name``, and perhaps a ``title``,
        ``depends_on``, ``inputs``, ``outputs``, an ``assigned_agent`` and more (API.md §7)."""
        said: dict[str, JsonValue] = {"name": name, "phases": [dict(phase) for phase in phases]}
        said |= {} if trigger is None else {"trigger": dict(trigger)}
        said |= {} if initial_state is None else {"initial_state": dict(initial_state)}
        return self._post(Workflow, "workflows", _json(said), idempotency_key)

    def workflow(self, workflow_id: str) -> Workflow:
        """A workflow, and how far it has come; ``progress.suspended_phases`` wait for a person."""
        return self._get(Workflow, f"workflows/{segment(workflow_id)}")

    def task(self, task_id: str) -> Task:
        """Where a task stands now."""
        return self._get(Task, f"tasks/{segment(task_id)}")

    def claim_task(self, task_id: str) -> Task:
        """Take a task. Its ``input`` then has what the phases before it gave.

        Raises :class:`UpstreamIntentSuspendedError` while an intent that it needs waits for a person: claim it again
        after ``expected_resume_at``. Otherwise :class:`RequestRefused`: ``dependencies_incomplete``,
        ``task_not_claimable``.
        """
        return self._post(Task, f"tasks/{segment(task_id)}/claim", _json({}))

    def change_task(
        self,
        task: Task,
        status: Literal["ready", "running", "blocked", "completed", "failed", "cancelled", "skipped"] | None = None,
        *,
        output: Mapping[str, JsonValue] | None = None,
        error: str | None = None,
        blocked_reason: str | None = None,
    ) -> Task:
        """``task`` after a move, or with what came of it.

        Raises :class:`RequestRefused`: ``version_conflict`` if it has changed since, ``invalid_transition``.
        """
        said: dict[str, JsonValue] = {"status": status, "error": error, "blocked_reason": blocked_reason}
        said |= {} if output is None else {"output": dict(output)}
        content = _json({name: value for name, value in said.items() if value is not None})
        return self._read(Task, "PATCH", f"tasks/{segment(task.id)}", content, version=task.version)

    def complete_intent(self, intent_id: str, outputs: Mapping[str, JsonValue] | None = None) -> Intent:
        """Complete an intent, after its ``outputs`` have been set in its state: the phases that wait for them go on.

        Raises :class:`RequestRefused`: ``dependencies_incomplete`` while it is blocked or what it depends on is not
        completed, ``missing_output``.
        """
        path, now = f"intents/{segment(intent_id)}", self.intent(intent_id)
        if outputs:
            patches: list[JsonValue] = [
                {"op": "set", "path": name.replace("~", "~0").replace("/", "~1"), "value": value}
                for name, value in outputs.items()
            ]
            now = self._read(Intent, "POST", f"{path}/state", _json({"patches": patches}), version=now.version)
        return self._read(Intent, "POST", f"{path}/status", _json({"status": "completed"}), version=now.version)

    def lease(self, intent_id: str, scope: str, *, seconds: int = 60) -> LeaseSync:
        """A scope of an intent for this agent alone, as a context manager that renews it (RFC-0003)."""
        from handraise.sync_held_lease import LeaseSync

        return LeaseSync(self._transport, intent_id, scope, seconds)

    # --- On the wire ------------------------------------------------------------------------------------------------

    def _say(self, suspension_id: str, what: str, said: Mapping[str, JsonValue]) -> SuspensionRecord:
        return self._post(SuspensionRecord, f"suspensions/{segment(suspension_id)}/{what}", _json(said))

    def _post(self, kind: type[Record], path: str, content: bytes, idempotency_key: str | None = None) -> Record:
        return self._read(kind, "POST", path, content, idempotency_key or str(uuid.uuid4()))

    def _get(self, kind: type[Record], path: str, params: Mapping[str, str] | None = None) -> Record:
        return self._read(kind, "GET", path, params=params)

    def _read(
        self,
        kind: type[Record],
        method: str,
        path: str,
        content: bytes | None = None,
        idempotency_key: str | None = None,
        params: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> Record:
        from handraise.exchange import parsed

        reply = self._transport.call(method, path, content, idempotency_key, params=params, version=version)
        return parsed(kind, reply)


class _Page(Received):
    items: tuple[SuspensionRecord, ...]
    next_cursor: str | None = None


class _CallbackPage(Received):
    items: tuple[CallbackRecord, ...]
    next_cursor: str | None = None


class _Timeline(Received):
    items: tuple[TimelineItem, ...]


class _Events(Received):
    events: tuple[LoggedEvent, ...]


def _json(said: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(said, allow_nan=False).encode()


def _written(value: JsonValue | BaseModel) -> JsonValue:
    written: JsonValue = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return written
