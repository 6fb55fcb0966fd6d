"""Everything that has happened to a question, in order. Source: API.md §2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from core.domain.wire import Instant, JsonObject, Open, reply_of
from core.engine.queries import SuspensionHistory
from core.store.event_log import Logged
from core.store.outbox import Row, RowKind

MessageKind = Literal["delivery", "withdrawal", "message", "callback"]


class EventEntry(Open):
    """Something that happened."""

    kind: Literal["event"]
    """Always `event`."""
    at: Instant
    """When it happened."""
    type: str
    """What happened, such as `intent.suspension_claimed`."""
    actor: str
    """Who did it."""
    payload: JsonObject
    """What belongs to it."""


class AttemptEntry(Open):
    """An attempt that asked people."""

    kind: Literal["attempt"]
    """Always `attempt`."""
    at: Instant
    """When its first notice was written down."""
    attempt: int
    """The attempt's number, from 1."""
    channel: str
    """The channel that asked."""
    notify_to: str | None
    """Whom its rung names; `null` if it names nobody."""
    recipients: list[str]
    """Whom it asked."""
    deliveries: int
    """How many notices it made."""


class MessageEntry(Open):
    """Something that was sent, or will be."""

    kind: MessageKind
    """`delivery` asks somebody, `withdrawal` takes that back, `message` tells them something, `callback` is for the
    agent."""
    at: Instant
    """When it was written down."""
    id: str
    """Its id, the same on every try."""
    attempt: int | None
    """The attempt that it belongs to; `null` for none."""
    channel: str | None
    """The channel that carries it; `null` for a callback."""
    recipient: str | None
    """Whom it is for; `null` for a callback."""
    status: str
    """`pending`, `delivered`, `refused`, `dropped`, `dead` and so on."""
    tries: int
    """How often it was sent."""
    receipt: JsonObject | None
    """What the channel needs to find the message again; `null` until it is delivered."""
    reason: str | None
    """Why the last try failed, or why it was dropped; `null` if neither."""
    settled_at: Instant | None
    """When its fate was known; `null` until then."""


class TimelineReply(Open):
    """Everything that has happened to a question."""

    items: list[EventEntry | AttemptEntry | MessageEntry]
    """Events, attempts and messages, the oldest first."""


def timeline_json(story: SuspensionHistory) -> TimelineReply:
    """Events, attempts, deliveries with their tries and receipts, and callbacks: one ordered list (API.md §2)."""
    entries: list[EventEntry | AttemptEntry | MessageEntry]
    entries = [*map(_event_entry, story.events), *map(_row_entry, story.rows)]
    entries += [_attempt_entry(story, number) for number in sorted({row.attempt or 1 for row in _notices(story)})]
    order = {"event": 0, "attempt": 1, "delivery": 2, "withdrawal": 3, "message": 4, "callback": 5}
    entries.sort(key=lambda entry: (entry["at"], order[entry["kind"]]))
    return {"items": entries}


def _notices(story: SuspensionHistory) -> list[Row]:
    return [row for row in story.rows if row.kind is RowKind.NOTIFY]


def _event_entry(line: Logged) -> EventEntry:
    return reply_of(EventEntry, line, kind="event", at=line.created_at)


def _attempt_entry(story: SuspensionHistory, number: int) -> AttemptEntry:
    rows = [row for row in _notices(story) if row.attempt == number]
    step, at = story.suspension.ask.planned(number), min(row.created_at for row in rows)
    return reply_of(AttemptEntry, step, kind="attempt", at=at, attempt=step.number, deliveries=len(rows))


_ENTRY: Mapping[RowKind, MessageKind] = {
    RowKind.NOTIFY: "delivery",
    RowKind.WITHDRAW: "withdrawal",
    RowKind.TELL: "message",
    RowKind.RESUME: "callback",
}


def _row_entry(row: Row) -> MessageEntry:
    return reply_of(
        MessageEntry,
        row,
        kind=_ENTRY[row.kind],
        at=row.created_at,
        channel=None if row.kind is RowKind.RESUME else row.channel,
        recipient=row.person or row.address,
        status=callback_status(row),
    )


def callback_status(row: Row) -> str:
    return "pending" if row.status.value in {"pending", "sending"} else row.status.value
