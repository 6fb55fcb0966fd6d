"""The Slack app's manifest: what Slack takes, in either mode, and just the scopes that asking in Slack needs.

Rules: https://docs.slack.dev/reference/app-manifest, written down in ``manifest_schema.json``.
"""

from __future__ import annotations

import asyncio
import json
import os
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from channels.slack.channel import SlackChannel
from core.domain.people import Address
from core.ports import Delivered, Refused, Sending
from tests import preloaded
from tests.channels.slack.slack_examples import ASKED, a_notice, an_ending
from tests.process import ROOT
from tests.vendors.slack import SlackSandbox

pytestmark = pytest.mark.io

URL = "https://handraise.example.com"
EVENTS_URL = f"{URL}/slack/events"
SCHEMA = jsonschema_rs.validator_for(json.loads((Path(__file__).parent / "manifest_schema.json").read_text()))
FILE = (ROOT / "manifest.yml").read_text()
MANIFEST: dict[str, Any] = yaml.safe_load(FILE)
SCOPES: list[str] = MANIFEST["oauth_config"]["scopes"]["bot"]
FOR_ASKING = ["chat:write", "im:write", "channels:history", "groups:history", "im:history"]
PLACES = [Address("slack", "C1"), Address("slack", "G1"), Address("slack", "U1", "alice@example.com")]


@cache
def handraise(*arguments: str) -> tuple[int, str, str]:
    status, out, err = asyncio.run(preloaded.run(["slack", "manifest", *arguments], os.environ))
    return status, out.decode(), err.decode()


def printed(*arguments: str) -> dict[str, Any]:
    status, out, err = handraise(*arguments)
    assert (status, err) == (0, "")
    manifest: dict[str, Any] = yaml.safe_load(out)
    return manifest


def test_the_file_at_the_top_is_what_the_command_prints() -> None:
    assert handraise() == (0, FILE, "")


@pytest.mark.parametrize("arguments", [(), ("--http", URL)])
def test_slack_takes_it(arguments: tuple[str, ...]) -> None:
    assert [str(problem) for problem in SCHEMA.iter_errors(printed(*arguments))] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("display_information", "name"), "x" * 36),
        (("display_information", "description"), "x" * 141),
        (("display_information", "long_description"), "x" * 174),
        (("features", "slash_commands", 0, "command"), "handraise"),
        (("features", "bot_user", "display_name"), ""),
        (("settings", "event_subscriptions", "bot_events"), ["app_home_opened"] * 2),
        (("settings", "interactivity", "request_url"), "http://handraise.example.com"),
        (("settings", "socket_mode_enabled"), False),
        (("settings", "socket_mode"), True),
    ],
)
def test_what_slack_does_not_take_is_noticed(path: tuple[Any, ...], value: object) -> None:
    spoilt = deepcopy(MANIFEST)
    place: Any = spoilt
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not SCHEMA.is_valid(spoilt)


def test_in_socket_mode_slack_needs_no_address_of_ours() -> None:
    assert MANIFEST["settings"]["socket_mode_enabled"]
    assert "url:" not in FILE


def test_in_http_mode_everything_comes_to_our_one_door() -> None:
    manifest = printed("--http", f"{URL}/")
    settings = manifest["settings"]
    assert not settings["socket_mode_enabled"]
    assert settings["interactivity"]["request_url"] == EVENTS_URL
    assert settings["event_subscriptions"]["request_url"] == EVENTS_URL
    assert manifest["features"]["slash_commands"][0]["url"] == EVENTS_URL


def test_both_are_the_same_app_but_for_the_way_in() -> None:
    over_http = printed("--http", URL)
    for section in (over_http["settings"]["interactivity"], over_http["settings"]["event_subscriptions"]):
        del section["request_url"]
    del over_http["features"]["slash_commands"][0]["url"]
    over_http["settings"]["socket_mode_enabled"] = True
    assert over_http == MANIFEST


@pytest.mark.parametrize(
    "url", ["http://h.example.com", "h.example.com", "https://", "https://h:port", "https://h/ x: 1"]
)
def test_an_address_that_slack_can_not_use_is_refused_in_one_line(url: str) -> None:
    assert handraise("--http", url) == (2, "", "handraise: --http must look like https://host.\n")


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


@pytest.mark.parametrize("scope", FOR_ASKING)
async def test_none_of_its_scopes_is_idle(scope: str, channel: SlackChannel, granted: set[str]) -> None:
    granted.discard(scope)
    assert Refused("missing_scope") in await everything(channel)
