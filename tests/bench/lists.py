"""What a client looks up, beside 100,000 open and as many ended questions: each list takes about as long as beside
1,000 of each, in turn.
"""

from __future__ import annotations

import re
import statistics
import time
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, ended_question, open_question
from tests.bench.databases import DURABLE, migrated
from tests.bench.service import ADMIN_KEY, AGENT_KEY, OPERATOR_KEY, SECRET, Around, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

OTHER_KEY = "bench-other-agent-key"
KEYS = [
    {"name": "bench-agent", "key": AGENT_KEY, "roles": ["agent"], "webhook_secrets": [SECRET]},
    {"name": "bench-other-agent", "key": OTHER_KEY, "roles": ["agent"]},
    {"name": "bench-operator", "key": OPERATOR_KEY, "roles": ["operator"]},
    {"name": "bench-admin", "key": ADMIN_KEY, "roles": ["admin"]},
]

FEW, COUNT = 1_000, 100_000
RUNS = 30
MOST = 3
"""So many times as long may a list take that reads by an index; one that reads all takes up to a hundred."""
LOOKED_UP = {
    "what is open": ("/v1/suspensions?status=open", OPERATOR_KEY),
    "what has expired": ("/v1/suspensions?status=expired", OPERATOR_KEY),
    "what was answered": ("/v1/suspensions?status=responded", OPERATOR_KEY),
    "a channel that none is on": ("/v1/suspensions?channel=pagerduty", OPERATOR_KEY),
    "what has expired, as the agent that asked all": ("/v1/suspensions?status=expired", AGENT_KEY),
    "what was answered, as an agent that asked none": ("/v1/suspensions?status=responded", OTHER_KEY),
    "what is open, as an agent that asked none": ("/v1/suspensions?status=open", OTHER_KEY),
    "a session that none is of, as an agent": ("/v1/suspensions?session_id=none", AGENT_KEY),
    "a ref": ("/v1/suspensions?q={ref}", OPERATOR_KEY),
    "callbacks": ("/v1/callbacks", OPERATOR_KEY),
    "callbacks that are dead": ("/v1/callbacks?status=dead", OPERATOR_KEY),
    "callbacks that are pending": ("/v1/callbacks?status=pending", OPERATOR_KEY),
    "intents": ("/v1/intents?limit=50", OPERATOR_KEY),
    "intents, as the agent that made all": ("/v1/intents?limit=50", AGENT_KEY),
    "intents, as an agent that made none": ("/v1/intents?limit=50", OTHER_KEY),
}
"""The path and the key of each."""
WORDS = {
    "a word that each question has": ("/v1/suspensions?q=refund", OPERATOR_KEY),
    "a word that one question has": ("/v1/suspensions?q=zebra", OPERATOR_KEY),
    "a word that one question has, as an agent": ("/v1/suspensions?q=zebra", AGENT_KEY),
    "a word that no question has": ("/v1/suspensions?q=giraffe", OPERATOR_KEY),
    "a number that a few questions have": ("/v1/suspensions?q=99876.original", OPERATOR_KEY),
}
"""As above. PostgreSQL has an index of words only with the extension ``pg_trgm``."""
FIGURES = {"figures of 30 days": ("/v1/insights?since=30d", OPERATOR_KEY)}
"""As above. All questions of the period are counted, so the more there are, the longer it takes."""
QUESTION = f"Refund order 12345 to the card of {MAILBOX}?"
"""Each copy has a mailbox of its own."""


INBOXES = {
    "the inbox of somebody named nowhere": "nobody@example.com",
    "the inbox of somebody named once": f"7.{MAILBOX}",
}


async def both(folder: Path, sheet: Sheet) -> None:
    urls = [f"sqlite+aiosqlite:///{folder / f'lists-{count}.db'}" for count in (FEW, COUNT)]
    await measured(folder, sheet, "SQLite", urls, has_words=True)
    with postgres(**DURABLE) as query:
        urls = [migrated(query, f"lists_{count}") for count in (FEW, COUNT)]
        await measured(folder, sheet, "PostgreSQL", urls, has_words=False)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A service on a database that is filled, and the ref of a question there."""

    config: Path
    base: str
    ref: str


async def measured(folder: Path, sheet: Sheet, database: str, urls: list[str], *, has_words: bool) -> None:
    """``urls`` are of the store with few and of the one with many. ``has_words``: whether words have an index."""
    async with around() as here, aiohttp.ClientSession() as http:
        shelves = [
            await _filled(folder, http, here, url, f"{database}-{count}", count)
            for url, count in zip(urls, (FEW, COUNT), strict=True)
        ]
        with ExitStack() as running:
            for shelf in shelves:
                running.enter_context(serving(shelf.config))
                caller = measures.Caller(http, shelf.base)
                await measures.until_ready(caller, time.monotonic())
                await caller.ask(here.callback_url, MAILBOX, question="May the zebra cross?")
            for name, (path, key) in (LOOKED_UP | WORDS).items():
                spent = await _in_turn([(http, one.base + path.format(ref=one.ref), key) for one in shelves])
                _compare(sheet, f"{database}: {name}", spent, limited=has_words or name not in WORDS)
            for name, (path, key) in FIGURES.items():
                spent = await _in_turn([(http, one.base + path, key) for one in shelves])
                _compare(sheet, f"{database}: {name}", spent, limited=False)
            for name, email in INBOXES.items():
                _compare(sheet, f"{database}: {name}", await _inboxes(shelves, email), limited=True)


async def _filled(folder: Path, http: aiohttp.ClientSession, here: Around, url: str, name: str, count: int) -> Shelf:
    people: list[Any] = [{"name": email, "email": email} for email in INBOXES.values()]
    config, base = write_config(folder, url, here.smtp_port, name, people=people, api_keys=KEYS)
    plain = url.replace("+aiosqlite", "")
    ended = await ended_question(http, config, base, here, question=QUESTION)
    asking = {"timeout_seconds": 4 * 86400, "responders": [MAILBOX], "question": QUESTION}
    opened = await open_question(http, config, base, here, **asking)
    for asked in (ended, opened):
        original = rows.read_original(plain, asked, MAILBOX)
        rows.load(plain, original, count, lambda number: timedelta(milliseconds=-number))
    return Shelf(config, base, opened["ref"])


async def _in_turn(calls: list[tuple[aiohttp.ClientSession, str, str | None]]) -> list[float]:
    """The median of each, in seconds; the first round warms up."""
    spent = [[await seconds_of(*call) for call in calls] for _ in range(RUNS + 1)]
    return [statistics.median(of_one) for of_one in zip(*spent[1:], strict=True)]


async def _inboxes(shelves: list[Shelf], email: str) -> list[float]:
    """As :func:`_in_turn`. Each service has cookies of its own: they stand on one host."""
    async with AsyncExitStack() as opened:
        calls: list[tuple[aiohttp.ClientSession, str, str | None]] = []
        for shelf in shelves:
            jar = aiohttp.CookieJar(unsafe=True)
            http = await opened.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
            await sign_in(http, shelf.base, email)
            calls.append((http, f"{shelf.base}/inbox", None))
        return await _in_turn(calls)


def _compare(sheet: Sheet, name: str, spent: list[float], *, limited: bool) -> None:
    few, many = spent
    sheet.note(f"{name}, the median", 1000 * many, "ms")
    if limited:
        sheet.at_most(f"{name}, of that beside {FEW}", many / few, MOST, "")
    else:
        sheet.note(f"{name}, of that beside {FEW}", many / few, "")


async def seconds_of(http: aiohttp.ClientSession, url: str, key: str | None) -> float:
    started = time.monotonic()
    async with http.get(url, headers={} if key is None else {"X-API-Key": key}) as response:
        found = await response.text()
        if response.status != 200:
            raise RuntimeError(f"{url}: {response.status} {found}")
    return time.monotonic() - started


async def sign_in(http: aiohttp.ClientSession, base: str, email: str) -> None:
    """By a link that an admin makes; the session keeps the cookies."""
    http.cookie_jar.clear()
    made = await http.post(f"{base}/v1/signin-links", json={"email": email}, headers={"X-API-Key": ADMIN_KEY})
    link = str((await made.json())["url"])
    page = await (await http.get(link)).text()
    token = re.search(r'name="form_token" value="([^"]+)"', page)
    entered = await http.post(link, data={"form_token": token[1] if token else ""})
    if entered.status != 200:
        raise RuntimeError(f"signing in: {entered.status}")
