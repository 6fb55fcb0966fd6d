"""Reloading: a running service applies its changed configuration.

Everything new is built before anything is replaced, so that a wrong file changes nothing. Then all of it is replaced at
once. Work in progress ends with the parts that it began with: a send on its channel, a request at its route.

One process reloads at a signal. On PostgreSQL a reload over HTTP leaves a mark in the database, by which the other
processes reload within seconds, each from its own file.

Source: docs/decisions/0068.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from bot.config.changes import Changes, changes_between
from bot.config.loading import check_hashes
from bot.config.losses import ReloadLosesAccess, losses
from bot.config.settings import Settings
from bot.keys import KeyRing
from bot.people.directory import Directory
from bot.vendors.description import Door, Handover, Inside
from bot.web.hooks import Doors
from bot.wiring.vendors import Vendors, channels_of, doors_of, rebuilt_by, sources_of
from core.database.database import Database
from core.delivery.tries import SEND_TIMEOUT
from core.engine.quotas import Quotas
from core.engine.repeats import RepeatedAsks
from core.errors import ConfigError, Conflict
from core.ports import Clock
from core.store import markers

log = structlog.get_logger(__name__)

Reread = Callable[[], Settings]
"""Reads the configuration as `serve` does at its start; raises :class:`ConfigError`. It is called in a thread."""

Closer = Callable[[], Awaitable[object]]

_CLOSED_AFTER = SEND_TIMEOUT + timedelta(seconds=5)
"""What was replaced stays open for so long: a send or a request that had begun ends by it."""
_END_SECONDS = 10.0
"""How long a door that was replaced may take to finish what it has taken."""


class Reloading:
    """``settings`` are those in force. Without ``reread`` there is nothing to reload."""

    def __init__(
        self,
        settings: Settings,
        reread: Reread | None,
        inside: Inside,
        vendors: Vendors,
        keys: KeyRing,
        people: Directory,
        quotas: Quotas,
        repeats: RepeatedAsks,
        database: Database,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self._reread = reread
        self._inside = inside
        self._vendors = vendors
        self._keys = keys
        self._people = people
        self._quotas = quotas
        self._repeats = repeats
        self._database = database
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._asked_at: datetime | None = None
        self._following: asyncio.Task[None] | None = None
        self._retired: dict[asyncio.Task[None], Sequence[Closer]] = {}

    @property
    def can_reload(self) -> bool:
        """Whether there is a configuration to read again."""
        return self._reread is not None

    @property
    def _has_others(self) -> bool:
        """Whether there may be other processes on the same database."""
        return self._database.is_shared

    async def start(self) -> None:
        """Earlier marks are ignored: the file has these changes already."""
        if self._has_others:
            self._asked_at = await self._database.read(markers.reload_asked_at)

    async def look(self) -> None:
        """Reload, beside the caller, if another process left a mark."""
        if not self._has_others:
            return
        asked_at = await self._database.read(markers.reload_asked_at)
        if asked_at is not None and asked_at != self._asked_at:
            self._asked_at = asked_at
            force = asked_at == await self._database.read(markers.reload_forced_at)
            self._following = asyncio.create_task(self.reload_alone("another process", force=force), name="reload")

    async def reload(self, by: str, *, force: bool = False) -> Changes:
        """Apply the current configuration, here and in the other processes. ``by`` is the key that asks. Raises
        :class:`ConfigError`, and then nothing has changed; with ``force``, not for access that would be lost."""
        changes = await self._reload(by, by, force=force)
        if self._has_others:
            self._asked_at = now = self._clock.now()
            await self._database.write(lambda tx: markers.ask_for_reload(tx, now, force=force))
        return changes

    async def reload_alone(self, by: str, *, force: bool = False) -> None:
        """:meth:`reload` in this process; only the log has the result."""
        try:
            await self._reload(by, None, force=force)
        except (ConfigError, Conflict):  # which the log has
            return
        except Exception as bug:  # nobody above would say so
            log.exception("configuration.not_reloaded", by=by, error=type(bug).__name__)

    async def close(self) -> None:
        """Close at once the parts that would be closed later."""
        if self._following is not None:
            self._following.cancel()
        retired, self._retired = self._retired, {}
        for task in retired:
            task.cancel()
        await asyncio.gather(*retired, return_exceptions=True)
        for closers in retired.values():
            await _close_all(closers)

    async def _reload(self, by: str, caller: str | None, *, force: bool) -> Changes:
        if self._reread is None:
            log.warning("configuration.refused", by=by, errors=["there is no file to read again"])
            raise Conflict("This service was not started from a configuration: there is nothing to read again.")
        async with self._one_at_a_time:
            try:
                read = await asyncio.to_thread(self._reread)
                check_hashes(read, self._inside.around.root)
                changes = changes_between(self.settings, read)
                if not force:
                    await self._check_losses(changes.settings, caller)
                await self._take_in(changes)
            except ConfigError as wrong:
                log.warning("configuration.refused", by=by, errors=list(wrong.lines))
                raise
        log.info("configuration.reloaded", by=by, taken=list(changes.taken))
        for waiting in changes.waiting:
            log.warning("configuration.needs_restart", by=by, reason=waiting.message)
        return changes

    async def _check_losses(self, read: Settings, caller: str | None) -> None:
        """Raises :class:`ReloadLosesAccess`."""
        await self._keys.refresh()  # those that the database keeps count, and one that was revoked does not
        before, after = self._keys.valid_with(self.settings.api_keys), self._keys.valid_with(read.api_keys)
        lost = [*losses(self.settings, read, before, after, caller)]
        if lost:
            raise ReloadLosesAccess(lost)

    async def _take_in(self, changes: Changes) -> None:
        settings, now = changes.settings, self._vendors
        fresh = self._build(settings, rebuilt_by(settings, changes.sections))
        sources = {**now.sources, **fresh.sources}
        people = Directory(settings).everybody()
        for name, source in sources.items():
            if name in fresh.sources or changes.sections & {"people", "groups"}:
                await source.follow(people)  # first: whoever is not found there yet can't be asked there

        # From here to the next await nobody sees half of it.
        self.settings = settings
        self._keys.configure(settings.api_keys)
        self._people.become(settings, sources)
        self._quotas.become(settings.key_quotas)
        self._repeats.become(settings.suspension.same_ask)
        replaced: list[Closer] = [now.channels[name].close for name in fresh.channels]
        replaced += [now.sources[name].close for name in fresh.sources if name in now.sources]
        now.channels.update(fresh.channels)
        now.sources.update(fresh.sources)
        self._close_later(replaced)
        for name, door in fresh.doors.items():
            await self._change(now.doors, name, door)

    def _build(self, settings: Settings, names: Collection[str]) -> Vendors:
        """New channels and doors for the vendors in ``names``. Nothing runs yet. Raises :class:`ConfigError`."""
        around = replace(self._inside.around, settings=settings)
        sources = sources_of(around, names)
        channels = channels_of(around, sources, names)
        return Vendors(channels, doors_of(replace(self._inside, around=around), sources, names), sources)

    async def _change(self, doors: Doors, name: str, fresh: Door) -> None:
        old = doors.get(name)
        if old is None or old.become(fresh):
            return
        doors[name] = fresh
        if fresh.handover is Handover.OVERLAPPING:
            await fresh.start()
        await _ends(name, old.stop_taking())
        await old.stop_looking()
        if fresh.handover is Handover.IN_TURN:
            await fresh.start()
        self._close_later([old.close])

    def _close_later(self, closers: Sequence[Closer]) -> None:
        if not closers:
            return
        task = asyncio.create_task(_close_in_time(closers), name="reload-close")
        self._retired[task] = closers
        task.add_done_callback(lambda done: self._retired.pop(done, None))


async def _ends(what: str, ends: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(_END_SECONDS):
            await ends
    except TimeoutError:
        log.warning("configuration.not_ended", what=what)


async def _close_in_time(closers: Sequence[Closer]) -> None:
    await asyncio.sleep(_CLOSED_AFTER.total_seconds())
    await _close_all(closers)


async def _close_all(closers: Sequence[Closer]) -> None:
    for close in closers:
        try:
            await close()
        except Exception as bug:  # the next one has to be closed all the same
            log.exception("configuration.not_ended", what="connection", error=type(bug).__name__)
