"""The page's state: the three vendors as one person sees them, as JSON. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.sandbox.mailbox import Mail, Mailbox
from bot.sandbox.pagerduty.app import PagerDutySandbox
from bot.sandbox.pagerduty.world import Incident
from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.world import Conversation, Ephemeral, Message, View
from bot.sandbox.vendor import JsonObject


@dataclass(frozen=True, slots=True)
class Sent:
    """A reply that the person wrote in the mailbox. ``status`` is the service's."""

    mail_id: int
    text: str
    at: datetime
    status: int


@dataclass(slots=True)
class Sightings:
    """When each private note was first seen: Slack's own have a time, the sandbox's records have none."""

    _times: list[datetime] = field(default_factory=list)

    def of(self, count: int, now: datetime) -> Sequence[datetime]:
        """The times of the first ``count`` notes."""
        self._times += [now] * (count - len(self._times))
        return self._times


def slack_json(slack: SlackSandbox, user_id: str, seen: Sequence[datetime]) -> JsonObject:
    """The conversations that ``user_id`` is in, oldest message first, and the modals in front of them."""
    workspace = slack.workspace
    mine = [one for one in workspace.conversations.values() if user_id in one.members]
    notes = [
        (note, at) for note, at in zip(workspace.ephemerals, seen, strict=False) if note.user == user_id
    ]  # those that came after ``seen`` was taken are shown the next time
    people = [one for one in workspace.users.values() if not one.is_bot and not one.deleted]
    return {
        "people": [{"id": one.id, "name": one.name} for one in people],
        "conversations": [
            _conversation(one, workspace.posted(one.id), [pair for pair in notes if pair[0].channel == one.id])
            for one in mine
        ],
        "views": [_view(one) for one in workspace.views.values() if one.user == user_id and one.is_open],
    }


def _conversation(
    conversation: Conversation, messages: Sequence[Message], notes: Sequence[tuple[Ephemeral, datetime]]
) -> JsonObject:
    items = [_message(one, messages) for one in messages] + [_note(number, *pair) for number, pair in enumerate(notes)]
    items.sort(key=lambda item: (str(item["place"]), str(item["at"])))
    name = "Handraise" if conversation.is_im else conversation.name
    return {"id": conversation.id, "name": name, "is_im": conversation.is_im, "items": items}


def _message(message: Message, others: Sequence[Message]) -> JsonObject:
    """A reply that was also sent to the conversation stands there with its thread above it; any other stands under
    the message that began the thread."""
    root = next((one for one in others if one.ts == message.thread_ts and one is not message), None)
    beside = root is not None and not message.broadcast
    return {
        "key": message.ts,
        "at": _at(message),
        "place": _at(root) if root is not None and beside else _at(message),
        "thread": None if root is None else {"text": (root.text.splitlines() or [""])[0], "beside": beside},
        "replies": sum(1 for one in others if one.thread_ts == message.ts and one is not message),
        "text": message.text,
        "blocks": message.blocks,
        "edited": message.edited,
        "private": False,
    }


def _at(message: Message) -> str:
    seconds, _, counter = message.ts.partition(".")
    return _instant(datetime.fromtimestamp(int(seconds), UTC).replace(microsecond=min(int(counter), 999_999)))


def _note(number: int, note: Ephemeral, at: datetime) -> JsonObject:
    return {
        "key": f"private-{number}",
        "at": _instant(at),
        "place": _instant(at),
        "thread": None,
        "replies": 0,
        "text": note.text,
        "blocks": note.blocks,
        "edited": False,
        "private": True,
    }


def _view(view: View) -> JsonObject:
    content = view.content
    return {
        "id": view.id,
        "hash": view.hash,
        "title": content["title"]["text"],
        "submit": content["submit"]["text"] if "submit" in content else None,
        "close": content["close"]["text"] if "close" in content else "Close",
        "blocks": content["blocks"],
        "errors": dict(view.errors),
        "trouble": view.trouble,
    }


def mail_json(mailbox: Mailbox, address: str, sent: Sequence[Sent]) -> list[JsonObject]:
    """The mails to ``address``, newest first, each with its replies."""
    return [_mail(mail, [one for one in sent if one.mail_id == mail.id]) for mail in reversed(mailbox.of(address))]


def _mail(mail: Mail, sent: Sequence[Sent]) -> JsonObject:
    return {
        "id": mail.id,
        "at": _instant(mail.at),
        "from": mail.header("From"),
        "reply_to": mail.answers_to,
        "mail_from": mail.sender,
        "headers": [[name, str(value)] for name, value in mail.message.items()],
        "subject": mail.subject,
        "text": mail.text,
        "has_html": bool(mail.html),
        "urgent": mail.header("X-Priority") == "1",
        "replies": [{"text": one.text, "at": _instant(one.at), "status": one.status} for one in sent],
    }


def pager_json(pagerduty: PagerDutySandbox) -> list[JsonObject]:
    """Every incident, newest first."""
    return [_incident(one) for one in reversed(pagerduty.incidents)]


def _incident(incident: Incident) -> JsonObject:
    links: Any = incident.alerts[0].event.get("links", []) if incident.alerts else []
    return {
        "id": incident.id,
        "number": incident.number,
        "title": incident.title,
        "status": incident.status.value,
        "service": incident.service.name,
        "severity": incident.payload["severity"],
        "at": _instant(incident.created_at),
        "details": incident.details,
        "links": links,
        "triggers": sum(alert.triggers for alert in incident.alerts),
        "acknowledged_by": [user.name for user in incident.acknowledgers],
        "notes": [{"by": one.user.name, "text": one.content, "at": _instant(one.created_at)} for one in incident.notes],
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
