"""What `serve` says at its start about a configuration that works, but can't be meant (API.md §8)."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from bot.config.loading import not_configured, warnings_about
from bot.config.settings import Settings
from tests import preloaded

PAGER = {"routing_key": "R0000000000000000000000000000000", "api_token": "u+token-not-to-be-told"}


PUBLIC = "https://hand.example.com"


def settings(**fields: Any) -> Settings:
    return Settings.model_validate({"public_url": PUBLIC, **fields})


def test_a_service_without_a_channel_is_warned_of() -> None:
    """Links that lead nowhere are not: nobody is sent one."""
    [warning] = warnings_about(settings(public_url="http://127.0.0.1:8080"))
    assert warning.startswith("no channel is configured")
    assert "set up slack, email or pagerduty" in warning


def test_what_is_absent_is_named_by_its_key() -> None:
    assert not_configured(settings(pagerduty=PAGER)) == [
        "slack",
        "email",
        "pagerduty.webhook_secrets",
        "people",
        "alerts.notify",
        "alerts.heartbeat_url",
    ]


def test_a_pagerduty_token_without_from_email_is_warned_of() -> None:
    [warning] = warnings_about(settings(pagerduty=PAGER))
    assert "pagerduty.from_email" in warning
    assert "not-to-be-told" not in warning


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "https://localhost", "http://[::1]:8080"])
def test_links_that_lead_to_this_machine_are_warned_of_where_a_channel_is_set_up(url: str) -> None:
    slack = {"bot_token": "xoxb-1", "signing_secret": "s"}
    [warning] = warnings_about(settings(slack=slack, public_url=url))
    assert "public_url leads to this machine" in warning
    assert url in warning


@pytest.mark.parametrize(
    "fields",
    [
        {"pagerduty": {**PAGER, "from_email": "bot@example.com"}},
        {"pagerduty": {**PAGER, "api_token": None}},
    ],
)
def test_what_is_whole_is_not_warned_of(fields: dict[str, Any]) -> None:
    assert list(warnings_about(settings(**fields))) == []


def test_serve_prints_it_before_anything_else_begins(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "handraise.yaml").write_text(
            f"pagerduty: {{routing_key: {PAGER['routing_key']}, api_token: token}}\n"
            f"public_url: {PUBLIC}\nhttp: {{port: {taken.getsockname()[1]}}}\n"
        )
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        status, _, err = asyncio.run(preloaded.run(["serve", "--config", str(tmp_path / "handraise.yaml")], environ))
    warning, refusal = err.decode().splitlines()
    assert warning.startswith("handraise: warning: pagerduty.api_token")
    assert (status, "can't be listened on" in refusal) == (2, True)
