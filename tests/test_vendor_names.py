"""A vendor's name stands in its own rooms, unless the table here says why it stands elsewhere.

Its own rooms are ``channels/NAME``, ``bot/inbound/NAME`` and ``bot/vendors/NAME``; the sandbox and the demo pretend to
be vendors. What is looked at are names and texts in the code, not docstrings and comments. Mail's name is left out:
``email`` is how a person is known, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = ("channels/slack", "channels/pagerduty", "bot/inbound/slack", "bot/inbound/pagerduty", "bot/vendors")
PRETEND = ("bot/sandbox", "bot/demo")
VENDORS = re.compile("slack|pager_?duty", re.IGNORECASE)

SIGN_IN = "people sign in with Slack as a provider of identities, whether or not it is a channel"
SET_UP = "a command that sets one vendor up, or asks which ones to set up"
EXAMPLE = "an example or a help text that names what there is"
DOCTOR = "doctor's checks of one vendor, called through its description"
READS = "what one vendor's description asks the vendor for, kept for the directory"

ELSEWHERE = {
    "bot/cli.py": SET_UP,
    "bot/commands/channels.py": SET_UP,
    "bot/commands/configuration.py": SET_UP,
    "bot/commands/making_configuration.py": SET_UP,
    "bot/config/catalogue.py": "the list of ours, in the order in which the first that is set up is the default",
    "bot/config/fitting.py": SIGN_IN,
    "bot/config/people_and_keys.py": SIGN_IN,
    "bot/config/settings.py": SIGN_IN,
    "bot/config/values.py": SIGN_IN,
    "bot/doctor/pager.py": DOCTOR,
    "bot/doctor/slack.py": DOCTOR,
    "bot/observability/telemetry.py": "the loggers of a vendor's library, and the help text of a metric",
    "bot/openid/identity.py": SIGN_IN,
    "bot/people/on_call.py": READS,
    "bot/web/api/replies.py": EXAMPLE,
    "bot/web/pages/provider_pages.py": SIGN_IN,
    "bot/web/pages/signin.py": SIGN_IN,
    "bot/openid/provider.py": SIGN_IN,
    "bot/wiring/roles.py": "the role of a process that holds Slack's sockets alone",
    "channels/email/examples.py": EXAMPLE,
    "core/domain/redaction/patterns.py": "the form of a secret, and the address that one is part of",
    "core/engine/planning.py": EXAMPLE,
    "core/store/inspection.py": "the marks that PagerDuty's door leaves, for doctor",
    "sdk/handraise/mcp_server/tool_texts.py": EXAMPLE,
}
"""File: the reason."""


def test_a_vendors_name_stands_in_its_own_rooms() -> None:
    assert {path for path in _product() if any(map(VENDORS.search, _words(path)))} == set(ELSEWHERE)


def _product() -> Iterator[str]:
    for tree in ("bot", "core", "channels", "sdk/handraise"):
        for path in sorted((ROOT / tree).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith((*OWN, *PRETEND)) and "migrations" not in name:
                yield name


def _words(path: str) -> Iterator[str]:
    """Every name and text of a file, but docstrings."""
    tree = ast.parse((ROOT / path).read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in said:
            continue
        for _, value in ast.iter_fields(node):
            if isinstance(value, str):
                yield value
