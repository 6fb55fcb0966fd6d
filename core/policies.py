"""A partial retry policy between JSON and the domain: what a call, an agent or the configuration says of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt

from core.domain.policy import MOST_ATTEMPTS, PolicyFields
from core.domain.suspension import FallbackPolicy, Rung

LONGEST_SECONDS = 31_536_000
"""A year: the longest duration on the wire (API.md §1)."""

Seconds = Annotated[int, Field(strict=True, ge=1, le=LONGEST_SECONDS)]


class RungFields(BaseModel):
    """One entry of ``escalation_ladder``. An empty ``notify_to`` is the published SDK's way to write none."""

    model_config = ConfigDict(extra="forbid")

    attempt: StrictInt
    channel_hint: str | None = Field(default=None, max_length=64)
    notify_to: str | None = Field(default=None, max_length=320)
    quiet: StrictBool | None = Field(
        default=None, description="Wait while everybody whom the attempt asks is outside their working hours."
    )


class RetryPolicyFields(BaseModel):
    """``retry_policy`` as it may be given at any level; absent fields are inherited (RFC-0026 §5)."""

    model_config = ConfigDict(extra="forbid")

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=MOST_ATTEMPTS)] | None = None
    interval_seconds: Seconds | None = None
    strategy: Literal["fixed"] | None = None
    escalation_ladder: list[RungFields] | None = Field(default=None, max_length=MOST_ATTEMPTS)
    final_fallback_policy: FallbackPolicy | None = None

    def fields(self) -> PolicyFields:
        """The same in the domain's words."""
        interval, ladder = self.interval_seconds, self.escalation_ladder
        return PolicyFields(
            max_attempts=self.max_attempts,
            interval=None if interval is None else timedelta(seconds=interval),
            escalation_ladder=None if ladder is None else tuple(_rung(rung) for rung in ladder),
            final_fallback_policy=self.final_fallback_policy,
        )


def policy_fields(stored: Mapping[str, JsonValue]) -> PolicyFields:
    """What an agent's stored default says."""
    return RetryPolicyFields.model_validate(stored).fields() if stored else PolicyFields()


def _rung(rung: RungFields) -> Rung:
    return Rung(rung.attempt, rung.channel_hint or None, rung.notify_to or None, rung.quiet or False)
