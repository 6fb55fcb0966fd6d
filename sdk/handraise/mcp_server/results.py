"""Results: what a tool returns of a question, as data and as a text that a model reads. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field, JsonValue

from handraise.records import SuspensionRecord

Status = Literal["pending", "answered", "expired", "cancelled"]


class InputState(BaseModel):
    """Where a question stands. Fields that don't apply are ``null``."""

    status: Status = Field(
        description="pending: nobody has answered yet. answered: a person has. expired: nobody did in time; that is no "
        "refusal. cancelled: the question was taken back."
    )
    ref: str = Field(description="The question's reference: for wait_for_input, check_input and cancel_input.")
    message: str = Field(description="What this means, and what to do now.")
    answer: JsonValue = Field(None, description="The answer: a choice's value, yes or no, a text, or a form's fields.")
    answer_label: str | None = Field(None, description="The choice as the person read it.")
    denied: bool | None = Field(None, description="Whether the answer is a no.")
    reason: str | None = Field(None, description="What the person, or whoever took it back, wrote about it.")
    answered_by: str | None = Field(None, description="Who has answered.")
    asked_back: str | None = Field(None, description="What a person wants to know from you before they answer.")
    url: str | None = Field(None, description="The page where people answer, after signing in. You can't.")
    expires_at: str | None = Field(None, description="When it ends if nobody answers; UTC.")


Told = Annotated[CallToolResult, InputState]
"""A result of which the client knows the schema."""


def told(record: SuspensionRecord, url: str | None = None) -> CallToolResult:
    """The result for ``record``; ``url`` is its page, shown while it waits."""
    state = state_of(record, url)
    content = TextContent(type="text", text=state.message)
    return CallToolResult(content=[content], structured_content=state.model_dump(mode="json"))


def state_of(record: SuspensionRecord, url: str | None = None) -> InputState:
    """``record`` as data. It holds the ref, and never the suspension's id."""
    ref, message = record.ref or "", record.tool_result()
    match record.resolution:
        case None:
            return _pending(record, ref, message, url)
        case "responded":
            answer = record.answer
            return InputState(
                status="answered",
                ref=ref,
                message=message,
                answer=record.response,
                answer_label=answer.choice_label if answer else None,
                denied=record.is_denial,
                reason=record.reason,
                answered_by=record.responded_by,
            )
        case "cancelled":
            return InputState(status="cancelled", ref=ref, message=message, reason=record.reason)
    return InputState(status="expired", ref=ref, message=message, reason=record.error)


def asked_back(record: SuspensionRecord) -> str | None:
    """What a person wants to know before they answer, while the clock waits for it."""
    asked = record.clarification
    return asked.question if asked and asked.held_until and record.is_open else None


def _pending(record: SuspensionRecord, ref: str, message: str, url: str | None) -> InputState:
    asked = asked_back(record)
    then = f'Call wait_for_input with ref "{ref}", or check_input later.'
    if asked is not None:
        then = "Call cancel_input for it, and ask again with what they want to know in context."
    where = f" It is answered at {url}." if url else ""
    return InputState(
        status="pending",
        ref=ref,
        message=f"{message}\n{then}{where}",
        asked_back=asked,
        url=url,
        expires_at=f"{record.expires_at:%Y-%m-%dT%H:%M:%SZ}" if record.expires_at else None,
    )
