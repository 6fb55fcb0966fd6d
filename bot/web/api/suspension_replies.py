"""What responses hold of a question: its record, what asking would do, the notice, the answer and the claim.

The type that mypy holds a writer to is the one that the OpenAPI document shows.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict

from bot.web.api.replies import write
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.machine import next_attempt_at
from core.domain.notice import Notice, what_silence_means
from core.domain.policy import Level
from core.domain.quorum import received
from core.domain.record import SuspensionReply, record_json
from core.domain.suspension import Kind, Suspension
from core.domain.wire import Instant, JsonObject, LadderEntry, Open, instant, ladder_json


def suspension_json(suspension: Suspension) -> SuspensionReply:
    return record_json(suspension, next_attempt_at(suspension))


class SuspensionPage(Open):
    items: list[SuspensionReply]
    next_cursor: str | None


class ShownChoice(Open):
    """``number`` is what a person types, ``value`` what a client answers with."""

    number: int
    value: str
    label: str
    description: str | None


class ActionReply(Open):
    """``text`` is indented JSON, each sign of it visible, under its ``heading``. ``digest``: the first eight digits of
    the action's. ``hidden`` is a sentence where a part of it is redacted."""

    heading: str
    digest: str
    text: str
    hidden: str | None


class NoticeReply(Open):
    """What people are shown of a question, redacted."""

    question: str
    choices: list[ShownChoice]
    context: JsonObject
    risk: str | None
    silence: str
    action: ActionReply | None


def notice_json(notice: Notice) -> NoticeReply:
    return {
        "question": notice.question,
        "choices": [
            {"number": one.number, "value": one.value, "label": one.label, "description": one.description}
            for one in notice.choices
        ],
        "context": dict(notice.context),
        "risk": notice.risk,
        "silence": notice.silence,
        "action": None if notice.action is None else _action_json(notice.action),
    }


def _action_json(action: ShownAction) -> ActionReply:
    text = action.text()
    hidden = HIDDEN if hides(text) else None
    return {"heading": action.heading, "digest": action.digest, "text": text, "hidden": hidden}


class PreviewedNotice(NoticeReply):
    """``cut``: the channel shows only a part of it; all of it is on its page."""

    cut: bool


class PreviewProblem(Open):
    """``error``: asking is refused with this code. ``warning``: it can be asked, and this will happen."""

    attempt: int
    code: str
    message: str
    severity: Literal["error", "warning"]


class _Value(Open):
    value: JsonValue


_From = TypedDict("_From", {"from": Level})  # no name of a field in a class


class PolicyField(_Value, _From):
    pass


class PreviewReply(Open):
    """``silence`` is what would happen if nobody answered, and when, as a sentence. ``notices`` has what each channel
    of the ladder would show."""

    ladder: list[LadderEntry]
    expires_at: Instant | None
    silence: str
    policy: dict[str, PolicyField]
    problems: list[PreviewProblem]
    notices: dict[str, PreviewedNotice]


class Descriptor(Open):
    signal_id: str | None
    metadata: JsonObject


class SuspendedReply(Open):
    """The *suspended outcome* of API.md §2. ``silence`` is what happens if nobody answers, and when, as a sentence."""

    outcome: Literal["suspended"]
    status: Literal["suspended_awaiting_input", "pending_veto"]
    intent_id: str
    suspension_id: str
    ref: str
    session_id: str | None
    invocation_id: str | None
    correlation_id: str | None
    descriptor: Descriptor
    suspended_at: Instant
    expires_at: Instant | None
    silence: str
    ladder: list[LadderEntry]
    suspension: SuspensionReply


def suspended_outcome(suspension: Suspension) -> SuspendedReply:
    ask = suspension.ask
    return {
        "outcome": "suspended",
        "status": "pending_veto" if ask.kind is Kind.VETO else "suspended_awaiting_input",
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "ref": ask.ref,
        "session_id": ask.resume.session_id,
        "invocation_id": ask.resume.invocation_id,
        "correlation_id": ask.resume.correlation_id,
        "descriptor": {"signal_id": ask.resume.signal_id, "metadata": dict(ask.resume.signal_metadata)},
        "suspended_at": instant(ask.suspended_at),
        "expires_at": instant(suspension.expires_at),
        "silence": what_silence_means(suspension),
        "ladder": ladder_json(ask),
        "suspension": suspension_json(suspension),
    }


class AnswerReply(Open):
    """RFC-0025 §8."""

    intent_id: str
    suspension_id: str
    resolution: Literal["responded"]
    value: JsonValue
    choice_label: NotRequired[str | None]
    choice_description: NotRequired[str | None]
    responded_by: str
    responded_at: Instant
    channel: str
    metadata: JsonObject


def answer_json(suspension: Suspension) -> AnswerReply:
    ask, ended = suspension.ask, suspension.ended
    assert ended is not None and ended.by is not None and ended.channel is not None  # noqa: S101 (an answer ends it)
    written: AnswerReply = {
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "resolution": "responded",
        "value": ended.value,
        "responded_by": ended.by,
        "responded_at": instant(ended.at),
        "channel": ended.channel,
        "metadata": dict(ended.metadata),
    }
    choice = ask.choice(ended.value)
    if choice is not None:
        written["choice_label"] = choice.label
        written["choice_description"] = choice.description
    return written


class PartialAnswerReply(Open):
    """The answer counts, and more are needed (API.md §4)."""

    received: int
    required: int


def answered(suspension: Suspension) -> tuple[int, str]:
    """The reply to an answer: 202 while more of them are needed."""
    if not suspension.is_open:
        return 200, write(answer_json(suspension))
    return 202, write(PartialAnswerReply(received=received(suspension), required=suspension.ask.answers_required))


class ClaimReply(Open):
    suspension_id: str
    claimed_by: str | None
    claim_until: Instant | None


def claim_json(suspension: Suspension) -> ClaimReply:
    claim = suspension.claim
    return {
        "suspension_id": suspension.id,
        "claimed_by": claim.by if claim else None,
        "claim_until": instant(claim.until) if claim else None,
    }
