"""Both halves of the corpus as mails with what they mean. The form is that of ``blind/FORMAT.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from core.domain.policy import HumanRetryPolicy
from core.domain.suspension import Ask, Choice, ResponseType
from tests.corpus.clients import Ours, mail
from tests.corpus.replies import NASTY, PLAIN, Reply

HERE = Path(__file__).parent


_FORM: JsonValue = {
    "type": "object",
    "properties": {
        "iban_country": {"type": "string"},
        "net_days": {"type": "integer"},
        "urgent": {"type": "boolean"},
    },
    "required": ["iban_country", "net_days", "urgent"],
}


def _ask(question: str, kind: ResponseType, form_schema: JsonValue = None, **labels: str) -> Ask:
    policy = HumanRetryPolicy(max_attempts=1, interval=None)
    choices = tuple(Choice(value.replace("_", "-"), label) for value, label in labels.items())
    schema = form_schema if isinstance(form_schema, dict) else None
    asked_at = datetime(2026, 11, 21, tzinfo=UTC)
    return Ask("1", "HR-1", "1", "agent", question, kind, choices, {}, asked_at, (), policy, form_schema=schema)


QUESTIONS = {
    "refund": _ask(
        "Refund order 12345 to Bob Miller?", ResponseType.CHOICE, approve="Approve refund", deny="Deny refund"
    ),
    "region": _ask(
        "Which region should the new cluster run in?",
        ResponseType.CHOICE,
        eu_central_1="Frankfurt",
        eu_west_1="Ireland",
        eu_north_1="Stockholm",
        eu_west_3="Paris",
    ),
    "deploy": _ask("Deploy release 4.2 to production now?", ResponseType.CONFIRM, yes="Yes", no="No"),
    "note": _ask("What should we tell the customer about the late delivery?", ResponseType.TEXT),
    "form": _ask("Please fill in the supplier data.", ResponseType.FORM, _FORM),
}
"""The five questions that the mails of both halves answer; ``ours/`` holds them as they were sent."""


_WHOLE = "a text question takes the whole reply; no rule tells a deflection from an answer"
_REASON = 'what stands behind "Reason:" is the reason, and goes to the agent with the answer'
DISPUTED = {
    **dict.fromkeys(("b044", "t001", "t034", "t095", "t102", "t250", "f048", "h029"), _WHOLE),
    **dict.fromkeys(("t026", "t229"), _REASON),
    **dict.fromkeys(("l027", "l031", "l047", "l053", "l208", "l213", "l244"), _WHOLE),
    **dict.fromkeys(("l063", "l124", "l338", "l403"), "what is quoted is nobody's words, whatever was changed in it"),
    **dict.fromkeys(("l095", "l175", "l401"), "who has written is told by the address in From, not by the name"),
    "f039": "a field for a text takes any words: the form's own schema says no more",
}
"""Expectations of those who wrote the blind ones that the contract reads otherwise (docs/reference/mail-replies.md)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One mail. ``meaning`` is answer, claim, unclear or nothing; ``clear`` ones must be understood."""

    name: str
    question: str
    language: str
    client: str
    meaning: str
    value: JsonValue
    clarity: str
    also: str | None
    raw: bytes


def in_folder(folder: Path) -> Iterator[Case]:
    for line in (folder / "expected.jsonl").read_text().splitlines():
        told = json.loads(line)
        yield Case(
            told["id"],
            told["question"],
            told["language"],
            told["client"],
            told["meaning"],
            told["value"],
            told["clarity"],
            told.get("alt"),
            (folder / f"{told['id']}.eml").read_bytes(),
        )


def own_half() -> Iterator[Case]:
    ours = {name: Ours.of((HERE / "ours" / f"{name}.eml").read_bytes()) for name in QUESTIONS}
    for number, reply in enumerate(PLAIN + NASTY, 1):
        meaning, value = _meaning(reply)
        raw = mail(reply.client, reply.language, reply.own, ours[reply.question], reply.charset)
        clarity = "clear" if meaning in {"answer", "claim"} else "doubtful"
        name = f"o{number:03}"
        yield Case(name, reply.question, reply.language, reply.client, meaning, value, clarity, None, raw)


def _meaning(reply: Reply) -> tuple[str, JsonValue]:
    if not reply.means.startswith("="):
        return reply.means, None
    said = reply.means[1:]
    if reply.question != "form":
        return "answer", said
    country, days, urgent = said.strip("{}").split(",")
    return "answer", {"iban_country": country, "net_days": int(days), "urgent": urgent == "true"}
