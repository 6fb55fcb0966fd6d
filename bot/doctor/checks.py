"""Every check, in the order of its printed lines: from the foundations up."""

from __future__ import annotations

from collections.abc import Sequence

from bot.doctor.addresses import PUBLIC_URL, SERVICE, SIGN_IN, providers, public_url, service
from bot.doctor.callback_reach import CALLBACKS, NETWORKS, callbacks, networks
from bot.doctor.clocks import SUBJECT as CLOCK
from bot.doctor.clocks import clocks
from bot.doctor.configuration import SUBJECT as CONFIGURATION
from bot.doctor.configuration import configuration
from bot.doctor.examination import Check
from bot.doctor.people_reach import ALERTS, HEARTBEAT, PEOPLE, alerts, heartbeat, people
from bot.doctor.storage import DATABASE, DISK, FILES, POOLER, SECRET_KEY, database, disk, files, pooler, secret_key
from bot.vendors.installed import vendors

CHECKS: Sequence[tuple[str, Check]] = (
    (CONFIGURATION, configuration),
    (SECRET_KEY, secret_key),
    (DATABASE, database),
    (POOLER, pooler),
    (FILES, files),
    (DISK, disk),
    (CLOCK, clocks),
    (SERVICE, service),
    (PUBLIC_URL, public_url),
    (SIGN_IN, providers),
    *(check for one in vendors() for check in one.checks()),
    (NETWORKS, networks),
    (CALLBACKS, callbacks),
    (PEOPLE, people),
    (ALERTS, alerts),
    (HEARTBEAT, heartbeat),
)
"""Each with the subject under which it is told that it took too long."""
