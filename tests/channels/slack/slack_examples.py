"""Notices to send, and a strategy that makes any notice an agent could cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from core.domain.action import ShownAction
from core.domain.notice import Ending, Notice, NoticeChoice, NoticeLinks
from core.domain.suspension import Cut, EarlierAnswer, Kind, ResponseType, Status, Style

ASKED = datetime(2026, 3, 24, 9, 0, tzinfo=UTC)
LINKS = NoticeLinks("https://handraise.example.com/q/HR-7F3K", "https://handraise.example.com/a/secret", "replytoken")
REFUND = (
    NoticeChoice(0, "Approve refund", "approve", "The customer gets the money back.", Style.PRIMARY),
    NoticeChoice(1, "Deny refund", "deny", None, Style.DANGER),
)


class HandClock:
    """A clock that somebody moves by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 24, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def advance(self, **by: float) -> None:
        self.time += timedelta(**by)


def a_notice(**changes: Any) -> Notice:
    fields: dict[str, Any] = {
        "ref": "HR-7F3K",
        "question": "Refund order 12345?",
        "response_type": ResponseType.CHOICE,
        "choices": REFUND,
        "context": {"order_id": "12345", "amount": 499.99},
        "attempt": 1,
        "max_attempts": 3,
        "asked_by": "refund-agent",
        "asked_at": ASKED,
        "expires_at": ASKED,
        "silence": "If nobody answers by 2026-03-24 12:00 UTC, the agent stops.",
        "links": LINKS,
    }
    return Notice(**(fields | changes))


def many_choices(count: int) -> tuple[NoticeChoice, ...]:
    return tuple(NoticeChoice(number, f"Choice {number}", f"value-{number}") for number in range(count))


def an_ending(**changes: Any) -> Ending:
    fields: dict[str, Any] = {
        "ref": "HR-7F3K",
        "question": "Refund order 12345?",
        "resolution": Status.RESPONDED,
        "at": ASKED,
        "answer": "Approve refund",
        "by": "alice@example.com",
        "channel": "slack",
    }
    return Ending(**(fields | changes))


hostile = st.sampled_from(
    [
        "<!channel> help",
        "<@U1>",
        "a & b < c > d",
        "\u202eevil\u2066",
        "هل نعيد المبلغ؟ שלום",
        "👩‍👩‍👧‍👦 " * 700,
        "https://evil.example/ http://x <https://evil.example|Approve> mailto:a@b.example",
        "@channel #general @here &amp;lt;!here&amp;gt;",
        "*_~`>```",
        "\x00\x07",
        " \n\t ",
        "😀" * 2500,
        "x" * 6000,
        "&" * 3000,
    ]
)
words = st.text(max_size=400) | hostile
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
)

actions = st.dictionaries(words, json_values, max_size=4).map(lambda value: ShownAction(value, "1a2b3c4d"))


bounds = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
few_scalars = st.lists(scalars, max_size=5)
described = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "number", "integer", "boolean", "array", ["string", "null"]]),
        "items": st.fixed_dictionaries({"enum": few_scalars}),
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 3),
        "title": words,
        "description": words,
        "enum": few_scalars,
        "format": st.sampled_from(["date", "textarea", "email", "user"]),
        "minLength": st.integers(0, 5000),
        "maxLength": st.integers(0, 5000),
        "minimum": bounds,
        "maximum": bounds,
    },
)


def _schema(fields: dict[str, Any], often: int, required: bool) -> dict[str, Any]:
    properties = {f"{name}{number}": field for name, field in fields.items() for number in range(often)}
    return {"type": "object", "properties": properties, "required": list(properties) if required else []}


schemas = st.builds(_schema, st.dictionaries(words, described, max_size=6), st.sampled_from([1, 1, 40]), st.booleans())
few_words = st.lists(words, min_size=1, max_size=2)
labels = st.lists(words, max_size=6) | st.builds(
    lambda two, count: (two * 101)[:count], few_words, st.integers(90, 102)
)
maybe_words = st.none() | words
beside_a_label = st.tuples(words, maybe_words, st.none() | st.sampled_from(Style))
answers = st.builds(EarlierAnswer, words, words, words, st.just(ASKED), words)
fields_of_a_notice = st.fixed_dictionaries(
    {
        "question": words,
        "response_type": st.sampled_from(ResponseType),
        "context": st.dictionaries(words, json_values, max_size=14),
        "attempt": st.integers(1, 3),
        "asked_by": words,
        "silence": words,
        "kind": st.sampled_from(Kind),
        "form_schema": st.none() | schemas,
        "risk": maybe_words,
        "notes": st.lists(words, max_size=3).map(tuple),
        "earlier": st.lists(answers, max_size=5).map(tuple),
        "action": st.none() | actions,
        "in_part": st.sampled_from([Cut.NOTHING, Cut.NOTHING, Cut.NOTHING, Cut.WORDS]),
    }
)


@st.composite
def notices(draw: st.DrawFn) -> Notice:
    choices = tuple(NoticeChoice(number, label, *draw(beside_a_label)) for number, label in enumerate(draw(labels)))
    return a_notice(choices=choices, **draw(fields_of_a_notice))


@st.composite
def endings(draw: st.DrawFn) -> Ending:
    asked = draw(notices())
    return an_ending(
        question=draw(words),
        resolution=draw(st.sampled_from([Status.RESPONDED, Status.EXPIRED, Status.CANCELLED])),
        answer=draw(maybe_words),
        by=draw(words)[:300],
        continued_with=draw(maybe_words),
        reason=draw(maybe_words),
        asked_by=draw(words)[:300],
        context=asked.context,
        action=asked.action,
    )
