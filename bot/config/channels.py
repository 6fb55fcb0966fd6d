"""The three channels as they are set up. A section that is absent (or ``null``) means that the channel is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.config.values import (
    AppToken,
    Flag,
    HttpUrl,
    ImapUrl,
    Listed,
    ListenUrl,
    Mail,
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
)
from core.domain.people import spelled

DEFAULT_SERVICE = "default"
"""What ``pagerduty.routing_key`` is called in ``pagerduty:default``."""

ChannelName = Annotated[Literal["slack", "email", "pagerduty"], Word]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_by_name=True)


class Slack(Section):
    """Slack reaches us over sockets if there is an ``app_token`` (Socket Mode), and by requests that
    ``signing_secret`` verifies if there is one (HTTP mode). One of the two is needed; with both, both ways are open.

    ``require_open_when_cut`` is the older name of ``answers.require_open_when_cut``, and holds for every channel.
    """

    bot_token: Text = Field(repr=False)
    app_token: AppToken | None = Field(None, repr=False)
    signing_secret: Text | None = Field(None, repr=False)
    api_url: HttpUrl = "https://slack.com/api"
    default_channel: SlackPlace | None = None
    team_id: SlackTeam | None = None
    app_id: SlackApp | None = None
    require_open_when_cut: Flag = False
    answer_in_thread: Flag = False
    """Whether a reply in a question's thread answers it, where it asks for a text."""


class Email(Section):
    """``reply_to`` is the mailbox that answers come to; each mail adds its token to it. By default that is ``from``'s
    where replies can come in, else none, and mails don't ask for any.

    Replies come in by each door that is set up: ``listen`` is where a mail server brings them by LMTP or SMTP,
    ``imap_url`` a mailbox that they are fetched from, ``inbound_secret`` signs those that are posted; without any,
    every door is shut. ``authserv_id`` is the one server whose Authentication-Results are believed (default: the domain
    of ``from``). ``bounces_to`` is the mailbox that mail comes back to which can't be delivered; each mail adds its own
    id to it. By default that is ``bounces@`` the domain of ``reply_to``; ``reply_to`` where a mailbox is the only door.

    ``imap_token_file`` holds an OAuth 2.0 access token instead of the password, read anew for each connection.
    ``imap_poll_seconds``: how often the mailbox is looked into whatever it says; IDLE is begun anew each time (RFC 2177
    asks for less than 29 minutes). ``imap_done_folder`` is where mails go that have been taken.
    """

    smtp_url: SmtpUrl = Field(repr=False)
    sender: Sender = Field(alias="from")
    inbound_secret: Text | None = Field(None, repr=False)
    listen: ListenUrl | None = None
    imap_url: ImapUrl | None = Field(None, repr=False)
    imap_token_file: Text | None = None
    imap_poll_seconds: Annotated[int, between(1, 1500)] = 60
    imap_done_folder: Text | None = None
    reply_to: Mail | None = Field(
        default_factory=lambda data: spelled(mailbox_of(data["sender"])) if _has_door(data) else None
    )
    bounces_to: Mail | None = Field(
        default_factory=lambda data: data["reply_to"] if _has_only_a_mailbox(data) else None
    )
    default_to: Annotated[tuple[Mail, ...], Listed] = ()
    sender_auth: Annotated[Literal["dmarc", "dkim", "token_only", "link_only"], Word] = "dmarc"
    authserv_id: Text = Field(default_factory=lambda data: mailbox_of(data["sender"]).rpartition("@")[2].lower())
    max_connections: Annotated[int, between(1, 50)] = 4
    require_tls: Flag = False
    """Mail goes over TLS or not at all, also without a password and to this machine."""
    tls_ca: Text | None = None
    """A PEM file of certificate authorities that are believed beside the public ones, by SMTP and by IMAP."""
    templates: Text | None = None
    """A folder of templates that take the place of ours (docs/how-to/mail-templates.md)."""
    out_of_office_advances: Flag = False
    """Whether an out-of-office note counts as a refusal, so that the next attempt may be due at once."""
    quarantine_days: Annotated[int, between(1, 365)] = 30
    """How long a mail is kept that can't be read."""

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
    """``routing_key`` is the default service's; ``services`` are others, by the name in ``pagerduty:NAME``.

    ``region`` says where the account is, and so where both URLs lead. ``api_token`` reads incidents and users; with
    ``from_email``, the login of a user of the account, it also writes notes and calls people to incidents.
    ``webhook_secrets`` may be several while one is being replaced. Without any, webhooks are refused.
    """

    region: Annotated[Literal["us", "eu"], Word] = "us"
    routing_key: RoutingKey | None = Field(None, repr=False)
    services: dict[str, RoutingKey] = Field(default_factory=dict, repr=False)
    events_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("events", data["region"]))
    api_url: HttpUrl = Field(default_factory=lambda data: _at_pagerduty("api", data["region"]))
    api_token: Text | None = Field(None, repr=False)
    from_email: Mail | None = None
    retry_seconds: Annotated[tuple[Annotated[int, between(1, 3600)], ...], Listed, Field(min_length=1)] = (
        30,
        60,
        120,
        300,
    )
    """How long to wait, at least, after each try that PagerDuty did not take; the last holds for all that follow."""
    webhook_secrets: Annotated[tuple[Text, ...], Listed] = Field((), repr=False)
    claim_seconds: Annotated[int, between(60, 86_400)] = 1800
    """How long an acknowledgement holds attempts back (API.md §3)."""
    retrigger_when_resolved: Flag = False
    """Whether a question that was not answered pages once more when somebody resolves its incident."""
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
