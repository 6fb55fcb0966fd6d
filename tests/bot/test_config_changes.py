"""What a running service takes in of a configuration that is read anew, and what waits for a restart."""

from __future__ import annotations

from typing import Any

import pytest

from bot.config.changes import changes_between
from bot.config.settings import Settings

SLACK = {"bot_token": "xoxb-1", "signing_secret": "s1"}
MAIL = {"smtp_url": "smtp://u:hunter2@h", "from": "h@example.com", "inbound_secret": "i1"}
PAGER = {"routing_key": "R0000000000000000000000000000000", "webhook_secrets": ["w1"]}
BASE = {"slack": SLACK, "email": MAIL, "pagerduty": PAGER, "public_url": "https://hand.example.com"}
ALICE = {"name": "Alice", "email": "alice@example.com"}


def settings(**changes: Any) -> Settings:
    return Settings.model_validate({**BASE, **changes})


TAKEN = [
    ({"people": [ALICE]}, "people"),
    ({"groups": {"finance": ["alice@example.com"]}}, "groups"),
    ({"api_keys": [{"name": "a", "key": "k", "roles": ["agent"]}]}, "api_keys"),
    ({"recipients": {"allow": ["*"]}}, "recipients.allow"),
    ({"quotas": {"open": 5}}, "quotas.open"),
    ({"slack": {**SLACK, "bot_token": "xoxb-2"}}, "slack.bot_token"),
    ({"slack": {**SLACK, "signing_secret": "s2"}}, "slack.signing_secret"),
    ({"slack": {**SLACK, "app_token": "xapp-1"}}, "slack.app_token"),
    ({"slack": {**SLACK, "default_channel": "C0OPS"}}, "slack.default_channel"),
    ({"email": {**MAIL, "smtp_url": "smtp://elsewhere"}}, "email.smtp_url"),
    ({"email": {**MAIL, "inbound_secret": "i2"}}, "email.inbound_secret"),
    ({"email": {**MAIL, "default_to": ["a@example.com"]}}, "email.default_to"),
    ({"pagerduty": {**PAGER, "routing_key": "R" * 32}}, "pagerduty.routing_key"),
    ({"pagerduty": {**PAGER, "webhook_secrets": ["w2"]}}, "pagerduty.webhook_secrets"),
]
WAITING = [
    ({"http": {"port": 9090}}, "http.port needs a restart; it stays 8080"),
    ({"database_url": "sqlite+aiosqlite:///hunter2.db"}, "database_url needs a restart; it stays as it was"),
    ({"secret_key": "hunter2-" * 6}, "secret_key needs a restart; it stays absent"),
    ({"work": {"beat_seconds": 6}}, "work.beat_seconds needs a restart; it stays 5"),
    ({"answers": {"require_sign_in": True}}, "answers.require_sign_in needs a restart; it stays false"),
    ({"slack": None}, "slack needs a restart; it stays set up"),
    (
        {"slack": {**SLACK, "require_open_when_cut": True}},
        "slack.require_open_when_cut needs a restart; it stays false",
    ),
    ({"email": {**MAIL, "max_connections": 9}}, "email.max_connections needs a restart; it stays 4"),
    ({"email": {**MAIL, "listen": "lmtp://127.0.0.1:2424"}}, "email.listen needs a restart; it stays absent"),
    ({"pagerduty": {**PAGER, "webhook_secrets": []}}, "pagerduty.webhook_secrets needs a restart; it stays as it was"),
]


@pytest.mark.parametrize(("change", "key"), TAKEN)
def test_what_is_taken_in(change: dict[str, Any], key: str) -> None:
    read = settings(**change)
    changes = changes_between(settings(), read)
    assert (changes.taken, changes.waiting, changes.settings) == ((key,), (), read)


@pytest.mark.parametrize(("change", "message"), WAITING)
def test_what_waits_for_a_restart_is_named_and_stays(change: dict[str, Any], message: str) -> None:
    running = settings()
    changes = changes_between(running, settings(**change))
    assert (changes.taken, changes.settings) == ((), running)
    assert [waiting.message for waiting in changes.waiting] == [message]
    assert "hunter2" not in message


def test_a_channel_that_is_set_up_anew_waits() -> None:
    changes = changes_between(settings(slack=None), settings())
    assert [waiting.message for waiting in changes.waiting] == ["slack needs a restart; it stays absent"]
    assert changes.settings.slack is None


def test_a_way_in_that_goes_keeps_what_belongs_to_it() -> None:
    """A mailbox without the file that its token is in could not be opened any more."""
    mailbox = {**MAIL, "imap_url": "imap://u@h", "imap_token_file": "token", "imap_done_folder": "Done"}
    changes = changes_between(settings(email=mailbox), settings(email={**MAIL, "default_to": ["a@example.com"]}))
    kept = changes.settings.email
    assert kept is not None
    assert (kept.imap_url, kept.imap_token_file, kept.imap_done_folder) == ("imap://u@h", "token", "Done")
    assert (changes.taken, kept.default_to) == (("email.default_to",), ("a@example.com",))
    assert {waiting.key for waiting in changes.waiting} == {
        "email.imap_url",
        "email.imap_token_file",
        "email.imap_done_folder",
    }


def test_nothing_new_is_nothing() -> None:
    changes = changes_between(settings(), settings())
    assert (changes.taken, changes.waiting, changes.sections) == ((), (), frozenset())
