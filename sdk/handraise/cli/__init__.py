"""``handraise`` at the command line. What needs the API alone stands here; the server's distribution adds its own.

Read ``app`` first: the commands in order, and how those of another distribution join them. Then ``client``, which
speaks to the API, and ``terminal``, which alone prints. ``question`` is what ``ask`` and ``run`` ask and wait for,
``form_answer`` how ``answer`` fills in a form, ``exit_status`` what the answer means to a shell, ``outputs`` what a CI
system reads. ``admin`` is for an admin's key; ``audit`` exports and verifies the audit trail; ``hook`` is what coding
agents run, and a failure in it is a no.

What must never be: an import of typer or httpx at the top of this file or of ``terminal`` (the server imports them),
or others' words printed other than through ``terminal``.

Exit status: 0 done, 1 refused by the service, 2 can't begin (configuration, database, port, usage) or no service; of an
answer: ``exit_status``. Source: API.md §9.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from handraise.cli.terminal import warn

_NEEDED = {"typer"}
_HOOKS = {"claude-code", "codex", "gemini"}
"""What a coding agent runs. Any other status than 2 is a yes to it, if no verdict was written."""


def main() -> None:
    """The console script ``handraise``."""
    if sys.argv[1:2] == ["hook"] and set(sys.argv[2:3]) & _HOOKS:
        from handraise.coding_agents.isolation import close_failures

        close_failures(next((after for word, after in pairwise(sys.argv) if word == "--timeout"), None))
    os.umask(0o077)  # whatever is made from here on holds keys, or what people have written
    try:
        from handraise.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in _NEEDED:
            raise
        warn("handraise: the command line needs one more package: pip install 'handraise[cli]'")
        sys.exit(2)
    app(prog_name="handraise")
