"""Checks of the clocks: this machine's, beside the database's and that of a vendor.

Signatures of Slack, of posted mail and of callbacks are valid for five minutes: if a clock is further off, nothing
comes in. The database's clock says when questions are due, if several processes share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, warning
from bot.doctor.network import Unreached
from bot.vendors.installed import vendor

SUBJECT = "clock"

_OFF = 5.0
_LOST = 120.0
"""Seconds. Signatures count for 300, and the way takes some of them."""
_MEND = "Run a time service on each host: `timedatectl set-ntp true`, or chrony."


async def clocks(examined: Examination) -> Sequence[Finding]:
    """The clock that is furthest off counts."""
    stored = await examined.stored_if_any()
    others = {} if stored is None or stored.ahead is None else {"the database": stored.ahead}
    vendor = await _vendor(examined)
    if vendor is not None:
        others |= {vendor[0]: vendor[1]}
    if not others:
        return [ok(SUBJECT, "there is no other clock to compare this machine's with")]
    name, ahead = max(others.items(), key=lambda one: abs(one[1]))
    if abs(ahead) < _OFF:
        return [ok(SUBJECT, f"this machine's agrees with that of {' and '.join(others)}")]
    found = f"this machine's is {abs(ahead):.0f} s {'behind' if ahead > 0 else 'ahead of'} that of {name}"
    return [(fault if abs(ahead) > _LOST else warning)(SUBJECT, found, _MEND)]


async def _vendor(examined: Examination) -> tuple[str, float] | None:
    """The vendor's name, and by how many seconds the Date of its reply is ahead of this machine's clock."""
    settings = examined.settings
    ours = ((vendor(name), settings.section(name)) for name in settings.channels)
    found = next(((one.display, url) for one, section in ours if (url := one.clock_url(section)) is not None), None)
    if found is None:
        return None
    name, url = found
    try:
        answer = await examined.around.network.get(url)
        theirs = parsedate_to_datetime(answer.headers.get("Date", ""))
    except (Unreached, ValueError):
        return None
    return name, _seconds(theirs, examined.around.now())


def _seconds(theirs: datetime, ours: datetime) -> float:
    return ((theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC)) - ours).total_seconds()
