"""Whatever an agent writes into any field of a question, its page has no tag and no attribute of theirs; open and
ended, with Markdown. Source: docs/decisions/0121."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.nasty import NASTY
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALICE = "alice@example.com"
_TAGS = """
a article bdi blockquote body br button code dd details div dl dt em fieldset footer form h1 h2 h3 head header
hr html img input label legend li link main meta nav ol option p pre q script section select span strong
summary table tbody td textarea th thead time title tr ul
"""
TAGS = frozenset(_TAGS.split())
_ATTRIBUTES = """
action alt aria-controls aria-describedby aria-hidden aria-invalid aria-label aria-labelledby autocomplete
charset checked class colspan content data-again data-clock data-filtered data-filters data-live data-part
data-utc datetime defer dir
disabled for formnovalidate height hidden href id inputmode lang maxlength method name open readonly rel
required role rows scope src tabindex title type value width
"""
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
OURS = re.compile(r"/(?:static/[a-z.]+\?v=[0-9a-f]{12}|a/[a-z2-7]+|q/[A-Z0-9-]+|inbox|me|signout)?|#your-answer")


class Strict(HTMLParser):
    """Fails at a tag, an attribute or an address that no template of ours has."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert tag in TAGS, tag
        assert set(given) <= ATTRIBUTES, (tag, given)
        for name in {"src", "action"} & set(given):
            assert OURS.fullmatch(given[name]), (tag, given)
        if "href" in given and not OURS.fullmatch(given["href"]):
            assert tag == "a", given
            assert urlsplit(given["href"]).scheme in {"http", "https", "mailto"}
            assert set(given["rel"].split()) == {"noopener", "noreferrer", "nofollow"}
            self.links.append(given["href"])
        if tag in {"script", "link", "meta", "img"}:
            assert "nasty" not in str(given)
        if tag in {"iframe", "object", "embed", "svg", "style", "base"}:
            raise AssertionError(tag)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> Strict:
    strict = Strict()
    strict.feed(page)
    strict.close()
    return strict


def fields(nasty: str, **more: Any) -> dict[str, Any]:
    """A question with it in every field that takes a text."""
    return {
        "question": f"{nasty}\n\n{nasty}\n\n- {nasty}\n\n> {nasty}\n\n```{nasty.splitlines()[0]}\n{nasty}\n```",
        "context": {nasty[:200]: nasty, "nested": [{nasty[:200]: [nasty]}], "diff": f"@@ -1 +1 @@\n+{nasty}"},
        "action": {"tool": nasty, nasty[:200]: {"deep": [nasty]}},
        "decision_record": {"risk": "high", "why": nasty},
        "channel_hint": "email",
        "responders": [ALICE],
        "timeout_seconds": 3600,
        **more,
    }


async def link_of(room: World, asked: dict[str, Any]) -> str:
    mail = await room.mailbox.expect(to=ALICE, subject=asked["ref"])
    found = re.search(r"/a/[a-z2-7]+", mail.text)
    assert found is not None
    return room.url + found[0]


@pytest.mark.parametrize("nasty", NASTY)
async def test_no_tag_or_attribute_of_theirs_is_on_the_page_open_or_ended(room: World, nasty: str) -> None:
    choices = [
        {"value": "approve", "label": nasty, "description": nasty, "style": "primary"},
        {"value": "deny", "label": f"no {nasty}", "description": nasty},
    ]
    asked = await room.ask(**fields(nasty, choices=choices))
    link = await link_of(room, asked)
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        page = (await browser.get(link)).text
        seen = read(page)
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token is not None
        late = {"form_token": token[1], "do": "answer", "choice": "1", "reason": nasty}
        assert (await room.answer(asked, "approve", metadata={"reason": nasty})).status_code == 200
        lost = await browser.post(link, data=late)
        assert lost.status_code == 409
        read(lost.text)
        report = {"status": "failed", "text": nasty, "url": "https://ci.example/runs/1"}
        told = await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/outcome", json=report)
        assert told.status_code == 200, told.text
        ended = read((await browser.get(link)).text)
    first = " ".join(nasty.strip("\n").split("\n")[0].split())
    for shown in (seen, ended):
        assert first in " ".join("".join(shown.words).split()), "it is shown as it was written"
        assert not any(scheme in link.lower() for link in shown.links for scheme in ("script:", "data:", "/signout"))
        assert "11011" not in "".join(shown.words).replace(asked["ref"], "")


@pytest.mark.parametrize("nasty", NASTY)
async def test_nor_in_a_form_that_their_schema_makes(room: World, nasty: str) -> None:
    one = {"type": "string", "title": nasty, "description": nasty, "default": nasty}
    pick = {"type": "string", "title": nasty, "enum": [nasty, "b"], "enumNames": [nasty, "b"]}
    schema = {"type": "object", "title": nasty, "properties": {nasty[:200]: one, "pick": pick}}
    form = fields(nasty, response_type="form", form_schema=schema)
    asked = await room.ask(**{name: value for name, value in form.items() if name != "action"})
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        read((await browser.get(await link_of(room, asked))).text)
