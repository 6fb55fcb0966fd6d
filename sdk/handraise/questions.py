"""Questions: what one is made of, and its body on the wire.

Only the server judges a question, so that there is one set of rules: what is not known here is sent on and refused
there by name. A field that is not given is not sent, which is how the policy cascade tells *given* from *inherited*
(RFC-0026 §5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict

from pydantic import BaseModel, ConfigDict, JsonValue


class Wire(BaseModel):
    """A value of the API. Frozen, and open to fields that a newer server adds."""

    model_config = ConfigDict(frozen=True, extra="allow")


class SuspensionChoice(Wire):
    """One option a person may pick (RFC-0025 §4.2).

    ``value`` comes back to the agent, ``label`` is what the person reads. ``style`` is ``primary``, ``danger`` or
    ``default``. ``metadata`` may hold ``{"veto": true}`` or ``{"on_acknowledge": true}``.
    """

    value: str
    label: str
    description: str | None = None
    style: str | None = None
    metadata: Mapping[str, JsonValue] | None = None


class EscalationRung(Wire):
    """From attempt number ``attempt``: another channel, another person, or both (RFC-0026 §4.1)."""

    attempt: int
    channel_hint: str | None = None
    notify_to: str | None = None
    quiet: bool | None = None  # waits while everybody whom it asks is outside their working hours


class HumanRetryPolicy(Wire):
    """How often to ask, how far apart, whom next, and what then (RFC-0026 §4.1).

    Each field that is left out is inherited: from the agent's default, then from the platform's.
    """

    max_attempts: int | None = None
    interval_seconds: int | None = None
    strategy: str | None = None
    escalation_ladder: tuple[EscalationRung, ...] | None = None
    final_fallback_policy: str | None = None


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


class Options(TypedDict, total=False):
    """Everything that may accompany a question (API.md §2). ``None`` is the same as leaving it out."""

    response_type: str | None  # choice (the default), confirm, text or form
    choices: Sequence[SuspensionChoice | Mapping[str, JsonValue] | str] | None  # a string is value and label at once
    context: Mapping[str, JsonValue] | None  # what the person needs to decide; it is shown to them
    channel_hint: str | None  # slack, email or pagerduty
    notify_to: str | None  # one recipient: an e-mail, group:NAME, slack:C…, email:x@y, pagerduty:SERVICE
    responders: Sequence[str] | None  # who may answer
    answers_required: int | None  # how many people have to give the same answer; 1 is the default
    timeout_seconds: int | None  # of one attempt; of the whole window for a veto
    deadline_seconds: int | None  # of the whole window; alone it is timeout_seconds too
    fallback_policy: str | None  # fail, complete_with_fallback or use_default_and_continue
    fallback_value: JsonValue
    retry_policy: HumanRetryPolicy | Mapping[str, JsonValue] | None
    confidence: float | None
    decision_record: Mapping[str, JsonValue] | None
    kind: str | None  # input (the default) or veto
    action: Mapping[str, JsonValue] | None  # what exactly will be done; its digest comes back
    form_schema: Mapping[str, JsonValue] | None
    on_behalf_of: str | None  # the person the agent works for, who may not answer for themselves
    resume: ResumeTarget | Mapping[str, JsonValue] | None


def body(question: str, options: Options) -> bytes:
    """The JSON to post; the same bytes on every try, so that an ``Idempotency-Key`` covers them.

    Raises ``TypeError`` for an unknown option or a value that JSON has no form for, ``ValueError`` for NaN.
    """
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}")
    fields: dict[str, object] = {"question": question}
    fields |= {name: value for name, value in options.items() if value is not None}
    choices = options.get("choices")
    if choices is not None:
        if isinstance(choices, str):
            raise TypeError("choices is a list of choices, not one string")
        fields["choices"] = [{"value": one, "label": one} if isinstance(one, str) else one for one in choices]
    return json.dumps(fields, default=_plain, allow_nan=False).encode()


def _plain(value: object) -> object:
    """What :mod:`json` can't write by itself."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json", exclude_none=True)
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
