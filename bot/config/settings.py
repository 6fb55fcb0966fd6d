"""Settings: all of them, with their defaults. ``values`` has the allowed values of each, ``fitting`` the conditions
between them.

Secrets are plain text here, and left out of every ``repr``.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import Field, create_model
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.config.catalogue import description, descriptions, names, to_set_up
from bot.config.people_and_keys import Answers, ApiKey, PersonEntry, Recipients, SignInSettings
from bot.config.rules import QuotaEntry, RedactionSettings
from bot.config.sections import S, Section
from bot.config.values import (
    A_YEAR,
    DatabaseUrl,
    Flag,
    GroupName,
    HttpUrl,
    Listed,
    Mail,
    Network,
    OneOrMore,
    PostgresUrl,
    RecipientRef,
    SecretKey,
    Share,
    Text,
    Word,
    between,
)
from core.database.call_deadlines import Deadlines
from core.domain.engagement import RFC_THRESHOLDS, EngagementThresholds
from core.domain.notice import WhenCut
from core.domain.policy import MOST_ATTEMPTS, PolicyFields
from core.domain.same_ask import SameAsk
from core.domain.suspension import FallbackPolicy, PagerSeverity, Rung
from core.engine.quotas import Quotas
from core.ports import Backoff

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
P = TypeVar("P")
CatchUp = Literal["shift", "burst"]
if TYPE_CHECKING:
    ChannelName = str
else:
    ChannelName = Annotated[Literal[names()], Word]


def _is_here(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def leads_here(url: str) -> bool:
    """Whether ``url`` is on this machine."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host.endswith(".localhost") or _is_here(host)


class Http(Section):
    """Where the service listens, and how much of it clients may take up."""

    host: Text = "127.0.0.1"
    """The address to listen on. Off loopback (``0.0.0.0``) every way in needs its secret."""
    port: Annotated[int, between(1, 65535)] = 8080
    """The TCP port to listen on."""
    max_connections: Annotated[int, between(16, 1_000_000)] = 4_000
    """How many connections may be open at once, all together."""
    max_strangers: Annotated[int, between(1, 1_000_000)] = 100
    """How many connections of one address may be open that have not yet shown a valid key, signature or session."""
    head_seconds: Annotated[int, between(1, 300)] = 15
    """How many seconds the head of a request may take."""
    body_seconds: Annotated[int, between(1, 3_600)] = 30
    """How many seconds the body of a request may take."""
    idle_seconds: Annotated[int, between(1, 3_600)] = 75
    """How many seconds a connection may stay open between two requests."""
    body_memory_mib: Annotated[int, between(16, 65_536)] = 32
    """How much memory the bodies that are being received may take together, in MiB."""

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
    """When a callback that did not arrive is sent again. Each wait is twice the one before."""

    base_delay_ms: Annotated[int, between(1, 86_400_000)] = 1_000
    """How many milliseconds to wait after the first try."""
    max_delay_ms: Annotated[int, between(1, 86_400_000)] = 3_600_000
    """The longest wait between two tries, in milliseconds."""
    give_up_after_seconds: Annotated[int, between(1, A_YEAR)] = 259_200
    """After how many seconds a callback is given up. An admin can send it again."""


class ResumeSettings(Section):
    """How waiting agents are called back."""

    allow_networks: Annotated[tuple[Network, ...], Listed] = ()
    """Private networks that callbacks may reach beside the public internet, such as ``10.0.0.0/8``."""
    timeout_seconds: Annotated[int, between(1, 25)] = 10
    """How many seconds an agent may take to accept a callback."""
    retry: ResumeRetry = ResumeRetry()

    @property
    def backoff(self) -> Backoff:
        return Backoff(
            first=timedelta(milliseconds=self.retry.base_delay_ms),
            longest=timedelta(milliseconds=self.retry.max_delay_ms),
            give_up_after=timedelta(seconds=self.retry.give_up_after_seconds),
        )


class RungEntry(Section):
    """What one attempt does otherwise than the call says."""

    attempt: Annotated[int, between(1, MOST_ATTEMPTS)]
    """The number of the attempt, from 1."""
    channel_hint: ChannelName | None = None
    """The channel of this attempt."""
    notify_to: RecipientRef | None = None
    """Who is asked by this attempt."""
    quiet: Flag = False
    """Whether the attempt waits until one of its people is at work."""
    severity: Annotated[PagerSeverity, Word] | None = None
    """The severity of its incident in PagerDuty. Absent: by the risk that the agent states."""

    @property
    def rung(self) -> Rung:
        return Rung(self.attempt, self.channel_hint, self.notify_to, self.quiet, self.severity)


class RetryPolicyEntry(Section):
    """What holds if neither the call nor its agent says otherwise (RFC-0026 §5)."""

    max_attempts: Annotated[int, between(1, MOST_ATTEMPTS)] | None = None
    """How many times a question is asked."""
    interval_seconds: Annotated[int, between(1, A_YEAR)] | None = None
    """How many seconds lie between two attempts."""
    strategy: Annotated[Literal["fixed"], Word] | None = None
    """How the intervals grow: not at all."""
    escalation_ladder: tuple[RungEntry, ...] | None = None
    """What single attempts do otherwise: another channel, other people."""
    final_fallback_policy: Annotated[FallbackPolicy, Word] | None = None
    """What the agent gets if nobody answers: an error, or the fallback value."""

    @property
    def fields(self) -> PolicyFields:
        rungs = self.escalation_ladder
        return PolicyFields(
            max_attempts=self.max_attempts,
            interval=None if self.interval_seconds is None else timedelta(seconds=self.interval_seconds),
            escalation_ladder=None if rungs is None else tuple(entry.rung for entry in rungs),
            final_fallback_policy=self.final_fallback_policy,
            strategy=self.strategy,
        )


class SuspensionSettings(Section):
    """What holds for questions that do not say otherwise, and for all after an outage."""

    default_channel: ChannelName | None = None
    """The channel of questions that name none. By default the first that is set up, of slack, email and pagerduty; if
    none is, ``inbox``."""
    default_retry_policy: RetryPolicyEntry | None = None
    same_ask: Annotated[SameAsk, Word] = SameAsk.SHOW
    """What is done about an ask with an action that the same key has asked about before. ``show``: people see what was
    answered. ``join``: while that question is open, it is the same one. ``refuse``: for an hour after a negative answer
    it is refused (409 ``already_denied``)."""
    catch_up: Annotated[CatchUp, Word] = "shift"
    """Whether an outage of this service moves all remaining times (``shift``) or leaves them (``burst``)."""
    catch_up_grace_seconds: Annotated[int, between(1, A_YEAR)] = 60
    """How many seconds an outage may last without moving any time."""

    @property
    def outages_from(self) -> timedelta | None:
        """How long a silence of ours has to be for times to move by it, ``None`` if they never do."""
        return timedelta(seconds=self.catch_up_grace_seconds) if self.catch_up == "shift" else None

    @property
    def policy(self) -> PolicyFields:
        """The platform's words in the cascade; they say nothing if none are configured."""
        return PolicyFields() if self.default_retry_policy is None else self.default_retry_policy.fields


class EngagementSettings(Section):
    """When agents that ask whether to ask are told to go on, to ask, or to leave it (RFC-0025 §7.2).

    The order is: autonomous (all three hold), defer (one of two), require_input (one of two). Whatever is left may ask.
    """

    autonomous_min_confidence: Share = RFC_THRESHOLDS.autonomous_min_confidence
    """From this confidence on an agent may go on by itself."""
    autonomous_max_risk: Share = RFC_THRESHOLDS.autonomous_max_risk
    """Up to this risk an agent may go on by itself."""
    autonomous_min_reversibility: Share = RFC_THRESHOLDS.autonomous_min_reversibility
    """From this reversibility on an agent may go on by itself."""
    require_input_below_confidence: Share = RFC_THRESHOLDS.require_input_below_confidence
    """Below this confidence an agent must ask."""
    require_input_above_risk: Share = RFC_THRESHOLDS.require_input_above_risk
    """Above this risk an agent must ask."""
    defer_min_risk: Share = RFC_THRESHOLDS.defer_min_risk
    """From this risk on an agent should leave it."""
    defer_max_reversibility: Share = RFC_THRESHOLDS.defer_max_reversibility
    """Up to this reversibility an agent should leave it."""

    @property
    def thresholds(self) -> EngagementThresholds:
        return EngagementThresholds(**self.model_dump())


class WorkSettings(Section):
    """How often a worker says that it is alive, and after how much silence others send what it had in hand.

    ``silent_seconds`` is at least three beats, so that a slow one is not taken for the last.
    """

    beat_seconds: Annotated[int, between(1, 60)] = 5
    """How many seconds lie between two signs of life."""
    silent_seconds: Annotated[int, between(3, 3_600)] = 20
    """After how many seconds of silence another process sends what a worker had in hand."""


class DatabaseSettings(Section):
    """How PostgreSQL is reached past a pooler, and how long the database may take, by this side's clock. For reaching
    it the URL's ``connect_timeout`` counts."""

    direct_url: PostgresUrl | None = Field(None, repr=False)
    """The same database as ``database_url``, past a pooler in transaction mode: at PostgreSQL itself, or at a pooler in
    session mode. LISTEN, locks, migrations and backups go there. By default that is ``database_url``."""
    statement_seconds: Annotated[int, between(1, 60)] = 5
    """How many seconds one statement may take."""
    transaction_seconds: Annotated[int, between(1, 120)] = 8
    """How many seconds a whole transaction may take, waiting included."""

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines(timedelta(seconds=self.statement_seconds), timedelta(seconds=self.transaction_seconds))


class Alerts(Section):
    """Whom to tell when the service itself needs somebody, and what to ping while it does not."""

    notify: Annotated[tuple[RecipientRef, ...], Listed] = ()
    """Who is told of trouble: a channel that is set up wrongly, a mailbox that can't be opened, callbacks given up."""
    heartbeat_url: HttpUrl | None = Field(None, repr=False)
    """A URL that is pinged while everything due has been looked at. It says who may ping it, so it is a secret."""
    heartbeat_seconds: Annotated[int, between(10, 3600)] = 60
    """How many seconds lie between two pings."""


class ReceiptSettings(Section):
    """Receipts: signed proof that a person has approved this very action."""

    ttl_seconds: Annotated[int, between(1, A_YEAR)] = 900
    """How many seconds a receipt counts after its agent got it first."""

    @property
    def ttl(self) -> timedelta:
        return timedelta(seconds=self.ttl_seconds)


class RetentionSettings(Section):
    """How long questions that have ended stay in the database, and where they go then."""

    ended_days: Annotated[int, between(1, 36_500)] | None = None
    """After how many days a question that has ended moves into a file. Absent: never."""
    archive_dir: Text | None = None
    """The folder of those files. By default it lies beside the database's file, or beside the configuration."""

    @property
    def keep(self) -> timedelta | None:
        return None if self.ended_days is None else timedelta(days=self.ended_days)


class InsightsSettings(Section):
    """What operators see in figures: the page ``/insights`` and ``handraise stats``."""

    persons: Flag = False
    """Whether figures tell single persons apart: how many answers each has given, and how fast. Ask your works council
    first."""


class Log(Section):
    """The log, which goes to standard error. It holds no question, answer, address or secret."""

    level: Annotated[LogLevel, Word] = "info"
    """The least that is told."""
    format: Annotated[LogFormat, Word] = "text"
    """Lines for people, or one JSON object a line."""


class Telemetry(Section):
    """Where spans go, beside what OpenTelemetry's own variables say."""

    otlp_endpoint: HttpUrl | None = Field(None, repr=False)
    """The URL of an OTLP/HTTP collector, without ``/v1/traces``."""
    signal_metadata: Flag = False
    """Whether what agents attach to a signal becomes attributes of spans. It may hold anything."""


class _Ground(BaseSettings):
    """What everything stands on."""

    model_config = SettingsConfigDict(
        env_prefix="HANDRAISE_",
        env_nested_delimiter="__",
        enable_decoding=False,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    database_url: DatabaseUrl = Field("sqlite+aiosqlite:///handraise.db", repr=False)
    """The database: a file of SQLite's, or ``postgresql+psycopg://user:password@host/name``."""
    http: Http = Http()
    public_url: HttpUrl = Field(default_factory=lambda data: data["http"].url)
    """The https:// address at which people reach this service; links lead there. By default that of ``http``."""
    secret_key: SecretKey | None = Field(None, repr=False)
    """The secret that everything is signed with: at least 32 characters. On loopback one is made and kept in a file
    beside the database."""
    secret_key_previous: Annotated[tuple[Text, ...], OneOrMore] = Field((), repr=False)
    """Secret keys that ``secret_key`` has taken the place of. What they signed goes on working."""


if TYPE_CHECKING:
    _Channels = _Ground
else:  # a section for each vendor
    _SECTIONS: dict[str, Any] = {one.name: (one.section | None, None) for one in descriptions() if one.always is None}
    _Channels = create_model("_Channels", __base__=_Ground, __module__="vendors", **_SECTIONS)


class Settings(_Channels):
    """Everything, typed and checked; made by :func:`bot.config.load`, which alone reads file and environment."""

    resume: ResumeSettings = ResumeSettings()
    api_keys: tuple[ApiKey, ...] = ()
    people: tuple[PersonEntry, ...] = ()
    groups: dict[GroupName, Annotated[tuple[Mail, ...], Listed]] = Field(default_factory=dict)
    """The members of groups by e-mail, beside those whose ``people[].groups`` says so."""
    recipients: Recipients = Recipients()
    suspension: SuspensionSettings = SuspensionSettings()
    engagement: EngagementSettings = EngagementSettings()
    answers: Answers = Answers()
    signin: SignInSettings = SignInSettings()
    receipts: ReceiptSettings = ReceiptSettings()
    redaction: RedactionSettings = RedactionSettings()
    quotas: QuotaEntry = QuotaEntry()
    work: WorkSettings = WorkSettings()
    database: DatabaseSettings = DatabaseSettings()
    alerts: Alerts = Alerts()
    retention: RetentionSettings = RetentionSettings()
    insights: InsightsSettings = InsightsSettings()
    log: Log = Log()
    telemetry: Telemetry = Telemetry()

    @property
    def direct_database_url(self) -> str:
        """Where a connection has a session of its own."""
        return self.database.direct_url or self.database_url

    def section(self, name: str) -> Section | None:
        """The settings of the vendor of that name."""
        always = description(name).always
        return cast("Section | None", getattr(self, name)) if always is None else always

    def of(self, model: type[S]) -> S | None:
        """The settings of the vendor whose section is a ``model``."""
        return next((one for name in names() if isinstance(one := self.section(name), model)), None)

    def people_as(self, _model: type[P]) -> tuple[P, ...]:
        """The people, with what a vendor's ``model`` says of them."""
        return cast("tuple[P, ...]", self.people)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that there are, by name; the default one first, unless ``suspension`` names it."""
        return tuple(name for name in names() if self.section(name) is not None)

    @property
    def set_up(self) -> tuple[str, ...]:
        """Those of :attr:`channels` that have a section, and reach people away from the pages."""
        return tuple(name for name in to_set_up() if self.section(name) is not None)

    @property
    def slack_team(self) -> str | None:
        """The workspace whose people may sign in with Slack."""
        named = None if self.signin.slack is None else self.signin.slack.team_id
        return named or getattr(self.section("slack"), "team_id", None)

    @property
    def leads_here(self) -> bool:
        """Whether links lead to this machine: on another one they open nothing."""
        return leads_here(self.public_url)

    @property
    def when_cut(self) -> WhenCut:
        """For every channel; ``slack.require_open_when_cut`` is its older name."""
        older = any(getattr(self.section(name), "require_open_when_cut", False) for name in names())
        return WhenCut.OPEN if self.answers.require_open_when_cut or older else WhenCut.ANSWER

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
