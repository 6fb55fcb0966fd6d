"""The part that the agents of all frameworks have in common.

Each is a program: ``agent.py start|resume|edit FOLDER SESSION``. A scripted model calls the tool ``refund`` once for
each entry of ``calls.json``, all in one turn. The tool writes a line to ``ran``. ``told.json`` has what the model then
read. The program prints how many calls still wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from handraise import Handraise, Suspended
from handraise.adapters.approvals import Approvals

WHAT, FOLDER, SESSION = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
CALLS: list[dict[str, Any]] = json.loads((FOLDER / "calls.json").read_text())
"""Each with ``id``, ``order`` and ``amount``."""


async def refund(order: int, amount: int) -> str:
    """Pay the money for an order back."""
    with (FOLDER / "ran").open("a") as ran:
        ran.write(f"{order} {amount}\n")
    if "DIE_IN_TOOL" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount} for order {order}"


def tell(said: dict[str, str]) -> None:
    """What the model reads of each call, by its id."""
    file = FOLDER / "told.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(before | said))


def edited() -> dict[str, int]:
    """The arguments that a program puts in place of those of the first call."""
    return {"order": CALLS[0]["order"], "amount": CALLS[0]["amount"] + 1000}


class People(Handraise):
    """Dies after it has asked ``DIE_AFTER_ASKS`` questions."""

    async def suspend(self, question: str, **options: Any) -> Suspended:
        suspended = await super().suspend(question, **options)
        left = int(os.environ.get("DIE_AFTER_ASKS", "0")) - 1
        os.environ["DIE_AFTER_ASKS"] = str(left)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return suspended


def run(main: Callable[[Approvals], Awaitable[int]]) -> None:
    async def running() -> None:
        timeout = os.environ.get("TIMEOUT_SECONDS")
        async with People() as people:
            approvals = Approvals(people, SESSION, timeout_seconds=None if timeout is None else int(timeout))
            print(json.dumps({"waiting": await main(approvals)}))

    asyncio.run(running())
