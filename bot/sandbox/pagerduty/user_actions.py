"""What people do in the pretend PagerDuty, and what its clock does. Each returns the service's response to the webhook.

Source: https://developer.pagerduty.com/docs/webhooks-overview ("Event Types").
"""

from __future__ import annotations

from datetime import timedelta

import httpx

from bot.sandbox.pagerduty.subscription import Webhooks
from bot.sandbox.pagerduty.webhooks import envelope, fields_data, incident_data, note_data, responder_data
from bot.sandbox.pagerduty.world import Account, Incident, JsonObject, User


class UserActions:
    """People with pagers. ``acknowledgement_timeout`` is the services' own; none by default, as on new services."""

    account: Account
    webhooks: Webhooks
    acknowledgement_timeout: timedelta | None = None

    async def acknowledge(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.acknowledge(incident, user)
        return await self._say("incident.acknowledged", incident_data(incident), user)

    async def unacknowledge(self, incident: Incident, user: User | None = None) -> httpx.Response:
        """By ``user``, or by the service's acknowledgement timeout if there is none."""
        _must_be_open(incident)
        self.account.unacknowledge(incident)
        return await self._say("incident.unacknowledged", incident_data(incident), user)

    async def look_at_the_clock(self) -> list[httpx.Response]:
        """Take back every acknowledgement that has timed out by now."""
        limit, now = self.acknowledgement_timeout, self.account.now()
        overdue = [
            incident
            for incident in self.account.incidents
            if limit is not None and incident.acknowledged_at is not None and now - incident.acknowledged_at >= limit
        ]
        return [await self.unacknowledge(incident) for incident in overdue if incident.is_open]

    async def add_note(self, incident: Incident, user: User | None, text: str) -> httpx.Response:
        """By ``user``, or by an automation if there is none. What does not fit is cut, and says so."""
        note = self.account.annotate(incident, user or User("PBOT", "Automation", ""), text)
        return await self._say("incident.annotated", note_data(incident, note), user)

    async def resolve(self, incident: Incident, user: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.resolve(incident)
        return await self._say("incident.resolved", incident_data(incident), user)

    async def reopen(self, incident: Incident, user: User) -> httpx.Response:
        self.account.reopen(incident)
        return await self._say("incident.reopened", incident_data(incident), user)

    async def reassign(self, incident: Incident, user: User, to: User) -> httpx.Response:
        _must_be_open(incident)
        self.account.reassign(incident, [to], "reassign", "reassigned")
        return await self._say("incident.reassigned", incident_data(incident), user)

    async def escalate(self, incident: Incident, user: User | None = None) -> httpx.Response:
        """To the next level of the escalation policy; by ``user``, or because nobody acknowledged in time."""
        _must_be_open(incident)
        incident.level += 1
        above = self.account.on_call_at(incident.service, incident.level)
        self.account.reassign(incident, above, "escalate", "escalated")
        return await self._say("incident.escalated", incident_data(incident), user)

    async def delegate(self, incident: Incident, user: User, to: str) -> httpx.Response:
        """To the escalation policy of the service that is called ``to``."""
        _must_be_open(incident)
        policy = next(service for service in self.account.services.values() if service.name == to)
        incident.level = 1
        self.account.reassign(incident, self.account.on_call_at(policy, 1), "delegate", "reassigned")
        return await self._say("incident.delegated", incident_data(incident), user)

    async def add_responder(self, incident: Incident, user: User, asked: User, message: str = "") -> httpx.Response:
        self.account.add_responder(incident, asked)
        return await self._say("incident.responder.added", responder_data(incident, asked, message, "pending"), user)

    async def reply_as_responder(self, incident: Incident, user: User, state: str = "joined") -> httpx.Response:
        """``state`` is ``joined`` or ``declined``."""
        return await self._say("incident.responder.replied", responder_data(incident, user, "", state), user)

    async def set_fields(self, incident: Incident, user: User | None, **values: object) -> httpx.Response:
        """Fill in custom fields of the incident, by their names."""
        incident.fields |= values
        return await self._say("incident.custom_field_values.updated", fields_data(incident, tuple(values)), user)

    async def update_priority(self, incident: Incident, user: User) -> httpx.Response:
        """Something that means nothing to a question."""
        return await self._say("incident.priority_updated", incident_data(incident), user)

    def merge(self, incident: Incident, into: Incident) -> None:
        """Move all alerts; the emptied incident is resolved."""
        self.account.merge(incident, into)
        self.account.touch()
        body = envelope("incident.resolved", incident_data(incident), None, self.account.now())
        self.webhooks.send_later(body)

    async def _say(self, event_type: str, data: JsonObject, agent: User | None) -> httpx.Response:
        self.account.touch()
        return await self.webhooks.send(envelope(event_type, data, agent, self.account.now()))


def _must_be_open(incident: Incident) -> None:
    if not incident.is_open:
        raise ValueError(f"{incident.id} is already resolved")
