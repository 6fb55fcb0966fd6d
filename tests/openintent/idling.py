"""An agent of the published client, as a process: ``run()``, which waits on its stream for work.

The first argument is the name that it goes by. Each line that it prints is an assignment that it was told of.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import shim  # noqa: F401 (what it puts right)
from openintent.agents import BaseAgent, on_assignment


class Waiting(BaseAgent):
    _agent_id = sys.argv[1]

    @on_assignment
    async def assigned(self, intent: Any) -> None:
        print(intent.id, flush=True)


Waiting(os.environ["HANDRAISE_URL"], os.environ["HANDRAISE_API_KEY"]).run()
