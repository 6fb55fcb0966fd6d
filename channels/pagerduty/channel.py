"""PagerDuty's channel: pages the person on call through the Events API v2.

One question is one alert per service: every attempt triggers the same dedup key. So a repeat only adds a line to the
open incident's log, and an event in doubt is simply sent again. If a person resolved the incident by hand although the
question waits, the same event opens another incident and pages anew. Short messages go into the incident's notes, if
there is an API token. A note never delays an event, except for a moment before the resolve.

Source: https://developer.pagerduty.com/docs/events-api-v2-overview ("Response Codes & Retry Logic");
docs/decisions/0023.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from channels import http
from channels.pagerduty import render
from channels.pagerduty.incidents import CallFailed, IncidentsApi, incident_of
from core.domain.notice import Ending, Message, Notice, Purpose, WhenCut
from core.domain.people import Address
from core.domain.suspension import Cut
from core.ports import (
    Ambiguous,
    Clock,
    Deferred,
    Delivered,
    Delivery,
    Receipt,
    RefusalCause,
    Refused,
    Sending,
    Unconfirmed,
)

EVENTS_URL = "https://events.pagerduty.com"
ENQUEUE = "/v2/enqueue"
TIMEOUT_SECONDS = 10.0
WAITS = tuple(timedelta(seconds=seconds) for seconds in (30, 60, 120, 300))
"""After each try that was not taken, at least; the last holds for all that follow. Source: facts on channels §F."""
NOTE_SECONDS = 0.6
"""How long a resolve waits for the note before it, so that both are there within a second of the answer."""
LOOK_SECONDS = 2.0
"""How long a later attempt waits to hear whether the incident is still open."""

ALREADY_PAGING = "already_paging"


class PagerDutyChannel:
    """``services`` maps the names in addresses to routing keys; ``default`` is the configured one.

    ``instance`` tells this installation's alerts from another's in the same account. ``incidents`` is absent if there
    is no API token to write with. ``proven``: whether webhooks report the incidents that our events open.
    """

    name = "pagerduty"
    lanes = 2
    lane_width: int | None = None
    withdraws = True
    tells_endings = False
    follows_up = True
    reaches_one_person = False
    takes_replies = False
    takes_messages = True
    one_way = False

    def __init__(
        self,
        services: Mapping[str, str],
        *,
        instance: str,
        clock: Clock,
        events_url: str = EVENTS_URL,
        incidents: IncidentsApi | None = None,
        waits: Sequence[timedelta] = WAITS,
        proven: bool = False,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self._services = dict(services)
        self._instance = instance
        self._clock = clock
        self._url = events_url.rstrip("/").removesuffix(ENQUEUE) + ENQUEUE
        self._incidents = incidents
        self._waits = tuple(waits)
        self._proven = proven
        self._when_cut = when_cut
        self._client = http.client(TIMEOUT_SECONDS)

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        routing_key = self._services.get(to.value)
        if routing_key is None:
            return Refused("unknown_service", RefusalCause.SETUP)
        key = render.dedup_key(self._instance, notice.ref)
        paging = await self._is_paging(key, to, sending)
        # A doubt is told: what a question left behind must be resolved even if it ends before the next try.
        event = render.trigger(notice, key, routing_key, self._when_cut)
        outcome = await self._post(event, key, to.value, sending, http.Repeats.COUNT)
        if not isinstance(outcome, Delivered):
            return outcome
        if paging:
            followed_by = (*self._reminder(notice, to), *self._call(notice, to))
            return replace(outcome, remark=ALREADY_PAGING, then=followed_by)
        return replace(outcome, then=self._call(notice, to), awaits=notice.ref if self._proven else None)

    def cut(self, notice: Notice) -> Cut:
        return render.cut(notice)

    async def _is_paging(self, key: str, to: Address, sending: Sending) -> bool:
        """Whether an earlier attempt's incident is open; also ``True`` if PagerDuty can't be asked."""
        if not any(receipt.get("service") == to.value for receipt in sending.earlier):
            return False
        if self._incidents is None:
            return True
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._incidents.is_open(key) is not False
        except TimeoutError:
            return True

    def _reminder(self, notice: Notice, to: Address) -> tuple[tuple[Message, Address], ...]:
        if self._incidents is None:
            return ()
        note = Message(Purpose.NOTE, "", render.reminder_note(notice), ref=notice.ref)
        return ((note, replace(to, person=None)),)

    def _call(self, notice: Notice, to: Address) -> tuple[tuple[Message, Address], ...]:
        """A person who is asked, but is reached only as one of those on call, is called by name, once for each
        incident. So a rung wakes its person although the incident is open, and a reminder wakes nobody."""
        if self._incidents is None or to.person is None or to.value == to.person:
            return ()
        return ((Message(Purpose.REQUEST, "", render.call_note(notice), ref=notice.ref), to),)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """Note in the incident how the question ended, and resolve its alert at the paged service. PagerDuty accepts a
        second resolve. A note that fails or is slow never delays the resolve: it follows."""
        key, service = receipt["dedup_key"], receipt["service"]
        routing_key = self._services.get(service)
        if routing_key is None:
            return Refused("unknown_service")
        text = render.ending_note(ending)
        noted = await self._noted(key, text, sending)
        waits = await self._waits_for_proof(key, sending)
        outcome = await self._post(render.resolve(key, routing_key), key, service, sending)
        if not isinstance(outcome, Delivered):
            return outcome
        note = Message(Purpose.NOTE, "", text, ref=ending.ref)
        then = () if noted else ((note, Address(self.name, service)),)
        return replace(outcome, then=then, awaits=ending.ref if waits else None)

    async def _waits_for_proof(self, key: str, sending: Sending) -> bool:
        """Whether to repeat a resolve until it is seen to have worked. A repeat asks PagerDuty. Without a token it goes
        on only if webhooks would report it."""
        if not sending.ambiguous:
            return True
        if self._incidents is None:
            return self._proven
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._incidents.asks(key) is not False
        except TimeoutError:
            return True

    async def _noted(self, key: str, text: str, sending: Sending) -> bool:
        """Whether nothing is left to note."""
        if self._incidents is None:
            return True
        try:
            async with asyncio.timeout(NOTE_SECONDS):
                written = await self._incidents.write_to(key, text, sending)
        except TimeoutError:
            return False
        return isinstance(written, Delivered | Refused)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery | Unconfirmed:
        """PagerDuty can't say whether it accepted an event, only whether an incident exists. A missing incident proves
        nothing: PagerDuty makes it later. Resolving an incident that does not exist does nothing."""
        key = render.dedup_key(self._instance, ref)
        receipt = {"dedup_key": key, "service": to.value}
        return Delivered(receipt) if await self._is_there(key) else Unconfirmed(receipt)

    async def _is_there(self, key: str) -> bool:
        """Whether PagerDuty shows an incident of ``key``, open or not."""
        if self._incidents is None:
            return False
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return bool(await self._incidents.find(key))
        except (TimeoutError, CallFailed):
            return False

    async def left_open(self) -> Collection[str] | None:
        if self._incidents is None:
            return None
        keys = await self._incidents.open_keys()
        return None if keys is None else {ref for key in keys if (ref := render.ref_in(key, self._instance))}

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        """An alert wakes a person, and is one alert over all tries. Any other message is a note on the question's
        incident, or on the incident that the address names."""
        if message.purpose is Purpose.ALERT:
            return await self._alert(message, to, sending)
        incidents, place = self._incidents, incident_of(to.value)
        if incidents is None or message.purpose is Purpose.SIGN_IN:
            return Refused("not_a_channel_for_this")
        if place is not None:
            return await incidents.write(place, message.text, sending)
        if message.ref is None:
            return Refused("no_incident")
        key = render.dedup_key(self._instance, message.ref)
        if message.purpose is Purpose.REQUEST:
            return await incidents.call(key, to.person or "", message.text, sending)
        return await incidents.write_to(key, message.text, sending)

    async def _alert(self, message: Message, to: Address, sending: Sending) -> Delivery:
        routing_key = self._services.get(to.value)
        if routing_key is None:
            return Refused("unknown_service")
        key = render.dedup_key(self._instance, f"alert:{sending.id}")
        return await self._post(render.alert(message, key, routing_key), key, to.value, sending)

    async def close(self) -> None:
        await self._client.aclose()
        if self._incidents is not None:
            await self._incidents.close()

    async def _post(
        self,
        event: render.Event,
        key: str,
        service: str,
        sending: Sending,
        repeats: http.Repeats = http.Repeats.COLLAPSE,
    ) -> Delivery:
        body, receipt = render.encode(event), {"dedup_key": key, "service": service}
        outcome = await http.post(self._client, self._url, body, receipt, repeats, self._clock.now)
        return self._patiently(outcome, sending)

    def _patiently(self, outcome: Delivery, sending: Sending) -> Delivery:
        """``outcome`` with the wait for this try, or a longer one if PagerDuty names it."""
        if not isinstance(outcome, Deferred | Ambiguous):
            return outcome
        wait = self._waits[min(sending.tries, len(self._waits)) - 1]
        soonest = self._clock.now() + wait
        return replace(outcome, until=max(soonest, outcome.until or soonest))
