"""Settings: what the file and the environment may say, and the one line that refuses everything else (API.md §8)."""

from __future__ import annotations

import secrets
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from bot.config.loading import find_file, load
from bot.config.problems import InvalidConfiguration
from bot.config.settings import Settings
from bot.vendors.pagerduty import own_routing_keys
from core.domain.engagement import EngagementThresholds
from core.domain.people import Role
from core.domain.policy import PolicyFields
from core.domain.suspension import FallbackPolicy, Rung
from core.errors import ConfigError

Reads = Callable[..., Settings]

SLACK = {"HANDRAISE_SLACK__BOT_TOKEN": "xoxb-1", "HANDRAISE_SLACK__SIGNING_SECRET": "s1"}
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ROUTING_KEY = "0123456789abcdef0123456789abcdef"

SMALLEST = """
api_keys:
  - {name: refund-agent, key: agent-key-1, roles: [agent], webhook_secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]}
  - {name: alice@example.com, key: alice-key, roles: [operator]}
people:
  - {name: Alice, email: alice@example.com, slack_user_id: U0ALICE, pagerduty_user_id: PALICE, groups: [finance]}
recipients: {allow: ["*@example.com", "group:*", "slack:C0OPS"]}
suspension:
  {default_channel: slack, default_retry_policy: {max_attempts: 3, interval_seconds: 3600, final_fallback_policy: fail}}
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Load ``handraise.yaml`` of this text, in a folder of its own, with these variables."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        if text is not None:
            Path("handraise.yaml").write_text(text)
        return load(None, environ or {})

    return load_text


def refusal(read: Reads, text: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The first line, without what was found."""
    with pytest.raises(InvalidConfiguration) as refused:
        read(text, environ)
    return refused.value.problems[0].line.split("; found ")[0]


# --- What counts --------------------------------------------------------------------------------------------------


def test_without_file_and_variables_there_are_defaults(read: Reads) -> None:
    settings = read()
    assert settings.database_url == "sqlite+aiosqlite:///handraise.db"
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 8080)
    assert settings.public_url == "http://127.0.0.1:8080"
    assert settings.set_up == ()
    assert settings.resume.backoff.first == timedelta(seconds=1)
    assert settings.resume.backoff.longest == timedelta(hours=1)
    assert settings.resume.backoff.give_up_after == timedelta(hours=72)
    assert settings.resume.timeout_seconds == 10
    assert settings.recipients.allow is None
    assert settings.suspension.policy == PolicyFields()
    assert not settings.answers.allow_self_response


def test_the_smallest_useful_file(read: Reads) -> None:
    settings = read(SMALLEST, SLACK)
    agent, alice = settings.api_keys
    assert (agent.name, agent.key, agent.roles) == ("refund-agent", "agent-key-1", frozenset({Role.AGENT}))
    assert agent.webhook_secrets == (WHSEC,)
    assert alice.roles == {Role.OPERATOR}
    assert settings.people[0].groups == ("finance",)
    assert settings.recipients.allow == ("*@example.com", "group:*", "slack:C0OPS")
    assert settings.set_up == ("slack",)
    assert settings.suspension.policy == PolicyFields(3, timedelta(hours=1), None, FallbackPolicy.FAIL)


def test_a_variable_stands_over_the_file_key_by_key(read: Reads) -> None:
    text = "http: {host: localhost, port: 1}\nlog: {format: json}"
    settings = read(text, {"HANDRAISE_HTTP__PORT": "9090", "HANDRAISE_LOG__LEVEL": "DEBUG"})
    assert (settings.http.host, settings.http.port) == ("localhost", 9090)
    assert (settings.log.level, settings.log.format) == ("debug", "json")
    assert settings.public_url == "http://localhost:9090"


def test_lists_in_variables_are_separated_by_commas(read: Reads) -> None:
    environ = {
        "HANDRAISE_RESUME__ALLOW_NETWORKS": "10.0.0.0/8, 192.0.2.7",
        "HANDRAISE_RECIPIENTS__ALLOW": "*@example.com,group:*",
        "HANDRAISE_EMAIL__SMTP_URL": "smtp://localhost:2525",
        "HANDRAISE_EMAIL__FROM": "Handraise <Hand@Example.com>",
        "HANDRAISE_EMAIL__DEFAULT_TO": "Ops@example.com, boss@example.com",
        "HANDRAISE_PAGERDUTY__ROUTING_KEY": ROUTING_KEY,
        "HANDRAISE_PAGERDUTY__WEBHOOK_SECRETS": "old, new",
        "HANDRAISE_ANSWERS__ALLOW_SELF_RESPONSE": "true",
        "HANDRAISE_GROUPS__FINANCE": "a@example.com,b@example.com",
    }
    settings = read(None, environ)
    assert settings.resume.allow_networks == (ip_network("10.0.0.0/8"), ip_network("192.0.2.7/32"))
    assert settings.recipients.allow == ("*@example.com", "group:*")
    assert settings.email is not None
    assert settings.email.default_to == ("ops@example.com", "boss@example.com")
    assert settings.pagerduty is not None
    assert settings.pagerduty.webhook_secrets == ("old", "new")
    assert settings.answers.allow_self_response
    assert settings.groups == {"finance": ("a@example.com", "b@example.com")}
    assert settings.set_up == ("email", "pagerduty")


def test_thresholds_of_engagement_are_set_one_by_one(read: Reads) -> None:
    text = "engagement: {autonomous_min_confidence: 1, defer_max_reversibility: 0}"
    given = read(text, {"HANDRAISE_ENGAGEMENT__AUTONOMOUS_MAX_RISK": " .125 "}).engagement.thresholds
    assert given == EngagementThresholds(
        autonomous_min_confidence=1.0, autonomous_max_risk=0.125, defer_max_reversibility=0.0
    )


def test_thresholds_of_engagement_that_are_equal_where_they_may_be(read: Reads) -> None:
    text = (
        "engagement: {require_input_below_confidence: 0.85, require_input_above_risk: 0.2, "
        "defer_min_risk: 0.21, defer_max_reversibility: 0.49}"
    )
    assert read(text).engagement.thresholds.require_input_above_risk == 0.2


def test_a_null_and_an_empty_variable_mean_absent(read: Reads) -> None:
    settings = read(
        "slack: null\nhttp:\n  port: null\n", {"HANDRAISE_SLACK__APP_TOKEN": "", "HANDRAISE_HTTP__HOST": " "}
    )
    assert settings.slack is None
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 8080)


def test_the_clients_variables_and_those_of_kubernetes_are_left_alone(read: Reads) -> None:
    environ = {
        "HANDRAISE_URL": "http://localhost:8080",
        "HANDRAISE_CONFORMANCE_DIR": "/somewhere",
        "HANDRAISE_API_KEY": "k",
        "HANDRAISE_SERVICE_HOST": "10.0.0.1",
        "HANDRAISE_SERVICE_PORT_HTTP": "8080",
        "HANDRAISE_PORT": "tcp://10.0.0.1:8080",
        "HANDRAISE_PORT_8080_TCP_ADDR": "tcp://10.0.0.1:8080",
        "PATH": "/bin",
    }
    assert read(None, environ).http.port == 8080


def test_mail_is_answered_at_its_sender_where_replies_can_come_in(read: Reads) -> None:
    mail = "email: {smtp_url: 'smtp://u:p@h:25', from: 'Handraise <Hand@Example.com>'%s}"
    with_door = read(mail % ", inbound_secret: s").email
    for door in ("listen: 'lmtp://127.0.0.1:2424'", "imap_url: 'imaps://u:p@h'"):
        by_another = read(mail % f", {door}").email
        assert by_another is not None
        assert by_another.reply_to == "hand@example.com"
    without_door = read(mail % "").email
    given = read(mail % ", reply_to: answers@example.org, authserv_id: mx.example.org").email
    assert with_door is not None
    assert without_door is not None
    assert given is not None
    assert (with_door.reply_to, with_door.authserv_id, with_door.sender_auth) == (
        "hand@example.com",
        "example.com",
        "dmarc",
    )
    assert without_door.reply_to is None
    assert (given.reply_to, given.authserv_id) == ("answers@example.org", "mx.example.org")


def test_where_a_mailbox_is_the_only_door_bounces_come_to_it_too(read: Reads) -> None:
    mail = "email: {smtp_url: 'smtp://u:p@h:25', from: hand@gmail.com, imap_url: 'imaps://u:p@h'%s}"
    for more, bounces_to in [
        ("", "hand@gmail.com"),
        (", reply_to: answers@example.org", "answers@example.org"),
        (", listen: 'lmtp://127.0.0.1:2424'", None),
        (", bounces_to: returns@example.org", "returns@example.org"),
    ]:
        email = read(mail % more).email
        assert email is not None
        assert email.bounces_to == bounces_to


def test_the_platforms_policy_says_only_what_it_was_given(read: Reads) -> None:
    text = """
suspension:
  default_retry_policy:
    interval_seconds: 60
    strategy: fixed
    escalation_ladder: [{attempt: 2, channel_hint: slack, notify_to: Boss@Example.com}]
"""
    policy = read(text, SLACK).suspension.policy
    rungs = (Rung(2, "slack", "boss@example.com"),)
    assert policy == PolicyFields(None, timedelta(minutes=1), rungs, None, "fixed")


def test_an_account_in_europe_is_reached_there(read: Reads) -> None:
    europe = "eu.pagerduty.com"
    for region, host in (("", "pagerduty.com"), (", region: eu", europe), (", region: EU", europe)):
        pager = read(f"pagerduty: {{routing_key: '{ROUTING_KEY}'{region}}}").pagerduty
        assert pager is not None
        assert (pager.events_url, pager.api_url) == (f"https://events.{host}", f"https://api.{host}")


def test_an_address_that_is_given_counts_whatever_the_region(read: Reads) -> None:
    pager = read(
        f"pagerduty: {{routing_key: '{ROUTING_KEY}', region: eu, events_url: 'https://proxy.example'}}"
    ).pagerduty

    assert pager is not None
    assert (pager.events_url, pager.api_url) == ("https://proxy.example", "https://api.eu.pagerduty.com")


def test_waits_between_tries_may_come_from_a_variable(read: Reads) -> None:
    pager = read(
        f"pagerduty: {{routing_key: '{ROUTING_KEY}'}}", {"HANDRAISE_PAGERDUTY__RETRY_SECONDS": "5, 60"}
    ).pagerduty

    assert pager is not None
    assert pager.retry_seconds == (5, 60)


def test_somebody_may_have_a_pager_of_their_own(read: Reads) -> None:
    person = f"people: [{{name: A, email: a@example.com, pagerduty_routing_key: '{'Q' * 32}'}}]"
    settings = read(f"pagerduty: {{routing_key: '{ROUTING_KEY}'}}\n{person}")

    assert own_routing_keys(settings) == {"a@example.com": "Q" * 32}
    assert "Q" * 32 not in repr(settings)


def test_the_services_of_pagerduty_have_their_own_routing_keys(read: Reads) -> None:
    other = ROUTING_KEY[::-1]
    settings = read(f"pagerduty: {{routing_key: '{ROUTING_KEY}', services: {{payments: '{other}'}}}}")
    assert settings.pagerduty is not None
    assert settings.pagerduty.routing_keys == {"default": ROUTING_KEY, "payments": other}


# --- Which file ---------------------------------------------------------------------------------------------------


def test_handraise_yaml_comes_before_openintent_yaml(read: Reads) -> None:
    Path("openintent.yaml").write_text("http: {port: 1}")
    assert find_file(None) == Path("openintent.yaml")
    assert read("http: {port: 2}").http.port == 2


def test_a_given_file_stands_alone(read: Reads, tmp_path: Path) -> None:
    Path("handraise.yaml").write_text("http: {port: 1}")
    given = tmp_path / "other.yaml"
    given.write_text("log: {level: error}")
    settings = load(given, {})
    assert (settings.http.port, settings.log.level) == (8080, "error")


def test_openintent_yaml_may_hold_another_programs_keys(read: Reads) -> None:
    text = "server: {workers: 4}\nsuspension: {default_retry_policy: {max_attempts: 3, interval_seconds: 60}}"
    Path("openintent.yaml").write_text(text)
    assert read().suspension.policy.max_attempts == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "suspension: {default_retry: {}}",
            "openintent.yaml: unknown key suspension.default_retry; did you mean suspension.default_retry_policy?",
        ),
        ("api_keys: [{name: a, key: k}]", "openintent.yaml: api_keys[0].roles is missing"),
        (
            "pagerduty: {claim_seconds: 0}",
            "openintent.yaml: pagerduty.claim_seconds must be a whole number from 60 to 86400",
        ),
    ],
)
def test_what_we_know_counts_in_openintent_yaml_too(read: Reads, text: str, line: str) -> None:
    Path("openintent.yaml").write_text(text)
    assert refusal(read, None) == line


def test_a_file_that_is_not_there(read: Reads, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(Path("nowhere.yaml"), {})
    assert refused.value.message == "nowhere.yaml: can't be read: No such file or directory"


# --- Off loopback -------------------------------------------------------------------------------------------------

MAIL = "email: {smtp_url: 'smtp://h', from: a@example.com}\n"
PAGER = f"pagerduty: {{routing_key: '{ROUTING_KEY}'}}\n"
PUBLIC = "public_url: https://hand.example.com\n"
MAKE_ONE = "make one with `openssl rand -hex 32`"
ROOT = {"HANDRAISE_SECRET_KEY": secrets.token_hex(32)}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_off_loopback_a_secret_key_is_needed(read: Reads, host: str) -> None:
    text = f"http: {{host: '{host}'}}"
    assert refusal(read, text) == f"handraise.yaml: secret_key is missing: http.host is not loopback; {MAKE_ONE}"
    assert read(f"{text}\n{PUBLIC}", ROOT).secret_key == ROOT["HANDRAISE_SECRET_KEY"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_no_secret_is_needed(read: Reads, host: str) -> None:
    assert read(f"http: {{host: '{host}'}}\n{MAIL}{PAGER}").secret_key is None


@pytest.mark.parametrize(
    ("text", "environ", "line"),
    [
        (MAIL, ROOT, "handraise.yaml: email.inbound_secret is missing"),
        (PAGER, ROOT, "handraise.yaml: pagerduty.webhook_secrets is missing"),
    ],
)
def test_off_loopback_every_way_in_needs_its_secret(read: Reads, text: str, environ: dict[str, str], line: str) -> None:
    assert refusal(read, f"http: {{host: 0.0.0.0}}\n{text}", environ) == f"{line}: http.host is not loopback"


@pytest.mark.parametrize("door", ["listen: 'lmtp://127.0.0.1:2424'", "imap_url: 'imaps://u:p@h'"])
def test_off_loopback_mail_needs_no_secret_where_it_comes_in_by_other_doors(read: Reads, door: str) -> None:
    text = f"{PUBLIC}http: {{host: 0.0.0.0}}\nemail: {{smtp_url: 'smtp://h', from: a@example.com, {door}}}"
    email = read(text, ROOT).email
    assert email is not None
    assert email.inbound_secret is None


HERE = ["http://127.0.0.1:8080", "https://localhost", "http://hand.localhost:1", "http://[::1]:1", "http://0.0.0.0:80"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_off_loopback_links_must_lead_somewhere(read: Reads, host: str) -> None:
    reached = f"http: {{host: {host}}}\n"
    assert refusal(read, reached, ROOT) == "handraise.yaml: public_url is missing: http.host is not loopback"
    for url in HERE:
        line = "handraise.yaml: public_url must not lead to this machine: http.host is not loopback"
        assert refusal(read, f"{reached}public_url: '{url}'\n", ROOT) == line
    assert read(f"{reached}{PUBLIC}", ROOT).public_url == "https://hand.example.com"


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("url", ["http://hand.example.com", "HTTP://192.0.2.1:8080", "http://localhost.example.com"])
def test_what_people_sign_in_at_is_never_plain_http_off_loopback(read: Reads, url: str, host: str) -> None:
    assert refusal(read, f"http: {{host: {host}}}\npublic_url: {url}\n", ROOT).startswith(
        "handraise.yaml: public_url must "
    )
    for here in HERE:
        assert read(f"public_url: '{here}'\n").public_url == here


# --- Secrets stay secret ------------------------------------------------------------------------------------------

HUNTER, PIN = "hunter2", "8675309"
SPOILT = [
    "slack: {bot_token: hunter2}",
    "slack: {bot_token: x, app_token: hunter2}",
    'slack: {bot_token: "hunter2\\n", signing_secret: "hun\\nhunter2"}',
    "email: {smtp_url: 'imap://u:hunter2@h', from: a@example.com}",
    "email: {smtp_url: 'smtp://u:hunter2@h:port', from: a@example.com}",
    "database_url: mysql://u:hunter2@h/d",
    "database: {direct_url: 'postgresql+psycopg://u:hunter2@h/d'}",
    "pagerduty: {routing_key: hunter2}",
    "api_keys: [{name: a, key: 'hunter2 x', roles: [agent]}]",
    "api_keys: [{name: a, key: hunter2, roles: [agent], webhook_secrets: [hunter2]}]",
    "api_keys: [{name: a, key: hunter2, roles: [agent]}, {name: b, key: hunter2, roles: [agent]}]",
    "api_keys: [hunter2]",
    "slack: hunter2",
    "secret_key: [hunter2]",
    "secret_key: *hunter2",
    "secret_key: 8675309",
    "api_keys: [{name: a, key: 8675309, roles: [agent], webhook_secrets: [8675309]}]",
    "pagerduty: {services: {x: 8675309}, webhook_secrets: 8675309, hunter3: hunter2, pin: 8675309}",
    "email: {smtp_url: 8675309, from: hunter2, imap_url: {hunter2: 8675309}}",
]


@pytest.mark.parametrize("text", SPOILT)
def test_no_refusal_quotes_a_secret(read: Reads, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(text)
    said = "".join([*traceback.format_exception(refused.value), *refused.value.lines])
    assert HUNTER not in said
    assert PIN not in said


def test_settings_show_no_secret(read: Reads) -> None:
    text = f"""
secret_key: hunter2-root-and-30-characters-more
database_url: postgresql+psycopg://u:hunter2@h/d
slack: {{bot_token: hunter2-bot, signing_secret: hunter2-sign, app_token: xapp-hunter2}}
email: {{smtp_url: 'smtp://u:hunter2@h', from: a@example.com, inbound_secret: hunter2-in}}
pagerduty:
  routing_key: hunter2{"0" * 25}
  services: {{x: hunter2{"1" * 25}}}
  api_token: hunter2-t
  webhook_secrets: [hunter2-w]
api_keys: [{{name: a, key: hunter2-k, roles: [agent], webhook_secrets: [{WHSEC}]}}]
"""
    settings = read(text)
    assert settings.slack is not None
    assert settings.slack.bot_token == "hunter2-bot"
    assert HUNTER not in repr(settings) + str(settings)
    assert WHSEC not in repr(settings)
