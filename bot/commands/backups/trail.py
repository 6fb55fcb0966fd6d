"""The audit trail of a backup: verified at the moment of the copy, and again after the restore."""

from __future__ import annotations

import asyncio

from handraise.cli.audit import said_of

from core.audit.check import Checked, check_logs
from core.database.database_file import Advance
from core.domain.root_key import RootKey
from core.errors import BackupFailed
from core.store.snapshots import Snapshot


def verify(snapshot: Snapshot, events: int, root: RootKey, told: Advance) -> Checked:
    """Check every log; ``events`` is the number of lines. Raises :class:`BackupFailed` at the first broken place."""
    checked = asyncio.run(_all_of(snapshot, root.derive_renewed("event-log"), events, told))
    broken = checked.broken
    if broken is not None:
        place = {"line": None, "intent_id": broken.intent_id, "position": broken.position, "id": broken.id}
        raise BackupFailed(f"The audit trail does not hold, {said_of({**place, 'fault': broken.fault.value})}.")
    return checked


async def _all_of(snapshot: Snapshot, key: bytes, events: int, told: Advance) -> Checked:
    whole = Checked()
    while True:
        page = await check_logs(snapshot, key, whole.following)
        whole.intents, whole.events = whole.intents + page.intents, whole.events + page.events
        whole.broken, whole.following = page.broken, page.following
        told(whole.events, events)
        if page.broken is not None or page.following is None:
            return whole


def check_key(key_check: str | None, root: RootKey) -> None:
    """Raises :class:`BackupFailed` if the database was used with another secret key."""
    if key_check is not None and all(key_check != one.check for one in (root, *root.previous)):
        raise BackupFailed(
            "secret_key is not the one that the database was used with: no link would work, and the audit trail could "
            "not be verified. Set the one that it was made with."
        )
