"""Which questions an incident is about, and who a PagerDuty user is: webhooks say neither.

Nothing is kept in between. Alerts may be merged into an incident at any time, and an answer must not go to a question
that its author was not looking at; acknowledgements and notes come at the pace of people.

Source: facts on channels §C4.
"""

from __future__ import annotations

from channels.pagerduty.render import ref_in
from channels.pagerduty.rest import PagerDutyApi
from core.domain.people import Actor, canonical
from core.domain.suspension import Suspension
from core.engine import Engine


class Lookup:
    """Both methods raise ``ApiUnavailable`` where PagerDuty would have to be asked and does not answer."""

    def __init__(self, engine: Engine, api: PagerDutyApi, instance: str) -> None:
        self._engine = engine
        self._api = api
        self._instance = instance

    async def questions(self, incident: str) -> list[Suspension]:
        """The questions behind an incident's alerts, open or not; none where the incident is not of our making."""
        keys = await self._api.alert_keys(incident)
        refs = dict.fromkeys(ref for key in keys if (ref := ref_in(key, self._instance)))
        found = [await self._engine.find(ref) for ref in refs]
        return [question for question in found if question is not None]

    async def person(self, user: str) -> Actor | None:
        """Whoever the directory knows by this user id, else by the e-mail that PagerDuty has for it."""
        known = self._engine.responders.actor_at("pagerduty", user)
        if known is not None:
            return known
        email = await self._api.email_of(user)
        return self._engine.responders.actor_at("email", canonical(email)) if email else None
