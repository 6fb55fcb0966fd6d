"""The Slack app's manifest: within Slack's rules, and with just the scopes that asking in Slack needs.

Rules: https://docs.slack.dev/reference/app-manifest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.sandbox.slack import SlackSandbox
from channels.slack.channel import SlackChannel
from core.domain.people import Address
from core.ports import Delivered, Refused, Sending
from tests.channels.slack.slack_examples import ASKED, a_notice, an_ending

MANIFEST: dict[str, Any] = yaml.safe_load((Path(__file__).parents[3] / "manifest.yml").read_text())
SCOPES: list[str] = MANIFEST["oauth_config"]["scopes"]["bot"]
PLACES = [Address("slack", "C1"), Address("slack", "G1"), Address("slack", "U1", "alice@example.com")]


def test_the_texts_are_of_the_lengths_that_slack_takes() -> None:
    shown = MANIFEST["display_information"]
    assert 1 <= len(shown["name"]) <= 35
    assert 1 <= len(shown["description"]) <= 140
    assert 175 <= len(shown["long_description"]) <= 4000
    assert 1 <= len(MANIFEST["features"]["bot_user"]["display_name"]) <= 80


def test_slack_sends_interactions_to_our_door_over_https() -> None:
    settings = MANIFEST["settings"]
    assert settings["interactivity"] == {
        "is_enabled": True,
        "request_url": "https://handraise.example.com/slack/events",
    }
    assert not settings["socket_mode_enabled"]
    assert not settings["token_rotation_enabled"]


def test_it_has_the_sections_of_a_manifest_and_no_other() -> None:
    assert MANIFEST.keys() == {"_metadata", "display_information", "features", "oauth_config", "settings"}
    assert MANIFEST["_metadata"] == {"major_version": 2, "minor_version": 0}


async def everything(channel: SlackChannel) -> list[Any]:
    """Ask in each kind of place, clear up a doubt in each, and show the end in each."""
    outcomes: list[Any] = []
    for number, place in enumerate(PLACES):
        sending = Sending(f"delivery-{number}", 1, ambiguous=False, since=ASKED)
        sent = await channel.send(a_notice(), place, sending)
        outcomes += [sent, await channel.send(a_notice(), place, replace(sending, tries=2, ambiguous=True))]
        if isinstance(sent, Delivered):
            outcomes.append(await channel.withdraw(an_ending(), sent.receipt, sending))
    return outcomes


@pytest.fixture
def granted(sandbox: SlackSandbox) -> set[str]:
    sandbox.workspace.add_channel("G1", "board", "U1").is_private = True
    sandbox.workspace.scopes = set(SCOPES)
    return sandbox.workspace.scopes


async def test_its_scopes_are_enough(channel: SlackChannel, granted: set[str], sandbox: SlackSandbox) -> None:
    assert all(isinstance(outcome, Delivered) for outcome in await everything(channel))
    assert len(sandbox.workspace.messages) == len(PLACES)


@pytest.mark.parametrize("scope", SCOPES)
async def test_none_of_its_scopes_is_idle(scope: str, channel: SlackChannel, granted: set[str]) -> None:
    granted.discard(scope)
    assert Refused("missing_scope") in await everything(channel)
