"""Losses: access that a reloaded configuration would take from everybody, so that nobody could restore it.

A file that was emptied, cut short or half-written can be a valid configuration. Applied, it would shut out all who
could apply another. So it is refused, unless the caller says that it is meant.

Source: API.md §8; docs/decisions/0068.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import ClassVar

from pydantic import JsonValue

from bot.config.settings import Settings
from core.domain.people import Role, canonical
from core.errors import ConfigError

Keys = Mapping[str, Set[Role]]
"""The keys that are valid, by name, with what each may do; those of the database as well."""

Loss = tuple[str, str]
"""The section that would have to hold something, and the sentence that says what would be gone."""

_MOST_NAMES = 5


class ReloadLosesAccess(ConfigError):
    """The configuration would leave no admin's key, no key at all, or nobody to ask, or the caller's own key would be
    no admin's any more. Nothing of it was taken in; `force` takes it in all the same.

    ``fields`` has one entry for each.
    """

    code: ClassVar[str] = "reload_loses_access"

    def __init__(self, losses: Sequence[Loss]) -> None:
        fields: list[JsonValue] = [{"path": path, "message": f"{said[0].upper()}{said[1:]}."} for path, said in losses]
        told = "; ".join(said for _, said in losses)
        super().__init__(
            f"The configuration is refused, and the one before it stays: {told}. If that is meant: "
            "`handraise reload --force`.",
            fields=fields,
        )


def losses(running: Settings, read: Settings, before: Keys, after: Keys, caller: str | None) -> Iterator[Loss]:
    """What nobody, or not ``caller``, would have any more. ``before`` and ``after`` are the valid keys."""
    admins, left = _admins(before), _admins(after)
    if admins and not left:
        yield "api_keys", f"no admin's key would be left (now {_some(admins)})"
    elif caller in admins and caller not in left:
        yield "api_keys", "your own key would be no admin's key any more"
    if before and not after:
        yield "api_keys", f"no key at all would be left (now {_some(before)})"
    people = _people(running)
    if people and not _people(read):
        yield "people", f"nobody would be left to be asked (now {len(people)} in people and groups)"


def _admins(keys: Keys) -> list[str]:
    return [name for name, roles in keys.items() if Role.ADMIN in roles]


def _people(settings: Settings) -> frozenset[str]:
    listed = [person.email for person in settings.people]
    listed += [mail for members in settings.groups.values() for mail in members]
    return frozenset(map(canonical, listed))


def _some(names: Keys | Sequence[str]) -> str:
    known = sorted(names)
    more = len(known) - _MOST_NAMES
    return ", ".join(known[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
