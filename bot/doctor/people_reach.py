"""Checks of people: whether anybody can be asked, on every channel of the ladder, and by default. And of alarms: who is
alerted if the service itself needs help, and who notices if it is dead.

The heartbeat's URL is not called, because a ping says that all is well. Only its host is tried, and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from bot.config.settings import Settings
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, some, warning
from bot.doctor.network import Unreached
from bot.keys import roles_of
from bot.people.directory import Directory
from bot.vendors.installed import vendor, vendors
from core.domain.channels import RecipientKind, recipient_forms
from core.domain.people import parse_recipient

PEOPLE, LADDER, DEFAULT = "people", "people.ladder", "people.default"


async def directory_of(examined: Examination) -> Directory:
    """With the keys that the database has. Everybody is taken to be known to each vendor by their e-mail: another check
    asks it."""
    stored, now = await examined.stored_if_any(), examined.around.now()
    keys = {one.name: one for one in (stored.keys if stored is not None else ())}
    valid = [one for one in keys.values() if one.revoked_at is None]
    roles = roles_of(valid)
    return Directory(
        examined.settings,
        lambda name: roles.get(name, frozenset()),
        lambda: tuple(one.name for one in valid),
        {one.name: one.everybody() for one in vendors()},
        lambda name: name in keys and keys[name].shuts_out_file(now),
    )


def reaches(people: Directory, reference: str, channel: str) -> bool:
    """Whether ``reference`` is reached on ``channel``. Who is on call is only known at the time."""
    return parse_recipient(reference).kind is RecipientKind.SCHEDULE or bool(people.addresses(reference, channel))


async def people(examined: Examination) -> Sequence[Finding]:
    settings = examined.settings
    if not settings.set_up:
        return []
    known = await directory_of(examined)
    return [_anybody(settings, known), _ladder(settings, known), _default(settings, known)]


def _anybody(settings: Settings, known: Directory) -> Finding:
    everybody = known.everybody()
    if not everybody:
        mend = "Add people with name and email to handraise.yaml."
        if any(known.defaults(channel) for channel in settings.channels):
            return warning(PEOPLE, "there are no people: only the channels' defaults can be asked", mend)
        return fault(PEOPLE, "there are no people and no defaults: nobody can be asked", mend)
    allowed = [one for one in everybody if known.allowed(one.email)]
    if not allowed:
        mend = 'Add people\'s addresses to recipients.allow, such as "*@example.com".'
        return warning(PEOPLE, f"recipients.allow names none of the {len(everybody)} people", mend)
    return ok(PEOPLE, f"{len(allowed)} of {len(everybody)} people may be asked by name")


def _default_channel(settings: Settings) -> str:
    return settings.suspension.default_channel or settings.channels[0]


def _asked(settings: Settings) -> Iterator[tuple[int, str, str | None]]:
    """Each rung of the platform's ladder: its attempt, its channel, and its recipient."""
    usual = _default_channel(settings)
    yield 1, usual, None
    for rung in settings.suspension.policy.escalation_ladder or ():
        yield rung.attempt, rung.channel_hint or usual, rung.notify_to


def _ladder(settings: Settings, known: Directory) -> Finding:
    """Every recipient of a rung has to be reached there; and so has everybody whom an agent may name."""
    for attempt, channel, whom in _asked(settings):
        if whom is not None and not reaches(known, whom, channel):
            found = f"attempt {attempt} asks {whom} by {channel}, who is not reached there"
            mend = f"Add {whom} to people or groups, or correct suspension.default_retry_policy.escalation_ladder."
            return fault(LADDER, found, mend)
    channels = dict.fromkeys(channel for _, channel, _ in _asked(settings))
    for channel in channels:
        lost = [one.email for one in known.everybody() if not known.addresses(one.email, channel)]
        if lost:
            field = vendor(channel).reached_by
            return warning(LADDER, f"{some(lost)} can't be reached by {channel}", f"Set their {field}.")
    return ok(LADDER, f"everybody is reached by {' and '.join(channels)}")


def _default(settings: Settings, known: Directory) -> Finding:
    """The recipient of a question that names nobody."""
    channel = _default_channel(settings)
    found = known.defaults(channel)
    if not found:
        setting = vendor(channel).default_setting
        return warning(DEFAULT, f"a question that names nobody is refused: {channel} has no default", f"Set {setting}.")
    strangers = [
        parse_recipient(one).value
        for one in found
        if parse_recipient(one).kind is RecipientKind.MAILBOX and not known.is_known(parse_recipient(one).identity)
    ]
    if strangers:
        return warning(
            DEFAULT,
            f"{some(strangers)} of {vendor(channel).default_setting} is nobody in people",
            "Add them to people.",
        )
    return ok(DEFAULT, f"a question that names nobody asks {some(found)}")


ALERTS, HEARTBEAT = "alerts.notify", "alerts.heartbeat"


async def alerts(examined: Examination) -> Sequence[Finding]:
    settings = examined.settings
    if not settings.alerts.notify:
        found = "nobody is told if a channel is shut or a callback is given up"
        return [warning(ALERTS, found, "Set alerts.notify, such as [ops@example.com].")]
    people = await directory_of(examined)
    lost = [
        one for one in settings.alerts.notify if not any(reaches(people, one, channel) for channel in settings.set_up)
    ]
    if lost:
        mend = f"Correct alerts.notify. Each is {recipient_forms()}."
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
