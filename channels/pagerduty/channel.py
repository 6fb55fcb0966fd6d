"""Pages whoever is on call through PagerDuty's Events API v2.

One question is one alert per service: every attempt triggers the same dedup key. A repeat therefore only adds a line
to the open incident's log, and a doubt is simply sent again.

Source: https://developer.pagerduty.com/docs/events-api-v2-overview ("Response Codes & Retry Logic").
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from channels import http
from channels.pagerduty import render
from core.domain.notice import Ending, Message, Notice, Purpose
from core.domain.people import Address
from core.ports import Clock, Delivered, Delivery, Fault, Receipt, Refused, Sending

EVENTS_URL = "https://events.pagerduty.com"
ENQUEUE = "/v2/enqueue"
TIMEOUT_SECONDS = 10.0


class PagerDutyChannel:
    """``services`` maps the names that an address may have to routing keys; ``default`` is the configured one.

    ``instance`` tells this installation's alerts from another's in the same account.
    """

    name = "pagerduty"
    lanes = 2
    withdraws = True
    follows_up = False

    def __init__(
        self, services: Mapping[str, str], *, instance: str, clock: Clock, events_url: str = EVENTS_URL
    ) -> None:
        self._services = dict(services)
        self._instance = instance
        self._clock = clock
        self._url = events_url.rstrip("/").removesuffix(ENQUEUE) + ENQUEUE
        self._client = httpx.AsyncClient(
            verify=http.authorities(), trust_env=False, follow_redirects=False, timeout=TIMEOUT_SECONDS
        )

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        routing_key = self._services.get(to.value)
        if routing_key is None:
            return Refused("unknown_service", Fault.SETUP)
        key = render.dedup_key(self._instance, notice.ref)
        # A doubt is told: what a question left behind must be resolved even if it ends before the next try.
        return await self._post(render.trigger(notice, key, routing_key), key, to.value, http.Repeats.COUNT)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """Resolve the alert at the service that was paged; PagerDuty takes a second resolve without a word."""
        key, service = receipt["dedup_key"], receipt["service"]
        routing_key = self._services.get(service)
        if routing_key is None:
            return Refused("unknown_service")
        return await self._post(render.resolve(key, routing_key), key, service)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery:
        """Whether there is an alert can't be asked; resolving one that is not there does nothing."""
        return Delivered({"dedup_key": render.dedup_key(self._instance, ref), "service": to.value})

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        """Only an alert is worth waking somebody up for. Each is an alert of its own, over all tries."""
        if message.purpose is not Purpose.ALERT:
            return Refused("not_a_channel_for_this")
        routing_key = self._services.get(to.value)
        if routing_key is None:
            return Refused("unknown_service")
        key = render.dedup_key(self._instance, f"alert:{sending.id}")
        return await self._post(render.alert(message, key, routing_key), key, to.value)

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(
        self, event: render.Event, key: str, service: str, repeats: http.Repeats = http.Repeats.COLLAPSE
    ) -> Delivery:
        headers = {"Content-Type": "application/json"}
        try:
            response = await self._client.post(self._url, content=render.encode(event), headers=headers)
        except http.CAUGHT as error:
            return http.failed(error, repeats)
        receipt = {"dedup_key": key, "service": service}
        return http.answered(response, receipt, repeats, self._clock.now())
