"""Settings: every one there is, with its default. What may stand in each is in ``values``; what must fit together, in
``fitting``.

Secrets are plain text here, and left out of every ``repr``.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.config.channels import ChannelName, Email, PagerDuty, Section, Slack
from bot.config.rules import QuotaEntry, RedactionSettings
from bot.config.values import (
    A_YEAR,
    DatabaseUrl,
    Flag,
    GroupName,
    HeaderKey,
    Holiday,
    HttpUrl,
    KeyHash,
    KeyName,
    Listed,
    Mail,
    Network,
    OneOrMore,
    PagerDutyUser,
    RecipientRef,
    RoutingKey,
    SecretKey,
    Share,
    SlackUser,
    Text,
    TimeZone,
    WebhookSecret,
    WeekHours,
    Word,
    between,
)
from core.domain.engagement import RFC_THRESHOLDS, EngagementThresholds
from core.domain.hours import Hours, parse_week
from core.domain.notice import WhenCut
from core.domain.people import Role, canonical
from core.domain.policy import MOST_ATTEMPTS, PolicyFields
from core.domain.suspension import FallbackPolicy, Rung
from core.engine.quotas import Quotas
from core.ports import Backoff
from core.store.call_deadlines import Deadlines

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
CatchUp = Literal["shift", "burst"]


def _is_here(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


class Http(Section):
    """Where the service listens, and how much of it clients may take up (docs/decisions/0037).

    ``max_strangers`` connections of one address may be open that have not yet sent a valid key, signature or session.
    """

    host: Text = "127.0.0.1"
    port: Annotated[int, between(1, 65535)] = 8080
    max_connections: Annotated[int, between(16, 1_000_000)] = 4_000
    max_strangers: Annotated[int, between(1, 1_000_000)] = 100
    head_seconds: Annotated[int, between(1, 300)] = 15
    body_seconds: Annotated[int, between(1, 3_600)] = 30
    idle_seconds: Annotated[int, between(1, 3_600)] = 75
    body_memory_mib: Annotated[int, between(16, 65_536)] = 32

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the service."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


class ResumeRetry(Section):
    base_delay_ms: Annotated[int, between(1, 86_400_000)] = 1_000
    max_delay_ms: Annotated[int, between(1, 86_400_000)] = 3_600_000
    give_up_after_seconds: Annotated[int, between(1, A_YEAR)] = 259_200


class ResumeSettings(Section):
    """How waiting agents are called back. ``timeout_seconds`` stays below the relay's own limit of 30 s."""

    allow_networks: Annotated[tuple[Network, ...], Listed] = ()
    timeout_seconds: Annotated[int, between(1, 25)] = 10
    retry: ResumeRetry = ResumeRetry()

    @property
    def backoff(self) -> Backoff:
        return Backoff(
            first=timedelta(milliseconds=self.retry.base_delay_ms),
            longest=timedelta(milliseconds=self.retry.max_delay_ms),
            give_up_after=timedelta(seconds=self.retry.give_up_after_seconds),
        )


class ApiKey(Section):
    """A client's key, plain (development) or as the hash that ``handraise keys`` prints. Its name is its identity."""

    name: KeyName
    key: HeaderKey | None = Field(None, repr=False)
    key_hash: KeyHash | None = Field(None, repr=False)
    roles: Annotated[frozenset[Annotated[Role, Word]], Listed, Field(min_length=1)]
    webhook_secrets: Annotated[tuple[WebhookSecret, ...], Listed] = Field((), repr=False)
    quotas: QuotaEntry = QuotaEntry()


class PersonEntry(Section):
    name: Text
    email: Mail
    slack_user_id: SlackUser | None = None
    pagerduty_user_id: PagerDutyUser | None = None
    pagerduty_routing_key: RoutingKey | None = Field(None, repr=False)
    """Of an Events API integration that pages this person alone."""
    groups: Annotated[tuple[GroupName, ...], Listed] = ()
    time_zone: TimeZone | None = None
    hours: WeekHours | None = None
    holidays: Annotated[tuple[Holiday, ...], Listed] = ()

    @property
    def opening_hours(self) -> Hours | None:
        """When they work, ``None`` for always. Holidays alone leave every other day open."""
        if self.time_zone is None or not (self.hours or self.holidays):
            return None
        week = parse_week(self.hours or {"mon-sun": "00:00-24:00"})
        return Hours(ZoneInfo(self.time_zone), week, frozenset(self.holidays))


class Recipients(Section):
    """``allow`` absent: the directory and the configured defaults. An empty list: the configured defaults alone."""

    allow: Annotated[tuple[Text, ...], Listed] | None = None


class RungEntry(Section):
    attempt: Annotated[int, between(1, MOST_ATTEMPTS)]
    channel_hint: ChannelName | None = None
    notify_to: RecipientRef | None = None
    quiet: Flag = False


class RetryPolicyEntry(Section):
    """The platform's level of the cascade (RFC-0026 §5); what it leaves out, it says nothing about."""

    max_attempts: Annotated[int, between(1, MOST_ATTEMPTS)] | None = None
    interval_seconds: Annotated[int, between(1, A_YEAR)] | None = None
    strategy: Annotated[Literal["fixed"], Word] | None = None
    escalation_ladder: tuple[RungEntry, ...] | None = None
    final_fallback_policy: Annotated[FallbackPolicy, Word] | None = None

    @property
    def fields(self) -> PolicyFields:
        rungs = self.escalation_ladder
        return PolicyFields(
            max_attempts=self.max_attempts,
            interval=None if self.interval_seconds is None else timedelta(seconds=self.interval_seconds),
            escalation_ladder=None
            if rungs is None
            else tuple(Rung(rung.attempt, rung.channel_hint, rung.notify_to, rung.quiet) for rung in rungs),
            final_fallback_policy=self.final_fallback_policy,
            strategy=self.strategy,
        )


class SuspensionSettings(Section):
    default_channel: ChannelName | None = None
    default_retry_policy: RetryPolicyEntry | None = None
    catch_up: Annotated[CatchUp, Word] = "shift"
    catch_up_grace_seconds: Annotated[int, between(1, A_YEAR)] = 60

    @property
    def outages_from(self) -> timedelta | None:
        """How long a silence of ours has to be for times to move by it, ``None`` if they never do."""
        return timedelta(seconds=self.catch_up_grace_seconds) if self.catch_up == "shift" else None

    @property
    def policy(self) -> PolicyFields:
        """The platform's words in the cascade; they say nothing if none are configured."""
        return PolicyFields() if self.default_retry_policy is None else self.default_retry_policy.fields


class EngagementSettings(Section):
    """When agents that ask whether to ask are told to go on, to ask, or to leave it (RFC-0025 §7.2, whose values are
    the defaults).

    ``min`` and ``max`` belong to the mode that they are named after; what is ``below`` or ``above`` begins beside them.
    """

    autonomous_min_confidence: Share = RFC_THRESHOLDS.autonomous_min_confidence
    autonomous_max_risk: Share = RFC_THRESHOLDS.autonomous_max_risk
    autonomous_min_reversibility: Share = RFC_THRESHOLDS.autonomous_min_reversibility
    require_input_below_confidence: Share = RFC_THRESHOLDS.require_input_below_confidence
    require_input_above_risk: Share = RFC_THRESHOLDS.require_input_above_risk
    defer_min_risk: Share = RFC_THRESHOLDS.defer_min_risk
    defer_max_reversibility: Share = RFC_THRESHOLDS.defer_max_reversibility

    @property
    def thresholds(self) -> EngagementThresholds:
        return EngagementThresholds(**self.model_dump())


class WorkSettings(Section):
    """How often a worker says that it is alive, and after how much silence others send what it had in hand.

    ``silent_seconds`` is at least three beats, so that a slow one is not taken for the last.
    """

    beat_seconds: Annotated[int, between(1, 60)] = 5
    silent_seconds: Annotated[int, between(3, 3_600)] = 20


class DatabaseSettings(Section):
    """How long the database may take, on this side of the wire; for reaching it the URL's ``connect_timeout`` counts.

    ``statement_seconds`` is for each statement, ``transaction_seconds`` for all of a transaction, waiting included.
    """

    statement_seconds: Annotated[int, between(1, 60)] = 5
    transaction_seconds: Annotated[int, between(1, 120)] = 8

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines(timedelta(seconds=self.statement_seconds), timedelta(seconds=self.transaction_seconds))


class Answers(Section):
    """``proposer`` is what guesses at replies that decide nothing: ``package.module:name``
    (docs/reference/mail-replies.md).
    ``require_open_when_cut``: a question that a channel could show only a part of is answered where all of it is shown,
    on its page or in a modal of Slack's. With ``require_sign_in`` a link to ``/a/…`` opens nothing before the person
    that it was made for has signed in."""

    allow_self_response: Flag = False
    require_open_when_cut: Flag = False
    require_sign_in: Flag = False
    proposer: Text | None = None


class Alerts(Section):
    """Whom to tell when the service itself needs somebody, and what to ping while it does not.

    Used by :mod:`bot.observability.heartbeat`.

    A heartbeat's URL says who may ping it, so it is a secret.
    """

    notify: Annotated[tuple[RecipientRef, ...], Listed] = ()
    heartbeat_url: HttpUrl | None = Field(None, repr=False)
    heartbeat_seconds: Annotated[int, between(10, 3600)] = 60


class ReceiptSettings(Section):
    """``ttl_seconds``: how long a receipt counts after its agent got it first."""

    ttl_seconds: Annotated[int, between(1, A_YEAR)] = 900

    @property
    def ttl(self) -> timedelta:
        return timedelta(seconds=self.ttl_seconds)


class RetentionSettings(Section):
    """How long ended suspensions stay, ``None`` for ever, and the folder of the files that they are moved to then."""

    ended_days: Annotated[int, between(1, 36_500)] | None = None
    archive_dir: Text | None = None

    @property
    def keep(self) -> timedelta | None:
        return None if self.ended_days is None else timedelta(days=self.ended_days)


class Log(Section):
    level: Annotated[LogLevel, Word] = "info"
    format: Annotated[LogFormat, Word] = "text"


class Telemetry(Section):
    """Where spans go, beside OpenTelemetry's own variables: an OTLP/HTTP collector, without ``/v1/traces``.

    ``signal_metadata``: whether what agents attach to a signal becomes attributes of spans. It may hold anything.
    """

    otlp_endpoint: HttpUrl | None = Field(None, repr=False)
    signal_metadata: Flag = False


class Settings(BaseSettings):
    """Everything, typed and checked; made by :func:`bot.config.load`, which alone reads file and environment."""

    model_config = SettingsConfigDict(
        env_prefix="HANDRAISE_",
        env_nested_delimiter="__",
        enable_decoding=False,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    database_url: DatabaseUrl = Field("sqlite+aiosqlite:///handraise.db", repr=False)
    http: Http = Http()
    public_url: HttpUrl = Field(default_factory=lambda data: data["http"].url)
    secret_key: SecretKey | None = Field(None, repr=False)
    secret_key_previous: Annotated[tuple[Text, ...], OneOrMore] = Field((), repr=False)
    slack: Slack | None = None
    email: Email | None = None
    pagerduty: PagerDuty | None = None
    resume: ResumeSettings = ResumeSettings()
    api_keys: tuple[ApiKey, ...] = ()
    people: tuple[PersonEntry, ...] = ()
    groups: dict[GroupName, Annotated[tuple[Mail, ...], Listed]] = Field(default_factory=dict)
    recipients: Recipients = Recipients()
    suspension: SuspensionSettings = SuspensionSettings()
    engagement: EngagementSettings = EngagementSettings()
    answers: Answers = Answers()
    receipts: ReceiptSettings = ReceiptSettings()
    redaction: RedactionSettings = RedactionSettings()
    quotas: QuotaEntry = QuotaEntry()
    work: WorkSettings = WorkSettings()
    database: DatabaseSettings = DatabaseSettings()
    alerts: Alerts = Alerts()
    retention: RetentionSettings = RetentionSettings()
    log: Log = Log()
    telemetry: Telemetry = Telemetry()

    @property
    def channels(self) -> tuple[ChannelName, ...]:
        """The channels that are set up, by name."""
        sections: dict[ChannelName, object] = {"slack": self.slack, "email": self.email, "pagerduty": self.pagerduty}
        return tuple(name for name, section in sections.items() if section is not None)

    @property
    def leads_here(self) -> bool:
        """Whether links lead to this machine: on another one they open nothing."""
        host = urlsplit(self.public_url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or _is_here(host)

    @property
    def when_cut(self) -> WhenCut:
        """For every channel; ``slack.require_open_when_cut`` is its older name."""
        older = self.slack is not None and self.slack.require_open_when_cut
        return WhenCut.OPEN if self.answers.require_open_when_cut or older else WhenCut.ANSWER

    @property
    def own_routing_keys(self) -> dict[str, str]:
        """By e-mail, the PagerDuty integrations that page one person; none if PagerDuty is not set up."""
        people = self.people if self.pagerduty is not None else ()
        return {canonical(one.email): one.pagerduty_routing_key for one in people if one.pagerduty_routing_key}

    @property
    def key_quotas(self) -> Quotas:
        """Every key's quota: its own if it says something, the general one elsewhere."""
        general = self.quotas.quota
        return Quotas(general, {entry.name: entry.quotas.quota.over(general) for entry in self.api_keys})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what it is given: a ``Settings`` never reads the process's environment behind its caller's back."""
        return (init_settings,)
