"""Windows: how much of a policy fits into a veto's timeout, or into ``deadline_seconds``. Pure.

An attempt fits if it is due before the window ends. Fields of the call itself have to fit; inherited ones are bent or
dropped.

Source: API.md §2; docs/decisions/0031.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from core.domain.suspension import HumanRetryPolicy, Kind
from core.errors import DeadlineTooShort, InvalidRequest

SECOND = timedelta(seconds=1)

MAX_ATTEMPTS = "retry_policy.max_attempts"
INTERVAL = "retry_policy.interval_seconds"
LADDER = "retry_policy.escalation_ladder"


@dataclass(frozen=True, slots=True)
class Window:
    """The total time that the call gives. ``timeout`` is for one attempt, or for a veto's whole window; ``deadline``
    is for the whole window of either."""

    timeout: timedelta | None = None
    deadline: timedelta | None = None
    kind: Kind = Kind.INPUT

    @classmethod
    def of(cls, timeout: timedelta | None, deadline: timedelta | None, kind: Kind) -> Window:
        """A deadline without a timeout also sets the timeout."""
        return cls(deadline if timeout is None else timeout, deadline, kind)

    @property
    def is_veto(self) -> bool:
        return self.kind is Kind.VETO

    @property
    def longest_interval(self) -> timedelta | None:
        """The cap of an interval that the call did not give."""
        bounds = [bound for bound in (self.timeout, self.deadline) if bound is not None]
        return min(bounds, default=None)

    @property
    def length(self) -> timedelta | None:
        """The window's length from the start; ``None`` if only the ladder ends it."""
        return self.timeout if self.is_veto else self.deadline

    def end_of(self, policy: HumanRetryPolicy) -> timedelta | None:
        """The total wait under ``policy``, ``None`` for ever."""
        if self.is_veto or policy.interval is None:
            return self.length
        ladder = policy.interval * policy.max_attempts
        return ladder if self.length is None else min(ladder, self.length)

    def fitting(self, attempts: int, interval: timedelta | None) -> int:
        """How many of ``attempts`` are due before the window ends; the first always is."""
        if self.length is None or interval is None:
            return attempts
        return min(attempts, -(-self.length // interval))

    def share(self, attempts: int) -> timedelta | None:
        """The longest interval, in whole seconds, at which all attempts of a veto wait equally long."""
        if self.timeout is None:
            return None
        return max(SECOND, SECOND * (self.timeout // attempts // SECOND))


def check_given_interval(window: Window, interval: timedelta, attempts: int) -> None:
    """Raises if the call's own interval is longer than its own times allow."""
    timeout, deadline = window.timeout, window.deadline
    if deadline is not None and interval > deadline:
        raise DeadlineTooShort(
            f"{INTERVAL} must not be greater than deadline_seconds ({_seconds(deadline)}).", path=INTERVAL
        )
    if timeout is None:
        return
    if interval > timeout:
        raise InvalidRequest(f"{INTERVAL} must not be greater than timeout_seconds.", path=INTERVAL)
    if window.is_veto and interval * attempts > timeout:
        total = f"{attempts} attempts, {_seconds(interval)} s apart, take longer than that"
        message = f"A veto window lasts timeout_seconds in all ({_seconds(timeout)} s): {total}."
        raise InvalidRequest(message, path=INTERVAL)


def check_given_attempt(window: Window, attempt: int, interval: timedelta, path: str) -> None:
    """Raises if the call's own attempt would come after its deadline. A veto's window ends at its timeout: attempts
    that do not fit there are dropped, given or not."""
    deadline = window.deadline
    if window.is_veto or deadline is None or window.fitting(attempt, interval) == attempt:
        return
    due = _seconds(interval * (attempt - 1))
    message = (
        f"Attempt {attempt} would be due after {due} s, and deadline_seconds is {_seconds(deadline)}: "
        "give fewer attempts, a shorter interval_seconds or a later deadline."
    )
    raise DeadlineTooShort(message, path=path)


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
