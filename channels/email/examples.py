"""Example mails, one of each kind.

Templates are tried with them before the service starts, and ``handraise mail preview`` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from core.domain.action import ShownAction
from core.domain.notice import Message, Notice, NoticeChoice, NoticeLinks, Purpose
from core.domain.people import Address
from core.domain.silence import Comes, Silence
from core.domain.suspension import Kind, ResponseType, Style

TOKEN = "abcdefghijklmnopqrstuvwx27"
TO = Address("email", "alice@example.com", "alice@example.com")
DELIVERY = "0123456789abcdef"

FIRST = Notice(
    ref="HR-7F3K",
    question="Refund order 12345 to the card it was paid with?",
    response_type=ResponseType.CHOICE,
    choices=(
        NoticeChoice(0, "Approve refund", "approve", "The whole amount, today", Style.PRIMARY),
        NoticeChoice(1, "Refund half of it", "half"),
        NoticeChoice(2, "Deny refund", "deny", "The customer is told why", Style.DANGER),
    ),
    context={
        "order": "12345",
        "amount": "499.99 EUR",
        "customer": {"name": "Bo Berg", "since": 2019},
        "disputed": True,
    },
    attempt=1,
    max_attempts=3,
    asked_by="refund-agent",
    asked_at=datetime(2026, 11, 21, 9, tzinfo=UTC),
    expires_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
    silence="If nobody answers by 2026-11-21 13:00 CET (12:00 UTC), the agent goes on with “Deny refund”.",
    links=NoticeLinks("https://handraise.example.com/q/HR-7F3K", f"https://handraise.example.com/a/{TOKEN}", TOKEN),
    next_step="If nobody has answered by 2026-11-21 11:00 CET (10:00 UTC), the question goes out again: "
    "to you and bob@example.com, by mail.",
    zone=ZoneInfo("Europe/Berlin"),
    unanswered=Silence(Comes.VALUE, datetime(2026, 11, 21, 12, tzinfo=UTC), "Deny refund"),
    made_at=datetime(2026, 11, 21, 9, tzinfo=UTC),
)

_FORM: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "approved_by": {"type": "string"}, "note": {"type": "string"}},
}

NOTICES: Mapping[str, Notice] = {
    "first": FIRST,
    "last-reminder": replace(
        FIRST,
        attempt=3,
        next_step=None,
        silence="If fewer than 2 people answer by 2026-11-21 13:00 CET (12:00 UTC), the agent goes on with "
        "“Deny refund”.",
        unanswered=Silence(Comes.VALUE, FIRST.expires_at, "Deny refund", 2),
        made_at=datetime(2026, 11, 21, 11, tzinfo=UTC),
        risk="high, says the agent",
        notes=(
            "2 people have to give the same answer. So far: bob@example.com.",
            "bob@example.com asked the agent: Is it the same card?\nThe agent: Yes, it ends in 42.",
        ),
    ),
    "action": replace(
        FIRST,
        action=ShownAction(
            {
                "tool": "stripe.refund",
                "arguments": {"charge": "ch_3PqX7", "amount": 49999, "currency": "EUR", "reason": "duplicate"},
                "card": "[redacted: card number]",
            },
            "1a2b3c4d",
        ),
        risk="high, says the agent",
    ),
    "veto": replace(
        FIRST,
        kind=Kind.VETO,
        question="About to delete the 14 unused staging databases.",
        choices=(
            NoticeChoice(0, "Authorize", "authorize", None, Style.PRIMARY),
            NoticeChoice(1, "Veto", "veto", None, Style.DANGER),
        ),
        context={},
        silence="If nobody objects by 2026-11-21 13:00 CET (12:00 UTC), the agent goes ahead.",
        unanswered=Silence(Comes.AHEAD, FIRST.expires_at),
    ),
    "text": replace(
        FIRST, question="What should the apology to the customer say?", response_type=ResponseType.TEXT, choices=()
    ),
    "form": replace(
        FIRST, question="Please fill in the refund.", response_type=ResponseType.FORM, choices=(), form_schema=_FORM
    ),
    "no-replies": replace(
        FIRST,
        max_attempts=1,
        expires_at=None,
        next_step=None,
        silence="The agent waits until somebody answers.",
        unanswered=Silence(Comes.WAITS),
        links=NoticeLinks("https://handraise.example.com/q/HR-7F3K"),
        zone=None,
    ),
    "many": replace(
        FIRST,
        question="Which of these machines may be restarted first? " * 60,
        choices=tuple(NoticeChoice(n, f"web-{n:03}.example.com", f"web-{n}", "in the east") for n in range(300)),
        context={f"machine {n}": "up for 300 days; " * 40 for n in range(60)},
    ),
}

_ABOUT = "Re: [HR-7F3K] Refund order 12345 to the card it was paid with?"

MESSAGES: Mapping[str, Message] = {
    "clarification": Message(
        Purpose.CLARIFICATION,
        _ABOUT,
        "Nothing has been recorded. As a whole, your reply is none of the choices.\n\n"
        "Refund order 12345 to the card it was paid with?\n\n"
        "You wrote “1”, and more around it. Reply “yes” or “1” to take it, or reply with another number:\n\n"
        "  1) Approve refund\n  2) Refund half of it\n  3) Deny refund\n\n"
        "Silence until 2026-11-21 15:00 UTC: the agent goes on with “Deny refund”.\n\n"
        "Your reply, as it was read:\n> 1\n> only if Bob agrees\n\n"
        "Or answer here:",
        FIRST.links.best,
        FIRST.ref,
        TOKEN,
        FIRST.choices,
    ),
    "confirmation": Message(
        Purpose.CONFIRMATION, _ABOUT, "Recorded: “Approve refund”.\n\nThe agent will be told. Thank you.", ref=FIRST.ref
    ),
    "too-late": Message(
        Purpose.TOO_LATE,
        _ABOUT,
        "Too late: your reply was not recorded.\n\n"
        "Answered “Deny refund” by bob@example.com via Slack, 2026-11-21 11:31 CET (10:31 UTC).",
        ref=FIRST.ref,
    ),
    "clarified": Message(
        Purpose.CLARIFIED,
        _ABOUT,
        "You asked: Is it the same card?\n\nrefund-agent answered:\nYes, it ends in 42.\n\n"
        "The question still waits for an answer:\nRefund order 12345 to the card it was paid with?",
        FIRST.links.best,
        FIRST.ref,
        TOKEN,
    ),
    "ended": Message(
        Purpose.ENDED,
        _ABOUT,
        "Answered “Deny refund” by bob@example.com via Slack, 2026-11-21 11:31 CET (10:31 UTC). "
        "No answer is needed any more. The agent has been told.",
        FIRST.links.best,
        FIRST.ref,
        TOKEN,
    ),
    "untold": Message(
        Purpose.UNTOLD,
        _ABOUT,
        "refund-agent has not been told of your answer “Approve refund”: it refused the callback.\n\n"
        "The answer stands. Please see to it that whoever runs refund-agent knows of it.",
        FIRST.links.best,
        FIRST.ref,
        TOKEN,
    ),
    "failed": Message(
        Purpose.FAILED,
        _ABOUT,
        "You answered “Approve refund”. refund-agent reports:\nFailed: the card has expired.\n\n"
        "More: https://shop.example.com/refunds/7\n\n"
        "The question was:\nRefund order 12345 to the card it was paid with?",
        FIRST.links.best,
        FIRST.ref,
    ),
    "sign-in": Message(
        Purpose.SIGN_IN,
        "Sign in to Handraise",
        "Press to sign in. The link works once, for ten minutes.",
        "https://handraise.example.com/signin?token=made-up&to=/inbox",
    ),
    "alert": Message(
        Purpose.ALERT,
        "Notices by slack are refused (channel_not_found)",
        "Notices by slack are refused: channel_not_found. Nobody is asked there until that is mended.\n\n"
        "This is told once an hour.",
    ),
}


@dataclass(frozen=True, slots=True)
class Example:
    """A mail to try a template with; ``name`` is the file name in a preview."""

    name: str
    content: Notice | Message


EXAMPLES = (
    *(Example(name, notice) for name, notice in NOTICES.items()),
    *(Example(name, message) for name, message in MESSAGES.items()),
)
