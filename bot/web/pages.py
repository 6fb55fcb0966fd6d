"""The pages that people see: ``/a``, ``/q``, ``/inbox`` and signing in. Source: API.md §6.

They work without JavaScript; a GET, HEAD or OPTIONS never changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from fastapi import APIRouter

from bot.web.answer_page import AnswerPage
from bot.web.answering import Answering
from bot.web.inbox_page import InboxPage
from bot.web.places import INBOX, SIGN_IN, SIGN_OUT
from bot.web.question_page import QuestionPage
from bot.web.room import Handler, Room
from bot.web.signed_in import Sessions
from bot.web.signin import SignIn
from bot.web.signin_links import SignInLinks, issue_sign_in_url
from core.engine import Engine
from core.pausing import Pausing
from core.ports import Clock
from core.together import Together


def pages_router(
    engine: Engine,
    together: Together,
    pausing: Pausing,
    *,
    public_url: str,
    key: bytes,
    clock: Clock,
    may_sign_in: Callable[[str], bool],
    channels: Collection[str],
) -> APIRouter:
    """Every page, to be mounted at the root. ``key`` is derived for the pages alone; ``channels`` are those set up,
    since a sign-in link goes out by mail."""
    room = Room.furnish(engine, clock, public_url, key)
    sessions = Sessions(room, may_sign_in)
    answering = Answering(room, together)
    answer, question = AnswerPage(answering), QuestionPage(answering, sessions)
    sign_in = SignIn(room, sessions, SignInLinks(room.seal, room.site, clock), channels)
    routes: list[tuple[str, str, Handler]] = [
        ("GET", "/a/{token}", answer.show),
        ("POST", "/a/{token}", answer.take),
        ("GET", "/q/{ref}", question.show),
        ("POST", "/q/{ref}", question.take),
        ("GET", INBOX, InboxPage(room, sessions, pausing).show),
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


__all__ = ["issue_sign_in_url", "pages_router"]
