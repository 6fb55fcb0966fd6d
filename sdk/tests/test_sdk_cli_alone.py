"""The command line on a machine that has the SDK alone: it needs nothing of the server, and names what is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # each starts Python

SERVER = ("bot", "core", "channels", "slack_bolt", "fastapi", "sqlalchemy")
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
sys.argv = ["handraise", *sys.argv[1:]]
from handraise.cli import main
main()
"""


def without(blocked: tuple[str, ...], *arguments: str, key: str = "") -> subprocess.CompletedProcess[str]:
    """``handraise`` on a machine that has none of ``blocked``; the service is away."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"HANDRAISE_URL": "http://127.0.0.1:1", "NO_PROXY": "*"} | ({"HANDRAISE_API_KEY": key} if key else {})
    command = [sys.executable, "-c", BLOCKED.format(blocked=set(blocked)), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["list"], ["ask", "Go?"], ["show", "HR-7F3K"], ["pause"], ["audit", "verify"]])
def test_a_command_over_http_needs_nothing_of_the_server(arguments: list[str]) -> None:
    ran = without(SERVER, *arguments, key="k")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "handraise: http://127.0.0.1:1 does not answer (ConnectError)\n"


def test_a_server_that_can_not_be_imported_is_named_in_the_list_of_commands() -> None:
    ran = without(SERVER, "--help")
    assert ran.returncode == 0
    assert ran.stderr == "handraise: the commands of bot.cli:app can't be loaded: No module named 'bot'\n"
    assert "  list " in ran.stdout
    assert "  serve " not in ran.stdout


def test_without_the_extra_one_line_says_what_to_install() -> None:
    ran = without(("typer",), "list", key="k")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "handraise: the command line needs one more package: pip install 'handraise[cli]'\n"
