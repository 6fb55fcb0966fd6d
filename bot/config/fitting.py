"""Conditions between settings, each as its key and the end of the sentence that begins with it.

Off loopback every way in needs its secret: the root key always, PagerDuty's if that is set up, mail's if it has no way
in that needs none (Slack's are never optional). On loopback a missing one closes that way in, and the root key is made
and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

from bot.config.catalogue import description, descriptions, names
from bot.config.known import Path, written
from bot.config.published import is_off_loopback, weak_secrets
from bot.config.settings import Settings, leads_here
from core.domain.people import canonical

Misfit = tuple[Path, str]


def misfits(settings: Settings, broken: Collection[str] = ()) -> Iterator[Misfit]:
    """Everything that does not fit, the most basic first. What is said of the sections in ``broken`` counts for
    nothing: they have errors of their own, and are not in ``settings``."""
    for one in descriptions():
        section = settings.section(one.name)
        if section is not None:
            yield from (((one.name, *place), said) for place, said in one.misfits(section))
    for check, sections in _CHECKS.items():
        if sections.isdisjoint(broken):
            yield from check(settings)


def _keys(settings: Settings) -> Iterator[Misfit]:
    if settings.secret_key_previous and settings.secret_key is None:
        yield ("secret_key_previous",), "is of no use without secret_key"
    entries = settings.api_keys
    for index, entry in enumerate(entries):
        if (entry.key is None) == (entry.key_hash is None):
            yield ("api_keys", index), "must have one of key and key_hash"
    yield from _twice("api_keys", "name", [entry.name for entry in entries])
    yield from _twice("api_keys", "key", [entry.key for entry in entries])
    yield from _twice("api_keys", "key_hash", [entry.key_hash for entry in entries])


def _people(settings: Settings) -> Iterator[Misfit]:
    people = settings.people
    for index, person in enumerate(people):
        if person.time_zone is None and (person.hours or person.holidays):
            yield ("people", index, "time_zone"), "is missing: hours and holidays need a time zone"
    yield from _twice("people", "email", [canonical(person.email) for person in people])
    for field in (field for one in descriptions() for field in one.unique):
        yield from _twice("people", field, [getattr(person, field) for person in people])


def _aliases(settings: Settings) -> Iterator[Misfit]:
    """An address is one person's. A key by such a name would be that person, so it has to say which: by ``email``."""
    taken: dict[str, Path] = {}
    for index, person in enumerate(settings.people):
        taken.setdefault(canonical(person.email), ("people", index, "email"))
    for index, key in enumerate(settings.api_keys):
        taken.setdefault(canonical(key.name), ("api_keys", index, "name"))
    for index, person in enumerate(settings.people):
        for number, alias in enumerate(person.aliases):
            path: Path = ("people", index, "aliases", number)
            other = taken.setdefault(canonical(alias), path)
            if other != path:
                yield path, f"is the same as {written(other)}"


def _twice(section: str, field: str, values: Sequence[Hashable]) -> Iterator[Misfit]:
    first: dict[Hashable, int] = {}
    for index, value in enumerate(values):
        if value is not None and first.setdefault(value, index) != index:
            yield (section, index, field), f"is the same as {written((section, first[value], field))}"


def _channels(settings: Settings) -> Iterator[Misfit]:
    suspension = settings.suspension
    if suspension.default_channel is not None:
        yield from _set_up(settings, suspension.default_channel, ("suspension", "default_channel"))
    policy = ("suspension", "default_retry_policy", "escalation_ladder")
    ladder = (suspension.default_retry_policy.escalation_ladder if suspension.default_retry_policy else None) or ()
    numbers = [rung.attempt for rung in ladder]
    for index, rung in enumerate(ladder):
        if rung.attempt in numbers[:index]:
            yield (*policy, index, "attempt"), f"is the same as {written((*policy, numbers.index(rung.attempt)))}'s"
        if rung.channel_hint is not None:
            yield from _set_up(settings, rung.channel_hint, (*policy, index, "channel_hint"))


def _set_up(settings: Settings, channel: str, path: Path) -> Iterable[Misfit]:
    if channel not in settings.channels:
        yield path, f"is {channel}, which is not set up ({channel}.{description(channel).needed} is missing)"


def _engagement(settings: Settings) -> Iterator[Misfit]:
    """No signals may belong to two modes of which one would hide the other."""
    said = settings.engagement
    if said.require_input_below_confidence > said.autonomous_min_confidence:
        yield from _engagement_misfit("require_input_below_confidence", "at most", "autonomous_min_confidence")
    if said.require_input_above_risk < said.autonomous_max_risk:
        yield from _engagement_misfit("require_input_above_risk", "at least", "autonomous_max_risk")
    if said.require_input_above_risk > said.defer_min_risk:
        yield from _engagement_misfit("require_input_above_risk", "at most", "defer_min_risk")
    if said.defer_min_risk <= said.autonomous_max_risk:
        yield from _engagement_misfit("defer_min_risk", "more than", "autonomous_max_risk")
    if said.defer_max_reversibility >= said.autonomous_min_reversibility:
        yield from _engagement_misfit("defer_max_reversibility", "less than", "autonomous_min_reversibility")


def _engagement_misfit(name: str, must_be: str, other: str) -> Iterator[Misfit]:
    yield ("engagement", name), f"must be {must_be} engagement.{other}"


def _delays(settings: Settings) -> Iterator[Misfit]:
    retry = settings.resume.retry
    if retry.max_delay_ms < retry.base_delay_ms:
        yield ("resume", "retry", "max_delay_ms"), "must not be less than resume.retry.base_delay_ms"
    if settings.database.transaction_seconds < settings.database.statement_seconds:
        yield ("database", "transaction_seconds"), "must be at least database.statement_seconds"
    if settings.work.silent_seconds < 3 * settings.work.beat_seconds:
        yield ("work", "silent_seconds"), "must be at least three times work.beat_seconds"


def _pooler(settings: Settings) -> Iterator[Misfit]:
    if settings.database.direct_url is not None and not settings.database_url.startswith("postgresql"):
        yield ("database", "direct_url"), "is for PostgreSQL, and database_url names a file"


def _exposed(settings: Settings) -> Iterator[Misfit]:
    if settings.http.is_loopback:
        return
    why = "http.host is not loopback"
    if settings.secret_key is None:
        yield ("secret_key",), f"is missing: {why}; make one with `openssl rand -hex 32`"
    for one in descriptions():
        section = settings.section(one.name)
        if section is not None and one.door_setting is not None and one.is_deaf(section):
            yield (one.name, one.door_setting), f"is missing: {why}"
    if settings.leads_here and "public_url" in settings.model_fields_set:
        yield ("public_url",), f"must not lead to this machine: {why}"
    elif "public_url" not in settings.model_fields_set:
        yield ("public_url",), f"is missing: {why}"


def _published(settings: Settings) -> Iterator[Misfit]:
    """What everybody knows is no secret. On loopback it is a warning."""
    if is_off_loopback(settings):
        yield from weak_secrets(settings)


def _public(settings: Settings) -> Iterator[Misfit]:
    """Links are opened by a browser, and what it sends in plain text is anybody's on the way."""
    is_plain = settings.public_url.lower().startswith("http://")
    if is_plain and not settings.leads_here and "public_url" in settings.model_fields_set:
        yield ("public_url",), "must begin with https://, since people sign in there (http:// is for this machine only)"


def _providers(settings: Settings) -> Iterator[Misfit]:
    """What a provider says in plain text, anybody on the way can say in its place."""
    for name, one in (("oidc", settings.signin.oidc), ("slack", settings.signin.slack)):
        if one is not None and one.issuer.lower().startswith("http://") and not leads_here(one.issuer):
            yield ("signin", name, "issuer"), "must begin with https:// (http:// is for this machine only)"
    if settings.signin.slack is not None and settings.slack_team is None:
        yield ("signin", "slack", "team_id"), "is missing (or set slack.team_id): people of one workspace sign in"


_CHECKS: dict[Callable[[Settings], Iterator[Misfit]], frozenset[str]] = {
    _keys: frozenset({"secret_key", "secret_key_previous", "api_keys"}),
    _people: frozenset({"people"}),
    _aliases: frozenset({"people", "api_keys"}),
    _channels: frozenset({*names(), "suspension"}),
    _engagement: frozenset({"engagement"}),
    _delays: frozenset({"resume", "database", "work"}),
    _pooler: frozenset({"database_url", "database"}),
    _exposed: frozenset(
        {"http", "secret_key", "public_url", *(one.name for one in descriptions() if one.door_setting)}
    ),
    _public: frozenset({"http", "public_url"}),
    _published: frozenset({"http", "public_url"}),
    _providers: frozenset({"signin", "slack"}),
}
"""Each with the sections that it looks at."""
