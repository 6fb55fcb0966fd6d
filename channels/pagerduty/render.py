"""Rendering: a notice as an event of PagerDuty's Events API v2, and the events that resolve or report. Pure.

Source: https://developer.pagerduty.com/docs/send-alert-event.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from channels.pagerduty.webhooks import OWN_NOTE
from core.domain.action import HEADING, HIDDEN, hides
from core.domain.earlier_answers import in_message
from core.domain.notice import Ending, Message, Notice, NoticeChoice, WhenCut, sight_needed
from core.domain.suspension import Cut, PagerSeverity, ResponseType, Sight
from core.domain.wording import Risk

SUMMARY_LENGTH = 1024
DEDUP_KEY_LENGTH = 255
EVENT_BYTES = 512 * 1024
"""Source: https://developer.pagerduty.com/docs/send-alert-event and …/events-api-v2-overview ("Size Limits")."""

TOO_LONG = "Too long to be shown here; the link shows all of it."

Event = dict[str, Any]


def dedup_key(instance: str, ref: str) -> str:
    """The key that makes every attempt at one service the same alert. Raises ``ValueError`` if PagerDuty would refuse
    it."""
    key = f"{_prefix(instance)}{ref}"
    if len(key) > DEDUP_KEY_LENGTH:
        raise ValueError(f"a dedup key has at most {DEDUP_KEY_LENGTH} characters: choose a shorter instance name")
    return key


def ref_in(key: str, instance: str) -> str | None:
    """The question's ref in a dedup key of this instance (:func:`dedup_key`)."""
    prefix = _prefix(instance)
    ref = key.removeprefix(prefix)
    return ref if key.startswith(prefix) and ref and ":" not in ref else None


def _prefix(instance: str) -> str:
    return f"handraise:{instance}:"


def trigger(notice: Notice, key: str, routing_key: str, when_cut: WhenCut = WhenCut.ANSWER) -> Event:
    """Page the person on call for the service behind ``routing_key``."""
    return {
        "routing_key": routing_key,
        "event_action": "trigger",
        "dedup_key": key,
        "client": "Handraise",
        "client_url": notice.links.shared,
        "links": [{"href": notice.links.shared, "text": f"Answer {notice.ref}"}],
        "payload": {
            "summary": _title(notice, when_cut),
            "source": notice.asked_by or "handraise",
            "severity": severity(notice).value,
            "timestamp": notice.asked_at.isoformat(),
            "custom_details": _details(notice, when_cut),
        },
    }


def _title(notice: Notice, when_cut: WhenCut) -> str:
    """The text that is read out on the phone. If an acknowledgement answers the question, it has to say so."""
    meant = _on_acknowledge(notice, when_cut)
    first = "" if meant is None else f"Acknowledging answers “{_one_line(meant)[:LABEL_LENGTH]}”. "
    return _one_line(f"[{notice.ref}] {first}{notice.question}")


LABEL_LENGTH = 100
MOST_NAMED = 3

SEVERITIES = {
    Risk.LOW: PagerSeverity.INFO,
    Risk.MEDIUM: PagerSeverity.WARNING,
    Risk.HIGH: PagerSeverity.CRITICAL,
    Risk.CRITICAL: PagerSeverity.CRITICAL,
}
QUIET = {PagerSeverity.INFO, PagerSeverity.WARNING}
"""With "dynamic notifications" a service treats error and critical as urgent, these as not."""


def severity(notice: Notice) -> PagerSeverity:
    """The rung's severity, else the one that the stated risk maps to. At the last attempt at least error, so that a
    phone rings (docs/decisions/0023)."""
    if notice.severity is not None:
        return notice.severity
    stated = PagerSeverity.ERROR if notice.stakes is None else SEVERITIES[notice.stakes]
    last = notice.attempt == notice.max_attempts
    return PagerSeverity.ERROR if last and stated in QUIET else stated


def resolve(key: str, routing_key: str) -> Event:
    return {"routing_key": routing_key, "event_action": "resolve", "dedup_key": key}


def alert(message: Message, key: str, routing_key: str) -> Event:
    """Alert the people who run this service; nobody can answer it."""
    event: Event = {
        "routing_key": routing_key,
        "event_action": "trigger",
        "dedup_key": key,
        "client": "Handraise",
        "payload": {
            "summary": _one_line(message.subject) or "Handraise needs attention",
            "source": "handraise",
            "severity": "error",
            "custom_details": {"message": message.text},
        },
    }
    if message.link:
        event["client_url"] = message.link
        event["links"] = [{"href": message.link, "text": "Show it"}]
    return event


NOTE_LENGTH = 20_000
"""Below what PagerDuty takes in a note (25,000)."""


def note(text: str) -> str:
    """The text of our own note, recognised when a webhook brings it back (``webhooks.is_own_note``)."""
    whole = OWN_NOTE + "".join(mark for mark in text if mark.isprintable() or mark == "\n").strip()
    return whole if len(whole) <= NOTE_LENGTH else f"{whole[: NOTE_LENGTH - 1]}…"


def ending_note(ending: Ending) -> str:
    """How the question ended, and who answered."""
    return f"{ending.sentence} [{ending.ref}]"


def reminder_note(notice: Notice) -> str:
    """The note for a later attempt, in an incident that pages already."""
    headline = notice.headline
    return f"{headline}: [{notice.ref}] still waits for an answer. {notice.silence} Answer at {notice.links.shared}"


def call_note(notice: Notice) -> str:
    """The text for a person who is called to the incident."""
    question = _one_line(notice.question)[:CALL_LENGTH]
    return f"[{notice.ref}] {question} Answer at {notice.links.shared}"


CALL_LENGTH = 300
"""A responder request is read out on the phone."""


OWN_WORDS = {"earlier_answers", "so_far", "if_nobody_answers"}
"""Left out first if the event is too large."""
AGENTS_BYTES = EVENT_BYTES - 64 * 1024
ACTION_LENGTH = 60_000


def cut(notice: Notice) -> Cut:
    """What the event leaves out of the agent's words. If the event is too large, the action may be cut."""
    too_long = notice.action is not None and notice.action.is_longer_than(ACTION_LENGTH)
    if too_long or notice.in_part is Cut.ACTION:
        return Cut.ACTION
    if len(_json(_agents_words(notice))) > AGENTS_BYTES:
        return Cut.WORDS if notice.action is None else Cut.ACTION
    return notice.in_part


def _agents_words(notice: Notice) -> dict[str, JsonValue]:
    words: dict[str, JsonValue] = {"question": notice.question}
    if notice.choices:
        words["choices"] = [_choice(choice) for choice in notice.choices]
    if notice.context:
        words["context"] = dict(notice.context)
    if notice.action is not None:
        text = notice.action.text(ACTION_LENGTH)
        cut = f"… {TOO_LONG}" if notice.action.is_longer_than(ACTION_LENGTH) else ""
        words[HEADING] = "\n".join([f"sha256 {notice.action.digest}", *([HIDDEN] if hides(text) else []), text + cut])
    return words


def _details(notice: Notice, when_cut: WhenCut) -> dict[str, JsonValue]:
    needed = sight_needed(notice, cut(notice), when_cut)
    how = how_to_answer(notice, when_cut) if needed is Sight.MESSAGE else _open_to_answer(notice, needed)
    details: dict[str, JsonValue] = {
        "notice": notice.headline,
        **_agents_words(notice),
        "how_to_answer": how,
        "if_nobody_answers": notice.silence,
        "asked_by": notice.asked_by,
        "answer_page": notice.links.shared,
    }
    if notice.risk is not None:
        details["risk"] = notice.risk
    if notice.earlier:
        details["earlier_answers"] = list(in_message(notice.earlier, notice.zone))
    if notice.notes:
        details["so_far"] = list(notice.notes)
    if notice.expires_at is not None:
        details["deadline"] = f"{notice.expires_at:%Y-%m-%d %H:%M} UTC"
    return details


_OPEN = {
    Sight.WHOLE: "Only a part is shown here. Read all of it and answer at",
    Sight.REVEALED: "A part of what will run is hidden here. See it and answer at",
}


def _open_to_answer(notice: Notice, needed: Sight) -> str:
    """Says to open the page; a note may still give a negative choice."""
    named = " or ".join(f"{choice.number} for “{choice.label}”" for choice in notice.negatives[:MOST_NAMED])
    noted = f" A note may say {named}." if named else ""
    return f"{_OPEN[needed]} {notice.links.shared}{'.' if noted else ''}{noted}"


def how_to_answer(notice: Notice, when_cut: WhenCut = WhenCut.ANSWER) -> str:
    """Where and how to answer, in sentences for a person who was just woken up."""
    page = f"Open {notice.links.shared}"
    meant = _on_acknowledge(notice, when_cut)
    answers = "it does not answer." if meant is None else f"it is the answer “{meant}”."
    acknowledging = f"Acknowledging holds the reminders back; {answers}"
    note = note_that_answers(notice.ref, notice.response_type, f"1 … {len(notice.choices)}")
    return f"{page}, or add {note} {acknowledging}"


def _on_acknowledge(notice: Notice, when_cut: WhenCut) -> str | None:
    """What an acknowledgement means. If several choices are marked for it, or if too little is shown to approve
    anything, it only claims."""
    meant = [choice for choice in notice.choices if choice.on_acknowledge]
    if len(meant) != 1:
        return None
    enough = meant[0].negative or sight_needed(notice, cut(notice), when_cut) is Sight.MESSAGE
    return meant[0].label if enough else None


def note_that_answers(ref: str, response_type: ResponseType, choices: str) -> str:
    """How a note answers, as the end of a sentence; ``choices`` describes the choices."""
    match response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return f"a note that says nothing but the number or the name of a choice: {choices}."
        case ResponseType.TEXT:
            return f"a note that begins with {ref}: what follows is the answer."
        case ResponseType.FORM:
            return f"a note that begins with {ref}, followed by a line “field: value” for each field."


def _choice(choice: NoticeChoice) -> str:
    return f"{choice.number}. {choice.label}" + (f": {choice.description}" if choice.description else "")


def encode(event: Event) -> bytes:
    """The request's body. If it is larger than PagerDuty takes, whole parts are left out: our words before the agent's,
    the largest first."""
    raw = _json(event)
    while len(raw) > EVENT_BYTES:
        details = event["payload"]["custom_details"]
        own = [name for name in details if name in OWN_WORDS and details[name] != TOO_LONG]
        largest = max(own or details, key=lambda name: len(_json(details[name])))
        event = {**event, "payload": {**event["payload"], "custom_details": {**details, largest: TOO_LONG}}}
        raw = _json(event)
    return raw


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _one_line(text: str) -> str:
    """``text`` for a title that is sent as SMS and read out: no line ends, nothing invisible."""
    visible = "".join(mark for mark in " ".join(text.split()) if mark.isprintable())
    return visible if len(visible) <= SUMMARY_LENGTH else f"{visible[: SUMMARY_LENGTH - 1]}…"
