"""PagerDuty's way in, built once: everything that understands its webhooks. The clock looks at parked ones by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.config import Settings
from bot.config.channels import PagerDuty
from bot.inbound.pagerduty.answers import PagerDutyAnswers
from bot.inbound.pagerduty.events import PagerDutyMeaning, Rules
from bot.inbound.pagerduty.identity import CHANNEL, PagerDutyAccounts, PagerDutyPeople
from bot.inbound.pagerduty.incident_lookup import Lookup
from bot.inbound.pagerduty.parking import PagerDutyParking
from bot.inbound.pagerduty.webhook import PagerDutyDoor
from bot.people.directory import Directory
from bot.people.on_call import OnCalls
from channels.pagerduty.rest import PagerDutyApi
from core.database.database import Database
from core.engine.engine import Engine
from core.engine.transitions import Transitions
from core.inbound.incidents import Incidents
from core.inbound.reports import Incoming
from core.inbound.settle import Correspondence
from core.ports import Clock


@dataclass(frozen=True, slots=True)
class PagerDutySource:
    """What is asked of PagerDuty, in one place for the whole process, since it keeps what it was told."""

    api: PagerDutyApi
    accounts: PagerDutyAccounts
    on_calls: OnCalls | None

    async def close(self) -> None:
        await self.api.close()


def pagerduty_source(settings: Settings, database: Database, clock: Clock) -> PagerDutySource | None:
    pager = settings.pagerduty
    if pager is None:
        return None
    api = PagerDutyApi(pager.api_token, now=clock.now, api_url=pager.api_url)
    accounts = PagerDutyAccounts(api, database, clock, Directory(settings).identity_of)
    named = [one.pagerduty_user_id for one in settings.people if one.pagerduty_user_id]
    return PagerDutySource(api, accounts, OnCalls(api, accounts.email_of, named, clock) if api.can_ask else None)


@dataclass(frozen=True, slots=True)
class PagerDutyParts:
    door: PagerDutyDoor
    parking: PagerDutyParking


def pagerduty_parts(
    settings: PagerDuty,
    source: PagerDutySource,
    engine: Engine,
    incoming: Incoming,
    transitions: Transitions,
    clock: Clock,
    instance: str,
    public_url: str,
) -> PagerDutyParts:
    hold = timedelta(seconds=settings.claim_seconds)
    incidents = Incidents(engine.database, engine.permissions, transitions, clock, CHANNEL, hold)
    lookup = Lookup(engine.queries, source.api, instance, clock)
    people = PagerDutyPeople(source.accounts, engine.permissions.responders, incoming)
    rules = Rules(settings.retrigger_when_resolved, settings.assignees_may_answer)
    answers = PagerDutyAnswers(
        engine,
        engine.permissions,
        engine.channel_views,
        incoming,
        Correspondence(engine.database, transitions, clock),
        incidents,
        lookup,
        people,
        public_url,
        settings.decision_field,
        settings.assignees_may_answer,
    )
    meaning = PagerDutyMeaning(incidents, lookup, people, answers, rules)
    parking = PagerDutyParking(engine.database, meaning, clock)
    door = PagerDutyDoor(incoming, meaning, parking, secrets=settings.webhook_secrets, clock=clock)
    return PagerDutyParts(door, parking)
