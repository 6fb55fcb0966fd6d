"""The question about a call of a tool, and what its end means for the call. Pure but for :func:`ask` and
:func:`verdict_of`, which speak to the service.

Approved is what a receipt proves: the service has to say, at that moment, that a person has approved exactly this
action, and that the approval is used for the first time.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from pydantic import JsonValue

from handraise.coding_agents.hook_file import HookSettings
from handraise.coding_agents.hook_protocol import DISPLAYED, Allow, Deny, HookCall
from handraise.errors import ReceiptRefused, UnexpectedResponse
from handraise.questions import APPROVAL_CHOICES, APPROVE, Options, ResumeTarget
from handraise.records import Suspended, SuspensionRecord
from handraise.sync_client import HandraiseSync
from handraise.tool_results import silent


def ask(people: HandraiseSync, call: HookCall, settings: HookSettings, seconds: int) -> Suspended:
    """Ask about ``call``, for ``seconds`` in all. A call that the program names is asked about once, however often it
    comes back."""
    return people.suspend(question_of(call), **options_of(call, settings, seconds))


def question_of(call: HookCall) -> str:
    what = "run this command" if call.command is not None else f"use {call.tool}"
    return f"May {DISPLAYED[call.program]} {what} in {PurePath(call.folder).name or call.folder}?"


def action_of(call: HookCall) -> dict[str, JsonValue]:
    """What exactly will run: the tool's arguments as the program gave them, and the folder that they count in."""
    return {
        "tool": call.tool,
        "arguments": dict(call.arguments),
        "folder": call.folder,
        "program": call.program.value,
    }


def options_of(call: HookCall, settings: HookSettings, seconds: int) -> Options:
    """Silence never approves, whatever the platform's own policy says."""
    options: Options = {
        "choices": APPROVAL_CHOICES,
        "action": action_of(call),
        "context": {"machine": os.uname().nodename, "session": call.session_id},
        "deadline_seconds": seconds,
        "fallback_policy": "fail",
        "notify_to": settings.notify_to,
        "responders": settings.responders,
        "channel_hint": settings.channel_hint,
        "resume": ResumeTarget(session_id=call.session_id, invocation_id=call.call_id),
    }
    if call.call_id is not None:
        options["idempotency_key"] = f"{call.program}:{call.session_id}:{call.call_id}"
    return options


def verdict_of(people: HandraiseSync, call: HookCall, asked: Suspended, ended: SuspensionRecord) -> Allow | Deny:
    """Uses the receipt up if there is an approval. A question that is still open was not waited for any longer.

    Raises :class:`UnexpectedResponse` for another question's end.
    """
    if ended.id != asked.suspension_id:
        raise UnexpectedResponse("The server's answer is not about the question that was asked.")
    if ended.is_open:
        return Deny(ended.tool_result() if ended.clarification is not None else silent(ended.ref, None))
    if ended.resolution != "responded" or ended.response != APPROVE:
        return Deny(ended.tool_result())
    try:
        people.execute_once(ended.receipt, action_of(call), when=APPROVE)
    except ReceiptRefused as refused:
        return Deny(f"The approval can't be used ({refused.reason}). It has not run; ask again.")
    return Allow()
