"""One sample agent as its own process: ``python -m bot.demo.agent refund``.

It asks, yields, and goes on when it is called back; in between only the receiver of that call is open. It prints lines
of JSON on standard output: ``asked``, then ``resumed``.

Environment: ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY`` as for every agent, and ``HANDRAISE_CALLBACK_SECRET``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

from handraise import (
    Handraise,
    HandraiseError,
    HumanRetryPolicy,
    InvalidCallback,
    Resumed,
    ResumeTarget,
    Suspended,
    verify_callback,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.demo.samples import CHANNEL, RESPONDER, SAMPLES, Sample
from bot.sandbox.serving import serving

AN_HOUR = 3600


class Receiver:
    """Receives the agent's callbacks. A request that is not signed with its secret is refused."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self.resumed: asyncio.Future[Resumed] = asyncio.get_running_loop().create_future()
        self.app = Starlette(routes=[Route("/resume", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        try:
            resumed = verify_callback(request.headers, await request.body(), self._secret)
        except InvalidCallback as refusal:
            print(f"a callback was refused: {refusal.reason}", file=sys.stderr, flush=True)
            return Response(status_code=401)
        if not self.resumed.done():  # it may come twice: at least once is the promise
            self.resumed.set_result(resumed)
        return Response(status_code=204)


async def ask(people: Handraise, sample: Sample, callback_url: str, *, interval: int, attempts: int) -> Suspended:
    """Suspend with the sample's question; returns as soon as it is stored."""
    policy = HumanRetryPolicy(
        max_attempts=attempts,
        interval_seconds=interval,
        escalation_ladder=tuple(rung for rung in sample.ladder if rung.attempt <= attempts),
    )
    return await people.suspend(
        sample.question,
        response_type=sample.response_type,
        choices=sample.choices or None,
        context=sample.context,
        action=sample.action,
        form_schema=sample.form_schema,
        channel_hint=sample.channel,
        notify_to=CHANNEL if sample.channel == "slack" else None,
        responders=[RESPONDER],
        timeout_seconds=interval,
        fallback_policy="fail" if sample.fallback is None else "complete_with_fallback",
        fallback_value=sample.fallback,
        confidence=0.55,
        retry_policy=policy,
        resume=ResumeTarget(callback_url=callback_url, state={"sample": sample.name}),
    )


async def work(sample: Sample, *, interval: int, attempts: int) -> None:
    receiver = Receiver(os.environ["HANDRAISE_CALLBACK_SECRET"])
    async with serving(receiver.app) as url, Handraise() as people:
        began = time.monotonic()
        suspended = await ask(people, sample, f"{url}/resume", interval=interval, attempts=attempts)
        _say("asked", **_asked(suspended))
        resumed = await receiver.resumed
        _say("resumed", **_resumed(resumed, time.monotonic() - began))


def _asked(suspended: Suspended) -> dict[str, Any]:
    ladder = [step.model_dump(mode="json", include={"attempt", "channel", "due_at"}) for step in suspended.ladder]
    return {"ref": suspended.ref, "intent_id": suspended.intent_id, "ladder": ladder}


def _resumed(resumed: Resumed, seconds: float) -> dict[str, Any]:
    told = {"type", "resolution", "value", "choice_label", "responded_by", "channel", "reason", "error", "state"}
    return {**resumed.model_dump(mode="json", include=told), "seconds": seconds}


def _say(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def _main(sample: Sample, *, interval: int, attempts: int) -> int:
    task = asyncio.create_task(work(sample, interval=interval, attempts=attempts))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return 0
    except HandraiseError as problem:
        print(f"{sample.agent}: {problem}", file=sys.stderr)
        return 1
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bot.demo.agent", description="Ask one sample question.")
    parser.add_argument("sample", choices=sorted(SAMPLES))
    parser.add_argument("--interval", type=int, default=AN_HOUR, help="seconds between attempts (default: an hour)")
    parser.add_argument("--attempts", type=int, help="how often to ask (default: the sample's own)")
    given = parser.parse_args()
    sample = SAMPLES[given.sample]
    sys.exit(asyncio.run(_main(sample, interval=given.interval, attempts=given.attempts or sample.attempts)))


if __name__ == "__main__":
    main()
