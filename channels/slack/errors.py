"""Errors of Slack's Web API: whether the message was surely not sent, may have been sent, or will never be accepted.

Source: https://docs.slack.dev/reference/methods/chat.postMessage (errors: of ``internal_error`` and ``fatal_error`` it
says that the operation may have succeeded in part), https://docs.slack.dev/apis/web-api/rate-limits.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.http import Verdict, retry_after, verdict_on
from core.ports import Ambiguous, Deferred, RefusalCause, Refused

Failure = Deferred | Ambiguous | Refused

CAUGHT = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError)
"""Errors to catch around a call: every failure of Slack and of the network."""

NOT_SENT = frozenset({"ratelimited", "rate_limited", "request_timeout", "team_added_to_org"})
IN_DOUBT = frozenset({"internal_error", "fatal_error", "service_unavailable"})

LIMITED = frozenset({"ratelimited", "rate_limited", "http_429"})

SETUP = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
    | {"missing_scope", "no_permission", "access_denied", "org_login_required", "team_access_not_granted"}
)
"""Errors to mend in Slack or in our configuration before anybody is asked there again."""

PLACE = frozenset(
    {"channel_not_found", "not_in_channel", "is_archived", "restricted_action", "restricted_action_read_only_channel"}
    | {"restricted_action_thread_only_channel"}
    | {"user_not_found", "users_not_found", "user_disabled", "cannot_dm_bot", "no_default_channel"}
)
"""That conversation, or that person, is not to be had: somebody has to mend it, and everybody else is still asked."""

UNSHOWABLE = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
"""Slack understood the request and can't show the message: a plain one may still get through."""

THREAD_GONE = frozenset(
    {"thread_not_found", "message_not_found", "cannot_reply_to_message"}
    | {"restricted_action_thread_locked", "restricted_action_non_threadable_channel"}
)
"""There is nothing left to reply under, or nobody may: the conversation itself may still take the message."""

TOO_LONG = frozenset({"expired_trigger_id"})
"""Slack gives three seconds to open a modal, and they were over."""

UNEDITABLE = frozenset(
    {"message_not_found", "channel_not_found", "is_archived", "edit_window_closed", "cant_update_message"}
)
"""The message, or its place, is gone: an edit will never arrive, and nobody misses it."""


def failure_of(error: Exception, now: datetime) -> Failure:
    """The outcome of a call that ended in one of :data:`CAUGHT`. An unknown error code of Slack's is final."""
    match error:
        case SlackApiError():
            return _answered(error.response, now)
        case aiohttp.InvalidURL():
            return Refused("invalid_url")
        case aiohttp.ClientConnectorError():  # refused, no such name, no TLS: nothing was written yet
            return Deferred("connect_failed")
        case aiohttp.ConnectionTimeoutError():
            return Deferred("connect_timeout")
        case TimeoutError():
            return Ambiguous("timeout")
        case _:
            return Ambiguous("connection_lost")


def fault_of(reason: str) -> RefusalCause:
    """The cause to mend if Slack refuses for this ``reason``."""
    for fault, reasons in (
        (RefusalCause.SETUP, SETUP),
        (RefusalCause.PLACE, PLACE),
        (RefusalCause.CONTENT, UNSHOWABLE),
    ):
        if reason in reasons:
            return fault
    return RefusalCause.MESSAGE


def sent_nothing(failure: Failure) -> Deferred | Refused:
    """The failure of a call that posts nothing: a doubt about the call is not a doubt about the message."""
    return Deferred(failure.reason) if isinstance(failure, Ambiguous) else failure


def code_of(error: SlackApiError) -> str | None:
    """Slack's own error code, if it gave one."""
    return _code(error.response)


def _answered(response: Any, now: datetime) -> Failure:
    status, code = _status(response), _code(response)
    verdict, reason = _verdict(status, code), code or f"http_{status}"
    if verdict is Verdict.NEVER:
        return Refused(reason, fault_of(reason))
    if verdict is Verdict.NOT_SENT:
        return Deferred(reason, retry_after(response.headers, now))
    return Ambiguous(reason)  # accepted, but not in words that we understand, is a doubt too


def _verdict(status: int, code: str | None) -> Verdict:
    if status == 429 or code in NOT_SENT:
        return Verdict.NOT_SENT
    if code is None or code in IN_DOUBT or status >= 500:
        return Verdict.IN_DOUBT if code in IN_DOUBT else verdict_on(status)
    return Verdict.NEVER


def _code(response: Any) -> str | None:
    data = response.data if isinstance(response, AsyncSlackResponse) else None
    code = data.get("error") if isinstance(data, dict) else None
    return code if isinstance(code, str) else None


def _status(response: Any) -> int:
    """The SDK hands over its own response or, if the body was not JSON, aiohttp's."""
    return int(response.status_code if isinstance(response, AsyncSlackResponse) else response.status)
