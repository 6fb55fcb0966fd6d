"""Everything there is to judge a run by: the database as it stands at the end, and what the outside has seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bot.sandbox.pagerduty.world import Incident
from bot.sandbox.slack.world import Message
from core.domain.callback import ASKED_BACK
from core.domain.intent import Intent
from core.domain.root_key import RootKey
from core.domain.suspension import Suspension
from core.store import event_log as log
from core.store import intents, outbox, suspensions
from core.store.event_log import Logged
from core.store.outbox import Row, RowKind, RowStatus
from core.store.tables import outbox as outbox_table
from core.store.tables import suspensions as suspensions_table
from tests.chaos.records import Records
from tests.chaos.world import World
from tests.vendors.mail import Mail

_SETTLING = timedelta(seconds=3)
"""The longest that passes between the arrival of a message and the row that says so, with what is held open."""
_DELIVERY = re.compile(r"<n\.([0-9a-f]{32})@")


@dataclass(frozen=True, slots=True)
class Story:
    """One suspension as the database has it. ``broken`` is the first line of its log that is not what was written."""

    suspension: Suspension
    intent: Intent | None
    events: list[Logged]
    rows: list[Row]
    broken: Logged | None

    @property
    def ref(self) -> str:
        return self.suspension.ask.ref

    def of(self, kind: RowKind) -> list[Row]:
        return [row for row in self.rows if row.kind is kind]

    def all_refused(self, attempt: int) -> bool:
        """So that the next one was due at once."""
        return all(row.status is RowStatus.REFUSED for row in self.of(RowKind.NOTIFY) if row.attempt == attempt)


def asks_back(row: Row) -> bool:
    """Whether this callback asks the agent to clarify; the others tell it of the end."""
    body = (row.body or {}).get("body")
    return isinstance(body, dict) and body.get("type") == ASKED_BACK


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that reached somebody, under its delivery id."""

    delivery: str
    channel: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """``left`` are the open suspensions and unsent rows when patience ran out; ``spoiled`` the delivery ids of
    messages that arrived without the service being told so."""

    stories: Mapping[str, Story]
    rows: Mapping[str, Row]
    records: Records
    arrivals: list[Arrival]
    messages: Mapping[str, list[Message]]
    incidents: Mapping[str, list[Incident]]
    spoiled: frozenset[str]
    left: tuple[int, int]

    def story(self, ref: str) -> Story | None:
        return next((story for story in self.stories.values() if story.ref == ref), None)

    def is_doubtful(self, delivery: str) -> bool:
        """Whether this one may have come twice: in flight at a kill, spoiled, or on its way as the database went or a
        process froze."""
        records = self.records
        if delivery in records.in_flight or delivery in self.spoiled:
            return True
        mine = [one.at for one in self.arrivals if one.delivery == delivery]
        return any(records.was_away(at, _SETTLING) or records.was_frozen(at) for at in mine)


def gather(conn: sa.Connection, secret: str, world: World, records: Records, left: tuple[int, int]) -> Evidence:
    key = RootKey(secret.encode()).derive("event-log")
    ids = list(conn.scalars(sa.select(suspensions_table.c.id)))
    stories = {one: _story(conn, one, key) for one in ids}
    rows = {row.id: row for story in stories.values() for row in story.rows}
    others = conn.scalars(sa.select(outbox_table.c.id).where(outbox_table.c.suspension_id.is_(None)))
    for one in others:
        if (row := outbox.get(conn, one)) is not None:
            rows[one] = row
    messages = _by_delivery(world.slack.workspace.messages)
    return Evidence(
        stories,
        rows,
        records,
        [*_posted(messages), *_mailed(world.mailbox.mails)],
        messages,
        _by_ref(world.pager.incidents),
        frozenset(_spoiled(world)),
        left,
    )


def _story(conn: sa.Connection, suspension_id: str, key: bytes) -> Story:
    suspension = suspensions.get(conn, suspension_id)
    assert suspension is not None
    intent_id = suspension.ask.intent_id
    events = log.of_intent(conn, intent_id)
    broken = log.first_broken(events, key)
    return Story(suspension, intents.get(conn, intent_id), events, outbox.of_suspension(conn, suspension_id), broken)


def _delivery_of(message: Message) -> str:
    return str(((message.metadata or {}).get("event_payload") or {}).get("delivery_id", ""))


def _by_delivery(messages: Iterable[Message]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for message in messages:
        found.setdefault(_delivery_of(message), []).append(message)
    return found


def _posted(messages: Mapping[str, list[Message]]) -> list[Arrival]:
    return [
        Arrival(delivery, "slack", datetime.fromtimestamp(float(one.ts.partition(".")[0]), tz=UTC))
        for delivery, posted in messages.items()
        for one in posted
    ]


def _mailed(mails: Iterable[Mail]) -> list[Arrival]:
    return [Arrival(delivery_in(mail), "email", mail.at) for mail in mails]


def delivery_in(mail: Mail) -> str:
    """The delivery id in a mail's Message-ID; the whole header where there is none."""
    found = _DELIVERY.match(mail.message_id)
    return found[1] if found else mail.message_id


def _by_ref(incidents: Iterable[Incident]) -> dict[str, list[Incident]]:
    found: dict[str, list[Incident]] = {}
    for incident in incidents:
        ref = re.search(r"HR-[0-9A-Z]+", incident.title)
        found.setdefault(ref[0] if ref else "", []).append(incident)
    return found


def _spoiled(world: World) -> Iterable[str]:
    said: Any
    posts = (said for said in world.slack.unsaid if "message" in said and "text" not in said)  # edits repeat nothing
    for said in posts:
        if (posted := world.slack.workspace.at(said.get("channel", ""), said.get("ts", ""))) is not None:
            yield _delivery_of(posted)
    for mail in world.mailbox.mails:
        if not mail.acknowledged:
            yield delivery_in(mail)
