"""The pages that people see: ``/a``, ``/q``, ``/inbox`` and signing in. Source: API.md §6.

They work without JavaScript; a GET, HEAD or OPTIONS never changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bot.web.errors import wants_html
from bot.web.pages.answer import Answering, AnswerPage, QuestionPage
from bot.web.pages.inbox import InboxPages
from bot.web.pages.rendering import Handler, PageContext
from bot.web.pages.signin import Sessions, SignIn, SignInLinks
from bot.web.pages.urls import INBOX, SIGN_IN, SIGN_OUT
from core.delivery.pause import Pausing
from core.engine.collaboration import Collaboration
from core.engine.engine import Engine
from core.engine.inbox import Inbox
from core.inbound.reports import Incoming
from core.ports import Clock


def pages_router(
    engine: Engine,
    collaboration: Collaboration,
    incoming: Incoming,
    pausing: Pausing,
    *,
    public_url: str,
    key: bytes,
    clock: Clock,
    may_sign_in: Callable[[str], bool],
    channels: Collection[str],
    require_sign_in: bool = False,
) -> APIRouter:
    """Every page, to be mounted at the root. ``key`` is derived for the pages alone; ``channels`` are those set up,
    since a sign-in link goes out by mail. ``require_sign_in`` makes the links of ``/a`` personal."""
    room = PageContext.furnish(engine, incoming, clock, public_url, key)
    sessions = Sessions(room, may_sign_in)
    answering = Answering(room, collaboration)
    answer, question = AnswerPage(answering, sessions, require_sign_in), QuestionPage(answering, sessions)
    sign_in = SignIn(room, sessions, SignInLinks(room.seal, room.site, clock), channels)

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
        ("GET", INBOX, InboxPages(room, sessions, Inbox(engine.database, engine.permissions), pausing).show),
        ("GET", SIGN_IN, sign_in.ask),
        ("POST", SIGN_IN, sign_in.send),
        ("GET", f"{SIGN_IN}/{{token}}", sign_in.confirm),
        ("POST", f"{SIGN_IN}/{{token}}", sign_in.enter),
        ("POST", SIGN_OUT, sign_in.leave),
    ]
    router = APIRouter()
    for method, path, handler in routes:
        router.add_route(path, room.guarded(handler), methods=[method], include_in_schema=False)
    return router
