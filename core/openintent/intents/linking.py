"""Linking: the parent and the dependencies of an intent, when it is made and later (RFC-0002).

Both ends of a link are locked and know of it: one by its edge, the other by its ``links``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.database.database import Tx
from core.domain.intent import EdgeKind, Intent, IntentLink
from core.domain.people import Actor
from core.errors import DependencyCycle, IntentNotActive, InvalidRequest
from core.openintent.domain.propagation import ENDED
from core.openintent.intents import access
from core.openintent.store import intent_edges
from core.store import intents


def lock_named(tx: Tx, parent_id: str | None, depends_on: Sequence[str], by: Actor) -> None:
    """Lock the parent and the dependencies of an intent before it is made. These are the first locks of the
    transaction.

    Raises :class:`InvalidRequest`, which names the field, unless ``by`` may read all of them, :class:`IntentNotActive`
    for a parent that has ended, and :class:`DependencyCycle` if the parent would wait for itself: it is completed after
    its children.
    """
    named = [] if parent_id is None else [("parent_intent_id", parent_id)]
    named += [(f"depends_on.{number}", name) for number, name in enumerate(depends_on)]
    if not named:
        return
    if parent_id is not None and depends_on:
        intent_edges.hold_graph(tx)
    found = intents.lock_in_order(tx, (intent_id for _, intent_id in named))
    for path, intent_id in named:
        _check_readable(tx, found, intent_id, path, by)
    if parent_id is None:
        return
    parent = found[parent_id]
    if parent.status in ENDED:
        raise IntentNotActive(f"The parent has ended; it is {parent.status}.")
    if depends_on and intent_edges.waits_for(tx.conn, depends_on, parent_id):
        raise DependencyCycle("A child can't depend on its parent, or on what waits for that.", path="depends_on")


def linked(intent: Intent) -> Intent:
    """A new intent with its first links."""
    links = IntentLink.NONE
    if intent.parent_id is not None:
        links |= IntentLink.PARENT
    if intent.depends_on:
        links |= IntentLink.DEPENDENCIES
    return replace(intent, links=links)


def put_links(tx: Tx, intent: Intent) -> None:
    """Write the parent and the dependencies of a new intent at both ends."""
    if intent.parent_id is not None:
        intent_edges.put(tx, intent.parent_id, [intent.id], EdgeKind.CHILD)
        intents.link(tx, [intent.parent_id], IntentLink.CHILDREN)
    if intent.depends_on:
        intent_edges.put(tx, intent.id, intent.depends_on)
        intents.link(tx, intent.depends_on, IntentLink.DEPENDENTS)


def _check_readable(tx: Tx, found: Mapping[str, Intent], intent_id: str, path: str, by: Actor) -> None:
    if intent_id not in found or not access.may_read(tx.conn, intent_id, by):
        raise InvalidRequest("There is no such intent.", path=path)
