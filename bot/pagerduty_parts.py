"""Everything that understands PagerDuty's webhooks, built once: the door takes them, the clock looks at parked ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.config import Settings
from bot.config.channels import PagerDuty
from bot.on_call import OnCalls
from bot.pagerduty_answers import PagerDutyAnswers
from bot.pagerduty_app import PagerDutyDoor
from bot.pagerduty_lookup import Lookup
from bot.pagerduty_meaning import PagerDutyMeaning, Rules
from bot.pagerduty_parking import PagerDutyParking
from bot.pagerduty_people import CHANNEL, PagerDutyAccounts, PagerDutyPeople
from channels.pagerduty.rest import PagerDutyApi
from core.engine import Engine
from core.incidents import Incidents
from core.ports import Clock
from core.store.database import Database
from core.transitions import Transitions


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
    accounts = PagerDutyAccounts(api, database, clock)
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
    transitions: Transitions,
    clock: Clock,
    instance: str,
) -> PagerDutyParts:
    incidents = Incidents(engine, transitions, clock, CHANNEL, timedelta(seconds=settings.claim_seconds))
    lookup = Lookup(engine, source.api, instance, clock)
    people = PagerDutyPeople(source.accounts, engine.responders, engine.incoming)
    rules = Rules(settings.retrigger_when_resolved, settings.assignees_may_answer)
    answers = PagerDutyAnswers(
        engine, incidents, lookup, people, settings.decision_field, settings.assignees_may_answer
    )
    meaning = PagerDutyMeaning(engine, incidents, lookup, people, answers, rules)
    parking = PagerDutyParking(engine.database, meaning, clock)
    door = PagerDutyDoor(engine, meaning, parking, secrets=settings.webhook_secrets, clock=clock)
    return PagerDutyParts(door, parking)
