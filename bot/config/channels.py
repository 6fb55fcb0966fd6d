"""The three channels as they are set up. A section that is absent (or ``null``) means that the channel is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bot.config.values import (
    AppToken,
    Flag,
    HttpUrl,
    ImapUrl,
    Listed,
    ListenUrl,
    Mail,
    OwnPattern,
    RoutingKey,
    Sender,
    SlackApp,
    SlackPlace,
    SlackTeam,
    SmtpUrl,
    Text,
    Word,
    between,
    mailbox_of,
    one_or_several,
)
from core.domain.people import spelled

DEFAULT_SERVICE = "default"
"""What ``pagerduty.routing_key`` is called in ``pagerduty:default``."""

ChannelName = Annotated[Literal["slack", "email", "pagerduty"], Word]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_by_name=True)


class Slack(Section):
    """Slack is set up by a bot token and at least one way in: ``app_token`` (Socket Mode) or ``signing_secret`` (HTTP
    mode). With both, both ways are open."""

    bot_token: Text = Field(repr=False)
    """The bot's token, ``xoxb-…``, of the app that is installed in your workspace."""
    app_token: AppToken | None = Field(None, repr=False)
    """The app-level token, ``xapp-…``, by which Slack's events come over sockets. Slack needs no URL of yours then."""
    signing_secret: Text | None = Field(None, repr=False)
    """The app's signing secret. With it ``/slack/events`` takes what Slack sends by HTTP."""
    api_url: HttpUrl = "https://slack.com/api"
    """Where Slack's Web API is."""
    default_channel: SlackPlace | None = None
    """The id of the channel, or of the person, that is asked if a question names nobody."""
    team_id: SlackTeam | None = None
    """The workspace or organisation whose people count. Slack says which one it is if this is absent."""
    app_id: SlackApp | None = None
    """The app's id. With it, what Slack sends for another app answers nothing."""
    require_open_when_cut: Flag = False
    """The older name of ``answers.require_open_when_cut``. It holds for every channel."""
    answer_in_thread: Flag = False
    """Whether a reply in a question's thread answers it, if the question asks for a text."""


class Email(Section):
    """Mail goes out through one mail server. Replies come in by each door that is set up: ``listen``, ``imap_url`` or
    ``inbound_secret``. Without a door mails don't ask for replies."""

    smtp_url: SmtpUrl = Field(repr=False)
    """The mail server that sends, with user and password if it wants them."""
    sender: Sender = Field(alias="from")
    """The sender of every mail, with or without a name."""
    inbound_secret: Text | None = Field(None, repr=False)
    """The secret that signs mails posted to ``/email/inbound``. Without it nobody can post any."""
    listen: ListenUrl | None = None
    """The address at which a mail server brings mail by LMTP or SMTP. Keep it off the internet."""
    imap_url: ImapUrl | None = Field(None, repr=False)
    """The mailbox that replies are fetched from, with its user, and its password or ``imap_token_file``."""
    imap_token_file: Text | None = None
    """A file that holds an OAuth 2.0 access token instead of the mailbox's password. It is read anew for each
    connection."""
    imap_poll_seconds: Annotated[int, between(1, 1500)] = 60
    """How often the mailbox is looked into, in seconds, whatever it tells by itself."""
    imap_done_folder: Text | None = None
    """The folder of the mailbox that mails are moved to once they are dealt with."""
    reply_to: Mail | None = Field(
        default_factory=lambda data: spelled(mailbox_of(data["sender"])) if _has_door(data) else None
    )
    """The mailbox that answers come to; each mail adds its token to it. By default that of ``from`` if there is a door,
    else none."""
    bounces_to: Mail | None = Field(
        default_factory=lambda data: data["reply_to"] if _has_only_a_mailbox(data) else None
    )
    """The mailbox that mail comes back to which can't be delivered. By default ``bounces@`` the domain of ``reply_to``,
    or ``reply_to`` if a mailbox is the only door."""
    default_to: Annotated[tuple[Mail, ...], Listed] = ()
    """Who is asked by mail if a question names nobody."""
    sender_auth: Annotated[Literal["dmarc", "dkim", "token_only", "link_only"], Word] = "dmarc"
    """What shows that a reply is its sender's: DMARC, a DKIM signature of the very domain, or its token alone. With
    ``link_only`` no reply answers."""
    authserv_id: Text = Field(default_factory=lambda data: mailbox_of(data["sender"]).rpartition("@")[2].lower())
    """The one mail server whose Authentication-Results are believed. By default the domain of ``from``."""
    max_connections: Annotated[int, between(1, 50)] = 4
    """How many connections to the mail server are open at once."""
    require_tls: Flag = False
    """Whether mail goes over TLS or not at all, also without a password and to this machine."""
    tls_ca: Text | None = None
    """A PEM file of certificate authorities that SMTP and IMAP believe beside the public ones."""
    templates: Text | None = None
    """A folder of templates that take the place of ours."""
    out_of_office_advances: Flag = False
    """Whether an out-of-office note counts as a refusal, so that the next attempt may be due at once."""
    tell_endings: Flag = True
    """Whether whoever was asked by mail gets one more mail once the question has ended: who decided, and what."""
    gateway_lines: Annotated[tuple[OwnPattern, ...], BeforeValidator(one_or_several)] = ()
    """Regular expressions. A line of a reply that one of them matches as a whole is your mail gateway's and nobody's
    words. The usual banners are known without."""
    quarantine_days: Annotated[int, between(1, 365)] = 30
    """How many days a mail is kept that can't be read."""

    @property
    def has_door(self) -> bool:
        """Whether replies can come in."""
        return _has_door(vars(self))


def _has_door(fields: Mapping[str, object]) -> bool:
    return any(fields[name] is not None for name in ("inbound_secret", "listen", "imap_url"))


def _has_only_a_mailbox(fields: Mapping[str, object]) -> bool:
    """Whether nothing brings us mail but the one mailbox that we look into."""
    return fields["imap_url"] is not None and fields["listen"] is None and fields["inbound_secret"] is None


class PagerDuty(Section):
    """PagerDuty is set up by a routing key for the default service, or by named ``services``. Without
    ``webhook_secrets`` nothing that happens in PagerDuty is heard."""

    region: Annotated[Literal["us", "eu"], Word] = "us"
    """The service region of the account. Both URLs follow from it."""
    routing_key: RoutingKey | None = Field(None, repr=False)
    """The integration key of the service that is paged by default (Events API v2)."""
    services: dict[str, RoutingKey] = Field(default_factory=dict, repr=False)
    """The integration keys of other services, by the name that stands in ``pagerduty:NAME``."""
    events_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("events", data["region"]))
    """Where pages are sent. By default PagerDuty's own address for the region."""
    api_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("api", data["region"]))
    """Where PagerDuty's REST API is. By default PagerDuty's own address for the region."""
    api_token: Text | None = Field(None, repr=False)
    """The REST API token that reads incidents, users and who is on call."""
    from_email: Mail | None = None
    """The login of a user of the account, in whose name notes are written and people are called to incidents. Needs
    ``api_token``."""
    retry_seconds: Annotated[tuple[Annotated[int, between(1, 3600)], ...], Listed, Field(min_length=1)] = (
        30,
        60,
        120,
        300,
    )
    """How many seconds to wait, at least, after each try that PagerDuty did not take. The last holds for all that
    follow."""
    webhook_secrets: Annotated[tuple[Text, ...], Listed] = Field((), repr=False)
    """The secrets that sign PagerDuty's webhooks; several while one is being replaced."""
    claim_seconds: Annotated[int, between(60, 86_400)] = 1800
    """How many seconds an acknowledgement holds further attempts back."""
    retrigger_when_resolved: Flag = False
    """Whether an open question pages once more if somebody resolves its incident."""
    decision_field: Text | None = None
    """The custom field of incidents, by name or id, whose value answers."""
    assignees_may_answer: Flag = False
    """Whether everybody to whom an incident is assigned may answer what it asks."""

    @property
    def routing_keys(self) -> dict[str, str]:
        """Every service's routing key by the service's name."""
        return {**({DEFAULT_SERVICE: self.routing_key} if self.routing_key else {}), **self.services}

    @property
    def writes_to_incidents(self) -> bool:
        """Whether notes can be written and people be called: PagerDuty wants to know by whose hand."""
        return self.api_token is not None and self.from_email is not None


def _at_pagerduty(host: str, region: str) -> str:
    """Source: https://support.pagerduty.com/docs/service-regions."""
    return f"https://{host}.eu.pagerduty.com" if region == "eu" else f"https://{host}.pagerduty.com"
