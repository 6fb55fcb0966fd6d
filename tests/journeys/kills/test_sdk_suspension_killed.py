"""A paused invocation outlives every process: who asked has ended, the service was killed, and who went on was killed.

With real processes on both databases; the program is that of docs/how-to/suspension.md."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.mailbox import Mailbox
from tests.journeys.kills.test_sdk_killed import People, a_service, mailbox
from tests.journeys.sdk.test_sdk_suspension import asking, printed_by, program
from tests.journeys.sdk.test_sdk_yield import LIMIT
from tests.process import ServiceProcess
from tests.world import KEYS

__all__ = ["mailbox"]

pytestmark = pytest.mark.kills

AGENT = {"X-API-Key": KEYS["agent"]}
APPROVED: Any = {"approved": True, "note": ""}
PAY = "    if not refund.approved:\n"


async def intent_of(service: ServiceProcess, people: People) -> dict[str, Any]:
    [question] = await people.questions()
    async with httpx.AsyncClient() as http:
        found = await http.get(f"{service.url}/v1/intents/{question['intent_id']}", headers=AGENT)
    intent: dict[str, Any] = found.json()
    return intent


async def completed(service: ServiceProcess, people: People) -> None:
    async with asyncio.timeout(LIMIT):
        while (await intent_of(service, people))["status"] != "completed":
            await asyncio.sleep(0.02)


async def test_a_process_suspends_and_exits_the_service_is_killed_and_another_process_goes_on(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        assert "Awaiting approval, HR-" in await agent.run(asking("12345"))
        await service.kill()
        await service.start()
        await people.answer(APPROVED)
        await service.kill()  # with its callback on the way, or not yet
        await service.start()
        async with agent.receiving(program()) as receiver:
            assert await printed_by(receiver) == "We have refunded order 12345 (refund-12345-pay)."
            await completed(service, people)
            await people.delivered()


async def test_a_process_that_dies_while_it_goes_on_leaves_the_rest_to_the_next(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    """Its lease ends here by the owner's hand; by itself it would in a minute."""
    stuck = program().replace(PAY, "    print('paying', flush=True)\n    await asyncio.Event().wait()\n" + PAY)
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        await agent.run(asking("12345"))
        async with agent.receiving(stuck) as receiver:
            await people.answer(APPROVED)
            assert await printed_by(receiver) == "paying"
        async with agent.receiving(program()) as receiver, httpx.AsyncClient(headers=AGENT) as http:
            leases = f"{service.url}/v1/intents/{(await intent_of(service, people))['id']}/leases"
            [lease] = [one for one in (await http.get(leases)).json()["leases"] if one["status"] == "active"]
            assert lease["scope"] == "invocation:refund-12345"
            assert (await http.delete(f"{leases}/{lease['id']}")).is_success
            assert await printed_by(receiver) == "We have refunded order 12345 (refund-12345-pay)."
            await completed(service, people)
            await people.delivered()


async def test_two_processes_that_are_told_at_once_go_on_once(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    both = program().replace(
        "    if len(sys.argv) > 1:\n",
        "    if len(sys.argv) > 2:\n        asyncio.run(by_hand())\n    elif len(sys.argv) > 1:\n",
    )
    by_hand = """
async def by_hand():
    async with Handraise() as people:
        try:
            outcome = await refunds(people).invoke(resume_invocation="refund-12345")
        except SuspensionRecordInvalid as refused:
            print(refused.reason)
        else:
            print(outcome.outcome)

"""
    again = both.replace('if __name__ == "__main__":', by_hand + 'if __name__ == "__main__":')
    again = "import sys\nsys.argv += ['by', 'hand']\nfrom handraise import SuspensionRecordInvalid\n" + again
    async with a_service(tmp_path, database_url, mailbox) as (service, people, agent):
        await agent.run(asking("12345"))
        await people.answer(APPROVED)
        said = [line.strip() for line in await asyncio.gather(*(agent.run(again) for _ in range(4)))]
        assert sorted(said)[0] == "completed"
        assert set(sorted(said)[1:]) <= {"running", "resumed"}
        await completed(service, people)
