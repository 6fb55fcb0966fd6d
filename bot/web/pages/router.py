"""The pages that people see: ``/a``, ``/q``, ``/inbox``, ``/insights``, ``/me`` and
signing in. Source: API.md §6.

They work without JavaScript; a GET, HEAD or OPTIONS never changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bot.openid.provider import Provider
from bot.web.errors import wants_html
from bot.web.pages.answer import Answering, AnswerPage, QuestionPage
from bot.web.pages.inbox import InboxPages
from bot.web.pages.inbox_together import TogetherPages
from bot.web.pages.insights import CSV, InsightsPage
from bot.web.pages.live import LivePages
from bot.web.pages.personal_data import PersonalDataPage
from bot.web.pages.provider_pages import ProviderPages
from bot.web.pages.rendering import Handler, PageContext
from bot.web.pages.signin import MAIL_CHANNEL, Sessions, SignIn, SignInLinks
from bot.web.pages.urls import (
    INBOX,
    INBOX_ANSWER,
    INBOX_TOGETHER,
    INSIGHTS,
    LIVE,
    ME,
    SIGN_IN,
    SIGN_OUT,
    back_place,
    start_place,
)
from core.delivery.pause import Pausing
from core.engine.collaboration import Collaboration
from core.engine.engine import Engine
from core.engine.history import History
from core.engine.inbox import Inbox
from core.engine.insights import Insights
from core.engine.signature_lines import SignatureLines
from core.hub import Hub, Wakeup
from core.inbound.reports import InboundReports
from core.ports import Clock


def pages_router(
    engine: Engine,
    collaboration: Collaboration,
    incoming: InboundReports,
    pausing: Pausing,
    insights: Insights,
    signatures: SignatureLines,
    hub: Hub,
    closing: Wakeup,
    *,
    public_url: str,
    key: bytes,
    clock: Clock,
    may_sign_in: Callable[[str], bool],
    channels: Collection[str],
    require_sign_in: bool = False,
    mails_links: bool = True,
    providers: Sequence[Provider] = (),
) -> APIRouter:
    """Every page, to be mounted at the root. ``key`` is derived only for the pages. ``channels`` are those set up: a
    sign-in link goes out by mail if ``mails_links``. ``require_sign_in`` makes the links of ``/a`` personal. People
    sign in through ``providers`` too."""
    room = PageContext.furnish(engine, incoming, clock, public_url, key)
    sessions = Sessions(room, may_sign_in)
    answering = Answering(room, collaboration, signatures)
    answer, question = AnswerPage(answering, sessions, require_sign_in), QuestionPage(answering, sessions)
    figures = InsightsPage(room, sessions, insights)
    database, permissions = engine.database, engine.permissions
    inbox = InboxPages(room, sessions, Inbox(database, permissions), History(database, permissions), pausing)
    together = TogetherPages(inbox)
    personal_data = PersonalDataPage(room, sessions, signatures)
    offered = [(one.registration.key, one.registration.name) for one in providers]
    ways = [one for one in channels if one != MAIL_CHANNEL or mails_links]
    sign_in = SignIn(room, sessions, SignInLinks(room.seal, room.site, clock), ways, offered)

    async def home(request: Request) -> Response:
        if not wants_html(request):
            raise HTTPException(404)
        return room.renderer.redirect(INBOX)

    routes: list[tuple[str, str, Handler]] = [
        ("GET", "/", home),
        ("GET", "/a/{token}", answer.show),
        ("POST", "/a/{token}", answer.take),
        ("GET", "/q/{ref}", question.show),
        ("POST", "/q/{ref}", question.take),
        ("GET", INBOX, inbox.show),
        ("POST", INBOX_ANSWER, inbox.answer),
        ("GET", INBOX_TOGETHER, together.show),
        ("POST", INBOX_TOGETHER, together.answer),
        ("GET", INSIGHTS, figures.show),
        ("GET", CSV, figures.download),
        ("GET", LIVE, LivePages(room, sessions, hub, closing).show),
        ("GET", ME, personal_data.show),
        ("POST", ME, personal_data.forget),
        ("GET", SIGN_IN, sign_in.ask),
        ("POST", SIGN_IN, sign_in.send),
        ("GET", f"{SIGN_IN}/{{token}}", sign_in.confirm),
        ("POST", f"{SIGN_IN}/{{token}}", sign_in.enter),
        ("POST", SIGN_OUT, sign_in.leave),
    ]
    for one in providers:
        through, name = ProviderPages(room, sessions, one), one.registration.key
        routes += [("GET", start_place(name), through.begin), ("GET", back_place(name), through.finish)]
    router = APIRouter()
    for method, path, handler in routes:
        router.add_route(path, room.guarded(handler), methods=[method], include_in_schema=False)
    return router
