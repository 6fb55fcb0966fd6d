"""Checks of Slack: the token, each scope of the manifest by its name, the way in, and the default channel.

No socket is opened: ``apps.connections.open`` makes a ticket, which ends unused. No message of a channel is read: its
history is requested from now on.

Source: https://docs.slack.dev/reference/methods/auth.test (header ``x-oauth-scopes``), …/apps.connections.open,
…/conversations.history (``not_in_channel``, ``channel_not_found``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import yaml
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.config.settings import Settings
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, quoted, some, warning
from bot.vendors.slack import Slack, SlackPerson
from channels.slack.client import web_client
from channels.slack.errors import CAUGHT, LIMITED
from channels.slack.manifest import EVENTS_PATH, manifest

TOKEN, SCOPES, SOCKET, REQUESTS, CHANNEL, ACCOUNTS = (
    "slack.token",
    "slack.scopes",
    "slack.socket",
    "slack.requests",
    "slack.channel",
    "slack.accounts",
)

_REINSTALL = "then install the app again (api.slack.com/apps → Install App)."
_MOST_LOOKED_UP = 20
"""People whose account is looked for: Slack allows fifty such calls a minute, and the service needs some."""


@cache
def _wanted() -> tuple[str, ...]:
    """The bot's scopes in the manifest, in its order."""
    scopes: Sequence[str] = yaml.safe_load(manifest())["oauth_config"]["scopes"]["bot"]
    return tuple(scopes)


async def slack(examined: Examination) -> Sequence[Finding]:
    section = examined.settings.of(Slack)
    if section is None:
        return []
    client = web_client(section.bot_token, section.api_url)
    try:
        said = await client.auth_test()
    except CAUGHT as failure:
        return [_token_refused(failure), *await _way_in(examined.settings, section)]
    granted = _granted(said.headers)
    return [
        _token(section, said.data if isinstance(said.data, dict) else {}),
        _scopes(granted),
        *await _way_in(examined.settings, section),
        *await _channel(examined, section, client, granted),
        *await _accounts(examined.settings, client, granted),
    ]


def _code(failure: Exception) -> str | None:
    """Slack's error code; ``None`` if Slack was not reached."""
    return str(failure.response.get("error")) if isinstance(failure, SlackApiError) else None


def _not_reached(subject: str) -> Finding:
    return fault(subject, "Slack is not reached from here", "Let this machine reach slack.com at port 443.")


def _token_refused(failure: Exception) -> Finding:
    code = _code(failure)
    if code is None:
        return _not_reached(TOKEN)
    mend = "Copy the Bot User OAuth Token (xoxb-…) from “OAuth & Permissions” into HANDRAISE_SLACK__BOT_TOKEN."
    return fault(TOKEN, f"Slack refuses slack.bot_token: {quoted(code)}", mend)


def _token(section: Slack, said: Mapping[str, Any]) -> Finding:
    team, name = str(said.get("team_id", "")), str(said.get("team", ""))
    if section.team_id is not None and team != section.team_id:
        found = f"slack.bot_token is of the workspace {quoted(team)}, and slack.team_id says {section.team_id}"
        return fault(TOKEN, found, "Correct slack.team_id, or take the token of the other workspace.")
    if not said.get("bot_id"):
        mend = "Copy the Bot User OAuth Token (xoxb-…) instead."
        return fault(TOKEN, "slack.bot_token is a person's token and no bot's", mend)
    return ok(TOKEN, f"of the workspace {quoted(name)}")


def _granted(headers: Mapping[str, Any]) -> frozenset[str]:
    said = next((str(value) for name, value in headers.items() if name.lower() == "x-oauth-scopes"), "")
    return frozenset(scope.strip() for scope in said.split(",") if scope.strip())


def _scopes(granted: frozenset[str]) -> Finding:
    missing = [scope for scope in _wanted() if scope not in granted]
    if not missing:
        return ok(SCOPES, f"all {len(_wanted())} of the manifest are granted")
    names = ", ".join(missing)
    mend = f"Add {names} under “OAuth & Permissions” → “Bot Token Scopes”, {_REINSTALL}"
    return fault(SCOPES, f"the token lacks {names}", mend)


async def _way_in(settings: Settings, section: Slack) -> Sequence[Finding]:
    """Socket Mode, HTTP mode, or both."""
    found = []
    if section.app_token is not None:
        found.append(await _socket(section.app_token, section.api_url))
    if section.signing_secret is not None:
        found.append(_requests(settings, is_only_way=section.app_token is None))
    return found


async def _socket(app_token: str, api_url: str) -> Finding:
    try:
        await web_client(app_token, api_url).apps_connections_open(app_token=app_token)
    except CAUGHT as failure:
        code = _code(failure)
        if code is None:
            return _not_reached(SOCKET)
        mend = "Make an app-level token under “Basic Information” and put it into HANDRAISE_SLACK__APP_TOKEN."
        if code == "missing_scope":
            mend = "Make an app-level token with the scope connections:write under “Basic Information”."
        elif code not in {"invalid_auth", "not_allowed_token_type", "token_revoked", "account_inactive"}:
            mend = "Switch “Socket Mode” on for the app at api.slack.com/apps."
        return fault(SOCKET, f"Slack opens no socket for slack.app_token: {quoted(code)}", mend)
    return ok(SOCKET, "Socket Mode: Slack would open a socket")


def _requests(settings: Settings, *, is_only_way: bool) -> Finding:
    url = settings.public_url.rstrip("/") + EVENTS_PATH
    if urlsplit(url).scheme == "https" and not settings.leads_here:
        return ok(REQUESTS, f"HTTP mode: Slack calls {url}")
    found = f"HTTP mode: Slack can't call {url}"
    mend = "Set public_url to an https:// address that the internet reaches, or set slack.app_token (Socket Mode)."
    return fault(REQUESTS, found, mend) if is_only_way else warning(REQUESTS, found, mend)


async def _channel(
    examined: Examination, section: Slack, client: AsyncWebClient, granted: frozenset[str]
) -> Sequence[Finding]:
    place = section.default_channel
    if place is None or not place.startswith(("C", "G")):
        return []
    try:
        if {"channels:read", "groups:read"} <= granted:
            shown = (await client.conversations_info(channel=place)).get("channel") or {}
            if shown.get("is_archived"):
                return [fault(CHANNEL, f"{place} is archived", "Set slack.default_channel to another channel's id.")]
            if not shown.get("is_member"):
                return [_not_joined(place)]
        else:
            from_now = f"{examined.around.now().timestamp():.6f}"
            await client.conversations_history(channel=place, oldest=from_now, limit=1)
    except CAUGHT as failure:
        return [_channel_refused(place, _code(failure))]
    return [ok(CHANNEL, f"the bot is in {place}")]


def _not_joined(place: str) -> Finding:
    return fault(CHANNEL, f"the bot is not in {place}", "Write /invite @handraise in that channel.")


def _channel_refused(place: str, code: str | None) -> Finding:
    match code:
        case None:
            return _not_reached(CHANNEL)
        case "not_in_channel":
            return _not_joined(place)
        case "channel_not_found":
            mend = "Copy the id from the channel's details into slack.default_channel, or invite the bot there."
            return fault(CHANNEL, f"there is no {place}, or it is private and the bot is not in it", mend)
        case "missing_scope":
            mend = f"Add channels:history and groups:history, {_REINSTALL}"
            return warning(CHANNEL, f"the token may not look whether the bot is in {place}", mend)
        case _:
            found = f"Slack does not say whether the bot is in {place}: {quoted(code)}"
            return warning(CHANNEL, found, "Run this again in a minute.")


async def _accounts(settings: Settings, client: AsyncWebClient, granted: frozenset[str]) -> Sequence[Finding]:
    """People without a ``slack_user_id`` are found by their e-mail, if Slack knows it."""
    unnamed = [one.email for one in settings.people_as(SlackPerson) if one.slack_user_id is None]
    if not unnamed or "users:read.email" not in granted:
        return []
    unknown = []
    for email in unnamed[:_MOST_LOOKED_UP]:
        try:
            await client.users_lookupByEmail(email=email)
        except CAUGHT as failure:
            code = _code(failure)
            if code in LIMITED or code is None:
                break
            unknown.append(email)
    if not unknown:
        return [ok(ACCOUNTS, "people without slack_user_id are found by their e-mail")]
    mend = "Set people[].slack_user_id, or the same e-mail in their profile."
    return [warning(ACCOUNTS, f"Slack knows no account of {some(unknown)}", mend)]
