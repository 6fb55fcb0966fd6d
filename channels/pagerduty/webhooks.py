"""PagerDuty's V3 webhooks: their signature, their events as values, and a note's answer to a question. Pure.

Every body is read. An unknown type or shape is :class:`Ignored` and never an error, because PagerDuty switches a
subscription off after three refused webhooks. The signature covers only the raw body and has no time in it: a replay is
recognised by the webhook's id, not here.

Source: https://developer.pagerduty.com/docs/webhooks-overview, …/docs/webhook-signatures; facts on channels §C.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeGuard

from channels.grammar.reader import UNKNOWN, Circumstances, Reading, Unclear, read_answer
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType


@dataclass(frozen=True, slots=True)
class Where:
    """The incident of an event. ``key`` is its incident key, ``title`` its title, if the webhook has them; anybody may
    write a title. ``assignees`` are user ids, ``None`` if the webhook does not list them."""

    incident: str
    key: str | None = None
    title: str = ""
    assignees: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """``user`` acknowledged the incident."""

    where: Where
    user: str


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """Nobody works on it any more: given back, reopened, or PagerDuty's acknowledgement timeout."""

    where: Where
    reopened: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    where: Where
    user: str | None


@dataclass(frozen=True, slots=True)
class Merged:
    """Its alerts belong to the incident ``into`` now."""

    where: Where
    into: str


@dataclass(frozen=True, slots=True)
class Reassigned:
    """Another person has it now: reassigned, escalated, delegated, or new."""

    where: Where


@dataclass(frozen=True, slots=True)
class Annotated:
    """``user`` wrote a note; ``text`` is all of it."""

    where: Where
    user: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldsSet:
    """``user`` gave custom fields these values; ``None`` is an automation. ``fields`` has each by its name and by its
    id."""

    where: Where
    user: str | None
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UncountedReply:
    """A note that could have been an answer and is not. ``by`` is the user's id, if there is one."""

    where: Where
    by: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Mentioned:
    """Any other event of an incident. It answers and claims nothing."""

    where: Where


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that does not concern a question. ``reason`` is a stable code."""

    reason: str


Happening = (
    Acknowledged
    | Unacknowledged
    | Resolved
    | Merged
    | Reassigned
    | Annotated
    | FieldsSet
    | UncountedReply
    | Mentioned
    | Ignored
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """One event. ``id`` is PagerDuty's own, ``None`` if it can't be stored."""

    id: str | None
    occurred_at: datetime | None
    happening: Happening


def read_webhook(raw: bytes | str) -> Webhook:
    """The event in a webhook's body. Never raises."""
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
Reader = Callable[[Object, Object], Happening]


def _acknowledged(data: Object, agent: Object) -> Happening:
    where, user = _where(data), _person(agent)
    if user is None:
        return Ignored("not_a_person")
    return Ignored("malformed") if where is None else Acknowledged(where, user)


def _of_whole(happening: Callable[[Where], Happening]) -> Reader:
    """The reader of an event that only names its incident."""

    def read(data: Object, agent: Object) -> Happening:
        where = _where(data)
        return Ignored("malformed") if where is None else happening(where)

    return read


def _mentioned(data: Object, agent: Object) -> Happening:
    where = _where(data) or _referred(data)
    return Ignored("malformed") if where is None else Mentioned(where)


def _resolved(data: Object, agent: Object) -> Happening:
    where, reason = _where(data), _mapping(data.get("resolve_reason"))
    if where is None:
        return Ignored("malformed")
    into = _mapping(reason.get("incident")).get("id")
    if reason.get("type") == "merge_resolve_reason" and is_id(into):
        return Merged(where, into)
    return Resolved(where, _person(agent))


def _annotated(data: Object, agent: Object) -> Happening:
    """Only a note that arrived unchanged and was written by a person counts: an automation's note is not an answer."""
    where, user, text = _referred(data), _person(agent), data.get("content")
    if where is None or not isinstance(text, str):
        return Ignored("malformed")
    if is_own_note(text):
        return Ignored("own_note")
    if user is None:
        return UncountedReply(where, None, "not_a_person")
    if data.get("trimmed") is not False:
        return UncountedReply(where, user, "trimmed_note")
    return Annotated(where, user, _storable(text))


def _fields_set(data: Object, agent: Object) -> Happening:
    """Only the changed fields: the other values are not this person's."""
    where, user = _referred(data), _person(agent)
    changed = data.get("changed_custom_fields")
    if where is None:
        return Ignored("malformed")
    fields = {
        name: _storable(value)
        for one in (changed if isinstance(changed, list) else ())
        for name in (_mapping(one).get("name"), _mapping(one).get("id"))
        if isinstance(name, str) and isinstance(value := _mapping(one).get("value"), str)
    }
    if not fields:
        return Ignored("no_field_set")
    return FieldsSet(where, user, fields)


READERS: Mapping[str, Reader] = {
    "incident.acknowledged": _acknowledged,
    "incident.unacknowledged": _of_whole(Unacknowledged),
    "incident.reopened": _of_whole(partial(Unacknowledged, reopened=True)),
    "incident.resolved": _resolved,
    **dict.fromkeys(
        ("incident.triggered", "incident.reassigned", "incident.escalated", "incident.delegated"), _of_whole(Reassigned)
    ),
    "incident.annotated": _annotated,
    "incident.custom_field_values.updated": _fields_set,
    **dict.fromkeys(
        (
            "incident.priority_updated",
            "incident.responder.added",
            "incident.responder.replied",
            "incident.status_update_published",
        ),
        _mentioned,
    ),
}


def _where(data: Object) -> Where | None:
    """The incident in an event's data, if the event is about an incident as a whole."""
    incident, key, title = data.get("id"), data.get("incident_key"), data.get("title")
    given = data.get("assignees")
    users = [_person(_mapping(one)) for one in given] if isinstance(given, list) else None
    if not is_id(incident):
        return None
    return Where(
        incident,
        key if isinstance(key, str) else None,
        title if isinstance(title, str) else "",
        None if users is None else tuple(user for user in users if user is not None),
    )


def _referred(data: Object) -> Where | None:
    """The incident that a note's or a field's data refers to."""
    referred = _mapping(data.get("incident"))
    incident, title = referred.get("id"), referred.get("summary")
    return Where(incident, title=title if isinstance(title, str) else "") if is_id(incident) else None


def _person(agent: Object) -> str | None:
    user, kind = agent.get("id"), agent.get("type")
    return user if isinstance(kind, str) and kind in _PEOPLE and is_id(user) else None


_PEOPLE = {"user_reference", "user"}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_id(value: object) -> TypeGuard[str]:
    """Whether ``value`` looks like PagerDuty's id: it becomes part of a path and of a stored key."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _storable(text: str) -> str:
    """Without NUL and unpaired surrogates, which JSON can carry and no database stores."""
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


_TITLE = re.compile(r"\[(HR-[2-9A-HJKMNP-TV-Z]{4,8})\]")


def ref_in_title(title: str) -> str | None:
    """The ref that an incident's title names, as in our summary. Anybody may have written it."""
    found = _TITLE.search(title)
    return found.group(1) if found else None


@dataclass(frozen=True, slots=True)
class IncidentNote:
    """A note's own words. ``ref`` is the question's ref that it begins with, or ``None``."""

    ref: str | None
    text: str


def read_note(text: str) -> IncidentNote:
    tag = _TAG.match(text)
    return IncidentNote(tag.group(1).upper(), text[tag.end() :]) if tag else IncidentNote(None, text)


def read_answer_in(
    note: IncidentNote,
    response_type: ResponseType,
    choices: Sequence[NoticeChoice],
    form_schema: Mapping[str, Any] | None,
    question: str = "",
    known: Circumstances = UNKNOWN,
) -> Reading:
    """A note's answer to ``question``.

    To a question for text any remark would be an answer, and people also write remarks into an incident. So such a note
    has to begin with the question's ref, as the incident says (``render.how_to_answer``).
    """
    if note.ref is None and response_type in {ResponseType.TEXT, ResponseType.FORM}:
        return Unclear("no_ref")
    return read_answer(note.text.splitlines(), response_type, choices, form_schema, question, known)


HEADER = "x-pagerduty-signature"
_SCHEME = "v1="
_MOST_SIGNATURES = 16


def may_be_signed(header: str) -> bool:
    """A check without the body: ``header`` has a ``v1=``."""
    return any(part.strip().startswith(_SCHEME) for part in header.split(",", _MOST_SIGNATURES)[:_MOST_SIGNATURES])


def is_signed(raw: bytes, header: str, secrets: Sequence[str]) -> bool:
    """Whether any ``v1=`` in ``header`` was made with any of ``secrets``; several while one is replaced."""
    parts = [part.strip() for part in header.split(",", _MOST_SIGNATURES)[:_MOST_SIGNATURES]]
    given = [part.removeprefix(_SCHEME).encode() for part in parts if part.startswith(_SCHEME)]
    ours = [hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest().encode() for secret in secrets]
    return any(hmac.compare_digest(one, other) for one in ours for other in given)
