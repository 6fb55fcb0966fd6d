"""What a verified V3 webhook says, as values, and what a note says to a question. Pure.

Everything PagerDuty may send is read: a type that means nothing to us, or a shape that we don't know, is
:class:`Ignored` and never an error, because PagerDuty switches a subscription off after three refused webhooks.

Source: https://developer.pagerduty.com/docs/webhooks-overview; facts on channels §C.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeGuard

from channels.grammar import Matched, Nothing, Reading, Unclear, read_answer
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """``user`` has said that they are on it."""

    incident: str
    user: str


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """Nobody is on it any more: given back, or PagerDuty's acknowledgement timeout."""

    incident: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """``user`` has written a note, all of which is in ``text``."""

    incident: str
    user: str
    text: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing that concerns a question. ``reason`` is a stable code."""

    reason: str


Happening = Acknowledged | Unacknowledged | Annotated | Ignored


@dataclass(frozen=True, slots=True)
class Webhook:
    """One event. ``id`` is PagerDuty's own, ``None`` where it is none that can be kept."""

    id: str | None
    occurred_at: datetime | None
    happening: Happening


def read_webhook(raw: bytes) -> Webhook:
    """The event in a webhook's body, whatever is in it."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return Webhook(None, None, Ignored("malformed"))
    event = _mapping(_mapping(body).get("event"))
    event_id = event.get("id")
    read = READERS.get(str(event.get("event_type")))
    return Webhook(
        id=event_id if is_id(event_id) else None,
        occurred_at=_instant(event.get("occurred_at")),
        happening=read(_mapping(event.get("data")), _mapping(event.get("agent"))) if read else Ignored("other_event"),
    )


Object = Mapping[str, Any]


def _acknowledged(data: Object, agent: Object) -> Happening:
    incident, user = data.get("id"), _person(agent)
    if user is None:
        return Ignored("not_a_person")
    return Acknowledged(incident, user) if is_id(incident) else Ignored("malformed")


def _unacknowledged(data: Object, agent: Object) -> Happening:
    incident = data.get("id")
    return Unacknowledged(incident) if is_id(incident) else Ignored("malformed")


def _annotated(data: Object, agent: Object) -> Happening:
    """Only a note that is here as it was written, by somebody: an automation's note is nobody's answer."""
    incident, user, text = _mapping(data.get("incident")).get("id"), _person(agent), data.get("content")
    if isinstance(text, str) and is_own_note(text):
        return Ignored("own_note")
    if user is None:
        return Ignored("not_a_person")
    if data.get("trimmed") is not False:
        return Ignored("trimmed_note")
    if not is_id(incident) or not isinstance(text, str):
        return Ignored("malformed")
    return Annotated(incident, user, _storable(text))


READERS: Mapping[str, Callable[[Object, Object], Happening]] = {
    "incident.acknowledged": _acknowledged,
    "incident.unacknowledged": _unacknowledged,
    "incident.annotated": _annotated,
}


def _person(agent: Object) -> str | None:
    user = agent.get("id")
    return user if agent.get("type") in {"user_reference", "user"} and is_id(user) else None


_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_id(value: object) -> TypeGuard[str]:
    """Whether ``value`` looks like an id of PagerDuty's: it becomes part of a path and of a stored key."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _storable(text: str) -> str:
    """Without what JSON can say and no database keeps: NUL and halves of surrogate pairs."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _instant(value: object) -> datetime | None:
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
        return instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC) if instant else None
    except (ValueError, OverflowError):
        return None


# --- Notes --------------------------------------------------------------------------------------------------------

_TAG = re.compile(
    r"\s*\[?(HR-[2-9A-HJKMNP-TV-Z]{4,8})\]?(?![0-9A-Z-])(?:\s*[:,]|\.(?=\s)|\s+[–—-](?=\s))?\s*", re.IGNORECASE
)


OWN_NOTE = "Handraise: "
"""How every note begins that we write ourselves. It comes back by a webhook under the name of whoever the API's
``From`` names, and must never be read as that person's word."""


def is_own_note(text: str) -> bool:
    return text.lstrip().startswith(OWN_NOTE.strip())


@dataclass(frozen=True, slots=True)
class Note:
    """A note's own words. ``ref`` is the question that it begins with, ``None`` where it names none."""

    ref: str | None
    text: str


def read_note(text: str) -> Note:
    tag = _TAG.match(text)
    return Note(tag.group(1).upper(), text[tag.end() :]) if tag else Note(None, text)


def read_answer_in(
    note: Note,
    response_type: ResponseType,
    choices: Sequence[NoticeChoice],
    form_schema: Mapping[str, Any] | None,
) -> Reading:
    """What a note says to a question.

    To a question for text any remark would be an answer; people also write remarks into an incident. Such a note
    therefore has to begin with the question's ref, as the incident says (``render.how_to_answer``).
    """
    if note.ref is None and response_type in {ResponseType.TEXT, ResponseType.FORM}:
        return Unclear("no_ref")
    reading = read_answer(note.text.splitlines(), response_type, choices, form_schema)
    return reading if isinstance(reading, Matched | Unclear | Nothing) else Unclear("claim_word")
