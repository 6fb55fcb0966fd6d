"""Replies about a question: its record, a preview, the notice, the answer and the claim.

A reply is written by the same type that the OpenAPI document shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, NotRequired

from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from core.domain import channels
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.machine import next_attempt_at
from core.domain.notice import Notice, NoticeLinks, build_notice
from core.domain.policy import Level
from core.domain.quorum import count, counts
from core.domain.record import SuspensionReply, record_json
from core.domain.request import AttemptProblem, Opened
from core.domain.same_ask import Joined
from core.domain.silence import what_silence_means
from core.domain.suspension import Kind, Suspension
from core.domain.wire import Instant, JsonObject, LadderEntry, Open, ladder_json, reply_of
from core.ports import Responders


def suspension_json(suspension: Suspension) -> SuspensionReply:
    return record_json(suspension, next_attempt_at(suspension))


class SuspensionPage(Open):
    """One page of suspensions."""

    items: list[SuspensionReply]
    """The suspensions of this page, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


class ShownChoice(Open):
    """``number`` is what a person types, ``value`` what a client answers with."""

    number: int
    """What a person types to choose it, from 1."""
    value: str
    """What a client answers with."""
    label: str
    """What a person reads."""
    description: str | None
    """More about the choice, in a sentence or two."""


class ActionReply(Open):
    """``text`` is indented JSON, each sign of it visible, under its ``heading``. ``digest``: the first eight digits of
    the action's. ``hidden`` is a sentence where a part of it is redacted."""

    heading: str
    """The line above the action, such as "Exactly this will run"."""
    digest: str
    """The first eight hexadecimal digits of the action's SHA-256."""
    text: str
    """The action as indented JSON. Characters that a screen would hide are spelled out."""
    hidden: str | None
    """A sentence that says so, if a part of it is redacted; otherwise `null`."""


class EarlierAnswerReply(Open):
    """What was answered before to the same action of the same key. It is redacted, and no more than 1,000 characters of
    a text are shown."""

    ref: str
    """The question that was answered."""
    responded_by: str
    """Who answered."""
    answer: str
    """The answer as people read it: the label of a choice, or a text."""
    reason: str | None
    """Why, if they wrote it."""
    responded_at: Instant
    """When."""


class NoticeReply(Open):
    """What people are shown of a question, redacted."""

    question: str
    """The question as people read it."""
    choices: list[ShownChoice]
    """What can be chosen, in the order in which it is shown. Empty for a text or a form."""
    context: JsonObject
    """What the agent sent along, by its own names."""
    risk: str | None
    """A high or critical risk that the agent has stated, in words; `null` for any other."""
    silence: str
    """What happens if nobody answers, and when, as a sentence."""
    action: ActionReply | None
    """What will run if it is approved; `null` if the agent named no action."""
    earlier_answers: list[EarlierAnswerReply]
    """The answers of the last 30 days to the same action of the same key, the latest first, while the question is
    open. At most 20."""


def notice_json(notice: Notice) -> NoticeReply:
    earlier = [
        reply_of(EarlierAnswerReply, one, responded_by=one.by, answer=one.told, responded_at=one.at)
        for one in notice.earlier
    ]
    action = notice.action and _action_json(notice.action)
    return reply_of(NoticeReply, notice, action=action, earlier_answers=earlier)


def _action_json(action: ShownAction) -> ActionReply:
    text = action.text()
    return reply_of(ActionReply, action, text=text, hidden=HIDDEN if hides(text) else None)


class PreviewedNotice(NoticeReply):
    """``cut``: the channel shows only a part of it; all of it is on its page."""

    cut: bool
    """Whether the channel has room for a part of it only. All of it is on its page."""


class PreviewProblem(Open):
    """``error``: asking is refused with this code. ``warning``: it can be asked, and this will happen."""

    attempt: int
    """The attempt that it is about, from 1."""
    code: str
    """The stable code, as in an error."""
    message: str
    """One sentence for a person."""
    severity: Literal["error", "warning"]
    """`error`: asking would be refused with this code. `warning`: asking works, and this would happen."""


def problems_json(problems: Sequence[AttemptProblem]) -> list[PreviewProblem]:
    return [reply_of(PreviewProblem, one, severity="error" if one.fatal else "warning") for one in problems]


class _Value(Open):
    """A value."""

    value: JsonValue
    """What counts."""


# ``from`` can't be the name of a field in a class.
_From = TypedDict("_From", {"from": Annotated[Level, Field(description="The level that it came from.")]})


class PolicyField(_Value, _From):
    """One field of the resolved policy, and where it came from."""


class PreviewReply(Open):
    """``silence`` is what would happen if nobody answered, and when, as a sentence. ``notices`` has what each channel
    of the ladder would show."""

    ladder: list[LadderEntry]
    """Every attempt that would be made, in order."""
    expires_at: Instant | None
    """When the question would end by itself; `null` for never."""
    silence: str
    """What would happen if nobody answered, and when, as a sentence."""
    policy: dict[str, PolicyField]
    """Each field of the resolved retry policy, and the level it came from (RFC-0026 §5)."""
    problems: list[PreviewProblem]
    """What is wrong, or would surprise you. Empty if all is well."""
    notices: dict[str, PreviewedNotice]
    """What each channel of the ladder would show, by the channel's name."""


class Descriptor(Open):
    """The signal by which the question can be answered (OpenArmature suspension)."""

    signal_id: str | None
    """The name that the agent gave the signal; `null` if it gave none."""
    metadata: JsonObject
    """The `signal_metadata` that the agent sent."""


class SuspendedReply(Open):
    """The question waits for a person, and whom it asks when. OpenArmature calls this the *suspended outcome*."""

    outcome: Literal["suspended"]
    """Always `suspended`."""
    status: Literal["suspended_awaiting_input", "pending_veto"]
    """`pending_veto` for a veto window, else `suspended_awaiting_input`."""
    intent_id: str
    """The intent that waits."""
    suspension_id: str
    """The question's secret id. Whoever has it and a key can answer, so it never goes to people."""
    ref: str
    """The question's public name, such as `HR-7F3K`. It authorises nothing."""
    session_id: str | None
    """The agent's session, as it was sent."""
    invocation_id: str | None
    """The agent's invocation, as it was sent."""
    correlation_id: str | None
    """The agent's correlation id, as it was sent."""
    descriptor: Descriptor
    """The signal by which the question can be answered."""
    suspended_at: Instant
    """When the question was put. All attempts are counted from here."""
    expires_at: Instant | None
    """When it ends by itself; `null` for never."""
    silence: str
    """What happens if nobody answers, and when, as a sentence."""
    ladder: list[LadderEntry]
    """Every attempt that will be made, in order."""
    problems: list[PreviewProblem]
    """What may surprise you of these attempts, such as a rung that reaches nobody now. Only warnings, as in the
    preview."""
    suspension: SuspensionReply
    """The whole record, as `GET /suspensions/{suspension_id}` shows it."""


class JoinedReply(SuspendedReply):
    """The ask is a question that is open already: this one."""

    joined: Literal[True]
    """Always `true`."""


def joined_outcome(joined: Joined) -> JoinedReply:
    return {**suspended_outcome(Opened(joined.suspension)), "joined": True}


def suspended_outcome(opened: Opened) -> SuspendedReply:
    suspension, ask, resume = opened.suspension, opened.suspension.ask, opened.suspension.ask.resume
    return reply_of(
        SuspendedReply,
        ask,
        outcome="suspended",
        status="pending_veto" if ask.kind is Kind.VETO else "suspended_awaiting_input",
        suspension_id=ask.id,
        session_id=resume.session_id,
        invocation_id=resume.invocation_id,
        correlation_id=resume.correlation_id,
        descriptor=Descriptor(signal_id=resume.signal_id, metadata=dict(resume.signal_metadata)),
        expires_at=suspension.expires_at,
        silence=what_silence_means(suspension),
        ladder=ladder_json(ask),
        problems=problems_json(opened.problems),
        suspension=suspension_json(suspension),
    )


class AnswerReply(Open):
    """RFC-0025 §8."""

    intent_id: str
    """The intent that goes on."""
    suspension_id: str
    """The question that was answered."""
    resolution: Literal["responded"]
    """Always `responded`."""
    value: JsonValue
    """The answer."""
    choice_label: NotRequired[str | None]
    """The label of the choice that the answer is, if it is one."""
    choice_description: NotRequired[str | None]
    """The description of that choice, if it has one."""
    responded_by: str
    """Who answered: the authenticated person or key."""
    responded_at: Instant
    """When the answer was recorded."""
    channel: str
    """How it came in: `slack`, `email`, `pagerduty`, `web`, `signal` or `api`."""
    metadata: JsonObject
    """What the answerer sent along; `reason` is passed on to the agent."""


def answer_json(suspension: Suspension) -> AnswerReply:
    ask, ended = suspension.ask, suspension.ended
    assert ended is not None and ended.by is not None and ended.channel is not None  # noqa: S101 (an answer ends it)
    choice = ask.choice(ended.value)
    chosen = {} if choice is None else {"choice_label": choice.label, "choice_description": choice.description}
    return reply_of(
        AnswerReply,
        ended,
        intent_id=ask.intent_id,
        suspension_id=ask.id,
        resolution="responded",
        responded_by=ended.by,
        responded_at=ended.at,
        **chosen,
    )


class CountReply(Open):
    """How far one value is."""

    received: int
    """How many people have given it."""
    required: int
    """How many have to."""


class PartialAnswerReply(Open):
    """The answer is recorded, and more are needed."""

    received: int
    """How many people have given this value."""
    required: int
    """How many have to."""
    counts: dict[str, CountReply]
    """The same of each choice; of a text or a form, of each value that was given."""


def partial_answer_json(suspension: Suspension) -> PartialAnswerReply:
    so_far = count(suspension, suspension.answers[-1].value)
    each = {value: reply_of(CountReply, one) for value, one in counts(suspension).items()}
    return reply_of(PartialAnswerReply, so_far, counts=each)


class ClaimReply(Open):
    """Who is on it."""

    suspension_id: str
    """The question."""
    claimed_by: str | None
    """Who holds the claim; `null` if nobody does."""
    claim_until: Instant | None
    """When the claim ends by itself; `null` if there is none."""


def claim_json(suspension: Suspension) -> ClaimReply:
    claim = suspension.claim
    return reply_of(
        ClaimReply,
        suspension,
        suspension_id=suspension.id,
        claimed_by=claim and claim.by,
        claim_until=claim and claim.until,
    )


class WholeNoticeReply(NoticeReply):
    """What people are shown of a question, redacted, with what a client needs to show it as a card."""

    url: str
    """Its page. Whoever opens it signs in first."""
    ladder: list[LadderEntry]
    """Every attempt as it was planned. The record's `next_attempt_at` counts if times have moved since."""
    people: dict[str, str]
    """The names of the people that the question names, by e-mail, as far as the directory knows them."""
    channels: dict[str, str]
    """How people call each channel, by its name: `Slack` for `slack`."""


def whole_notice_json(
    suspension: Suspension, redacted: Suspension, responders: Responders, public_url: str
) -> WholeNoticeReply:
    """``redacted`` is ``suspension`` as its page shows it. ``public_url`` is where our pages are."""
    notice = build_notice(redacted, suspension.attempt, NoticeLinks(""))
    return {
        **notice_json(notice),
        "url": f"{public_url}/q/{suspension.ask.ref}",
        "ladder": ladder_json(suspension.ask),
        "people": _names(map(responders.identity_of, _named(redacted)), responders),
        "channels": channels.names(),
    }


def _named(suspension: Suspension) -> Iterator[str]:
    """Everybody whom the question names: who asked, is asked, has answered or is on it."""
    ask, ended, claim = suspension.ask, suspension.ended, suspension.claim
    yield from (ask.created_by, *ask.responders, *suspension.asked)
    yield from (one for step in ask.attempts for one in step.recipients)
    single = (ask.on_behalf_of, suspension.assigned_to, claim and claim.by, ended and ended.by)
    yield from (one for one in single if one)
    yield from (one.by for one in suspension.answers)
    yield from (one.by for one in suspension.clarifications)
    yield from (one.by for one in suspension.earlier)


def _names(identities: Iterable[str], responders: Responders) -> dict[str, str]:
    wanted = set(identities)
    return {one.email: one.name for one in responders.everybody() if one.email in wanted}
