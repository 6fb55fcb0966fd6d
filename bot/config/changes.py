"""Changes of a reloaded configuration: which ones a running service applies, and which ones wait for a restart.

People, groups, keys, the allow-list, quotas, ``suspension.same_ask`` and the settings of channels are applied.
Everything else stays: the database, the listening address, its roles, its secret key. So do a few settings of channels
whose parts are built once: whether a channel exists, and by which ways answers come in.

Source: docs/decisions/0068.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bot.config.catalogue import description, to_set_up
from bot.config.known import Path, is_secret, written
from bot.config.settings import Settings

CHANNELS = frozenset(to_set_up())
LIVE = CHANNELS | {"people", "groups", "api_keys", "recipients", "quotas"}
"""Sections that are taken in while the service runs."""

_TAKEN: Mapping[str, frozenset[str]] = {"suspension": frozenset({"same_ask"})}
"""Settings that are taken in, of sections that otherwise are not."""


@dataclass(frozen=True, slots=True)
class NeedsRestart:
    """A setting that differs in the file and is not taken in; ``message`` says what counts until a restart."""

    key: str
    message: str


@dataclass(frozen=True, slots=True)
class Changes:
    """``settings`` are those that count from now on; ``taken`` the keys of what is new in them."""

    settings: Settings
    taken: tuple[str, ...]
    waiting: tuple[NeedsRestart, ...]

    @property
    def sections(self) -> frozenset[str]:
        """Those in which anything is new."""
        return frozenset(key.split(".")[0] for key in self.taken)


def changes_between(running: Settings, read: Settings) -> Changes:
    """What becomes of ``read`` in a service that runs by ``running``."""
    live = {name: _section(name, getattr(running, name), getattr(read, name)) for name in sorted(LIVE)}
    live |= {name: _only(taken, getattr(running, name), getattr(read, name)) for name, taken in _TAKEN.items()}
    settings = running.model_copy(update=live)
    taken = tuple(written(path) for path, _ in _differences(running, settings))
    waiting = tuple(_waiting(path, value) for path, value in _differences(settings, read))
    return Changes(settings, taken, waiting)


def _section(name: str, old: Any, new: Any) -> Any:
    """The section as it counts from now on."""
    if name not in CHANNELS or old is None or new is None:
        return old if name in CHANNELS else new
    stays = set(description(name).stays)
    for way, beside in description(name).ways_in.items():
        if bool(getattr(old, way)) != bool(getattr(new, way)):
            stays |= {way, *beside}
    return new.model_copy(update={field: getattr(old, field) for field in stays})


def _only(taken: Iterable[str], old: BaseModel, new: BaseModel) -> BaseModel:
    return old.model_copy(update={field: getattr(new, field) for field in taken})


def _differences(left: BaseModel, right: BaseModel, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The path of each setting that differs, with what it is on the left. A list counts as one."""
    for name, field in type(left).model_fields.items():
        here = (*path, field.alias or name)
        one, other = getattr(left, name), getattr(right, name)
        if isinstance(one, BaseModel) and isinstance(other, BaseModel):
            yield from _differences(one, other, here)
        elif one != other:
            yield here, one


def _waiting(path: Path, value: Any) -> NeedsRestart:
    key = written(path)
    return NeedsRestart(key, f"{key} needs a restart; {_stays(path, value)}")


def _stays(path: Path, value: Any) -> str:
    match value:
        case None | ():
            return "it stays absent"
        case BaseModel():
            return "it stays set up"
        case bool() | int() | float() | str() if not is_secret(path):
            return f"it stays {str(value).lower() if isinstance(value, bool) else value}"
        case _:
            return "it stays as it was"
