"""The identity behind a Slack user when they press: by the directory, never by a name that Slack shows.

Nobody counts before we know which workspace is ours. If it is not configured, Slack is asked, and until Slack answers
nobody may answer.

Source: facts on channels §A4; API.md §2, "Who may answer"; docs/decisions/0017.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from channels.slack import notes
from channels.slack.client import OurWorkspace
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.interactions import Who
from channels.slack.people import LookupFailed, SlackPeople
from core import ports
from core.domain.audience import audience_of
from core.domain.people import Actor, parse_recipient
from core.domain.suspension import Suspension
from core.engine.inbox import Inbox, InboxPage
from core.engine.permissions import Permissions
from core.errors import HandraiseError, NotAResponder
from core.inbound.reports import InboundReports

log = structlog.get_logger(__name__)

CHANNEL = "slack"
LEARN_AGAIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """The person may not answer. ``text`` tells them why, ``reason`` is a stable code."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """``team_id`` (a workspace, or a whole organisation ``E…``) is ours, if it is configured."""

    permissions: Permissions
    inbox: Inbox
    incoming: InboundReports
    ours: OurWorkspace
    people: SlackPeople
    team_id: str | None = None

    async def learn(self) -> None:
        """Learn our workspace at the start, with retries, so that the first click need not wait for it."""
        while True:
            try:
                home = await self.ours.home()
            except CAUGHT as error:
                log.warning("slack.workspace_unknown", error=type(error).__name__)
                await asyncio.sleep(LEARN_AGAIN.total_seconds())
            else:
                log.info("slack.workspace_known", team=home.team_id)
                return

    async def who(self, who: Who) -> Actor | NotAdmitted:
        """The directory's person, else the person with the e-mail of their Slack profile."""
        try:
            if not await self._is_of_ours(who):
                log.warning("slack.other_workspace_refused", team=who.team_id)
                return NotAdmitted(notes.OTHER_WORKSPACE, "other_workspace")
            actor = await self._known(who.user_id)
        except (*CAUGHT, LookupFailed) as error:
            return await self._untold("slack.person_unknown", error)
        if actor is None:
            log.warning("slack.stranger_refused", team=who.team_id)
            return NotAdmitted(notes.STRANGER, "stranger")
        return actor

    async def before(self, actor: Actor, who: Who, suspension: Suspension) -> Actor | NotAdmitted:
        """``actor`` with the user groups of ``suspension`` that they are in now, if these decide."""
        if self.permissions.refusal(suspension, actor) != NotAResponder.code:
            return actor
        references = audience_of(suspension).references
        try:
            proven = [one for one in _groups(references) if who.user_id in await self.people.members(_id(one))]
        except LookupFailed as error:
            return await self._untold("slack.group_unknown", error)
        return replace(actor, proven=frozenset(proven))

    async def waiting(self, actor: Actor, who: Who, limit: int) -> InboxPage:
        """The questions that wait for ``actor``, the soonest deadline first, at most ``limit``. A user group that
        Slack does not tell us counts as empty."""

        async def prove(known: Actor, references: Collection[str]) -> Actor:
            return replace(known, proven=known.proven | await self._groups_of(who, references))

        return await self.inbox.page(actor, limit, prove=prove)

    async def _groups_of(self, who: Who, references: Collection[str]) -> frozenset[str]:
        """The user groups among ``references`` that they are in."""
        proven = set()
        for group in dict.fromkeys(_groups(references)):
            try:
                if who.user_id in await self.people.members(_id(group)):
                    proven.add(group)
            except LookupFailed as error:
                await self._untold("slack.group_unknown", error)
        return frozenset(proven)

    async def _untold(self, event: str, error: Exception) -> NotAdmitted:
        """Slack does not say who a person is: they may try again, unless an operator has to mend it, who is alerted."""
        now = self.incoming.clock.now()
        failure = error.failure if isinstance(error, LookupFailed) else failure_of(error, now)
        log.warning(event, reason=failure.reason)
        if not isinstance(failure, ports.Refused) or failure.fault is not ports.RefusalCause.SETUP:
            return NotAdmitted(notes.SLACK_IS_SILENT, "slack_unavailable")
        with contextlib.suppress(HandraiseError):  # the database is away: the next failure tells it
            await self.incoming.people_unknown(CHANNEL, failure.reason)
        return NotAdmitted(notes.SLACK_REFUSES, "slack_unavailable")

    async def _is_of_ours(self, who: Who) -> bool:
        """Whether their account is in our workspace. In an organisation (Enterprise Grid) a person of another
        workspace counts too if Slack says that they are also a member of ours."""
        if self.team_id is not None and who.team_id == self.team_id:
            return True
        home = await self.ours.home()
        if self.team_id not in {None, home.team_id, home.enterprise_id}:
            return False
        if who.team_id == home.team_id:
            return True
        return home.enterprise_id is not None and await self.people.email_of(who.user_id) is not None

    async def _known(self, user_id: str) -> Actor | None:
        """The directory's person for the account, else the owner of its e-mail by Slack. Slack is asked again each
        day, because an e-mail may move to another account."""
        people = self.permissions.responders
        actor = people.actor_at(CHANNEL, user_id)
        if actor is not None and actor.person is not None and actor.person.account_on(CHANNEL) == user_id:
            return actor
        email = await self.people.email_of(user_id)
        if email is None:
            return None
        found = people.actor(email)
        other = found.person.account_on(CHANNEL) if found.person is not None else None
        return None if other is not None else found  # the directory knows that person by another account


def _groups(references: Iterable[str]) -> Iterator[str]:
    """The Slack user groups among them."""
    for reference in references:
        recipient = parse_recipient(reference)
        if recipient.channel == CHANNEL and recipient.value.startswith("S"):
            yield str(recipient)


def _id(reference: str) -> str:
    return parse_recipient(reference).value
