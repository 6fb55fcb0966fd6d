"""Questions: their types, and their body on the wire.

Types, ranges and closed sets are checked here, before anything is sent. Only the server decides whether a question can
be asked, so that there is one set of rules. A field that is not given is not sent: so the policy cascade tells *given*
from *inherited* (RFC-0026 §5).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PlainValidator

from handraise.closed_sets import ChoiceStyle, FallbackPolicy, Kind, PagerSeverity, ResponseType, Strategy
from handraise.nearest_name import nearest_name


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be a string")


# A newer server may name more than these: what comes in is kept as it is. What goes out is checked by `body`.
_Policy = Annotated[FallbackPolicy, PlainValidator(_text)]
_Style = Annotated[ChoiceStyle, PlainValidator(_text)]
_Severity = Annotated[PagerSeverity, PlainValidator(_text)]
_Strategy = Annotated[Strategy, PlainValidator(_text)]


class Wire(BaseModel):
    """A value of the API. Frozen, and open to fields that a newer server adds."""

    model_config = ConfigDict(frozen=True, extra="allow")


class SuspensionChoice(Wire):
    """One option a person may pick (RFC-0025 §4.2).

    ``value`` comes back to the agent, ``label`` is what the person reads. ``metadata`` may hold ``{"veto": true}``,
    ``{"on_acknowledge": true}`` or ``{"negative": true}``. ``answers_required`` is how many people have to give it;
    without it a negative choice needs 1, any other what the question asks for.
    """

    value: str
    label: str
    description: str | None = None
    style: _Style | None = None
    metadata: Mapping[str, JsonValue] | None = None
    answers_required: int | None = None


class EscalationRung(Wire):
    """From attempt number ``attempt``: another channel, another person, or both (RFC-0026 §4.1)."""

    attempt: int
    channel_hint: str | None = None
    notify_to: str | None = None
    quiet: bool | None = None  # waits while everybody whom it asks is outside their working hours
    severity: _Severity | None = None  # of its incident in PagerDuty; by the stated risk if it is left out


_Ladder = Annotated[Sequence[EscalationRung], AfterValidator(tuple)]


class HumanRetryPolicy(Wire):
    """How often to ask, how far apart, whom next, and what then (RFC-0026 §4.1).

    Each field that is left out is inherited: from the agent's default, then from the platform's.
    """

    max_attempts: int | None = None
    interval_seconds: int | None = None
    strategy: _Strategy | None = None
    escalation_ladder: _Ladder | None = None
    final_fallback_policy: _Policy | None = None


class ResumeTarget(Wire):
    """Where and with what the agent goes on. ``state`` is the agent's own and returns to it untouched."""

    session_id: str | None = None
    callback_url: str | None = None
    state: JsonValue = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    signal_id: str | None = None
    signal_metadata: Mapping[str, JsonValue] | None = None
    payload_schema: Mapping[str, JsonValue] | None = None


APPROVE, DENY = "approve", "deny"
APPROVAL_CHOICES = (
    SuspensionChoice(value=APPROVE, label="Approve", style="primary"),
    SuspensionChoice(value=DENY, label="Deny", style="danger", metadata={"reason": "optional"}),
)
"""What people choose from where a tool, a command or a call needs their approval."""


class EngagementSignals(Wire):
    """An agent's knowledge about its next action, before it decides whether to ask (RFC-0025 §7.1).

    ``confidence`` is how sure it is of acting right by itself, ``risk`` how much harm acting could do,
    ``reversibility`` how far it could be undone: each from 0 to 1. ``context`` is kept with the decision.
    """

    confidence: float = 1.0
    risk: float = 0.0
    reversibility: float = 1.0
    context: Mapping[str, JsonValue] | None = None


Seconds = Annotated[int, Field(ge=1, le=31_536_000)]
Count = Annotated[int, Field(ge=1, le=100)]
"""Of people. The limits are those of API.md §2; they are held to before anything is sent."""

Choices = Sequence[SuspensionChoice | Mapping[str, JsonValue] | str]
"""A string is value and label at once."""


class AudienceOptions(TypedDict, total=False):
    """Whom to ask, how often, and what they see beside the question (API.md §2)."""

    context: Mapping[str, JsonValue] | None  # what the person needs to decide; it is shown to them
    channel_hint: str | None  # slack, email, pagerduty or inbox
    notify_to: str | None  # one recipient: an e-mail, group:NAME, slack:C…, email:x@y, pagerduty:SERVICE
    responders: Annotated[Sequence[str], Field(max_length=100)] | None  # who may answer
    deadline_seconds: Seconds | None  # of the whole window; alone it is timeout_seconds too
    retry_policy: HumanRetryPolicy | Mapping[str, JsonValue] | None
    confidence: Annotated[float, Field(ge=0, le=1)] | None
    on_behalf_of: str | None  # the person the agent works for, who may not answer for themselves


class AnyOptions(AudienceOptions, total=False):
    """What may accompany a question of any kind (API.md §2). ``None`` is the same as leaving it out."""

    intent_id: str | None  # suspends that intent; without it the server makes one
    idempotency_key: str | None  # the same key and question: the same suspension, days later and in another process
    decision_record: BaseModel | Mapping[str, JsonValue] | None  # an EngagementDecision
    action: Mapping[str, JsonValue] | None  # what exactly will be done; its digest comes back
    resume: ResumeTarget | Mapping[str, JsonValue] | None


class InputOptions(AnyOptions, total=False):
    """What may accompany a question that is no veto window."""

    timeout_seconds: Seconds | None  # of one attempt
    fallback_policy: FallbackPolicy | None
    answers_required: Count | None  # how many people have to give the same answer; 1 is the default


class ApprovalOptions(AudienceOptions, total=False):
    """What may accompany the approval of a call (:func:`handraise.needs_approval`)."""

    timeout_seconds: Seconds | None  # of one attempt
    answers_required: Count | None  # how many people have to approve; 1 is the default


class Options(InputOptions, total=False):
    """Everything that may accompany a question."""

    response_type: ResponseType | None  # choice is the default
    choices: Choices | None
    fallback_value: JsonValue | Mapping[str, JsonValue] | BaseModel
    kind: Kind | None  # input is the default; for a veto, timeout_seconds is the whole window
    form_schema: Mapping[str, JsonValue] | None
    response_model: type[BaseModel] | None  # its JSON Schema becomes the form_schema; the answer is one of it


NOT_ASKED = {"intent_id", "idempotency_key", "response_model"}
"""Options that say how to ask, and are no part of the question."""


def body(question: str, options: Options) -> bytes:
    """The JSON to post; the same bytes on every try, so that an ``Idempotency-Key`` covers them.

    Raises ``TypeError`` for an unknown option, one of another type, or a value that JSON has no form for, and
    ``ValueError`` for one that is out of range. The message names the argument and holds no value.
    """
    check_names(options, Options)
    given = {"question": question, **options}
    fields = {name: value for name, value in given.items() if value is not None and name not in NOT_ASKED}
    if (model := options.get("response_model")) is not None:
        fields |= _form_of(model, options)
    if "choices" in fields:
        fields["choices"] = _choices(fields["choices"])
    _check_choices_are_needed(fields)
    from handraise.wire_checks import check_question

    return check_question(_json(fields))


def check_names(options: Mapping[str, object], known: type) -> None:
    """Raises ``TypeError`` for a keyword that ``known``, a ``TypedDict``, does not have. It names the nearest one."""
    for name in options:
        if name not in known.__annotations__:
            near = nearest_name(name, known.__annotations__)
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")


def invocation_key(content: bytes, intent_id: str | None) -> str | None:
    """The idempotency key of a question (its :func:`body`) that names its session and its invocation: whoever asks it
    again joins it, also after its end. ``None`` if it does not name both; it is then a question of its own each time.

    It is made of the whole body: session, invocation and action, and all else. Another body under the same key would be
    refused, and an ask that differs by its ``correlation_id`` alone is one that the server joins itself.
    """
    asked = json.loads(content)
    resume = asked.get("resume") or {}
    if not (resume.get("session_id") and resume.get("invocation_id")):
        return None
    written = json.dumps([intent_id, asked], sort_keys=True)
    return f"invocation-{hashlib.sha256(written.encode()).hexdigest()}"


def policy_body(policy: HumanRetryPolicy | Mapping[str, JsonValue]) -> bytes:
    """The JSON of a default policy. Raises as :func:`body` does."""
    from handraise.wire_checks import check_policy

    return check_policy(_json(policy))


def _choices(given: object) -> list[object]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError("choices is a list of choices, not one of them")
    return [{"value": one, "label": one} if isinstance(one, str) else one for one in given]


def _form_of(model: type[BaseModel], options: Options) -> dict[str, object]:
    from handraise.response_models import form_schema

    for name in ("form_schema", "choices"):
        if options.get(name) is not None:
            raise ValueError(f"response_model says what the answer is made of: {name} can't be given beside it")
    if options.get("response_type") not in {None, "form"}:
        raise ValueError('response_model asks for a form: response_type can only be "form" beside it')
    return {"response_type": "form", "form_schema": form_schema(model)}


def _check_choices_are_needed(fields: Mapping[str, object]) -> None:
    kind = fields.get("response_type", "choice")
    if kind == "choice" and not fields.get("choices") and fields.get("kind") != "veto":
        raise ValueError("choices: a question needs at least one, unless its response_type is confirm, text or form")
    if kind in {"text", "form"} and "choices" in fields:
        raise ValueError(f"choices: a {kind} has none")


def _json(value: object) -> bytes:
    return json.dumps(value, default=_plain, allow_nan=False).encode()


def _plain(value: object) -> object:
    """Values that :mod:`json` can't write by itself."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json", exclude_none=True)
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
