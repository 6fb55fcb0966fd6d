"""One webhook subscription: what goes out, in which order, what is tried again, and when it is switched off.

What nobody waits for goes out in the background, in the order it happened. An incident's later webhooks wait behind
one that is to be tried again. The real one spreads its tries over time; here they come with the next webhook of the
incident, with :meth:`Webhooks.retry`, or every ``retry_every`` seconds if somebody wants that.

Source: https://developer.pagerduty.com/docs/webhooks-behavior.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import httpx

from bot.sandbox.pagerduty.webhooks import Delivery, envelope, signature
from bot.sandbox.pagerduty.world import JsonObject, wall_clock
from bot.sandbox.serving import loopback_client

TIMEOUT_SECONDS = 5.0
"""PagerDuty gives up on an answer after five seconds."""
KEPT_FOR = timedelta(hours=48)
"""How long PagerDuty goes on trying."""
MOST_DROPS = 3
"""So many webhooks dropped in a row switch the subscription off …"""
OFF_FOR = timedelta(hours=24)
"""… for so long, or until somebody switches it on."""

TRY_AGAIN = frozenset({429})
"""What is tried again beside 5xx; any other 4xx drops the webhook."""


class Off(RuntimeError):
    """The subscription is switched off: nothing was sent, and nothing will be."""


class Webhooks:
    """The subscription of one receiver."""

    id = "PWHSUB1"

    def __init__(self, secrets: Sequence[str], now: Callable[[], datetime] = wall_clock) -> None:
        self.url: str | None = None
        self.secrets = tuple(secrets)
        self.copies = 1
        """How often each webhook is delivered: more than once is something PagerDuty allows itself."""
        self.deliveries: list[Delivery] = []
        self.undelivered: list[Delivery] = []
        """What is to be tried again, oldest first."""
        self.dropped: list[Delivery] = []
        self.off_until: datetime | None = None
        self._now = now
        self._drops = 0
        self._held: list[Delivery] | None = None
        self._in_order = asyncio.Lock()
        self._background: set[asyncio.Task[Any]] = set()
        self._client = loopback_client(TIMEOUT_SECONDS)

    @property
    def is_off(self) -> bool:
        return self.off_until is not None and self._now() < self.off_until

    def enable(self) -> None:
        self.off_until, self._drops = None, 0

    async def send(self, body: JsonObject) -> httpx.Response:
        """Deliver and return the receiver's (last) response; raises what httpx raises if there is none, and
        :class:`Off`."""
        return await self._start(body)

    def send_later(self, body: JsonObject) -> None:
        if self.url is not None:
            self._start(body)

    async def ping(self) -> httpx.Response:
        """What the button "Send test event" does."""
        body = envelope("pagey.ping", {"message": "Hello from your friend Pagey!", "type": "ping"}, None, self._now())
        body["event"]["resource_type"] = "pagey"
        return await self.send(body)

    async def answered(self) -> None:
        """Wait until whatever is on its way has been answered, or has failed."""
        await asyncio.gather(*self._background, return_exceptions=True)

    def hold_back(self) -> None:
        """From now on nothing leaves before :meth:`release`; whoever sends is told 202."""
        self._held = []

    async def release(self, order: Callable[[Sequence[Delivery]], Iterable[Delivery]] = tuple) -> list[httpx.Response]:
        """Deliver what was held back, in an order of your own: shuffled, repeated, or with some left out."""
        held, self._held = self._held or [], None
        return [await self._deliver_all(delivery) for delivery in order(held)]

    async def retry(self) -> None:
        """One more try for whatever is to be tried again."""
        for delivery in tuple(self.undelivered):
            if not any(one is not delivery and _behind(delivery, one) for one in self._before(delivery)):
                with contextlib.suppress(httpx.TransportError, Off):
                    await self.deliver(delivery)

    def retry_every(self, seconds: float) -> None:
        async def retry() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self.retry()

        self._keep(asyncio.get_running_loop().create_task(retry()))

    def _start(self, body: JsonObject) -> asyncio.Task[httpx.Response]:
        """Tasks start in the order they are made and take the lock in that order: so do the webhooks go out."""
        raw = json.dumps(body, ensure_ascii=False).encode()
        delivery = Delivery(str(uuid.uuid4()), body["event"], raw, self._now())
        self.deliveries.append(delivery)
        if self._held is not None:
            self._held.append(delivery)
            task = asyncio.get_running_loop().create_task(_held_back())
        else:
            task = asyncio.get_running_loop().create_task(self._deliver_all(delivery))
        self._keep(task)
        return task

    async def _deliver_all(self, delivery: Delivery) -> httpx.Response:
        for earlier in self._before(delivery):
            self.undelivered.append(delivery)  # it waits, whatever becomes of this try
            response = await self.deliver(earlier)
            if earlier in self.undelivered:
                return response
            self._forget(delivery)
        for _ in range(self.copies - 1):
            await self.deliver(delivery)
        return await self.deliver(delivery)

    def _before(self, delivery: Delivery) -> list[Delivery]:
        """The same incident's webhooks that have yet to arrive, as far as they are older."""
        waiting = self.undelivered
        older = waiting[: waiting.index(delivery)] if delivery in waiting else waiting
        return [one for one in older if _behind(delivery, one)]

    async def deliver(self, delivery: Delivery) -> httpx.Response:
        """Once (more), with the same bytes and the same ``X-Webhook-Id``."""
        if self.url is None:
            raise RuntimeError("nobody has subscribed: set webhooks.url first")
        if self.is_off:
            self._drop(delivery)
            raise Off
        async with self._in_order:
            try:
                response = await self._client.post(self.url, content=delivery.raw, headers=self._headers(delivery))
            except httpx.TransportError:
                self._again(delivery)
                raise
        delivery.statuses.append(response.status_code)
        self._settle(delivery, response)
        return response

    def _settle(self, delivery: Delivery, response: httpx.Response) -> None:
        if response.is_success:
            self._drops = 0
            self._forget(delivery)
        elif response.is_server_error or response.status_code in TRY_AGAIN:
            self._again(delivery)
        else:
            self._drop(delivery)

    def _again(self, delivery: Delivery) -> None:
        if delivery.made_at is not None and self._now() - delivery.made_at > KEPT_FOR:
            self._drop(delivery)
        elif delivery not in self.undelivered:
            self.undelivered.append(delivery)

    def _drop(self, delivery: Delivery) -> None:
        """The third in a row switches the subscription off, and whatever waits is dropped with it."""
        self._forget(delivery)
        self.dropped.append(delivery)
        self._drops += 1
        if self._drops >= MOST_DROPS and not self.is_off:
            self.off_until = self._now() + OFF_FOR
            self.dropped += self.undelivered
            self.undelivered = []

    def _forget(self, delivery: Delivery) -> None:
        self.undelivered = [one for one in self.undelivered if one is not delivery]

    async def close(self) -> None:
        for task in tuple(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._client.aclose()

    def _headers(self, delivery: Delivery) -> Mapping[str, str]:
        return {
            "Content-Type": "application/json",
            "User-Agent": "PagerDuty-Webhook/V3.0",
            "X-Webhook-Id": delivery.webhook_id,
            "X-Webhook-Subscription": self.id,
            "X-PagerDuty-Signature": signature(delivery.raw, self.secrets),
        }

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._background.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[Any]) -> None:
        """A receiver that is away is its own trouble; ``deliveries`` shows that it never answered."""
        self._background.discard(task)
        if not task.cancelled():
            task.exception()


def _behind(delivery: Delivery, earlier: Delivery) -> bool:
    """Whether ``delivery`` has to wait for ``earlier``: both are about one incident."""
    return _about(delivery) is not None and _about(delivery) == _about(earlier)


def _about(delivery: Delivery) -> str | None:
    data = delivery.event.get("data") or {}
    incident = data.get("incident", data)
    return incident.get("id") if isinstance(incident, dict) else None


async def _held_back() -> httpx.Response:
    return httpx.Response(202, text="held back")
