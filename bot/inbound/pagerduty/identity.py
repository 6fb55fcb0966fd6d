"""The identity behind a PagerDuty account: by the directory, else by the e-mail that the account had at first.

An administrator of PagerDuty can change an account's e-mail, and so can its owner. So an account whose e-mail has
become another person's is nobody until the directory names it (``pagerduty_user_id``), and the operators are alerted.
Names that PagerDuty shows are never used.

Source: facts on channels §C6; docs/decisions/0024.
"""

from __future__ import annotations

from datetime import timedelta

import structlog

from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from core.database.database import Database
from core.domain.people import Actor, IdentityOf, canonical, spelled
from core.inbound.reports import InboundReports
from core.ports import Clock, Responders
from core.store import incidents
from core.store.incidents import PagerAccount

log = structlog.get_logger(__name__)

CHANNEL = "pagerduty"
KEPT = timedelta(hours=24)
TRUSTED = timedelta(hours=48)
"""For how long the last known mailbox of an account counts if PagerDuty can't be asked."""


class PagerDutyAccounts:
    """E-mails of accounts, stored in the database: a replica, or a restart, knows what another has seen."""

    def __init__(
        self, api: PagerDutyApi, database: Database, clock: Clock, identity_of: IdentityOf = canonical
    ) -> None:
        self._api = api
        self._identity_of = identity_of
        self._database = database
        self._clock = clock
        self.moved: set[str] = set()
        """Accounts that have another mailbox than when they were first seen."""

    async def email_of(self, user: str) -> str | None:
        """``None`` for an account without one, and for an account whose e-mail has changed. Raises
        :class:`ApiUnavailable`."""
        now = self._clock.now()
        kept = await self._database.read(lambda conn: incidents.account(conn, user))
        if kept is not None and abs(now - kept.asked_at) <= KEPT:
            return kept.email
        try:
            found = await self._api.email_of(user)
        except ApiUnavailable:
            if kept is not None and abs(now - kept.asked_at) <= TRUSTED:
                return kept.email
            raise
        return await self._checked(user, kept, None if found is None else spelled(found))

    async def _checked(self, user: str, kept: PagerAccount | None, found: str | None) -> str | None:
        if found is None:
            return None
        if kept is not None and self._identity_of(kept.email) != self._identity_of(found):
            log.warning("pagerduty.account_moved", user=user)
            self.moved.add(user)
            return None
        self.moved.discard(user)
        now = self._clock.now()
        same = found if kept is None else kept.email
        await self._database.write(lambda tx: incidents.keep_account(tx, user, same, now))
        return found


class PagerDutyPeople:
    """The person behind a PagerDuty user. Raises :class:`ApiUnavailable` if PagerDuty has to be asked and does not
    answer."""

    def __init__(self, accounts: PagerDutyAccounts, responders: Responders, incoming: InboundReports) -> None:
        self._accounts = accounts
        self._responders = responders
        self._incoming = incoming

    async def person(self, user: str) -> Actor | None:
        """The directory's person with this user id, else with the account's e-mail."""
        known = self._responders.actor_at(CHANNEL, user)
        if known is not None:
            return known
        email = await self._accounts.email_of(user)
        if email is None:
            if user in self._accounts.moved:
                await self._incoming.people_unknown(CHANNEL, "account_has_another_mailbox")
            return None
        actor = self._responders.actor_at("email", email)
        other = actor.person.account_on(CHANNEL) if actor is not None and actor.person is not None else None
        return None if other is not None else actor  # the directory knows that person by another account
