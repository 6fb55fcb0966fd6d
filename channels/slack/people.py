"""People in the workspace: a person by e-mail, a person by user id, the members of a user group.

Each is asked of Slack once and kept for a while, also if nobody is found. The ``known_…`` methods only read what is
kept, for code that must not wait for the network (a transaction, a suspension). Who *may* answer or be asked is the
directory's to say, not this module's.

Source: https://docs.slack.dev/reference/methods/users.lookupByEmail, …/users.info, …/usergroups.users.list; facts on
channels §A4.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import CAUGHT, Failure, code_of, failure_of, sent_nothing

PERSON_KEPT = timedelta(hours=24)
PERSON_TRUSTED = timedelta(hours=48)
"""How old an account's e-mail may be where Slack can't be asked: renewed each day, it is older only if Slack has not
answered for a day, or nobody has asked."""
GROUP_KEPT = timedelta(seconds=60)
"""How old a group's members may be when they decide who may answer."""
MOST_KEPT = 10_000
"""Of each kind; what was asked for longest ago is forgotten first."""

NOBODY = frozenset({"users_not_found", "user_not_found"})
NO_GROUP = frozenset({"no_such_subteam", "subteam_not_found"})

Found = TypeVar("Found")


class LookupFailed(Exception):
    """Slack could not be asked. ``failure`` is the outcome for the work that waits for the reply."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


@dataclass(slots=True)
class _Kept(Generic[Found]):
    """Results by key, with the time at which each was asked."""

    lifetime: timedelta
    now: Callable[[], datetime]
    _found: OrderedDict[str, tuple[datetime, Found]] = field(default_factory=OrderedDict)

    def keep(self, key: str, found: Found) -> Found:
        self._found[key] = (self.now(), found)
        self._found.move_to_end(key)
        while len(self._found) > MOST_KEPT:
            self._found.popitem(last=False)
        return found

    def fresh(self, key: str) -> tuple[Found] | None:
        """The result, if it is within the lifetime; ``None`` if Slack has to be asked."""
        if key not in self._found:
            return None
        at, found = self._found[key]
        return (found,) if abs(self.now() - at) <= self.lifetime else None

    def within(self, key: str, age: timedelta) -> Found | None:
        """The result, if it is no older than ``age``."""
        at, found = self._found.get(key, (None, None))
        return found if at is not None and abs(self.now() - at) <= age else None

    def forget(self, key: str) -> None:
        self._found.pop(key, None)

    def last(self, key: str) -> Found | None:
        """The last result, however old."""
        return self._found[key][1] if key in self._found else None


class SlackPeople:
    """Ask before a transaction (``user_of``, ``email_of``, ``refresh``), read inside it (``known_…``).

    E-mails are in lower case. A call raises :class:`LookupFailed` if Slack gives no answer.
    """

    def __init__(self, client: AsyncWebClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._users: _Kept[str | None] = _Kept(PERSON_KEPT, now)
        self._emails: _Kept[str | None] = _Kept(PERSON_KEPT, now)
        self._groups: _Kept[frozenset[str]] = _Kept(GROUP_KEPT, now)
        self._team: str | None = None

    # --- asking Slack ---

    async def user_of(self, email: str) -> str | None:
        """The user id behind an e-mail, ``None`` if this workspace has nobody with it."""
        kept = self._users.fresh(email)
        if kept is not None:
            return kept[0]
        user = await self._ask(lambda: self._client.users_lookupByEmail(email=email), NOBODY, "user")
        user_id = user["id"] if user is not None and await self._is_ours(user) else None
        self._part(email, user_id)
        if user_id is not None:
            self._emails.keep(user_id, email)
        return self._users.keep(email, user_id)

    async def email_of(self, user_id: str) -> str | None:
        """The e-mail of a user; ``None`` for bots, for people who left, and for strangers of a shared channel."""
        kept = self._emails.fresh(user_id)
        if kept is not None:
            return kept[0]
        user = await self._ask(lambda: self._client.users_info(user=user_id), NOBODY, "user")
        found = (user.get("profile") or {}).get("email") if user is not None and await self._is_ours(user) else None
        email = found.lower() if isinstance(found, str) and found else None
        self._part(email, user_id)
        if email is not None:
            self._users.keep(email, user_id)
        return self._emails.keep(user_id, email)

    async def refresh(self, references: Iterable[str]) -> None:
        """Make sure that :meth:`known_members` knows every user group (``slack:S…``) among ``references``."""
        for reference in references:
            if reference.startswith("slack:S"):
                await self.members(reference.removeprefix("slack:"))

    async def members(self, group: str) -> frozenset[str]:
        """The user ids in a user group, asked for at most once a minute; none if there is no such group."""
        kept = self._groups.fresh(group)
        if kept is not None:
            return kept[0]
        users = await self._ask(lambda: self._client.usergroups_users_list(usergroup=group), NO_GROUP, "users")
        return self._groups.keep(group, frozenset(users or ()))

    # --- reading what is kept ---

    def known_user(self, email: str) -> str | None:
        """The user id behind an e-mail, by the last result."""
        return self._users.last(email)

    def known_email(self, user_id: str) -> str | None:
        """The e-mail of a user, from a result of the last two days."""
        return self._emails.within(user_id, PERSON_TRUSTED)

    def known_members(self, group: str) -> frozenset[str]:
        """The user ids in a user group within the last minute; none if Slack was not asked in that time."""
        return (self._groups.fresh(group) or (frozenset(),))[0]

    def last_members(self, group: str) -> frozenset[str]:
        """The members by the last result: to count how many could answer, never to let one answer."""
        return self._groups.last(group) or frozenset()

    def _part(self, email: str | None, user_id: str | None) -> None:
        """An e-mail belongs to one account, and an account has one e-mail: a new pair ends both old ones."""
        before = self._users.last(email) if email is not None else None
        if before not in {None, user_id} and self._emails.last(str(before)) == email:
            self._emails.forget(str(before))
        former = self._emails.last(user_id) if user_id is not None else None
        if former not in {None, email} and self._users.last(str(former)) == user_id:
            self._users.forget(str(former))

    async def _ask(self, call: Callable[[], Awaitable[Any]], nothing: frozenset[str], field: str) -> Any:
        """The ``field`` of the reply, ``None`` if Slack says that there is no such thing."""
        try:
            return (await call()).get(field)
        except CAUGHT as error:
            if isinstance(error, SlackApiError) and code_of(error) in nothing:
                return None
            raise LookupFailed(sent_nothing(failure_of(error, self._now()))) from None

    async def _is_ours(self, user: dict[str, Any]) -> bool:
        """A current, human member of this workspace whose e-mail Slack has confirmed. Slack Connect brings in
        strangers; in an Enterprise organisation one person is in several workspaces."""
        gone = user.get("deleted") or user.get("is_bot") or user.get("is_stranger")
        if gone or not user.get("is_email_confirmed", True):
            return False
        if self._team is None:
            self._team = await self._ask(self._client.auth_test, frozenset(), "team_id")
        everywhere = (user.get("enterprise_user") or {}).get("teams") or []
        return self._team in {user.get("team_id"), *everywhere}
