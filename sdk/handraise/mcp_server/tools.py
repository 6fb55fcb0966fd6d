"""The four tools. None of them answers a question."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, cast

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from handraise.errors import RequestRefused
from handraise.mcp_server import tool_texts
from handraise.mcp_server.asking_keys import Keys
from handraise.mcp_server.calls import ToolCall, opened
from handraise.mcp_server.results import Told, asked_back, told
from handraise.mcp_server.rounds import Round, knows_rounds
from handraise.questions import Options
from handraise.records import SuspensionRecord

Asked = Context[Any, Any]
Ref = Annotated[str, Field(description=tool_texts.REF, max_length=100)]
Object = dict[str, JsonValue]


class OfferedChoice(BaseModel):
    """One answer to choose from."""

    model_config = ConfigDict(extra="forbid")

    value: str
    label: str | None = None
    description: str | None = None
    style: Literal["primary", "danger", "default"] | None = None


class Tools:
    """The tools, for the callers whose key ``key_of_call`` knows, each call no longer than ``patience_seconds``."""

    def __init__(self, keys: Keys, key_of_call: Callable[[], str], patience_seconds: float) -> None:
        self._keys, self._key_of_call, self._patience = keys, key_of_call, patience_seconds

    async def request_input(
        self,
        ctx: Asked,
        question: Annotated[str, Field(description=tool_texts.QUESTION, min_length=1, max_length=10_000)],
        choices: Annotated[list[OfferedChoice | str] | None, Field(description=tool_texts.CHOICES)] = None,
        response_type: Annotated[
            Literal["choice", "confirm", "text", "form"] | None, Field(description=tool_texts.RESPONSE_TYPE)
        ] = None,
        context: Annotated[Object | None, Field(description=tool_texts.CONTEXT)] = None,
        action: Annotated[Object | None, Field(description=tool_texts.ACTION)] = None,
        form_schema: Annotated[Object | None, Field(description=tool_texts.FORM_SCHEMA)] = None,
        responders: Annotated[list[str] | None, Field(description=tool_texts.RESPONDERS)] = None,
        timeout_seconds: Annotated[int | None, Field(description=tool_texts.TIMEOUT, ge=1, le=31_536_000)] = None,
        question_id: Annotated[str, Field(description=tool_texts.QUESTION_ID, max_length=200)] = "",
    ) -> Told | InputRequiredResult:
        """Ask, and wait for as long as the call may take."""
        options = {
            "choices": [_choice(one) for one in choices] if choices else None,
            "response_type": response_type or ("choice" if choices else "text"),
            "context": context,
            "action": action,
            "form_schema": form_schema,
            "responders": responders,
            "timeout_seconds": timeout_seconds,
            "idempotency_key": question_id or None,
            "fallback_policy": "fail",  # a model can't agree with itself that nobody's answer means yes
        }
        async with self._call() as call:
            if ctx.request_state is not None:
                return await self._waited(ctx, call, Round.of(ctx.request_state))
            try:
                asked = await call.people.suspend(question, **cast("Options", options))
            except (TypeError, ValueError) as wrong:  # before anything is sent
                raise ToolError(f"Nobody has been asked: {wrong}.") from None
            async with _page_shown(ctx, call, asked.suspension):
                return await self._waited(ctx, call, Round(asked.ref or ""), asked.suspension)

    async def check_input(self, ref: Ref) -> Told:
        """Where the question stands now."""
        async with self._call() as call:
            record = await call.find(ref)
            return told(record, await call.page(record))

    async def wait_for_input(self, ctx: Asked, ref: Ref) -> Told | InputRequiredResult:
        """Wait for the end of a question that was asked before."""
        async with self._call() as call:
            return await self._waited(ctx, call, Round.of(ctx.request_state) if ctx.request_state else Round(ref))

    async def cancel_input(
        self, ref: Ref, reason: Annotated[str, Field(description=tool_texts.CANCEL_REASON, max_length=2_000)] = ""
    ) -> Told:
        """Take the question back, unless it has ended."""
        async with self._call() as call:
            record = await call.find(ref)
            if record.is_open:
                try:
                    await call.people.cancel(record.id, reason or None)
                except RequestRefused as refused:
                    if refused.status != 409:  # somebody has just answered: that stands
                        raise
                record = await call.people.get(record.id)
            return told(record)

    @asynccontextmanager
    async def _call(self) -> AsyncIterator[ToolCall]:
        async with opened(self._keys, self._key_of_call(), self._patience) as call:
            yield call

    async def _waited(
        self, ctx: Asked, call: ToolCall, this: Round, record: SuspensionRecord | None = None
    ) -> Told | InputRequiredResult:
        """The end of the question, if it comes in time. Otherwise another round if the client knows rounds, and
        ``pending`` if it does not."""
        record = record or await call.find(this.ref)
        if asked_back(record):
            return told(record, await call.page(record))
        another = knows_rounds(ctx.protocol_version) and not this.is_last
        page = None if another else await call.page(record)
        ended = await call.ended(record)
        if ended is None and another:
            return InputRequiredResult(request_state=this.after())
        return told(ended or record, page)


def _choice(given: OfferedChoice | str) -> JsonValue:
    if isinstance(given, str):
        return {"value": given, "label": given}
    return {"label": given.value, **given.model_dump(exclude_none=True)}


@asynccontextmanager
async def _page_shown(ctx: Asked, call: ToolCall, record: SuspensionRecord) -> AsyncIterator[None]:
    """Meanwhile the client shows the question's page to whoever sits at it, if it can.

    That is a hint and no more: what they do there counts, what they tell the client does not. A client of 2026-07-28
    could only be shown it in a round, and would then hold the answer back until somebody has clicked.
    """
    declared = ctx.client_capabilities
    elicitation = declared.elicitation if declared else None
    if elicitation is None or elicitation.url is None or not ctx.session.can_send_request:
        yield
        return
    page, ref = await call.page(record), record.ref or ""

    async def show() -> None:
        if page is not None:
            try:
                await ctx.elicit_url(f"{ref} waits for a person: {record.question}", page, ref)
            except MCPError:
                return

    async with anyio.create_task_group() as meanwhile:
        meanwhile.start_soon(show)
        yield
        meanwhile.cancel_scope.cancel()
