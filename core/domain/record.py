"""JSON of the whole record: every field of a suspension, as clients read it and as ``state._suspension`` mirrors it.

Source: RFC-0025 §5; RFC-0026 §4; API.md §2.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import JsonValue

from core.domain.suspension import FallbackPolicy, Kind, ResponseType, Status, Suspension
from core.domain.wire import (
    ActionReportReply,
    ChoiceReply,
    ClarificationReply,
    GivenReply,
    Instant,
    JsonObject,
    Open,
    PolicyReply,
    Resolution,
    ResumeReply,
    clarification_json,
    given_json,
    policy_json,
    reply_of,
)


class SuspensionReply(Open):
    """Every field of RFC-0025 §5, and where the ladder stands. ``resume``, ``signal_payload`` and ``receipt`` are for
    the key that asked alone, where one suspension is shown; ``signal_payload`` is null unless there is something to go
    on with."""

    id: str
    """The question's secret id, as in `suspension_id` elsewhere."""
    ref: str
    """The question's public name, such as `HR-7F3K`. It authorises nothing."""
    intent_id: str
    """The intent that waits."""
    question: str
    """What people are asked."""
    response_type: ResponseType
    """What kind of answer is expected."""
    choices: list[ChoiceReply]
    """What can be chosen, in order. Empty for a text or a form."""
    context: JsonObject
    """What the agent sent along for people to decide by."""
    channel_hint: str | None
    """The channel that the call asked for; `null` if it named none."""
    notify_to: str | None
    """Whom the call asked for; `null` if it named nobody."""
    responders: list[str]
    """Who may answer, as the call named them."""
    answers_required: int
    """How many people have to give the same answer, unless it is a negative one or its choice says otherwise."""
    suspended_at: Instant
    """When the question was put. All attempts are counted from here."""
    timeout_seconds: int | None
    """Seconds that one attempt waits; of a veto, the whole window. `null` for no limit."""
    deadline_seconds: int | None
    """Seconds of the whole window; `null` if the ladder alone ends it."""
    expires_at: Instant | None
    """When it ends by itself; `null` for never. Only an outage of ours or a clarification moves it."""
    fallback_value: JsonValue
    """What the agent goes on with if nobody answers."""
    fallback_policy: FallbackPolicy
    """What happens if nobody answers (RFC-0025 §6), as resolved."""
    retry_policy: PolicyReply | None
    """The resolved policy (RFC-0026 §5); `null` if no level gave one."""
    confidence_at_suspension: float | None
    """How sure the agent was, from 0 to 1; `null` if it did not say."""
    decision_record: JsonObject | None
    """What the agent recorded of its decision; `null` for nothing."""
    kind: Kind
    """`input` waits for a decision; `veto` goes ahead unless somebody objects."""
    action: JsonObject | None
    """What will run if it is approved; `null` if the agent named none."""
    action_digest: str | None
    """`sha256:` and the digest of the action's canonical JSON (RFC 8785); `null` without an action."""
    form_schema: JsonObject | None
    """The JSON Schema of a form's answer; `null` without one."""
    on_behalf_of: str | None
    """The person whom the agent acts for. They may not answer. `null` for nobody."""
    session_id: str | None
    """The agent's session."""
    invocation_id: str | None
    """The agent's invocation."""
    correlation_id: str | None
    """The agent's correlation id."""
    signal_id: str | None
    """The name by which a signal can answer."""
    created_by: str
    """The key that asked."""
    status: Status
    """Where the question stands."""
    attempt: int
    """The attempt that is out, from 1."""
    max_attempts: int
    """How many attempts there are."""
    next_attempt_at: Instant | None
    """When the next attempt is due; `null` after the last one, and once it has ended."""
    claimed_by: str | None
    """Who is on it; `null` for nobody."""
    claim_until: Instant | None
    """When the claim ends; `null` without one."""
    answers_received: int
    """How many people have answered."""
    answers: list[GivenReply]
    """Everybody's answer, if more than one may be needed."""
    assigned_to: str | None
    """The person whom the question was handed to; `null` for nobody."""
    clarification: ClarificationReply | None
    """What the agent was asked back last; `null` if nobody has asked."""
    response: JsonValue
    """The answer; `null` unless somebody has answered."""
    responded_at: Instant | None
    """When it was answered."""
    responded_by: str | None
    """Who answered."""
    resolution: Resolution | None
    """How it ended; `null` while it is open."""
    ended_at: Instant | None
    """When it ended."""
    channel: str | None
    """How the answer came in; `null` after any other ending."""
    reason: str | None
    """Why, in the words of whoever ended it."""
    metadata: JsonObject
    """What came with the answer."""
    error: str | None
    """Why the agent gets no value, such as `input_timeout`; `null` if it gets one."""
    continued_with: JsonValue
    """What the agent went on with after silence; `null` after an answer or `fail`."""
    reported: ActionReportReply | None
    """What came of it, once the agent has said so; `null` until then."""
    resume: ResumeReply | None
    """How the agent goes on. Only for the key that asked, where one suspension is shown or
    `with_receipts` is set."""
    signal_payload: JsonValue
    """What the agent goes on with. Only for the key that asked, where one suspension is shown or
    `with_receipts` is set."""
    receipt: str | None
    """The signed proof of the answer. Only for the key that asked, where one suspension is shown or
    `with_receipts` is set."""


def record_json(suspension: Suspension, next_attempt_at: datetime | None) -> SuspensionReply:
    """All but ``resume``, ``signal_payload`` and ``receipt``."""
    ask, resume, claim, ended = suspension.ask, suspension.ask.resume, suspension.claim, suspension.ended
    answered = ended if suspension.status is Status.RESPONDED else None
    return reply_of(
        SuspensionReply,
        ask,
        expires_at=suspension.expires_at,
        fallback_policy=ask.policy.final_fallback_policy,
        retry_policy=policy_json(ask.policy) if ask.with_retry_policy else None,
        confidence_at_suspension=ask.confidence,
        session_id=resume.session_id,
        invocation_id=resume.invocation_id,
        correlation_id=resume.correlation_id,
        signal_id=resume.signal_id,
        status=suspension.status,
        attempt=suspension.attempt,
        next_attempt_at=next_attempt_at,
        claimed_by=claim and claim.by,
        claim_until=claim and claim.until,
        answers_received=len(suspension.answers) or int(answered is not None),
        answers=[given_json(one) for one in suspension.answers],
        assigned_to=suspension.assigned_to,
        clarification=clarification_json(suspension),
        response=answered and answered.value,
        responded_at=answered and answered.at,
        responded_by=answered and answered.by,
        resolution=None if suspension.is_open else suspension.status,
        ended_at=ended and ended.at,
        channel=ended and ended.channel,
        reason=ended and ended.reason,
        metadata=ended.metadata if ended else {},
        error=ended and ended.error,
        continued_with=continued_with(suspension),
        reported=ended and ended.reported,
        resume=None,
        signal_payload=None,
        receipt=None,
    )


def continued_with(suspension: Suspension) -> JsonValue:
    """What the agent went on with after silence; ``None`` after ``fail``, an answer or a cancellation."""
    ended = suspension.ended
    if ended is None or suspension.status is not Status.EXPIRED or ended.error is not None:
        return None
    return ended.value
