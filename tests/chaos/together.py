"""What people do with a question among themselves and with the agent: hand it over, ask back, be told more."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.chaos.bringing import Bringing
from tests.chaos.plan import ALICE, BOB, Act, Way
from tests.chaos.records import Asked
from tests.world import KEYS

OPERATORS = {ALICE: KEYS["operator"], BOB: KEYS["second_operator"]}


class Together:
    """All of it over the API, each under an idempotency key of its own."""

    def __init__(self, bring: Bringing) -> None:
        self._bring = bring

    async def hand_over(self, asked: Asked, act: Act, ends: float) -> None:
        await asyncio.sleep(act.after)
        await self._post(asked, act, "assign", OPERATORS[act.who], {"to": act.value})

    async def ask_back(self, asked: Asked, act: Act, ends: float) -> None:
        """And the agent says more, or keeps silent: then the clock goes on by itself."""
        await asyncio.sleep(act.after)
        held = await self._post(asked, act, "clarify", OPERATORS[act.who], {"question": "Which of the two?"})
        if held and act.value:
            await asyncio.sleep(act.after)
            said = Act(Way.CLARIFICATION, act.value, "refund-agent", 0)
            await self._post(asked, said, "clarification", KEYS["agent"], {"text": act.value})

    async def _post(self, asked: Asked, act: Act, what: str, key: str, body: dict[str, Any]) -> bool:
        path = f"/v1/suspensions/{asked.suspension_id}/{what}"
        headers = {"X-API-Key": key, "Idempotency-Key": f"{what}-{asked.ref}"}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(door.url + path, json=body, headers=headers)
        )
        self._bring.note(asked, act, told)
        return told is not None and told[0].status_code == 200
