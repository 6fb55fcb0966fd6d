"""The world of a pretend PagerDuty account: services, users, incidents with their alerts, notes and log.

Plain state without HTTP; ``app`` changes it as the Events API would, also as a person would.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bot.sandbox.vendor import JsonObject, Watched, wall_clock


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
    """The alert of one dedup key. ``event`` is the trigger that opened it, ``triggers`` their number."""

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

    On a service that makes no alerts it has none, and ``incident_key`` instead.

    Source: REST API, "Incidents with child alerts do not have an incident key".
    """

    id: str
    number: int
    title: str
    service: Service
    created_at: datetime
    payload: JsonObject
    alerts: list[Alert]
    incident_key: str | None = None
    status: IncidentStatus = IncidentStatus.TRIGGERED
    assignees: list[User] = field(default_factory=list)
    acknowledgers: list[User] = field(default_factory=list)
    responders: list[User] = field(default_factory=list)
    merged_into: str | None = None
    notes: list[Note] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.status is not IncidentStatus.RESOLVED

    @property
    def details(self) -> JsonObject:
        """What a person reads in the incident."""
        return dict(self.payload.get("custom_details") or {})

    @property
    def child_alerts(self) -> list[Alert]:
        """The alerts as PagerDuty shows them: none if the service makes none."""
        return [] if self.incident_key is not None else self.alerts


@dataclass(frozen=True)
class Triggered:
    """The result of a trigger. ``opened``: there is a new incident."""

    incident: Incident
    dedup_key: str
    opened: bool


class Account(Watched):
    """One PagerDuty account. ``services`` maps a service's name to its routing key."""

    def __init__(
        self, services: Mapping[str, str], users: Iterable[User] = (), now: Callable[[], datetime] = wall_clock
    ) -> None:
        super().__init__()
        self.now = now
        self.users = {user.id: user for user in users}
        self.services = {
            routing_key: Service(f"PSVC{number:03d}", name, routing_key)
            for number, (name, routing_key) in enumerate(services.items(), 1)
        }
        self.without_alerts: set[str] = set()
        """The names of services that make incidents alone: these have an incident key."""
        self.incidents: list[Incident] = []
        self._numbers = itertools.count(1)

    def user_with_email(self, email: str) -> User | None:
        return next((user for user in self.users.values() if user.email == email), None)

    def incident(self, incident_id: str) -> Incident | None:
        return next((one for one in self.incidents if one.id == incident_id), None)

    def open_alert(self, routing_key: str, dedup_key: str) -> tuple[Incident, Alert] | None:
        """The open alert of this key; another routing key's alert is another alert."""
        for incident in self.incidents:
            for alert in incident.alerts:
                if alert.is_open and alert.alert_key == dedup_key and alert.event["routing_key"] == routing_key:
                    return incident, alert
        return None

    def trigger(self, event: JsonObject) -> Triggered:
        """Open an incident, or add a line to the open one's log."""
        dedup_key = str(event.get("dedup_key") or uuid.uuid4().hex)
        found = self.open_alert(event["routing_key"], dedup_key)
        if found is not None:
            incident, alert = found
            alert.triggers += 1
            incident.log.append("trigger")
            return Triggered(incident, dedup_key, opened=False)
        service, number = self.services[event["routing_key"]], next(self._numbers)
        return self._open(service, Alert(f"PALERT{number:04d}", dedup_key, event), number)

    def _open(self, service: Service, alert: Alert, number: int) -> Triggered:
        incident = Incident(
            id=f"PINC{number:04d}",
            number=number,
            title=alert.payload["summary"],
            service=service,
            created_at=self.now(),
            payload=alert.payload,
            alerts=[alert],
            incident_key=alert.alert_key if service.name in self.without_alerts else None,
            assignees=self.assigned(service),
            log=["trigger"],
        )
        self.incidents.append(incident)
        return Triggered(incident, alert.alert_key, opened=True)

    def assigned(self, service: Service) -> list[User]:
        """The users who are paged for this service: the first one."""
        return list(self.users.values())[:1]

    def acknowledge(self, incident: Incident, user: User | None) -> None:
        incident.status = IncidentStatus.ACKNOWLEDGED
        incident.log.append("acknowledge")
        if user is not None and user not in incident.acknowledgers:
            incident.acknowledgers.append(user)

    def add_responder(self, incident: Incident, user: User) -> None:
        incident.responders.append(user)
        incident.log.append("responder")

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
