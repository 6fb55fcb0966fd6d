"""One call of a tool: made with its caller's key, over before the client's patience, and each failure a sentence that a
model can act on."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from mcp.server.mcpserver.exceptions import ToolError

from handraise.client import Handraise
from handraise.errors import HandraiseError, RequestRefused
from handraise.mcp_server.asking_keys import KeyRefused, Keys
from handraise.records import SuspensionRecord

_REF = re.compile(r"HR-[0-9A-Z]{4,32}")
_MOMENT_SECONDS = 0.5
_AWAY = (
    "The Handraise service does not answer, so nothing is known of any answer. Don't go ahead with what you wanted to "
    "ask about. Try again in a minute; give request_input the same question_id then, so that nobody is asked twice."
)


@dataclass(frozen=True)
class ToolCall:
    """``people`` asks with the caller's key. The call ends at ``until``, a monotonic time."""

    people: Handraise
    until: float

    async def find(self, ref: str) -> SuspensionRecord:
        """The question with this ref, asked with this very key: an agent's list has no others, even if it may read
        them. Raises :class:`ToolError` if there is none."""
        wanted = ref.strip().upper()
        if _REF.fullmatch(wanted):
            async for record in self.people.list(q=wanted):
                if record.ref == wanted:
                    return record
        raise ToolError(f"There is no question {wanted[:40]} that was asked with this key. A ref looks like HR-7F3K.")

    async def ended(self, record: SuspensionRecord) -> SuspensionRecord | None:
        """The record once it has ended; ``None`` if the call has to end before."""
        if not record.is_open:
            return record
        try:
            left = max(0.0, self.until - time.monotonic())
            return await self.people.wait(record.id, give_up_after_seconds=left)
        except TimeoutError:
            return None

    async def page(self, record: SuspensionRecord) -> str | None:
        """The address of the page where it is answered; ``None`` if the service does not say."""
        try:
            return (await self.people.notice(record.id)).url
        except HandraiseError:
            return None


@asynccontextmanager
async def opened(keys: Keys, key: str, patience_seconds: float) -> AsyncIterator[ToolCall]:
    """A call with ``key``. Whatever goes wrong in it is a :class:`ToolError` whose text says what to do."""
    until = time.monotonic() + patience_seconds
    try:
        # Waiting ends at `until` by itself; a service that hangs is left a moment later.
        with anyio.fail_after(patience_seconds + _MOMENT_SECONDS):
            await keys.owner(key)
            async with Handraise(keys.url, key, patience_seconds=patience_seconds) as people:
                yield ToolCall(people, until)
    except RequestRefused as refused:
        raise ToolError(_refusal(refused)) from None
    except KeyRefused as refused_key:
        raise ToolError(f"{refused_key} Tell whoever has set up this server. Nobody has been asked.") from None
    except (HandraiseError, TimeoutError):
        raise ToolError(_AWAY) from None


def _refusal(refused: RequestRefused) -> str:
    fields = "".join(f" {problem.path}: {problem.message}" for problem in refused.fields)
    why = f" Reason: {refused.details['reason']}" if refused.details.get("reason") else ""
    return f"Handraise refuses this ({refused.code}): {refused.message}{fields}{why} Don't go ahead with it."
