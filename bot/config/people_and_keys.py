"""Settings of people: the keys, who may be asked, who may answer, and how they sign in.

Source: API.md §8.
"""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from bot.config.catalogue import descriptions
from bot.config.rules import QuotaEntry
from bot.config.sections import PersonSection, Section
from bot.config.values import (
    Flag,
    GroupName,
    HeaderKey,
    Holiday,
    HttpUrl,
    KeyHash,
    KeyName,
    Listed,
    SlackTeam,
    Text,
    TimeZone,
    WebhookSecret,
    WeekHours,
    Word,
)
from core.domain.hours import Hours, parse_week
from core.domain.people import Role

Language = Literal["de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "sv"]
"""Those in which answers are read."""
OperatorsRead = Literal["all", "own_groups"]


class ApiKey(Section):
    """A client's key: plain, or as its hash. ``handraise keys create`` makes keys that are kept in the database."""

    name: KeyName
    """Whose key it is. A key that is named like a person's ``email`` is that person's."""
    key: HeaderKey | None = Field(None, repr=False)
    """The key itself. Give this or ``key_hash``."""
    key_hash: KeyHash | None = Field(None, repr=False)
    """The key's hash, as ``handraise keys hash`` prints it. It belongs to one ``secret_key``."""
    roles: Annotated[frozenset[Annotated[Role, Word]], Listed, Field(min_length=1)]
    """What the key may do. An ``agent`` asks, an ``operator`` reads and answers, an ``admin`` may do all."""
    webhook_secrets: Annotated[tuple[WebhookSecret, ...], Listed] = Field((), repr=False)
    """The secrets that sign callbacks to this key's agent; several while one is being replaced."""
    quotas: QuotaEntry = QuotaEntry()


class _WorkingPerson(PersonSection):
    groups: Annotated[tuple[GroupName, ...], Listed] = ()
    """The groups that they are in: ``group:NAME`` asks all of a group."""
    time_zone: TimeZone | None = None
    """Their IANA time zone. Hours and holidays need it."""
    language: Annotated[Language, Word] | None = None
    """What they write, if a word of theirs means something else in another language: a "tak" alone is a yes in Polish,
    and thanks in Danish."""
    hours: WeekHours | None = None
    """When they work, by days of the week. Attempts that are quiet wait for it. Absent: always."""
    holidays: Annotated[tuple[Holiday, ...], Listed] = ()
    """Days on which they do not work."""

    @property
    def opening_hours(self) -> Hours | None:
        """When they work, ``None`` for always. Holidays alone leave every other day open."""
        if self.time_zone is None or not (self.hours or self.holidays):
            return None
        week = parse_week(self.hours or {"mon-sun": "00:00-24:00"})
        return Hours(ZoneInfo(self.time_zone), week, frozenset(self.holidays))


_THERE = tuple(one.person for one in reversed(descriptions()) if one.person is not None)


class PersonEntry(_WorkingPerson, *_THERE):  # type: ignore[misc]
    """Somebody who may be asked."""


class Recipients(Section):
    """Whom agents may have asked."""

    allow: Annotated[tuple[Text, ...], Listed] | None = None
    """Patterns of recipients, such as ``*@example.com`` or ``group:*``. Absent: the directory and the configured
    defaults. An empty list: the configured defaults alone."""


class Answers(Section):
    """What an answer has to fulfil, and what operators see of each other's questions."""

    allow_self_response: Flag = False
    """Whether somebody may answer what they asked themselves. For development alone."""
    operators_read: Annotated[OperatorsRead, Word] = "all"
    """Which questions an operator finds: ``all``, or with ``own_groups`` only those that name them or a group of
    theirs, or that they may answer or have answered. Admins find all."""
    require_open_when_cut: Flag = False
    """Whether a question is approved only where all of it is shown (on its page, or in Slack's modal) if its message
    has no room for all of its question, context or choices. If its action is cut, it is so always; a negative choice
    may be given everywhere."""
    require_sign_in: Flag = False
    """Whether a link in a message opens nothing before the person that it was made for has signed in."""
    undo_seconds: Annotated[int, Field(ge=0, le=60)] = 0
    """How many seconds an answer given on a page or in Slack can be undone. The agent hears of it after them. 0: at
    once."""


class OpenIdSignIn(Section):
    """An OpenID Connect provider through which people sign in to the pages, such as the company's. Its redirect URI is
    ``public_url`` and ``/signin/oidc/callback``."""

    issuer: HttpUrl
    """The provider's issuer, exactly as it publishes it at ``/.well-known/openid-configuration``."""
    client_id: Text
    """The client that is registered with the provider for this service."""
    client_secret: Text = Field(repr=False)
    """The secret of that client, as the provider shows it."""
    name: Text = "Company SSO"
    """What the button says behind "Sign in with"."""
    verified_claim: Text = "email_verified"
    """The claim that has to be true for an e-mail address to count. For Entra ID it is ``xms_edov``."""


class SlackSignIn(Section):
    """Sign in with Slack. Its redirect URI is ``public_url`` and ``/signin/slack/callback``."""

    client_id: Text
    """The Client ID under "Basic Information" of the Slack app."""
    client_secret: Text = Field(repr=False)
    """The Client Secret under "Basic Information" of the Slack app."""
    team_id: SlackTeam | None = None
    """The workspace whose people may sign in. Absent: ``slack.team_id``, which has to be there then."""
    issuer: HttpUrl = "https://slack.com"
    """Slack's issuer, as it publishes it."""


class SignInSettings(Section):
    """How people sign in to the pages. A link that an admin makes, and Slack's button, work in any case."""

    mail_links: Flag = True
    """Whether the sign-in page sends links by mail. It can if mail is set up."""
    oidc: OpenIdSignIn | None = None
    """An OpenID Connect provider. Absent: there is no such button."""
    slack: SlackSignIn | None = None
    """Sign in with Slack. Absent: there is no such button."""
