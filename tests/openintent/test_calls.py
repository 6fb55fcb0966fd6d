"""Every public method of the published client; ``docs/reference/openintent-client.md`` says what becomes of each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.openintent.client import running_client
from tests.openintent.office import office

pytestmark = pytest.mark.kills

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "openintent-client.md"
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| (works|refused) \|", re.MULTILINE)


def documented() -> dict[str, str]:
    """By the name of each method: what the tables of the client's own calls say."""
    calls = PAGE.read_text().partition("\n## Intents\n")[2]
    return {name.strip("`"): said for names, said in ROW.findall(calls) for name in names.split(", ")}


async def test_every_call_does_what_the_page_says(tmp_path: Path, sqlite_url: str, client_python: Path) -> None:
    """What is refused is not found, or the path does not take that method."""
    async with (
        office(tmp_path, sqlite_url, client_python) as place,
        running_client(client_python, place.service.url, "calls.py") as client,
    ):
        found = json.loads(await client.line())
    said = {"works": "works", "404": "refused", "405": "refused", "unheard": "refused"}
    assert {name: said.get(outcome, outcome) for name, outcome in found.items()} == documented()
