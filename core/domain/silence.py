"""Silence: what happens to a question that nobody answers, in words. Pure.

Source: RFC-0026 §4.2 (the final fallback); API.md §3.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from core.domain.suspension import Kind, Suspension
from core.domain.wording import shown_value, span, told_at, told_soon, too_few

_MINUTE = timedelta(minutes=1)


class Comes(StrEnum):
    """What comes of it."""

    WAITS = "waits"
    """Nothing: there is no deadline."""
    ASKED_BACK = "asked_back"
    """Nothing yet: the deadline waits for the agent, which has been asked back."""
    AHEAD = "ahead"
    """The agent does what it has announced."""
    VALUE = "value"
    """The agent goes on with a value."""
    STOPS = "stops"


@dataclass(frozen=True, slots=True)
class Silence:
    """What ``comes`` of silence ``until`` a time; ``value`` is the agent's fallback value for display. ``needed`` is
    how many people have to answer."""

    comes: Comes
    until: datetime | None = None
    value: str = ""
    needed: int = 1

    def in_short(self, now: datetime | None, zone: tzinfo | None = None, *, with_span: bool = True) -> str:
        """``Silence until 13:00 (in 2 h): Deny refund``. ``now`` is when it is told, if known."""
        when = self._when(now, zone, with_span)
        match self.comes:
            case Comes.WAITS:
                return "No deadline: the agent waits"
            case Comes.ASKED_BACK:
                return f"The deadline waits for the agent until{when}"
            case Comes.VALUE:
                then = self.value.strip() or "“”"
            case _:
                then = _AGENT[self.comes]
        opening = "Silence until" if self.needed == 1 else f"Fewer than {self.needed} answers by"
        return f"{opening}{when}: {then}"

    def _when(self, now: datetime | None, zone: tzinfo | None, with_span: bool) -> str:
        if self.until is None:
            return ""
        ahead = timedelta() if now is None else self.until - now
        beside = f" (in {span(_to_a_minute(ahead))})" if with_span and ahead > timedelta() else ""
        return f" {told_soon(self.until, now, zone)}{beside}"


_AGENT = {Comes.AHEAD: "the agent goes ahead", Comes.STOPS: "the agent stops"}


def _to_a_minute(length: timedelta) -> timedelta:
    """The nearest whole minute: a mail that goes out a second late still says two hours."""
    return max((length + _MINUTE / 2) // _MINUTE * _MINUTE, _MINUTE)


def silence_of(suspension: Suspension) -> Silence:
    ask, until = suspension.ask, suspension.expires_at
    if suspension.asks_back is not None:
        return Silence(Comes.ASKED_BACK, suspension.asks_back.until)
    if until is None:
        return Silence(Comes.WAITS)
    if ask.kind is Kind.VETO:
        return Silence(Comes.AHEAD, until, needed=ask.answers_required)
    if ask.policy.final_fallback_policy.continues:
        return Silence(Comes.VALUE, until, shown_value(suspension, ask.fallback_value), ask.answers_required)
    return Silence(Comes.STOPS, until, needed=ask.answers_required)


def what_silence_means(suspension: Suspension, zone: tzinfo | None = None) -> str:
    """The same as one sentence that a responder can act on."""
    silence = silence_of(suspension)
    if silence.until is None:
        return "The agent waits until somebody answers."
    until = told_at(silence.until, zone)
    if silence.comes is Comes.ASKED_BACK:
        return f"Reminders and the deadline wait while the agent is asked back, until {until} at the latest."
    unless = "nobody objects" if silence.comes is Comes.AHEAD else too_few(suspension, "answers", "answer")
    then = f"the agent goes on with “{silence.value}”" if silence.comes is Comes.VALUE else _AGENT[silence.comes]
    return f"If {unless} by {until}, {then}."
