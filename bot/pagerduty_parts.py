"""Everything that understands PagerDuty's webhooks, built once: the door takes them, the clock looks at parked ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.config.channels import PagerDuty
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
from core.transitions import Transitions


@dataclass(frozen=True, slots=True)
class PagerDutyParts:
    door: PagerDutyDoor
    parking: PagerDutyParking


def pagerduty_parts(
    settings: PagerDuty, engine: Engine, transitions: Transitions, clock: Clock, instance: str
) -> PagerDutyParts:
    api = PagerDutyApi(settings.api_token, api_url=settings.api_url)
    incidents = Incidents(engine, transitions, clock, CHANNEL, timedelta(seconds=settings.claim_seconds))
    lookup = Lookup(engine, api, instance, clock)
    accounts = PagerDutyAccounts(api, engine.database, clock)
    people = PagerDutyPeople(accounts, engine.responders, engine.incoming)
    rules = Rules(settings.retrigger_when_resolved, settings.assignees_may_answer)
    answers = PagerDutyAnswers(
        engine, incidents, lookup, people, settings.decision_field, settings.assignees_may_answer
    )
    meaning = PagerDutyMeaning(engine, incidents, lookup, people, answers, rules)
    parking = PagerDutyParking(engine.database, meaning, clock)
    door = PagerDutyDoor(engine, api, meaning, parking, secrets=settings.webhook_secrets, clock=clock)
    return PagerDutyParts(door, parking)
