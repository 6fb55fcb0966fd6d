"""Checking every log of the database against its chain, a bounded part at a time.

What this can't find: a whole database that was put back to an earlier state, and an intent whose lines, head and
questions were all put back or taken away together. An export made before tells (docs/audit.md).

Source: DESIGN.md, "Where the state lives".
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from core.store.chain import BEGINNING, Broken, Chain, Fault, is_start
from core.store.database import Database
from core.store.log_pages import Page, Part, Place, Unreadable, gone, read_page


@dataclass(slots=True)
class Checked:
    """So far all holds, or ``broken`` is the first place that does not. ``following`` is the id of the last intent
    looked at, ``None`` after the last one of all."""

    intents: int = 0
    events: int = 0
    broken: Broken | None = None
    following: str | None = None


async def check_logs(database: Database, key: bytes, behind: str | None) -> Checked:
    """Check the logs of the next intents behind the intent ``behind``, each to its end."""
    checked, chain = Checked(), None
    place = None if behind is None else Place(behind)
    while True:
        page = await database.read(partial(read_page, behind=place))
        chain = await asyncio.to_thread(_check_page, page, chain, key, checked)
        missing = await database.read(partial(gone, behind=place, upto=page.following))
        if missing is not None and checked.broken is None:
            checked.broken = Broken(Fault.NO_INTENT, missing)
        if checked.broken is not None or page.following is None:
            return checked
        place = page.following
        if chain is None:
            checked.following = place.intent_id
            return checked


def _check_page(page: Page, chain: Chain | None, key: bytes, checked: Checked) -> Chain | None:
    """Note what was found in ``checked``; returns the chain that goes on in the next page."""
    going_on = None
    for part in page.parts:
        begun = chain if chain is not None and _goes_on_in(part, chain) else None
        mine = begun or Chain.at(part.head.start if part.head else BEGINNING, part.intent_id, key)
        checked.intents += begun is None
        checked.broken = _check_part(part, mine, checked)
        if checked.broken is not None:
            return None
        going_on = mine if part.goes_on else going_on
    return going_on


def _goes_on_in(part: Part, chain: Chain) -> bool:
    """Whether these are further lines of that chain; not where what comes next was moved out meanwhile."""
    moved_past = part.head is not None and part.head.start.position > chain.position
    return chain.intent_id == part.intent_id and not moved_past


def _check_part(part: Part, chain: Chain, checked: Checked) -> Broken | None:
    head = part.head
    if head is None:
        return Broken(Fault.NO_INTENT, part.intent_id, part.lines[0].position, part.lines[0].id)
    if chain.position == head.start.position and not is_start(chain.key, head.intent_id, head.start):
        return Broken(Fault.START_FORGED, head.intent_id, head.start.position)
    for line in part.lines:
        if isinstance(line, Unreadable):
            return Broken(Fault.CHANGED, line.intent_id, line.position, line.id)
        broken = chain.take(line)
        if broken is not None:
            return broken
        checked.events += 1
    return None if part.goes_on else chain.end(head.length, head.mac)
