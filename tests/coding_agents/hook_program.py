"""The hook as a process, with its files at other places than the user's home: ``NAME SECONDS FILE RUNS [--defer]``.

It is what ``handraise hook NAME`` does, from the first line of ``handraise.cli.main`` on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from handraise.coding_agents.isolation import close_failures

close_failures(sys.argv[2])

from handraise.coding_agents.agent_hook import AgentHook  # noqa: E402 (failures of these are closed too)
from handraise.coding_agents.deferred import DeferredRuns  # noqa: E402
from handraise.coding_agents.hook_file import HookFile  # noqa: E402
from handraise.coding_agents.hook_protocol import Program  # noqa: E402

name, seconds, file, runs, *more = sys.argv[1:]
hook = AgentHook(Program(name), int(seconds), "--defer" in more, None, HookFile(Path(file)), DeferredRuns(Path(runs)))
sys.exit(hook.run())
