"""Queries: finds the question for an inbound answer, and the records that clients read or store.

Clients see suspensions in lists, sessions, agents' default policies and callbacks.

Source: API.md §2, §3, §5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Database, Tx
from core.domain.audience import as_known, audience_of
from core.domain.people import Actor, Address, Role
from core.domain.suspension import Suspension
from core.domain.tokens import TokenPurpose
from core.domain.wording import AgentTold
from core.engine.permissions import Permissions
from core.errors import (
    CallbackNotAllowed,
    CallbackNotRedrivable,
    Forbidden,
    NotFound,
    SignalIdAmbiguous,
    SignalUnmatched,
)
from core.ports import Agents, Alarm, Clock, Responders
from core.store import (
    event_log,
    intent_agents,
    intents,
    log_cursors,
    outbox,
    quarantine,
    sessions,
    suspension_lists,
    suspensions,
    tokens,
)
from core.store.event_log import Following, Logged
from core.store.outbox import Row, RowKind, RowStatus
from core.store.quarantine import Quarantined
from core.store.sessions import Session
from core.store.suspension_lists import Filter, PersonTexts
from core.store.tables import PageCursor


@dataclass(frozen=True, slots=True)
class SuspensionHistory:
    """Everything that has happened to one suspension."""

    suspension: Suspension
    events: Sequence[Logged]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Holder:
    """The person that a token was made for."""

    suspension: Suspension
    actor: Actor
    address: Address


@dataclass(frozen=True, slots=True)
class Queries:
    """Finds a question by what a way in knows of it."""

    database: Database
    responders: Responders

    async def get(self, suspension_id: str) -> Suspension | None:
        return await self.knowing(await self.database.read(lambda conn: suspensions.get(conn, suspension_id)))

    async def knowing(self, suspension: Suspension | None) -> Suspension | None:
        """``suspension`` as the directory knows its people, who are known from here on."""
        if suspension is None:
            return None
        if suspension.is_open and self.responders.asks_elsewhere:
            await self.responders.refresh((*suspension.ask.responders, *suspension.asked))
        return as_known(suspension, self.responders.identity_of)

    async def find(self, ref: str) -> Suspension | None:
        """The suspension with this public reference, however it is typed."""
        found = await self.database.read(lambda conn: suspensions.by_ref(conn, ref.strip().upper()))
        return await self.knowing(found)

    async def agent_told(self, suspension_id: str) -> AgentTold:
        """Whether the agent has been told how this question, which has ended, did."""
        return await self.database.read(lambda conn: outbox.agent_told(conn, suspension_id))

    async def find_by_token(self, token: str, purpose: TokenPurpose) -> Holder | None:
        """Whom a link or a mail address was made for, ``None`` for a token we did not make."""

        def look_up(conn: sa.Connection) -> Holder | None:
            held = tokens.find(conn, token, purpose)
            return None if held is None else self._holder(conn, held.suspension_id, held.address)

        return await self._holding(look_up)

    async def find_by_delivery(self, delivery: str, channel: str) -> Holder | None:
        """Whom the notice with this delivery id was sent to on ``channel``, ``None`` for any other message."""

        def look_up(conn: sa.Connection) -> Holder | None:
            row = outbox.get(conn, delivery)
            if row is None or (row.kind, row.channel) != (RowKind.NOTIFY, channel) or row.address is None:
                return None
            return self._holder(conn, row.suspension_id or "", row.to)

        return await self._holding(look_up)

    async def delivery_to(self, suspension_id: str, to: Address) -> str | None:
        """The delivery id of the notice that ``to`` was last sent."""
        latest = await self.database.read(lambda conn: outbox.latest_to(conn, suspension_id, to.value, to.channel))
        return None if latest is None else latest.id

    def _holder(self, conn: sa.Connection, suspension_id: str, to: Address) -> Holder | None:
        suspension = suspensions.get(conn, suspension_id)
        if suspension is None or to.person is None:
            return None
        return Holder(suspension, self.responders.actor(to.person), to)

    async def _holding(self, look_up: Callable[[sa.Connection], Holder | None]) -> Holder | None:
        holder = await self.database.read(look_up)
        known = await self.knowing(holder.suspension if holder is not None else None)
        return holder if holder is None or known is None else replace(holder, suspension=known)

    async def registered(self, signal_id: str, creator: str | None, by: Actor, permissions: Permissions) -> str:
        """The id of the suspension that registered ``signal_id``: the open one, else the latest. ``creator`` is the
        key that it belongs to. For a narrowed operator there are those alone that they may read.

        Raises :class:`SignalUnmatched` if none ever did, and :class:`SignalIdAmbiguous` if several keys have it
        open and none is named.
        """

        def look_up(conn: sa.Connection) -> str | None:
            waiting = suspensions.open_by_signal(conn, signal_id, creator)
            if by.is_narrowed:
                waiting = {key: one for key, one in waiting.items() if is_read(conn, one)}
            if len(waiting) > 1:
                message = "Several keys have this signal_id open: name the one that you mean as creator."
                raise SignalIdAmbiguous(message, signal_id=signal_id, creators=[*sorted(waiting)])
            found = next(iter(waiting.values()), None) or suspensions.latest_by_signal(conn, signal_id, creator)
            return found if found is None or not by.is_narrowed or is_read(conn, found) else None

        def is_read(conn: sa.Connection, suspension_id: str) -> bool:
            found = suspensions.get(conn, suspension_id)
            return found is not None and may_read(conn, found, by, permissions)

        found = await self.database.read(look_up)
        if found is None:
            raise SignalUnmatched("No suspension has registered this signal_id.")
        return found


@dataclass(frozen=True, slots=True)
class SuspensionList:
    """A part of a list, and the place that the next part comes after; ``None`` if there is none."""

    suspensions: Sequence[Suspension]
    after: PageCursor | None


class ClientQueries:
    """Clients' reads and small writes. An agent finds only what is its own, an operator perhaps only what means them
    (``answers.operators_read``)."""

    def __init__(
        self, database: Database, permissions: Permissions, agents: Agents, clock: Clock, alarm: Alarm
    ) -> None:
        self._database = database
        self._permissions = permissions
        self._agents = agents
        self._clock = clock
        self._alarm = alarm

    # --- Mail that could not be read ------------------------------------------------------------------------------

    async def quarantined(self, *, before: PageCursor | None, limit: int) -> Sequence[Quarantined]:
        """Newest first, without the bytes."""
        return await self._database.read(lambda conn: quarantine.page(conn, before=before, limit=limit))

    async def one_quarantined(self, digest: str) -> Quarantined | None:
        return await self._database.read(lambda conn: quarantine.get(conn, digest))

    # --- Suspensions ----------------------------------------------------------------------------------------------

    async def suspension(self, suspension_id: str, by: Actor) -> Suspension:
        """Raises :class:`NotFound` if there is none that ``by`` may read."""
        await self._know([suspension_id], by)
        return await self._database.read(lambda conn: self._readable(conn, suspensions.get(conn, suspension_id), by))

    async def suspensions(self, wanted: Filter, by: Actor, *, before: PageCursor | None, limit: int) -> SuspensionList:
        """Newest first. A part may hold fewer than ``limit`` although there are more: of very many questions that do
        not contain a text, or that are not a narrowed operator's."""
        if by.is_narrowed:
            return await self._own_list(wanted, by, before, limit)
        mine = replace(wanted, created_by=None if by.reads_all else by.key)
        found, end = await self._database.read(
            lambda conn: suspension_lists.page(conn, mine, before=before, limit=limit + 1)
        )
        return _list(found, limit, end)

    async def _own_list(self, wanted: Filter, by: Actor, before: PageCursor | None, limit: int) -> SuspensionList:
        """What may mean ``by`` is found by the database, some at a time; whether it does is decided here."""
        names = PersonTexts.of(self._permissions.responders.references_to(by), by)
        place, end = before, await self._database.read(lambda conn: suspension_lists.horizon(conn, wanted, before))
        found: list[Suspension] = []
        while len(found) <= limit:
            some = await self._database.read(
                partial(suspension_lists.naming, wanted=wanted, names=names, before=place, until=end)
            )
            await self._refresh(some)
            found += [one for one in some if one.ask.created_by == by.key or self._permissions.may_read(one, by)]
            if len(some) < suspension_lists.AT_ONCE:
                break
            place = _place(some[-1])
        return _list(found, limit, end)

    async def check_intent(self, intent_id: str, by: Actor) -> None:
        """Raises :class:`NotFound` unless ``by`` may read the intent, or what it asks at this moment."""

        def asked(conn: sa.Connection) -> str | None:
            if by.reads_all or (by.key is not None and intent_agents.belongs(conn, intent_id, by.key)):
                return "" if intents.creator(conn, intent_id) is not None else None
            return suspensions.open_of_intent(conn, intent_id)

        found = await self._database.read(asked)
        if found is None:
            raise NotFound("There is no such intent.")
        if found:
            try:
                await self.suspension(found, by)
            except NotFound:
                raise NotFound("There is no such intent.") from None

    async def story(self, suspension_id: str, by: Actor) -> SuspensionHistory:
        await self._know([suspension_id], by)

        def job(conn: sa.Connection) -> SuspensionHistory:
            suspension = self._readable(conn, suspensions.get(conn, suspension_id), by)
            logged = event_log.of_intent(conn, suspension.ask.intent_id)
            events = [line for line in logged if line.payload.get("suspension_id") == suspension_id]
            return SuspensionHistory(suspension, events, outbox.of_suspension(conn, suspension_id))

        return await self._database.read(job)

    async def following(self, cursor: tuple[int, int], by: Actor, *, intent_id: str | None, limit: int) -> Following:
        """Events after ``cursor`` that ``by`` may read, in the order they became visible. A narrowed operator reads
        those of the questions that mean them, and of their own intents."""
        agent = None if by.reads_all else by.key
        if by.is_narrowed:
            return await self._following_own(cursor, by, intent_id, limit)

        def job(conn: sa.Connection) -> Following:
            return event_log.after(conn, cursor, intent_id=intent_id, agent=agent, limit=limit)

        return await self._database.read(job)

    async def _following_own(self, cursor: tuple[int, int], by: Actor, intent_id: str | None, limit: int) -> Following:
        def job(conn: sa.Connection) -> tuple[Following, Mapping[str, Suspension], Collection[str]]:
            found = event_log.after(conn, cursor, intent_id=intent_id, agent=None, limit=limit)
            asked = suspensions.those(conn, list({_suspension_of(line) for line in found.lines}))
            own = intent_agents.among(conn, {line.intent_id for line in found.lines}, by.key or by.identity)
            return found, asked, own

        found, asked, own = await self._database.read(job)
        await self._refresh(asked.values())
        theirs = {one.id for one in asked.values() if self._permissions.may_read(one, by)}
        lines = [line for line in found.lines if line.intent_id in own or _suspension_of(line) in theirs]
        return replace(found, lines=lines)

    async def following_agent(self, cursor: tuple[int, int], agent: str, limit: int) -> Following:
        """As :meth:`following`, of the intents that the key ``agent`` owns or is a member of."""

        def job(conn: sa.Connection) -> Following:
            return event_log.after(conn, cursor, intent_id=None, agent=agent, limit=limit)

        return await self._database.read(job)

    async def newest_cursor(self) -> tuple[int, int]:
        return await self._database.read(event_log.newest_cursor)

    async def known_cursor(self, cursor: tuple[int, int]) -> tuple[int, int]:
        """``cursor``, as a client remembers it, in the log as it is now: it may have been restored meanwhile."""
        return await self._database.read(lambda conn: log_cursors.known(conn, cursor))

    # --- Sessions -------------------------------------------------------------------------------------------------

    async def put_session(
        self, session_id: str, by: Actor, *, callback_url: str | None, metadata: Mapping[str, JsonValue]
    ) -> Session:
        """Make or replace a session of ``by``. Raises :class:`CallbackNotAllowed`."""
        owner, now = by.key or by.identity, self._clock.now()
        if callback_url is not None and (problem := self._agents.may_call(owner, callback_url)) is not None:
            raise CallbackNotAllowed(problem, path="callback_url")

        def job(tx: Tx) -> Session:
            found = sessions.get_session(tx.conn, owner, session_id)
            created_at = found.created_at if found else now
            session = Session(owner, session_id, callback_url, metadata, created_at, now)
            sessions.put_session(tx, session)
            return session

        return await self._database.write(job)

    async def session(self, session_id: str, by: Actor) -> Session:
        def job(conn: sa.Connection) -> Session | None:
            own = sessions.get_session(conn, by.key or by.identity, session_id)
            return own or (sessions.any_session(conn, session_id) if by.reads_all else None)

        found = await self._database.read(job)
        if found is None:
            raise NotFound("There is no such session.")
        return found

    # --- Agents' default policies ---------------------------------------------------------------------------------

    async def put_agent_policy(self, agent: str, policy: Mapping[str, JsonValue], by: Actor) -> None:
        """Replace the whole default policy of ``agent``, by itself or by an admin (RFC-0026 §5)."""
        if by.key != agent and not by.has(Role.ADMIN):
            raise Forbidden("An agent's default policy is set by that agent or by an admin.")
        await self._database.write(lambda tx: sessions.put_agent_policy(tx, agent, policy, self._clock.now()))

    async def agent_policy(self, agent: str, by: Actor) -> Mapping[str, JsonValue]:
        if by.key != agent and not by.reads_all:
            raise NotFound("There is no such agent.")
        return await self._database.read(lambda conn: sessions.agent_policy(conn, agent))

    # --- Agents' own callbacks ------------------------------------------------------------------------------------

    async def put_agent_callback(self, agent: str, url: str | None, by: Actor) -> None:
        """Where ``agent`` is told what is for it alone, set by itself or by an admin. Raises
        :class:`CallbackNotAllowed`."""
        if by.key != agent and not by.has(Role.ADMIN):
            raise Forbidden("An agent's callback is set by that agent or by an admin.")
        if url is not None and (problem := self._agents.may_call(agent, url)) is not None:
            raise CallbackNotAllowed(problem, path="url")
        await self._database.write(lambda tx: sessions.put_agent_callback(tx, agent, url, self._clock.now()))

    async def agent_callback(self, agent: str, by: Actor) -> str | None:
        """Raises :class:`NotFound` if ``by`` may not know of it."""
        if by.key != agent and not by.reads_all:
            raise NotFound("There is no such agent.")
        return await self._database.read(lambda conn: sessions.agent_callback(conn, agent))

    # --- Callbacks ------------------------------------------------------------------------------------------------

    async def callbacks(self, by: Actor, *, status: str | None, before: PageCursor | None, limit: int) -> list[Row]:
        """Newest first."""
        creator = None if by.reads_all else by.key

        def job(conn: sa.Connection) -> list[Row]:
            return outbox.callbacks(conn, status=status, created_by=creator, before=before, limit=limit)

        return await self._database.read(job)

    async def redrive(self, callback_id: str, by: Actor) -> Row:
        """Begin again with a dead or refused callback, under the same id.

        Raises :class:`CallbackNotRedrivable` for one that is on its way or has arrived.
        """
        now = self._clock.now()

        def job(tx: Tx) -> Row:
            row = outbox.get(tx.conn, callback_id)
            asked = None if row is None else suspensions.get(tx.conn, row.suspension_id or "")
            if row is None or row.kind is not RowKind.RESUME or not _is_callers(row, asked, by):
                raise NotFound("There is no such callback.")  # nor is another's, to somebody who may not read it
            if row.status not in {RowStatus.DEAD, RowStatus.REFUSED}:
                message = "Only a dead or refused callback can be sent again."
                raise CallbackNotRedrivable(message, status=row.status.value)
            outbox.redrive(tx, callback_id, now)
            self._alarm.within(tx, now)
            again = outbox.get(tx.conn, callback_id)
            if again is None:  # moved out a moment ago (``core/audit/retention.py``)
                raise NotFound("There is no such callback.")
            return again

        return await self._database.write(job)

    # --- What may be read -----------------------------------------------------------------------------------------

    async def _know(self, suspension_ids: Sequence[str], by: Actor) -> None:
        """See to it that it is known whom these questions mean, if ``by`` depends on it."""
        if by.is_narrowed and self._permissions.responders.asks_elsewhere:
            found = await self._database.read(lambda conn: suspensions.those(conn, suspension_ids))
            await self._refresh(found.values())

    async def _refresh(self, asked: Iterable[Suspension]) -> None:
        responders = self._permissions.responders
        if responders.asks_elsewhere:
            await responders.refresh(dict.fromkeys(one for each in asked for one in audience_of(each).references))

    def _readable(self, conn: sa.Connection, suspension: Suspension | None, by: Actor) -> Suspension:
        if suspension is None or not may_read(conn, suspension, by, self._permissions):
            raise NotFound("There is no such suspension.")
        return suspension


def _list(found: Sequence[Suspension], limit: int, end: PageCursor | None = None) -> SuspensionList:
    """The first ``limit`` of ``found``. ``end`` is how far was looked, if there is more behind that."""
    after = _place(found[limit - 1]) if len(found) > limit else end
    return SuspensionList(found[:limit], after)


def _place(suspension: Suspension) -> PageCursor:
    return suspension.ask.suspended_at, suspension.id


def _suspension_of(line: Logged) -> str:
    return str(line.payload.get("suspension_id", ""))


def _is_callers(row: Row, suspension: Suspension | None, by: Actor) -> bool:
    """What a suspension's creator is told, or what tells the agent itself."""
    if row.suspension_id is None:
        return by.reads_all or row.address == by.key
    return suspension is not None and (by.reads_all or suspension.ask.created_by == by.key)


def may_read(conn: sa.Connection, suspension: Suspension, by: Actor, permissions: Permissions) -> bool:
    """Whoever asked, whose intent it is, and operators: all of them, or those whom the question means."""
    if suspension.ask.created_by == by.key or permissions.may_read(suspension, by):
        return True
    return by.key is not None and intent_agents.belongs(conn, suspension.ask.intent_id, by.key)
