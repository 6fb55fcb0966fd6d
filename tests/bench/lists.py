"""What a client looks up, beside 100,000 open and as many ended questions: each list, one by one."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from pathlib import Path

import aiohttp

from tests.bench import measures, rows
from tests.bench.crowd import MAILBOX, ended_question, open_question
from tests.bench.databases import DURABLE, migrated
from tests.bench.service import ADMIN_KEY, AGENT_KEY, OPERATOR_KEY, SECRET, around, serving, write_config
from tests.bench.sheet import Sheet
from tests.postgres import postgres

OTHER_KEY = "bench-other-agent-key"
KEYS = [
    {"name": "bench-agent", "key": AGENT_KEY, "roles": ["agent"], "webhook_secrets": [SECRET]},
    {"name": "bench-other-agent", "key": OTHER_KEY, "roles": ["agent"]},
    {"name": "bench-operator", "key": OPERATOR_KEY, "roles": ["operator"]},
    {"name": "bench-admin", "key": ADMIN_KEY, "roles": ["admin"]},
]

COUNT = 100_000
RUNS = 30
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
    "a word that each question has": ("/v1/suspensions?q=refund", OPERATOR_KEY),
    "a word that one question has": ("/v1/suspensions?q=zebra", OPERATOR_KEY),
    "a word that one question has, as an agent": ("/v1/suspensions?q=zebra", AGENT_KEY),
    "a word that no question has": ("/v1/suspensions?q=giraffe", OPERATOR_KEY),
    "a number that a few questions have": ("/v1/suspensions?q=99876.original", OPERATOR_KEY),
    "callbacks": ("/v1/callbacks", OPERATOR_KEY),
    "callbacks that are dead": ("/v1/callbacks?status=dead", OPERATOR_KEY),
    "callbacks that are pending": ("/v1/callbacks?status=pending", OPERATOR_KEY),
}
"""The path and the key of each."""
QUESTION = f"Refund order 12345 to the card of {MAILBOX}?"
"""Each copy has a mailbox of its own."""


INBOXES = {
    "the inbox of somebody named nowhere": "nobody@example.com",
    "the inbox of somebody named once": f"7.{MAILBOX}",
}


async def both(folder: Path, sheet: Sheet) -> None:
    await measured(folder, sheet, "SQLite", f"sqlite+aiosqlite:///{folder / 'lists.db'}")
    with postgres(**DURABLE) as query:
        await measured(folder, sheet, "PostgreSQL", migrated(query, "lists"))


async def measured(folder: Path, sheet: Sheet, database: str, url: str) -> None:
    async with around() as here, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        people = [{"name": email, "email": email} for email in INBOXES.values()]
        config, base = write_config(folder, url, here.smtp_port, database, people=people, api_keys=KEYS)
        plain = url.replace("+aiosqlite", "")
        ended = await ended_question(http, config, base, here, question=QUESTION)
        asking = {"timeout_seconds": 4 * 86400, "responders": [MAILBOX], "question": QUESTION}
        opened = await open_question(http, config, base, here, **asking)
        for asked in (ended, opened):
            original = rows.read_original(plain, asked, MAILBOX)
            rows.load(plain, original, COUNT, lambda number: timedelta(milliseconds=-number))
        with serving(config):
            caller = measures.Caller(http, base)
            await measures.until_ready(caller, time.monotonic())
            await caller.ask(here.callback_url, MAILBOX, question="May the zebra cross?")
            for name, (path, key) in LOOKED_UP.items():
                spent = [await seconds_of(http, base + path.format(ref=opened["ref"]), key) for _ in range(RUNS)]
                sheet.at_most(f"{database}: {name}, the median", measures.Spread.of(spent).median, 10, "ms")
            for name, email in INBOXES.items():
                await sign_in(http, base, email)
                spent = [await seconds_of(http, f"{base}/inbox", None) for _ in range(RUNS)]
                sheet.at_most(f"{database}: {name}, the median", measures.Spread.of(spent).median, 10, "ms")


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
