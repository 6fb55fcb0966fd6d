"""What a pretend PagerDuty account holds: services, users, incidents with their alerts, notes and log.

Plain state without HTTP; ``pagerduty`` changes it as the Events API would, and as a person would.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

JsonObject = dict[str, Any]
Found = TypeVar("Found")


class IncidentStatus(StrEnum):
    TRIGGERED = "triggered"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class User:
    id: str
    name: str
    email: str


@dataclass(frozen=True)
class Service:
    """One service with one Events API integration, whose key is ``routing_key``."""

    id: str
    name: str
    routing_key: str


@dataclass
class Alert:
    """What one dedup key stands for. ``event`` is the trigger that opened it, ``triggers`` how many there were."""

    id: str
    alert_key: str
    event: JsonObject
    is_open: bool = True
    triggers: int = 1

    @property
    def payload(self) -> JsonObject:
        payload: JsonObject = self.event["payload"]
        return payload


@dataclass
class Note:
    id: str
    user: User
    content: str
    created_at: datetime


@dataclass
class Incident:
    """An incident with its child alerts; for that reason it has no incident key. ``payload`` opened it.

    Source: REST API, "Incidents with child alerts do not have an incident key".
    """

    id: str
    number: int
    title: str
    service: Service
    created_at: datetime
    payload: JsonObject
    alerts: list[Alert]
    status: IncidentStatus = IncidentStatus.TRIGGERED
    acknowledgers: list[User] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.status is not IncidentStatus.RESOLVED

    @property
    def details(self) -> JsonObject:
        """What a person reads in the incident."""
        return dict(self.payload.get("custom_details") or {})


def wall_clock() -> datetime:
    return datetime.now(UTC)


class Account:
    """One PagerDuty account. ``services`` maps a service's name to its routing key."""

    def __init__(
        self, services: Mapping[str, str], users: Iterable[User] = (), now: Callable[[], datetime] = wall_clock
    ) -> None:
        self.now = now
        self.users = {user.id: user for user in users}
        self.services = {
            routing_key: Service(f"PSVC{number:03d}", name, routing_key)
            for number, (name, routing_key) in enumerate(services.items(), 1)
        }
        self.incidents: list[Incident] = []
        self._numbers = itertools.count(1)
        self._changed = asyncio.Event()

    def user_with_email(self, email: str) -> User | None:
        return next((user for user in self.users.values() if user.email == email), None)

    def incident(self, incident_id: str) -> Incident | None:
        return next((one for one in self.incidents if one.id == incident_id), None)

    def open_alert(self, routing_key: str, dedup_key: str) -> tuple[Incident, Alert] | None:
        """The open alert of this key; another routing key's alert is another alert."""
        for incident in self.incidents:
            for alert in incident.alerts:
                if alert.is_open and alert.alert_key == dedup_key and incident.service.routing_key == routing_key:
                    return incident, alert
        return None

    def trigger(self, event: JsonObject) -> tuple[Incident, str]:
        """Open an incident, or add a line to the open one's log; also returns the dedup key that now stands for it."""
        dedup_key = str(event.get("dedup_key") or uuid.uuid4().hex)
        found = self.open_alert(event["routing_key"], dedup_key)
        if found is not None:
            incident, alert = found
            alert.triggers += 1
            incident.log.append("trigger")
            return incident, dedup_key
        number = next(self._numbers)
        payload = event["payload"]
        incident = Incident(
            id=f"PINC{number:04d}",
            number=number,
            title=payload["summary"],
            service=self.services[event["routing_key"]],
            created_at=self.now(),
            payload=payload,
            alerts=[Alert(f"PALERT{number:04d}", dedup_key, event)],
            log=["trigger"],
        )
        self.incidents.append(incident)
        return incident, dedup_key

    def acknowledge(self, incident: Incident, user: User | None) -> None:
        incident.status = IncidentStatus.ACKNOWLEDGED
        incident.log.append("acknowledge")
        if user is not None and user not in incident.acknowledgers:
            incident.acknowledgers.append(user)

    def unacknowledge(self, incident: Incident) -> None:
        incident.status = IncidentStatus.TRIGGERED
        incident.acknowledgers.clear()
        incident.log.append("unacknowledge")

    def annotate(self, incident: Incident, user: User, content: str) -> Note:
        note = Note(f"PNOTE{sum(len(one.notes) for one in self.incidents) + 1:04d}", user, content, self.now())
        incident.notes.append(note)
        incident.log.append("annotate")
        return note

    def resolve(self, incident: Incident) -> None:
        incident.status = IncidentStatus.RESOLVED
        for alert in incident.alerts:
            alert.is_open = False
        incident.log.append("resolve")

    async def until(self, look: Callable[[], Found | None], within: float = 5.0) -> Found:
        """What ``look`` finds, as soon as it finds something; raises ``TimeoutError`` after ``within`` seconds."""
        async with asyncio.timeout(within):
            while (found := look()) is None:
                await self._changed.wait()
            return found

    def touch(self) -> None:
        """Something changed: everybody who waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()
