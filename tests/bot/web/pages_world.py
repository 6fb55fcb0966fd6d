"""The pages over a real engine on SQLite, with real mail to a pretend mail server, and a browser without JavaScript."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml
from fastapi import FastAPI
from handraise_testing.database import lay_down
from starlette.types import ASGIApp

from bot.app import build_app
from bot.config.loading import load
from bot.front.limits import SizeLimit
from bot.sandbox.serving import serving
from bot.web import errors
from bot.wiring.composition import wire
from bot.wiring.service import Service
from core.database.database import Tx
from core.domain.people import Actor, Role
from core.domain.policy import PolicyFields
from core.domain.request import AskRequest, Opened
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Style, Suspension
from core.engine.engine import Engine
from tests.clock import ManualClock
from tests.ports import free_port
from tests.vendors.mail import Mail, Mailbox

START = datetime(2026, 3, 24, 3, 0, tzinfo=UTC)
SITE = "https://hand.example.com"

ALICE, BOB, CAROL, OLGA = "alice@example.com", "bob@example.com", "carol@example.com", "olga@example.com"
"""Alice and Bob are in finance, Carol is in nothing, Olga is an operator."""

REFUND = (
    Choice("approve", "Approve refund", "To the card it was paid with.", Style.PRIMARY),
    Choice("deny", "Deny refund", style=Style.DANGER),
)

PEOPLE = [
    {"name": "Alice", "email": ALICE, "groups": ["finance"]},
    {"name": "Bob", "email": BOB, "groups": ["finance"]},
    {"name": "Carol", "email": CAROL},
    {"name": "Olga", "email": OLGA},
]
CONFIG: dict[str, Any] = {
    "secret_key": secrets.token_hex(32),
    "public_url": SITE,
    "api_keys": [
        {"name": "refund-agent", "key": secrets.token_hex(16), "roles": ["agent"]},
        {"name": OLGA, "key": secrets.token_hex(16), "roles": ["operator"]},
    ],
    "people": PEOPLE,
}


class LookWhenTold:
    """Work for tests that say themselves when the clock looks."""

    async def start(self, look: Callable[[], Awaitable[datetime | None]]) -> None: ...

    def nudge(self, at: datetime) -> None: ...

    def within(self, tx: Tx, at: datetime) -> None: ...

    async def stop(self) -> None: ...


@dataclass
class World:
    """A running service and everybody's mailbox. The clock stands until :meth:`later`."""

    service: Service
    mailbox: Mailbox
    clock: ManualClock
    app: FastAPI

    @property
    def engine(self) -> Engine:
        return self.service.engine

    def later(self, **step: float) -> None:
        """Time passes; the clock does not look by itself."""
        self.clock.move_by(timedelta(**step))

    async def ask(self, question: str = "Refund order 12345?", **changes: Any) -> Suspension:
        """A question of ``refund-agent`` to everybody in finance, by mail, for an hour; then the refund is denied.

        It has been mailed when this returns: what ends before that is never sent.
        """
        is_choice = changes.get("response_type", ResponseType.CHOICE) is ResponseType.CHOICE
        fields: dict[str, Any] = {
            "choices": REFUND if is_choice else (),
            "channel_hint": "email",
            "responders": ("group:finance",),
            "timeout": timedelta(hours=1),
            "policy": PolicyFields(),
        }
        if is_choice and changes.get("kind") is not Kind.VETO:
            fields |= {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}
        agent = Actor("refund-agent", frozenset({Role.AGENT}), key="refund-agent")
        asked = await self.engine.request(AskRequest(question=question, **{**fields, **changes}), agent)
        assert isinstance(asked, Opened)
        await self.service.lanes.empty()
        return asked.suspension

    async def mails_to(self, person: str) -> list[Mail]:
        """Everything that ``person`` has been mailed, once nothing is on its way any more."""
        await self.service.lanes.empty()
        return self.mailbox.of(person)

    async def link_of(self, person: str, ref: str = "[HR-") -> str:
        """The path of the personal page that ``person`` was mailed: the latest one, or the one of ``ref``."""
        mails = [mail for mail in await self.mails_to(person) if ref in mail.subject]
        return _path(mails[-1], "/a/")

    async def sign_in_link_of(self, person: str) -> str:
        mails = [mail for mail in await self.mails_to(person) if "/signin/" in mail.text]
        return _path(mails[-1], "/signin/")

    async def fresh(self, suspension: Suspension) -> Suspension:
        found = await self.engine.queries.get(suspension.id)
        assert found is not None
        return found

    def browser(self, **options: Any) -> Browser:
        return Browser(self.app, **options)

    async def signed_in(self, person: str) -> Browser:
        """A browser of somebody who has followed a link from their mail and pressed the button; takes a minute."""
        browser = self.browser()
        await browser.get("/signin")
        await browser.submit(email=person)
        await browser.get(await self.sign_in_link_of(person))
        await browser.submit()
        self.later(minutes=1)
        return browser


def _pages_alone(service: Service) -> FastAPI:
    """As in ``bot.app``, without the API: building its routes takes longer than a test of the pages."""
    app = FastAPI()
    errors.install(app)
    app.add_middleware(SizeLimit)
    app.include_router(service.pages)
    return app


def _path(mail: Mail, within: str) -> str:
    return urlsplit(next(link for link in mail.links if within in link)).path


@asynccontextmanager
async def a_world(folder: Path, **changes: Any) -> AsyncIterator[World]:
    """A service of its own for as long as the block lasts; ``changes`` are to the configuration."""
    async with _wired(folder, changes) as (service, mailbox, clock):
        await service.start()
        try:
            yield World(service, mailbox, clock, _pages_alone(service))
        finally:
            await service.stop()


@asynccontextmanager
async def a_site(folder: Path) -> AsyncIterator[World]:
    """The whole application on loopback, for a real browser, at ``service.settings.public_url``."""
    port = free_port()
    async with _wired(folder, {"public_url": f"http://127.0.0.1:{port}"}) as (service, mailbox, clock):
        app = build_app(service)
        async with serving(app, port=port):
            yield World(service, mailbox, clock, app)


@asynccontextmanager
async def _wired(folder: Path, changes: Mapping[str, Any]) -> AsyncIterator[tuple[Service, Mailbox, ManualClock]]:
    clock = ManualClock(START)
    mailbox = Mailbox(now=clock.now)
    await mailbox.start()
    config = {
        **CONFIG,
        "database_url": f"sqlite+aiosqlite:///{folder / 'pages.db'}",
        "email": {"smtp_url": mailbox.smtp_url, "from": "hand@example.com", "reply_to": "answers@example.com"},
        **changes,
    }
    lay_down(config["database_url"])
    file = folder / "handraise.yaml"
    file.write_text(yaml.safe_dump(config))
    try:
        yield wire(load(file, {}), folder, clock, LookWhenTold()), mailbox, clock
    finally:
        await mailbox.stop()


@dataclass
class Form:
    """A form as a browser would send it, for as long as nobody touches it."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[dict[str, str | None]] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Finds forms and text; knows of HTML what our pages use of it."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self._form: Form | None = None
        self._inside: list[str] = []
        self._textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._inside.append(tag)
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "form":
            self._form = Form(given.get("action") or "")
            self.forms.append(self._form)
        if self._form is None:
            return
        name = given.get("name") or ""
        if tag in {"input", "textarea", "select"}:
            self._form.inputs.append(given | {"tag": tag})
        if tag == "input" and (given.get("type") not in {"radio", "checkbox"} or "checked" in given):
            self._form.fields.append((name, given.get("value") or ""))
        if tag == "textarea":
            self._textarea = name
            self._form.fields.append((name, ""))
        if tag == "option" and "selected" in given:
            selects = [one for one in self._form.inputs if one["tag"] == "select"]
            self._form.fields.append((selects[-1]["name"] or "", given.get("value") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        if tag == "textarea":
            self._textarea = None

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "button" and self._form is not None and data.strip():
            self._form.buttons.append(data.strip())
        if self._textarea is not None and self._form is not None:
            self._form.fields[-1] = (self._textarea, data.removeprefix("\n"))
        self.words.append(data)


@dataclass
class Page:
    """What came back, and what a person sees of it."""

    response: httpx.Response

    def __post_init__(self) -> None:
        self._reader = _Reader()
        self._reader.feed(self.response.text)

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def html(self) -> str:
        return self.response.text

    @property
    def path(self) -> str:
        return self.response.url.path

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self._reader.words)).replace(" ,", ",").replace(" .", ".")

    @property
    def links(self) -> list[str]:
        return self._reader.links

    @property
    def forms(self) -> list[Form]:
        """But for the button to sign out."""
        return [form for form in self._reader.forms if not form.action.endswith("/signout")]

    @property
    def form(self) -> Form:
        assert len(self.forms) == 1, f"{len(self.forms)} forms at {self.path}: {self.text[:300]}"
        return self.forms[0]

    @property
    def sign_out(self) -> Form:
        return next(form for form in self._reader.forms if form.action.endswith("/signout"))

    @property
    def switch(self) -> Form:
        """The form by which somebody leaves for another account."""
        return next(form for form in self._reader.forms if "Use another account" in form.buttons)

    @property
    def buttons(self) -> list[str]:
        return [button for form in self.forms for button in form.buttons]

    def value(self, name: str) -> str:
        return dict(self.form.fields).get(name, "")


class Browser:
    """Keeps cookies, follows redirects, runs no JavaScript."""

    def __init__(self, app: ASGIApp, base_url: str = SITE) -> None:
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url, follow_redirects=True)
        self.page: Page | None = None

    async def get(self, path: str) -> Page:
        self.page = Page(await self.client.get(path))
        return self.page

    async def submit(self, **typed: str | list[str]) -> Page:
        """Send the form of the page, with ``typed`` over what stands in it."""
        assert self.page is not None
        form = self.page.form
        kept = {name: value for name, value in form.fields if name not in typed}
        return await self.post(form.action, kept | typed)

    async def submit_to(self, form: Form) -> Page:
        """Send another form of the page, as it stands."""
        return await self.post(form.action, dict(form.fields))

    async def post(self, path: str, fields: Any) -> Page:
        self.page = Page(await self.client.post(path, data=fields))
        return self.page
