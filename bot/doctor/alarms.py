"""Checks of alarms: who is alerted if the service itself needs help, and who notices if it is dead.

The heartbeat's URL is not called, because a ping says that all is well. Only its host is tried, and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, some, warning
from bot.doctor.network import Unreached
from bot.doctor.people_reach import directory_of, reaches
from bot.people.directory import Directory

ALERTS, HEARTBEAT = "alerts.notify", "alerts.heartbeat"


async def alerts(examined: Examination) -> Sequence[Finding]:
    settings = examined.settings
    if not settings.alerts.notify:
        found = "nobody is told if a channel is shut or a callback is given up"
        return [warning(ALERTS, found, 'Set alerts.notify, such as [ops@example.com, "slack:C0123456789"].')]
    people: Directory = directory_of(settings)
    lost = [
        one for one in settings.alerts.notify if not any(reaches(people, one, channel) for channel in settings.channels)
    ]
    if lost:
        mend = "Correct alerts.notify: people by e-mail, group:NAME, slack:C…, email:…, pagerduty:NAME."
        return [fault(ALERTS, f"{some(lost)} is reached on no channel", mend)]
    return [ok(ALERTS, f"{some(settings.alerts.notify)} would be told")]


async def heartbeat(examined: Examination) -> Sequence[Finding]:
    url = examined.settings.alerts.heartbeat_url
    if url is None:
        mend = "Set alerts.heartbeat_url to a check of healthchecks.io, or of the like that you run."
        return [warning(HEARTBEAT, "nobody notices if the service is dead", mend)]
    host = urlsplit(url).hostname
    try:
        await examined.around.network.connect(url)
    except Unreached as unreached:
        mend = f"Let this machine reach {host}, or correct alerts.heartbeat_url."
        return [fault(HEARTBEAT, f"{host} is not reached: {unreached.why}", mend)]
    return [ok(HEARTBEAT, f"{host} is reached (it was not pinged)")]
