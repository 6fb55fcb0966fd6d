"""Slack accounts of people whom the directory knows only by e-mail: looked up in the background, read without a call.

Source: API.md §2 ("Reachable": no network call); docs/decisions/0016.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import structlog

from core.ports import RefusalCause, Refused
from core.work.every import Every

if TYPE_CHECKING:  # Slack's libraries are loaded only if Slack is set up
    from channels.slack.people import SlackPeople

log = structlog.get_logger(__name__)

AGAIN = timedelta(minutes=1)
PATIENCE = timedelta(seconds=1)
"""How long a start waits for Slack to name the accounts; the others become known a minute later."""


class Accounts(Protocol):
    """Known Slack accounts, without a network call (``channels.slack.people``)."""

    def known_user(self, email: str) -> str | None: ...

    def known_email(self, user_id: str) -> str | None: ...

    def known_members(self, group: str) -> frozenset[str]: ...

    def last_members(self, group: str) -> frozenset[str]: ...


class NoAccounts:
    """For an installation without Slack."""

    def known_user(self, _email: str) -> str | None:
        return None

    def known_email(self, _user_id: str) -> str | None:
        return None

    def known_members(self, _group: str) -> frozenset[str]:
        return frozenset()

    def last_members(self, _group: str) -> frozenset[str]:
        return frozenset()


class AccountSearch:
    """Looks up the accounts behind ``emails`` at the start, and then each minute those that are unknown or a day
    old."""

    def __init__(self, people: SlackPeople, emails: Collection[str]) -> None:
        self.people = people
        self._emails = emails
        self._told: str | None = None
        """The trouble that the log has, so that it does not have it every minute."""
        self._every = Every("slack-accounts", AGAIN, self.search)

    async def start(self) -> None:
        if self._emails:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.search(), PATIENCE.total_seconds())
            self._every.start()

    async def stop(self) -> None:
        await self._every.stop()

    async def search(self) -> None:
        """Goes on until Slack does not answer; the rest is for the next time. If Slack refuses one e-mail, the
        others are still asked."""
        from channels.slack.people import LookupFailed

        told = None
        for email in self._emails:
            try:
                await self.people.user_of(email)
            except LookupFailed as unknown:
                failure = unknown.failure
                told = failure.reason
                if told != self._told:
                    log.warning("slack.lookup_failed", reason=told)
                if not isinstance(failure, Refused) or failure.fault is RefusalCause.SETUP:
                    break
        self._told = told
