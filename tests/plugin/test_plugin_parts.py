"""Durations as a test writes them, plans and their questions, and what the channels of a test have of the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from handraise_testing.channels import recording_channels
from handraise_testing.clock import START, parse_duration, told
from handraise_testing.settings import settings_for

from bot.vendors.inbox import InboxChannel
from channels.email.channel import EmailChannel
from channels.pagerduty.channel import PagerDutyChannel
from channels.slack.channel import SlackChannel
from core.errors import ConfigError
from core.ports import Channel


@pytest.mark.parametrize(
    ("written", "span", "shown"),
    [
        ("2h", timedelta(hours=2), "2h"),
        ("1h30m", timedelta(minutes=90), "1h30m"),
        ("1h 30m", timedelta(minutes=90), "1h30m"),
        ("90m", timedelta(minutes=90), "1h30m"),
        ("0.5h", timedelta(minutes=30), "30m"),
        ("3d", timedelta(days=3), "3d"),
        (20, timedelta(seconds=20), "20s"),
        (1.5, timedelta(seconds=1.5), "1.5s"),
        (0, timedelta(0), "0s"),
        (timedelta(days=1, seconds=1), timedelta(days=1, seconds=1), "1d1s"),
    ],
)
def test_durations(written: Any, span: timedelta, shown: str) -> None:
    assert parse_duration(written) == span
    assert told(span) == shown


@pytest.mark.parametrize(
    "wrong", ["", "two hours", "2 hours", "2h later", "-2h", "2", True, None, -1, timedelta(seconds=-1)]
)
def test_what_is_no_duration_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"is no duration|is negative"):
        parse_duration(wrong)


ENVIRON = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "sdk" / "testing")}


def test_a_session_that_uses_no_fixture_does_not_load_the_service() -> None:
    code = "import sys, handraise_testing; print([one for one in ('bot', 'core', 'sqlalchemy') if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRON, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_annotations_name_is_there() -> None:
    import handraise_testing

    for name in ("Attempt", "HandraiseServer", "Humans", "Question", "SentMessage", "TestFailed"):
        assert getattr(handraise_testing, name).__name__ == name
    with pytest.raises(AttributeError, match="'handraise_testing' has no attribute 'Humours'"):
        handraise_testing.Humours  # noqa: B018


def test_settings_are_merged_key_by_key_in_each_section(tmp_path: Path) -> None:
    given = {"suspension": {"default_channel": "email"}, "slack": {"default_channel": "C0OPS"}, "groups": {"ops": []}}
    settings = settings_for(given, tmp_path / "handraise.db")
    assert settings.slack is not None
    assert (settings.slack.default_channel, settings.slack.bot_token) == ("C0OPS", "xoxb-none")
    assert settings.suspension.default_channel == "email"
    assert [one.name for one in settings.people] == ["Alice", "Bob", "Sam"]


@pytest.mark.parametrize("name", ["api_keys", "database_url", "secret_key"])
def test_what_the_plugin_sets_is_not_for_the_test_to_set(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"handraise_settings: {name} is set by the plugin"):
        settings_for({name: "mine"}, tmp_path / "handraise.db")


@pytest.mark.parametrize(
    ("name", "real"),
    [("slack", SlackChannel), ("email", EmailChannel), ("pagerduty", PagerDutyChannel), ("inbox", InboxChannel)],
)
def test_the_channels_are_to_the_engine_what_the_real_ones_are(name: str, real: type[Channel]) -> None:
    found = recording_channels(lambda: START)[name]
    alike = (
        "lane_width",
        "withdraws",
        "follows_up",
        "reaches_one_person",
        "takes_replies",
        "takes_messages",
        "one_way",
    )
    for trait in alike:
        assert getattr(found, trait) == getattr(real, trait), trait
