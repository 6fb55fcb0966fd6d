"""``make coding-agents``: the hooks under the real programs, and Claude Agent SDK, each with a scripted model on this
machine.

Each program that can't be had is named, and the status is then 1: nothing is said about it. What stands behind
``python -m tests.coding_agents`` goes to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys

from handraise.coding_agents.hook_protocol import DISPLAYED, Program

from tests.coding_agents import agent_sdk
from tests.coding_agents.programs import ROOT, Missing, installed


def main(arguments: list[str]) -> int:
    found, missing = [], 0
    for program in Program:
        try:
            print(f"{DISPLAYED[program]}: {installed(program)}", flush=True)
            found.append(program.value)
        except Missing as problem:
            print(f"{DISPLAYED[program]} is NOT TRIED: {problem}", flush=True)
            missing += 1
    status = 0
    try:
        print(f"Claude Agent SDK: {agent_sdk.installed()}", flush=True)
        status = agent_sdk.types()
        found.append(agent_sdk.NAME)
    except Missing as problem:
        print(f"Claude Agent SDK is NOT TRIED: {problem}", flush=True)
        missing += 1
    tests = ["-m", "pytest", "-m", "coding_agents", "-n", "1", "tests/coding_agents", *arguments]
    environ = os.environ | {"HANDRAISE_CODING_AGENTS": ",".join(found)}
    if found:
        status = subprocess.run([sys.executable, *tests], cwd=ROOT, env=environ, check=False).returncode or status
    return status or min(missing, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
