"""What the configuration refuses, each in a line that names file and key, or the variable (API.md §8)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from bot.config.known import TREE, Node
from bot.config.loading import load
from bot.config.problems import ConfigProblem, InvalidConfiguration
from bot.config.settings import Settings

Reads = Callable[..., Settings]

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ROUTING_KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Load ``handraise.yaml`` of this text, in a folder of its own, with these variables."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        if text is not None:
            Path("handraise.yaml").write_text(text)
        return load(None, environ or {})

    return load_text


def problems(read: Reads, text: str | None, environ: Mapping[str, str] | None = None) -> Sequence[ConfigProblem]:
    with pytest.raises(InvalidConfiguration) as refused:
        read(text, environ)
    return refused.value.problems


def refusal(read: Reads, text: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The first line, without what was found."""
    return problems(read, text, environ)[0].line.split("; found ")[0]


NOT_YAML = [
    ("http: [1", "handraise.yaml: line 1, column 9: this is not valid YAML"),
    (
        "slack: {bot_token: *hunter2}",
        "handraise.yaml: line 1: aliases (*name) are not read; write the value out",
    ),
    ("http: 2001-13-45", "handraise.yaml: this is not valid YAML"),
    ("http: \x07", "handraise.yaml: this is not valid YAML"),
    ("[" * 3000, "handraise.yaml: this is not valid YAML"),
    ("- http", "handraise.yaml: must hold keys and values, such as http: {port: 8080}"),
    ("http: {port: 1}\nlog: {}\nhttp: {port: 2}", "handraise.yaml: line 3: http is given twice"),
    ("http: &a {port: 1}\nlog: *a", "handraise.yaml: line 2: aliases (*name) are not read; write the value out"),
    ("http: &a {port: 1}\nlog: {<<: *a}", "handraise.yaml: line 2: aliases (*name) are not read; write the value out"),
    ("http:\n  port: 1\n  port: 2", "handraise.yaml: line 3: port is given twice"),
]

UNKNOWN = [
    ("suspension: {default_chanel: slack}", "suspension.default_chanel; did you mean suspension.default_channel?"),
    ("htpp: {port: 1}", "htpp; did you mean http?"),
    ("bot_token: xoxb", "bot_token; did you mean slack.bot_token?"),
    ("people: [{name: A, mail: a@example.com}]", "people[0].mail; did you mean people[0].email?"),
    ("api_keys: [{name: a, role: agent}]", "api_keys[0].role; did you mean api_keys[0].roles?"),
    ("email: {sender: a@example.com}", "email.sender; did you mean email.sender_auth?"),
    (
        "suspension: {default_retry_policy: {interval: 60}}",
        "suspension.default_retry_policy.interval; did you mean suspension.default_retry_policy.interval_seconds?",
    ),
    (
        "suspension: {default_retry_policy: {escalation_ladder: [{attempt: 1, channel: email}]}}",
        "suspension.default_retry_policy.escalation_ladder[0].channel; did you mean "
        "suspension.default_retry_policy.escalation_ladder[0].channel_hint?",
    ),
    ("1: 2", "1; did you mean database_url?"),
]

POLICY = "suspension.default_retry_policy"
NUMBER = "must be a whole number from"
SHARE = "must be a number from 0 to 1"
A_DATE = "must be a date, such as 2026-12-25"
A_NIGHT = "must have times within one day, in order and apart (a night is two: 22:00-24:00 and 00:00-06:00)"
ZONE = "must be an IANA time zone, such as Europe/Berlin"
A_PERSON = "{name: A, email: a@example.com"
TIMES = 'must have times such as "09:00-17:30" or "09:00-12:00, 13:00-17:30", in quotes'

MAILBOX = "email: {smtp_url: 'smtp://h', from: a@example.com, "
A_LISTENER = "email.listen must look like lmtp://127.0.0.1:2424 or smtp://127.0.0.1:2525"
AN_ACCOUNT = "email.imap_url must look like imap://user:password@host:143/INBOX or imaps://user:password@host"
ONE_WAY_TO_LOG_IN = "email.imap_url needs a password or email.imap_token_file, and not both"

GONE = "is gone: nothing guesses at replies any more; please take the setting out"

WRONG = [
    ("answers: {proposer: 'ours:Model'}", f"answers.proposer {GONE}"),
    *[
        (f"{MAILBOX}listen: '{url}'}}", A_LISTENER)
        for url in (
            "127.0.0.1:2424",
            "lmtp://127.0.0.1",
            "lmtp://127.0.0.1:0",
            "lmtp://127.0.0.1:99999",
            "lmtp://:2424",
            "lmtp://u:p@127.0.0.1:2424",
            "lmtp://127.0.0.1:2424/box",
            "http://127.0.0.1:2424",
            "lmtp://[::1:2424",
        )
    ],
    *[
        (f"{MAILBOX}imap_url: '{url}'}}", AN_ACCOUNT)
        for url in (
            "host",
            "imap://host",
            "pop3://u:p@host",
            "imap://u:p@host:0",
            "imap://u:p@host:993",
            "imap://u:p@host:x",
            "imaps://u:p@host?x=1",
            "imap://u:p%0d%0aLOGOUT@host",
        )
    ],
    (f"{MAILBOX}imap_url: 'imap://u@h'}}", ONE_WAY_TO_LOG_IN),
    (f"{MAILBOX}imap_url: 'imap://u:p@h', imap_token_file: t}}", ONE_WAY_TO_LOG_IN),
    (f"{MAILBOX}imap_done_folder: Done}}", "email.imap_done_folder is of no use without email.imap_url"),
    (
        f"{MAILBOX}imap_url: 'imap://u:p@h/Box', imap_done_folder: Box}}",
        "email.imap_done_folder must be another folder than email.imap_url's",
    ),
    (f"{MAILBOX}imap_url: 'imap://u:p@h', imap_poll_seconds: 1800}}", f"email.imap_poll_seconds {NUMBER} 1 to 1500"),
    ("retention: {ended_days: 0}", f"retention.ended_days {NUMBER} 1 to 36500"),
    ("retention: {ended_days: '90'}", f"retention.ended_days {NUMBER} 1 to 36500"),
    ("retention: {archive_dir: ''}", "retention.archive_dir must not be empty"),
    ("http: 3", "http must hold keys and values"),
    ("http: {port: '80'}", f"http.port {NUMBER} 1 to 65535"),
    ("http: {port: true}", f"http.port {NUMBER} 1 to 65535"),
    ("http: {port: 80.5}", f"http.port {NUMBER} 1 to 65535"),
    ("http: {port: 0}", f"http.port {NUMBER} 1 to 65535"),
    ("http: {host: ''}", "http.host must not be empty"),
    ("http: {host: 1}", "http.host must be text (in quotes, if YAML reads it as something else)"),
    ('http: {host: "a\\nb"}', "http.host must be one line of printable text"),
    ("public_url: example.com", "public_url must look like https://host or http://host:port"),
    (
        "signin: {oidc: {issuer: 'http://idp.example.com', client_id: c, client_secret: s}}",
        "signin.oidc.issuer must begin with https:// (http:// is for this machine only)",
    ),
    (
        "signin: {slack: {client_id: c, client_secret: s}}",
        "signin.slack.team_id is missing (or set slack.team_id): people of one workspace sign in",
    ),
    ("signin: {oidc: {issuer: 'https://idp.example.com', client_id: c}}", "signin.oidc.client_secret is missing"),
    ("answers: {operators_read: mine}", "answers.operators_read must be all or own_groups"),
    ("public_url: 'https://h:port'", "public_url must look like https://host or http://host:port"),
    ("database_url: mysql://h/d", "database_url must begin with sqlite+aiosqlite:/// or postgresql+psycopg://"),
    ("database_url: postgres://h/d", "database_url must begin with sqlite+aiosqlite:/// or postgresql+psycopg://"),
    (
        "database_url: postgresql+psycopg://h/d\ndatabase: {direct_url: 'sqlite+aiosqlite:///h.db'}",
        "database.direct_url must begin with postgresql+psycopg://",
    ),
    (
        "database: {direct_url: 'postgresql+psycopg://h/d'}",
        "database.direct_url is for PostgreSQL, and database_url names a file",
    ),
    ("database_url: nonsense", "database_url must begin with sqlite+aiosqlite:/// or postgresql+psycopg://"),
    ("slack: {bot_token: x}", "slack.app_token is missing (or set slack.signing_secret, for HTTP mode)"),
    (
        "slack: {bot_token: x, app_token: xoxb-1}",
        "slack.app_token must be an app-level token, xapp-…, with the scope connections:write",
    ),
    ("slack: {signing_secret: x}", "slack.bot_token is missing"),
    (
        "slack: {bot_token: x, signing_secret: x, default_channel: '#ops'}",
        "slack.default_channel must be the id of a channel or a person, such as C0123456789, not a name",
    ),
    ("email: {smtp_url: 'smtp://h'}", "email.from is missing"),
    ("email: {from: a@example.com}", "email.smtp_url is missing"),
    (
        "email: {smtp_url: 'http://h', from: a@example.com}",
        "email.smtp_url must look like smtp://user:password@host:25 or smtps://host",
    ),
    (
        "email: {smtp_url: 'smtp://h', from: nobody}",
        "email.from must be an e-mail address, with or without a name before it",
    ),
    (
        "email: {smtp_url: 'smtp://h', from: a@example.com, sender_auth: spf}",
        "email.sender_auth must be dmarc, dkim, token_only or link_only",
    ),
    (
        "email: {smtp_url: 'smtp://h', from: a@example.com, default_to: [a@example.com, b]}",
        "email.default_to[1] must be an e-mail address",
    ),
    ("pagerduty: {routing_key: abc}", "pagerduty.routing_key must be the 32 letters and digits of an integration key"),
    (
        "pagerduty: {services: {payments: abc}}",
        "pagerduty.services.payments must be the 32 letters and digits of an integration key",
    ),
    (f"pagerduty: {{routing_key: '{ROUTING_KEY}', region: asia}}", "pagerduty.region must be us or eu"),
    (
        f"pagerduty: {{routing_key: '{ROUTING_KEY}', retry_seconds: [0]}}",
        "pagerduty.retry_seconds[0] must be a whole number from 1 to 3600",
    ),
    (f"pagerduty: {{routing_key: '{ROUTING_KEY}', from_email: bot}}", "pagerduty.from_email must be an e-mail address"),
    (
        "people: [{name: A, email: a@example.com, pagerduty_routing_key: abc}]",
        "people[0].pagerduty_routing_key must be the 32 letters and digits of an integration key",
    ),
    ("pagerduty: {api_token: t}", "pagerduty.routing_key is missing (or name a service in pagerduty.services)"),
    (
        f"pagerduty: {{services: {{default: '{ROUTING_KEY}'}}}}",
        "pagerduty.services.default must have another name: the default is pagerduty.routing_key",
    ),
    (
        "resume: {allow_networks: [10.0.0.300]}",
        "resume.allow_networks[0] must be a network such as 10.0.0.0/8 or 192.0.2.7/32",
    ),
    ("resume: {timeout_seconds: 60}", f"resume.timeout_seconds {NUMBER} 1 to 25"),
    (
        "resume: {retry: {base_delay_ms: 20, max_delay_ms: 10}}",
        "resume.retry.max_delay_ms must not be less than resume.retry.base_delay_ms",
    ),
    ("api_keys: {name: a}", "api_keys must be a list"),
    ("api_keys: [a]", "api_keys[0] must hold keys and values"),
    ("api_keys: [{name: a, key: k}]", "api_keys[0].roles is missing"),
    ("api_keys: [{name: a, key: k, roles: []}]", "api_keys[0].roles must not be empty"),
    ("api_keys: [{name: a, key: k, roles: [boss]}]", "api_keys[0].roles[0] must be agent, operator or admin"),
    ("api_keys: [{name: a, roles: [agent]}]", "api_keys[0] must have one of key and key_hash"),
    (
        f"api_keys: [{{name: a, key: k, key_hash: '{'0' * 64}', roles: [agent]}}]",
        "api_keys[0] must have one of key and key_hash",
    ),
    ("api_keys: [{name: a, key_hash: '12', roles: [agent]}]", "api_keys[0].key_hash must be 64 hexadecimal digits"),
    (
        "api_keys: [{name: a, key: 'k k', roles: [agent]}]",
        "api_keys[0].key must be printable ASCII without blanks, since it travels in a header",
    ),
    (
        "api_keys: [{name: a@EXAMPLE.com, key: k, roles: [agent]}, {name: a@example.com, key: l, roles: [agent]}]",
        "api_keys[1].name is the same as api_keys[0].name",
    ),
    (
        "api_keys: [{name: a, key: k, roles: [agent]}, {name: b, key: k, roles: [agent]}]",
        "api_keys[1].key is the same as api_keys[0].key",
    ),
    (
        "api_keys: [{name: a, key: k, roles: [agent], webhook_secrets: [whsec_c2hvcnQ=]}]",
        "api_keys[0].webhook_secrets[0] must be whsec_ followed by the base64 of 24 to 64 bytes",
    ),
    (
        f"api_keys: [{{name: a, key: k, roles: [agent], webhook_secrets: [{WHSEC}, hook]}}]",
        "api_keys[0].webhook_secrets[1] must be whsec_ followed by the base64 of 24 to 64 bytes",
    ),
    ("people: [{name: A}]", "people[0].email is missing"),
    ("people: [{name: A, email: a}]", "people[0].email must be an e-mail address"),
    ("people: [{name: A, email: 'a@b@example.com'}]", "people[0].email must be an e-mail address"),
    (
        "people: [{name: A, email: a@example.com, slack_user_id: alice}]",
        "people[0].slack_user_id must be a Slack user id, such as U0123456789",
    ),
    (
        "people: [{name: A, email: a@example.com}, {name: B, email: A@Example.com}]",
        "people[1].email is the same as people[0].email",
    ),
    *[
        (
            f"people: [{A_PERSON}{more}}}, {{name: B, email: b@example.com, aliases: [{alias}]}}]{rest}",
            f"people[1].aliases[0] is the same as {other}",
        )
        for more, alias, rest, other in (
            ("", "A+x@Example.com", "", "people[0].email"),
            ("", "b@example.com", "", "people[1].email"),
            (", aliases: [c@example.com]", "c@example.com", "", "people[0].aliases[0]"),
            (
                "",
                "Bot@Example.com",
                "\napi_keys: [{name: bot@example.com, key: k, roles: [agent]}]",
                "api_keys[0].name",
            ),
        )
    ],
    (f"people: [{A_PERSON}, aliases: [nobody]}}]", "people[0].aliases[0] must be an e-mail address"),
    (
        "people: [{name: A, email: a@example.com, slack_user_id: U1}, "
        "{name: B, email: b@example.com, slack_user_id: U1}]",
        "people[1].slack_user_id is the same as people[0].slack_user_id",
    ),
    (
        "people: [{name: A, email: a@example.com, pagerduty_user_id: P1}, "
        "{name: B, email: b@example.com, pagerduty_user_id: P1}]",
        "people[1].pagerduty_user_id is the same as people[0].pagerduty_user_id",
    ),
    ("groups: [finance]", "groups must hold keys and values"),
    ("groups: {finance: [a]}", "groups.finance[0] must be an e-mail address"),
    ("groups: {a b: []}", "groups.a b must be a group's name without blanks, commas and colons"),
    ("suspension: {default_channel: sms}", "suspension.default_channel must be slack, email, pagerduty or inbox"),
    ("suspension: {catch_up: later}", "suspension.catch_up must be shift or burst"),
    ("engagement: {defer_min_risk: 1.01}", f"engagement.defer_min_risk {SHARE}"),
    ("engagement: {defer_min_risk: -0.01}", f"engagement.defer_min_risk {SHARE}"),
    ("engagement: {defer_min_risk: .nan}", f"engagement.defer_min_risk {SHARE}"),
    ("engagement: {defer_min_risk: true}", f"engagement.defer_min_risk {SHARE}"),
    ("engagement: {defer_min_risk: '0.8'}", f"engagement.defer_min_risk {SHARE}"),
    (
        "engagement: {require_input_below_confidence: 0.86}",
        "engagement.require_input_below_confidence must be at most engagement.autonomous_min_confidence",
    ),
    (
        "engagement: {autonomous_max_risk: 0.51}",
        "engagement.require_input_above_risk must be at least engagement.autonomous_max_risk",
    ),
    (
        "engagement: {require_input_above_risk: 0.81}",
        "engagement.require_input_above_risk must be at most engagement.defer_min_risk",
    ),
    (
        "engagement: {autonomous_max_risk: 0.5, defer_min_risk: 0.5}",
        "engagement.defer_min_risk must be more than engagement.autonomous_max_risk",
    ),
    (
        "engagement: {defer_max_reversibility: 0.5}",
        "engagement.defer_max_reversibility must be less than engagement.autonomous_min_reversibility",
    ),
    ("suspension: {catch_up_grace_seconds: 0}", f"suspension.catch_up_grace_seconds {NUMBER} 1 to 31536000"),
    (
        f"people: [{A_PERSON}, time_zone: Mars/Base}}]",
        "people[0].time_zone must be an IANA time zone, such as Europe/Berlin",
    ),
    (
        f"people: [{A_PERSON}, time_zone: Europe}}]",
        "people[0].time_zone must be an IANA time zone, such as Europe/Berlin",
    ),
    (
        f"people: [{A_PERSON}, time_zone: ../passwd}}]",
        "people[0].time_zone must be an IANA time zone, such as Europe/Berlin",
    ),
    (
        f"people: [{A_PERSON}, hours: {{mon: '09:00-17:00'}}}}]",
        "people[0].time_zone is missing: hours and holidays need a time zone",
    ),
    (
        f"people: [{A_PERSON}, holidays: [2026-12-25]}}]",
        "people[0].time_zone is missing: hours and holidays need a time zone",
    ),
    (
        f"people: [{A_PERSON}, time_zone: UTC, hours: 9to5}}]",
        'people[0].hours must hold days and times, such as {mon-fri: "09:00-17:30"}',
    ),
    (f"people: [{A_PERSON}, time_zone: UTC, hours: {{mon: 9:00}}}}]", f"people[0].hours {TIMES}"),
    (f"people: [{A_PERSON}, time_zone: UTC, hours: {{mon: '9-17'}}}}]", f"people[0].hours {TIMES}"),
    (
        f"people: [{A_PERSON}, time_zone: UTC, hours: {{weekdays: '09:00-17:00'}}}}]",
        "people[0].hours must name days as mon, tue, wed, thu, fri, sat, sun, as mon-fri or as mon,wed",
    ),
    (
        f"people: [{A_PERSON}, time_zone: UTC, hours: {{mon: '22:00-06:00'}}}}]",
        f"people[0].hours {A_NIGHT}",
    ),
    (
        f"people: [{A_PERSON}, time_zone: UTC, holidays: [xmas]}}]",
        "people[0].holidays[0] must be a date, such as 2026-12-25",
    ),
    (
        "suspension: {default_retry_policy: {escalation_ladder: [{attempt: 1, quiet: 1}]}}",
        f"{POLICY}.escalation_ladder[0].quiet must be true or false",
    ),
    (
        "suspension: {default_channel: slack}",
        "suspension.default_channel is slack, which is not set up (slack.bot_token is missing)",
    ),
    ("suspension: {default_retry_policy: {max_attempts: 51}}", f"{POLICY}.max_attempts {NUMBER} 1 to 50"),
    ("suspension: {default_retry_policy: {max_attempts: 0}}", f"{POLICY}.max_attempts {NUMBER} 1 to 50"),
    (
        "suspension: {default_retry_policy: {interval_seconds: 1.0}}",
        f"{POLICY}.interval_seconds {NUMBER} 1 to 31536000",
    ),
    (
        "suspension: {default_retry_policy: {interval_seconds: '60'}}",
        f"{POLICY}.interval_seconds {NUMBER} 1 to 31536000",
    ),
    ("suspension: {default_retry_policy: {strategy: linear}}", f"{POLICY}.strategy must be fixed"),
    (
        "suspension: {default_retry_policy: {final_fallback_policy: hope}}",
        f"{POLICY}.final_fallback_policy must be fail, complete_with_fallback or use_default_and_continue",
    ),
    (
        "suspension: {default_retry_policy: {escalation_ladder: [{attempt: 2}, {attempt: 2}]}}",
        f"{POLICY}.escalation_ladder[1].attempt is the same as {POLICY}.escalation_ladder[0]'s",
    ),
    (
        "suspension: {default_retry_policy: {escalation_ladder: [{attempt: 2, channel_hint: email}]}}",
        f"{POLICY}.escalation_ladder[0].channel_hint is email, which is not set up (email.smtp_url is missing)",
    ),
    (
        "suspension: {default_retry_policy: {escalation_ladder: [{attempt: 2, notify_to: boss}]}}",
        f"{POLICY}.escalation_ladder[0].notify_to must be a recipient: a person's e-mail, group:NAME, "
        "slack:C…|U…|S…, email:x@y, pagerduty:SERVICE or pagerduty-schedule:ID",
    ),
    ("answers: {allow_self_response: 'yes please'}", "answers.allow_self_response must be true or false"),
    ("log: {level: loud}", "log.level must be debug, info, warning or error"),
    ("log: {format: xml}", "log.format must be text or json"),
]

VARIABLES = [
    ("HANDRAISE_HTTP__PORT", "eighty", f"HANDRAISE_HTTP__PORT {NUMBER} 1 to 65535"),
    ("HANDRAISE_HTTP__PORT", "80_80", f"HANDRAISE_HTTP__PORT {NUMBER} 1 to 65535"),
    ("HANDRAISE_HTTP_PORT", "80", "unknown variable HANDRAISE_HTTP_PORT; did you mean HANDRAISE_HTTP__PORT?"),
    (
        "HANDRAISE_SLACK__TOKEN",
        "x",
        "unknown variable HANDRAISE_SLACK__TOKEN; did you mean HANDRAISE_SLACK__BOT_TOKEN?",
    ),
    (
        "HANDRAISE_DATABASE__URL",
        "x",
        "unknown variable HANDRAISE_DATABASE__URL; did you mean HANDRAISE_DATABASE_URL?",
    ),
    ("HANDRAISE_ANSWERS__PROPOSER", "ours:Model", f"HANDRAISE_ANSWERS__PROPOSER {GONE}"),
    ("HANDRAISE_API_KEYS", "a", "HANDRAISE_API_KEYS: api_keys can only be given in the file"),
    ("HANDRAISE_SLACK__SIGNING_SECRET", "x", "HANDRAISE_SLACK__BOT_TOKEN is missing"),
    (
        "HANDRAISE_PAGERDUTY__ASSIGNEES_MAY_ANSWER",
        "1",
        "HANDRAISE_PAGERDUTY__ASSIGNEES_MAY_ANSWER must be true or false",
    ),
    ("HANDRAISE_RETENTION__ENDED_DAYS", "0", f"HANDRAISE_RETENTION__ENDED_DAYS {NUMBER} 1 to 36500"),
    ("HANDRAISE_ANSWERS__ALLOW_SELF_RESPONSE", "1", "HANDRAISE_ANSWERS__ALLOW_SELF_RESPONSE must be true or false"),
    ("HANDRAISE_ENGAGEMENT__DEFER_MIN_RISK", "1.5", f"HANDRAISE_ENGAGEMENT__DEFER_MIN_RISK {SHARE}"),
    ("HANDRAISE_ENGAGEMENT__DEFER_MIN_RISK", "1e-1", f"HANDRAISE_ENGAGEMENT__DEFER_MIN_RISK {SHARE}"),
    (
        "HANDRAISE_ENGAGEMENT__DEFER_MIN_RISK",
        "0.2",
        "HANDRAISE_ENGAGEMENT__REQUIRE_INPUT_ABOVE_RISK must be at most engagement.defer_min_risk",
    ),
    ("HANDRAISE_LOG__FORMAT", "xml", "HANDRAISE_LOG__FORMAT must be text or json"),
    (
        "HANDRAISE_RESUME__ALLOW_NETWORKS",
        "10.0.0.0/8,home",
        "HANDRAISE_RESUME__ALLOW_NETWORKS must be a network such as 10.0.0.0/8 or 192.0.2.7/32",
    ),
    (
        "HANDRAISE_SUSPENSION__DEFAULT_CHANNEL",
        "slack",
        "HANDRAISE_SUSPENSION__DEFAULT_CHANNEL is slack, which is not set up (slack.bot_token is missing)",
    ),
]


@pytest.mark.parametrize(("text", "line"), NOT_YAML)
def test_what_is_no_yaml_is_refused_without_quoting_it(read: Reads, text: str, line: str) -> None:
    assert refusal(read, text) == line


@pytest.mark.parametrize(("text", "line"), UNKNOWN)
def test_an_unknown_key_names_its_nearest_neighbour(read: Reads, text: str, line: str) -> None:
    assert refusal(read, text) == f"handraise.yaml: unknown key {line}"


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_a_wrong_value_is_one_line_that_says_what_is_allowed(read: Reads, text: str, line: str) -> None:
    assert refusal(read, text) == f"handraise.yaml: {line}"


@pytest.mark.parametrize(("name", "value", "line"), VARIABLES)
def test_a_wrong_variable_is_named(read: Reads, name: str, value: str, line: str) -> None:
    assert refusal(read, None, {name: value}) == line


# --- All at once --------------------------------------------------------------------------------------------------

SEVERAL = """
http: {port: 70000, hosst: localhost}
slack: {bot_token: x, ap_token: xapp-1}
email: {smtp_url: 3, from: nobody, default_to: [a@example.com, b]}
log: {level: [debug]}
answers: {allow_self_response: 2026-12-25}
engagement: {defer_min_risk: 0.1}
suspension: {default_channel: email}
people: [{name: A, email: a@example.com}, {name: B, email: a@example.com}]
pagerduty: {routing_key: 12345}
"""
TEXT = "must be text (in quotes, if YAML reads it as something else)"
ALL = [
    "unknown variable HANDRAISE_HTTP_PORT; did you mean HANDRAISE_HTTP__PORT?",
    "handraise.yaml: unknown key http.hosst; did you mean http.host?",
    "handraise.yaml: unknown key slack.ap_token; did you mean slack.app_token?",
    f"handraise.yaml: http.port {NUMBER} 1 to 65535; found 70000",
    f"handraise.yaml: email.smtp_url {TEXT}; found a number",
    "handraise.yaml: email.from must be an e-mail address, with or without a name before it; found text",
    "handraise.yaml: email.default_to[1] must be an e-mail address; found text",
    f"handraise.yaml: pagerduty.routing_key {TEXT}; found a number",
    "HANDRAISE_RETENTION__ENDED_DAYS must be a whole number from 1 to 36500; found text",
    "handraise.yaml: answers.allow_self_response must be true or false; found a date",
    f"handraise.yaml: log.level {TEXT}; found a list",
    "handraise.yaml: people[1].email is the same as people[0].email",
    "handraise.yaml: engagement.require_input_above_risk must be at most engagement.defer_min_risk",
    "handraise.yaml: engagement.defer_min_risk must be more than engagement.autonomous_max_risk",
]


def test_every_error_is_told_at_once(read: Reads) -> None:
    """Those of names, of values, and of what does not fit together in sections that are right by themselves: mail is
    set up, if wrongly."""
    environ = {"HANDRAISE_HTTP_PORT": "80", "HANDRAISE_RETENTION__ENDED_DAYS": "never"}
    found = problems(read, SEVERAL, environ)
    assert sorted(problem.line for problem in found) == sorted(ALL)
    [port] = [problem for problem in found if problem.key == "http.port"]
    assert port.as_json() == {
        "key": "http.port",
        "message": f"http.port {NUMBER} 1 to 65535",
        "found": "70000",
        "file": "handraise.yaml",
    }


def test_what_is_no_yaml_hides_no_wrong_variable(read: Reads) -> None:
    found = problems(read, "http: [1", {"HANDRAISE_HTTP_PORT": "80"})
    assert [problem.key for problem in found] == ["", "HANDRAISE_HTTP_PORT"]


def test_a_thousand_errors_are_not_a_thousand_lines(read: Reads) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        read("\n".join(f"x{number}: 1" for number in range(100)))
    assert refused.value.lines[0] == "there are 100 errors in the configuration:"
    assert refused.value.lines[-1] == "  and 50 more"
    assert len(refused.value.lines) == 52


# --- Whatever is in the file --------------------------------------------------------------------------------------


def _paths(node: Node, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = [found for key, inner in node.keys.items() for found in _paths(inner, (*path, key))]
    items = _paths(node.items, (*path, "[]")) if node.items is not None else []
    return [path, *below, *items]


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


def _nested(path: tuple[str, ...], value: object) -> object:
    for step in reversed(path):
        value = [value] if step == "[]" else {step: value}
    return value


@pytest.mark.slow
@given(path=st.sampled_from(_paths(TREE)), junk=_JUNK)
@effort(max_examples=300, deadline=None)
def test_whatever_stands_anywhere_is_settings_or_a_line_for_each_error(path: tuple[str, ...], junk: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "handraise.yaml"
        file.write_text(yaml.safe_dump(_nested(path, junk)))
        try:
            load(file, {})
        except InvalidConfiguration as refused:
            for problem in refused.problems:
                assert problem.line.startswith(f"{file}: ")
                assert problem.line.isprintable()
