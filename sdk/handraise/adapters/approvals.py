"""Approvals of the tool calls of one session: the part that all adapters share.

A framework pauses at calls. :meth:`Approvals.decisions` asks people about each, and the process may end. Called again,
in whatever process, it finds what they have decided by the session. :meth:`Approvals.run` runs a tool, once, and only
if a person has approved exactly this call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, Unpack, cast

from pydantic import JsonValue

from handraise.client import Handraise
from handraise.errors import AlreadyDenied, ReceiptRefused
from handraise.execution import Execution
from handraise.questions import APPROVAL_CHOICES, APPROVE, ApprovalOptions, Options, ResumeTarget
from handraise.records import SuspensionRecord

Result = TypeVar("Result")

NOT_APPROVED = (
    "This call has not run: no person has been asked about these very arguments, so nobody has approved them. Say so."
)
_REFUSED = {
    "used": "This call was approved, and its approval has been used up already: it may have run, or have begun to run. "
    "Don't call it again. Find out whether it has taken effect, and say that you don't know otherwise.",
    "expired": "This call has not run: its approval is too old. If it is still needed, call it again, and a person is "
    "asked anew.",
}
_REFUSED_OTHERWISE = (
    "This call has not run: its approval does not hold for it. Say so, and don't call it again as it is."
)


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A tool call at which a framework waits, or a question that it asks.

    ``key`` is the framework's own id of it, the same in every process. ``question`` is what people read; without it
    they are asked whether the tool may run. ``asks`` makes it a question about something else than an approval: how it
    may be answered (:class:`Options`); there is no action then.
    """

    key: str
    tool: str
    arguments: Mapping[str, JsonValue]
    question: str | None = None
    asks: Options | None = None

    @property
    def action(self) -> dict[str, JsonValue]:
        """What people approve: the tool and its exact arguments."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}

    @property
    def text(self) -> str:
        return self.question or f"May {self.tool} run?"

    def is_of(self, record: SuspensionRecord) -> bool:
        """Whether ``record`` is about exactly this call: with other arguments, it is another question."""
        if self.asks is not None:
            return record.invocation_id == self.key and record.question == self.text
        return record.invocation_id == self.key and record.action == self.action


@dataclass(frozen=True, slots=True)
class Decision:
    """How far the question about ``call`` has come.

    ``told`` is what a model should read: the person's reason, that nobody has answered, or that it still waits.
    ``record`` is ``None`` if nobody was asked, since people have just denied the same (:class:`AlreadyDenied`).
    """

    call: PendingCall
    record: SuspensionRecord | None
    told: str = field(repr=False)

    @property
    def is_open(self) -> bool:
        return self.record is not None and self.record.is_open

    @property
    def outcome(self) -> Literal["open", "approved", "denied", "undecided"]:
        """``undecided``: it has ended, and no person has said anything (nobody answered, or it was taken back)."""
        if self.is_open:
            return "open"
        if self.approved:
            return "approved"
        return "denied" if self.record is None or self.record.resolution == "responded" else "undecided"

    @property
    def approved(self) -> bool:
        """A person has said yes. Silence never approves."""
        return self.record is not None and self.record.resolution == "responded" and self.record.response == APPROVE


class Approvals:
    """Who approves the calls of one session.

    ``session_id`` is the framework's own (a thread, a conversation): another process finds the questions by it.
    ``question`` makes the text for people from a call. ``options``: whom to ask, and how often
    (:class:`ApprovalOptions`).
    """

    def __init__(
        self,
        people: Handraise,
        session_id: str,
        *,
        question: Callable[[PendingCall], str] | None = None,
        **options: Unpack[ApprovalOptions],
    ) -> None:
        self._people, self.session_id, self._question, self._options = people, session_id, question, options

    async def decisions(self, calls: Sequence[PendingCall]) -> list[Decision]:
        """How far each of ``calls`` has come, in their order. Whoever has not been asked yet is asked now.

        A call that was asked about before with other arguments is asked about anew. Raises as
        :meth:`Handraise.suspend` does.
        """
        if not calls:
            return []
        calls = [self._worded(call) for call in calls]
        asked = [record async for record in self._people.list(session_id=self.session_id)]
        return list(await asyncio.gather(*(self._decision(call, asked) for call in calls)))

    async def wait(self, calls: Sequence[PendingCall]) -> list[Decision]:
        """As :meth:`decisions`, once every one of ``calls`` has ended. The process has to live meanwhile."""
        return list(await asyncio.gather(*map(self._ended, await self.decisions(calls))))

    async def run(self, call: PendingCall, function: Callable[[], Awaitable[Result]]) -> Result | str:
        """Runs ``function``, the tool's body, if a person has approved ``call`` as it is now, and its approval was not
        used before. Otherwise returns what to tell the model, and nothing has run.

        The receipt is used up right before (:meth:`Handraise.execute_once`). A process that ends between this and the
        end of ``function`` leaves an approval that is used up; the next run tells the model so.
        """
        execution = await self.use_up(call)
        if isinstance(execution, str):
            return execution
        async with execution:
            return await function()

    async def use_up(self, call: PendingCall) -> Execution | str:
        """As :meth:`run`, for a tool that another process runs: uses the receipt up, and then ``call`` may run once.
        Otherwise what to tell the model. People hear what came of it only if you say so.
        """
        record = await self._found(call)
        if record is None:
            return NOT_APPROVED
        if not Decision(call, record, "").approved:
            return record.tool_result()
        try:
            return await self._people.execute_once(record.receipt, call.action, when=APPROVE)
        except ReceiptRefused as refused:
            return _REFUSED.get(refused.reason, _REFUSED_OTHERWISE)

    async def take_back(self, call: PendingCall, reason: str) -> None:
        """Takes the question about ``call`` back if there is an open one, so that nobody answers for nothing."""
        record = await self._found(call)
        if record is not None and record.is_open:
            await self._people.cancel(record.id, reason)

    def _worded(self, call: PendingCall) -> PendingCall:
        if self._question is None or call.question is not None:
            return call
        return PendingCall(call.key, call.tool, call.arguments, self._question(call), call.asks)

    async def _found(self, call: PendingCall) -> SuspensionRecord | None:
        """The newest question about exactly this call, with its receipt."""
        of_call = self._people.list(session_id=self.session_id, invocation_id=call.key, with_receipts=True)
        async for record in of_call:
            if call.is_of(record):
                return record
        return None

    async def _decision(self, call: PendingCall, asked: Sequence[SuspensionRecord]) -> Decision:
        record = next((record for record in asked if call.is_of(record)), None)
        if record is None:
            try:
                record = (await self._people.suspend(call.text, **self._asking(call))).suspension
            except AlreadyDenied as denied:
                return Decision(call, None, denied.tool_result())
        return Decision(call, record, record.tool_result())

    async def _ended(self, decision: Decision) -> Decision:
        if decision.record is None or not decision.is_open:
            return decision
        record = await self._people.wait(decision.record.id)
        return Decision(decision.call, record, record.tool_result())

    def _asking(self, call: PendingCall) -> Options:
        """The client asks the same of a session's invocation once, so that two processes at once join one question."""
        approval: Options = {"choices": APPROVAL_CHOICES, "action": call.action}
        asked: Options = {
            **(approval if call.asks is None else call.asks),
            "fallback_policy": "fail",
            "resume": ResumeTarget(session_id=self.session_id, invocation_id=call.key),
        }
        return cast("Options", {**self._options, **asked})
