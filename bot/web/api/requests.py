"""Request bodies. Wire names are the RFC's. Unknown fields are refused, so that no field is accepted and ignored.

Source: RFC-0025 §4, §5, §7, §8; API.md §2, §4, §5, §7.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from bot.web.api import conditions
from bot.web.errors import LINK, VISIBLE
from core.domain.engagement import EngagementSignals
from core.domain.people import canonical
from core.domain.policy import PolicyFields, RetryPolicyFields, Seconds
from core.domain.request import AskRequest
from core.domain.suspension import ActionStatus, Choice, FallbackPolicy, Kind, ResponseType, Resume, Style
from core.domain.vocabulary import Reported

JsonObject = dict[str, JsonValue]


Name = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Identity = Annotated[str, Field(min_length=1, max_length=320, pattern=VISIBLE)]
IntentId = Annotated[str, Field(min_length=1, max_length=255, pattern=VISIBLE)]
Recipient = Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.recipient)]
Url = Annotated[str, Field(min_length=1, max_length=2000, json_schema_extra=conditions.URL)]
Reason = Annotated[str, Field(max_length=3000)]
Word = Annotated[str, Field(max_length=255)]
_REASON: JsonObject = {
    "type": ["string", "null"],
    "maxLength": 3000,
    "description": "Why. It is passed on to the agent.",
}
AnswerMetadata = Annotated[JsonObject, Field(json_schema_extra={"properties": {"reason": _REASON}})]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def such_as(example: JsonObject) -> JsonObject:
    """What a body's schema shows as an example."""
    return {"examples": [example]}


class ChoiceBody(Strict):
    """RFC-0025 §4.2. A plain string is value and label at once."""

    model_config = ConfigDict(json_schema_extra=conditions.or_plain_choice)

    value: Annotated[str, Field(min_length=1, max_length=1000)]
    """What the answer holds. No two choices have the same."""
    label: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    """What people read."""
    description: Annotated[str, Field(max_length=3000)] | None = None
    """More about it, for people."""
    style: Style | None = None
    """A hint for how it looks."""
    metadata: JsonObject | None = None
    """Anything of yours. `veto: true` marks the veto of a veto window; `on_acknowledge: true` makes a PagerDuty
    acknowledgement this answer; `negative: true` (or `false`) says that it is (or is not) a no."""
    answers_required: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """How many people have to give it, at most the question's own number. Without it a negative choice (`deny`, `no`,
    `reject` …) needs 1, any other the question's number."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        return {"value": given, "label": given} if isinstance(given, str) else given

    def choice(self) -> Choice:
        return Choice(self.value, self.label, self.description, self.style, self.metadata or {}, self.answers_required)


class ResumeBody(Strict):
    """How you go on, once there is an answer."""

    session_id: Name | None = None
    """Your session. Its registered callback URL is used if `callback_url` is absent."""
    callback_url: Url | None = None
    """Where to call you back, over HTTP or HTTPS. Your key needs a webhook secret."""
    state: JsonValue = None
    """Comes back to you with the answer. Any JSON, at most 512 KiB."""
    invocation_id: Name | None = None
    """Comes back to you with the answer."""
    correlation_id: Name | None = None
    """Comes back to you with the answer."""
    signal_id: Name | None = None
    """A name by which `POST /signals/{signal_id}` can answer. Unique among your open questions."""
    signal_metadata: JsonObject | None = None
    """Comes back with the signal."""
    payload_schema: JsonObject | None = None
    """JSON Schema (2020-12) that an answer's `signal_payload` has to fit; another answer is refused."""

    def resume(self) -> Resume:
        return Resume(**{name: value for name, value in self if value is not None})


class SuspendBody(Strict):
    """A question to a person. Only ``question`` is always needed."""

    model_config = ConfigDict(json_schema_extra={"allOf": conditions.SUSPEND, "examples": conditions.SUSPEND_EXAMPLES})

    question: Annotated[str, Field(min_length=1, max_length=10_000, pattern=VISIBLE)]
    """What people are asked. At least one visible character."""
    response_type: ResponseType | None = None
    """What kind of answer you expect; `choice` if you leave it out."""
    choices: Annotated[list[ChoiceBody], Field(max_length=500)] | None = None
    """What can be chosen, in the order to show it. A `choice` needs at least one."""
    context: JsonObject | None = None
    """What people should know to decide, by names of your own. At most 256 KiB; redacted before it is shown."""
    channel_hint: Name | None = None
    """`slack`, `email`, `pagerduty` or `inbox` (the question's page alone); the platform's default channel if you leave
    it out."""
    notify_to: Recipient | None = None
    """Whom to ask first: a person's e-mail, `group:NAME`, `slack:ID`, `email:ADDRESS` or `pagerduty:SERVICE`."""
    responders: Annotated[list[Recipient], Field(max_length=100)] | None = None
    """Who may answer, beside whom an attempt asks. Left out, operators may too."""
    answers_required: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    """How many people have to give the same answer; 1 if you leave it out."""
    timeout_seconds: Seconds | None = None
    """How long an attempt waits for its answer; for a veto, the whole window."""
    deadline_seconds: Seconds | None = None
    """The whole window, however many attempts; alone it is `timeout_seconds` too."""
    fallback_policy: FallbackPolicy | None = None
    """What happens if nobody answers (RFC-0025 §6)."""
    fallback_value: JsonValue = None
    """What you go on with then. One of the choices, if there are any."""
    retry_policy: RetryPolicyFields | None = None
    """How often, how long and where to ask. Fields you leave out are inherited (RFC-0026 §5)."""
    confidence: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """How sure you are, from 0 to 1. People see it."""
    decision_record: JsonObject | None = None
    """What you want recorded of your decision. Stored as it is."""
    kind: Kind | None = None
    """`input` waits for a decision, which is the default; `veto` goes ahead unless somebody objects."""
    action: JsonObject | None = None
    """What will run if it is approved. People see exactly this, and the receipt proves it. At most 256 KiB."""
    form_schema: JsonObject | None = None
    """JSON Schema (2020-12) of a form: a flat object of simple fields. `title`, `description` and `examples` are shown
    beside a field. `errorMessage` is what people are told of a value that does not fit: of a field a text, or texts by
    keyword; of the form a text, or `required`, `properties` and `_`. At most 300 characters each."""
    on_behalf_of: Identity | None = None
    """The e-mail of the person whom you act for. They may not answer."""
    resume: ResumeBody | None = None
    """How you go on."""

    def request(self) -> AskRequest:
        """The same in the domain's words; ``null`` means absent (API.md §1)."""
        said = {name: value for name, value in self if value is not None}
        kept: dict[str, Any] = {one.name: said[one.name] for one in fields(AskRequest) if one.name in said}
        kept |= {
            "choices": tuple(choice.choice() for choice in self.choices or ()),
            "responders": tuple(self.responders or ()),
            "timeout": None if self.timeout_seconds is None else timedelta(seconds=self.timeout_seconds),
            "deadline": None if self.deadline_seconds is None else timedelta(seconds=self.deadline_seconds),
            "policy": PolicyFields() if self.retry_policy is None else self.retry_policy.fields(),
            "on_behalf_of": None if self.on_behalf_of is None else canonical(self.on_behalf_of),
            "resume": Resume() if self.resume is None else self.resume.resume(),
        }
        return AskRequest(**kept)


class RespondBody(Strict):
    """RFC-0025 §8. ``metadata.reason`` travels to the agent."""

    model_config = ConfigDict(json_schema_extra={"allOf": conditions.RESPOND, "examples": conditions.RESPOND_EXAMPLES})

    suspension_id: Annotated[str, Field(max_length=255)] | None = None
    """The question you answer. Needed: it is the proof that you answer this one and no later one."""
    value: JsonValue = None
    """The answer: a choice's value, `yes` or `no`, a text, or the form's object."""
    responded_by: Annotated[str, Field(max_length=320)] | None = None
    """Whom you answer for. Only an admin's key, such as a gateway's, may name somebody else."""
    metadata: AnswerMetadata | None = None
    """Anything of yours. `reason` is passed on to the agent."""


class SignalBody(Strict, json_schema_extra=such_as({"value": "approve"})):
    """An answer, by the agent's own name for what it waits for."""

    value: JsonValue = None
    """The answer, as in `respond`."""
    metadata: AnswerMetadata | None = None
    """Anything of yours. `reason` is passed on to the agent."""
    creator: Identity | None = Field(
        None, description="The name of the key that registered the id; without it, only where one key has it open."
    )


class SignInLinkBody(Strict):
    """Who is to sign in."""

    email: Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.PERSON)]
    """The person's e-mail, as the directory or a key knows it."""


class CancelBody(Strict, json_schema_extra=such_as({"reason": "The customer withdrew."})):
    """Why the question is taken back."""

    reason: Reason | None = None
    """Why, for whoever was asked."""


class OutcomeBody(Strict, json_schema_extra=such_as({"status": "done", "text": "Refunded as re_3PX."})):
    """What came of the question, once it has ended."""

    status: ActionStatus
    """`done`, or `failed`: then whoever decided is told."""
    text: Annotated[str, Field(min_length=1, max_length=3000, pattern=VISIBLE)] | None = None
    """What people read beside it. Plain text; redacted before it is shown."""
    url: Annotated[str, Field(max_length=2000, pattern=LINK)] | None = None
    """Where there is more, over HTTP or HTTPS. People see its host."""

    def report(self, by: str) -> Reported:
        return Reported(self.status, self.text, self.url, by)


class ClaimBody(Strict, json_schema_extra=such_as({"seconds": 1800})):
    """How long further attempts are held back; half an hour where nothing is said."""

    seconds: Annotated[int, Field(strict=True, ge=60, le=7200)] | None = None
    """For how long, in seconds; 1800 if you leave it out."""


class PauseBody(Strict, json_schema_extra=such_as({"reason": "refund-agent asks in a loop."})):
    """Why notices are held back."""

    reason: Reason | None = None
    """Why, for other operators."""


class AssignBody(Strict, json_schema_extra=such_as({"to": "alice@example.com"})):
    """To whom: one person, by e-mail."""

    to: Annotated[str, Field(min_length=1, max_length=320, json_schema_extra=conditions.PERSON)]
    """The person's e-mail."""


class ClarifyBody(Strict, json_schema_extra=such_as({"question": "Which account does the refund go to?"})):
    """What the agent has to say before somebody can answer."""

    question: Annotated[str, Field(min_length=1, max_length=3000, pattern=VISIBLE)]
    """What you want to know."""


class ClarificationBody(Strict, json_schema_extra=such_as({"text": "To the card that the order was paid with."})):
    """What the agent says to whoever asked back."""

    text: Annotated[str, Field(min_length=1, max_length=10_000, pattern=VISIBLE)]
    """What people read below the question from now on."""


_ACTION: JsonObject = {"tool": "stripe.refund", "args": {"amount": 49}}


class ReceiptBody(Strict, json_schema_extra=such_as({"receipt": "eyJraWQi…", "action": _ACTION, "when": "approve"})):
    """``action`` is what is about to run, ``when`` the answer that it needs."""

    receipt: Annotated[str, Field(min_length=1, max_length=4096)]
    """The receipt, as the callback or the suspension gave it."""
    action: JsonObject
    """What is about to run. Its canonical JSON has to be the one that was approved."""
    when: JsonValue
    """The answer that it needs, such as `approve`."""
    allow_silence: Annotated[bool, Field(strict=True)] = False
    """Whether a receipt of silence will do. An expired window has no person behind it."""


class SessionBody(Strict, json_schema_extra=such_as({"metadata": {"thread": "t-1"}})):
    """What is registered for a session."""

    callback_url: Url | None = None
    """Where questions of this session call back; `null` for nowhere."""
    metadata: JsonObject | None = None
    """Anything of yours."""


class EngagementBody(Strict, json_schema_extra=such_as({"confidence": 0.55, "risk": 0.4, "reversibility": 0.9})):
    """RFC-0025 §7.1."""

    confidence: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """How sure you are, from 0 to 1; 1 if you leave it out."""
    risk: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """What it costs to be wrong, from 0 to 1; 0 if you leave it out."""
    reversibility: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """How well it can be undone, from 0 to 1; 1 if you leave it out."""
    context: JsonObject | None = None
    """Anything of yours. It is recorded with the decision."""

    def signals(self) -> EngagementSignals:
        said = self.model_dump(exclude_none=True)
        return EngagementSignals(**said)
