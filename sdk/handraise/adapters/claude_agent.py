"""Claude Agent SDK: a person decides about the calls of tools at which Claude Code would prompt its user.

:func:`permission_callback` makes the ``can_use_tool`` of ``ClaudeAgentOptions``. The process lives while the person
thinks. The tool runs in Claude Code's own process, so that the receipt is used up right before the call is allowed.

What must never be: an allow that no receipt stands behind, also after a failure of ours; an input that is changed.

Source: ``can_use_tool`` in ``claude_agent_sdk/types.py``; how to use it: ``docs/how-to/frameworks``.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from claude_agent_sdk import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from handraise.adapters.approvals import Approvals, PendingCall
from handraise.errors import HandraiseError

log = logging.getLogger("handraise")

_GOODBYE_SECONDS = 5.0
_NOT_FOUND_OUT = "This call has not run: whether a person approves it could not be found out. Say so."
_GONE = "The agent does not wait for it any more."


def permission_callback(approvals: Approvals) -> CanUseTool:
    """Asks a person about each call that it is given, waits for them, and allows exactly that call once, if they
    approve it. Everything else is a denial with what the model should read: their reason, that nobody has answered, or
    that something has failed. A failure is logged, too.

    Only calls that Claude Code would prompt its user for come here: those that rules or the permission mode allow do
    not. The session of ``approvals`` is the one that questions are found by: a call that comes again with the same
    ``tool_use_id`` and input joins its first question. If Claude Code gives a call up, its question is taken back.

    Runs on asyncio, not on trio.
    """

    async def can_use_tool(tool: str, arguments: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        if not context.tool_use_id:  # each call is then the same one to us: an answer could count for another call
            return PermissionResultDeny(message=_NOT_FOUND_OUT)
        call = PendingCall(context.tool_use_id, tool, arguments)
        try:
            return await _decided(approvals, call)
        except Exception as failure:  # noqa: BLE001 (whatever it is, it is no)
            kind = type(failure).__name__
            log.warning("A call is denied, since a person could not be asked: %s.", kind)
            why = str(failure) if isinstance(failure, HandraiseError) else f"({kind})"
            return PermissionResultDeny(message=f"{_NOT_FOUND_OUT} {why}")

    return can_use_tool


async def _decided(approvals: Approvals, call: PendingCall) -> PermissionResult:
    try:
        [decision] = await approvals.wait([call])
    except asyncio.CancelledError:
        with suppress(Exception):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await approvals.take_back(call, _GONE)
        raise
    if not decision.approved:
        return PermissionResultDeny(message=decision.told)
    used = await approvals.use_up(call)
    # Without an input of its own, an allow is one of the input that was asked about.
    return PermissionResultDeny(message=used) if isinstance(used, str) else PermissionResultAllow()
