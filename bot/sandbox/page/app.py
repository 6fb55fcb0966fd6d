"""The page on which one person uses the pretend Slack, mailbox and pager.

Every action goes through the sandboxes' human side, and so reaches the service as a signed payload, a signed mail or a
signed webhook. A visitor acts as another person, so nobody gets in without the page's secret.

The signed-in URL sets a cookie and leaves the address bar. A cookie goes to every port of this machine, and any of them
may send a form: so a request that changes something must be JSON, which no form can send to another origin.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.sandbox.mailbox import Mail, Mailbox
from bot.sandbox.page.state import Sent, Sightings, mail_json, pager_json, slack_json
from bot.sandbox.pagerduty.app import PagerDutySandbox
from bot.sandbox.pagerduty.world import Incident, User
from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.troubles import TROUBLES, troubles_json
from bot.sandbox.slack.views import FormRefused
from bot.sandbox.vendor import SandboxPerson, wall_clock

TEMPLATES = Path(__file__).parent / "templates"

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
}

Handler = Callable[[Request], Awaitable[Response]]


class Door:
    """One secret, made up for one run."""

    def __init__(self) -> None:
        self._key = secrets.token_urlsafe(24)

    def signed_in(self, url: str) -> str:
        """The page's address with its secret; ``url`` is where it is served."""
        return f"{url}/?key={self._key}"

    async def enter(self, request: Request) -> Response:
        """``/``: takes the secret, or shows the page to a visitor who has brought it before."""
        if self._is_key(request.query_params.get("key", "")):
            response = RedirectResponse("/", 303, HEADERS)
            response.set_cookie(_cookie(request), self._key, path="/", httponly=True, samesite="lax")
            return response
        if not self._is_inside(request):
            return _closed()
        return HTMLResponse((TEMPLATES / "page.html").read_text(), headers=HEADERS)

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` for admitted visitors; an action that is no longer possible is explained in words."""

        async def guarded(request: Request) -> Response:
            if not self._is_inside(request):
                return _closed()
            if request.method != "GET" and request.headers.get("content-type") != "application/json":
                return no(415, "Send JSON.")
            try:
                return await handler(request)
            except FormRefused as refusal:
                return JSONResponse({"ok": False, "problems": dict(refusal.problems)}, headers=HEADERS)
            except (LookupError, ValueError) as problem:
                return no(409, f"That can't be done: {problem}.")
            except httpx.HTTPError:
                return no(502, "Handraise did not answer in time. Try again.")

        return guarded

    def _is_inside(self, request: Request) -> bool:
        return self._is_key(request.cookies.get(_cookie(request), ""))

    def _is_key(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._key.encode())


def _cookie(request: Request) -> str:
    """A name per port: cookies know no ports, and two demos may run side by side."""
    return f"handraise_sandbox_{request.url.port}"


def _closed() -> Response:
    headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    return HTMLResponse((TEMPLATES / "closed.html").read_text(), 403, headers)


def done() -> Response:
    return JSONResponse({"ok": True}, headers=HEADERS)


def no(status: int, message: str) -> Response:
    """What did not work, in words for the person."""
    return JSONResponse({"ok": False, "message": message}, status, headers=HEADERS)


def told(response: httpx.Response) -> Response:
    """The service's reply to the vendor."""
    return done() if response.is_success else no(502, f"Handraise answered {response.status_code}.")


_STATIC = {file.name: file for file in (Path(__file__).parent / "static").iterdir()}
_MAIL_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
}
"""A mail is somebody else's HTML: it may look as it likes, and do nothing."""


class SandboxPage:
    """``routes`` are to be served at the root. ``board`` is the demo's strip of agents, shown unchanged."""

    def __init__(
        self,
        slack: SlackSandbox,
        mailbox: Mailbox,
        pagerduty: PagerDutySandbox,
        person: SandboxPerson,
        *,
        ask: Callable[[str], None] | None,
        stay_silent: Callable[[str], None] | None,
        opened: Callable[[], None] | None,
    ) -> None:
        self._slack, self._mailbox, self._pagerduty = slack, mailbox, pagerduty
        self._person, self._ask, self._stay_silent = person, ask, stay_silent
        self._opened = opened
        self._sent: list[Sent] = []
        self._sightings = Sightings()
        self.board: dict[str, Any] = {"samples": [], "agents": []}
        self.door = Door()
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/static/{name}", self._static),
            ("GET", "/world", self._world),
            ("POST", "/slack/click", self._click),
            ("POST", "/slack/submit", self._submit),
            ("POST", "/slack/close", self._close),
            ("POST", "/slack/trouble", self._trouble),
            ("GET", "/mail/{id:int}/html", self._mail_html),
            ("POST", "/mail/{id:int}/reply", self._reply),
            ("POST", "/pager/{id}/acknowledge", self._acknowledge),
            ("POST", "/pager/{id}/note", self._note),
            ("POST", "/pager/{id}/resolve", self._resolve),
            ("POST", "/ask", self._ask_again),
            ("POST", "/silence", self._nobody_answers),
            ("PUT", "/board", self._set_board),
        ]
        guarded = [Route(path, self.door.guarded(handler), methods=[method]) for method, path, handler in table]
        self.routes = [Route("/", self.door.enter), *guarded]

    # --- Looking --------------------------------------------------------------------------------------------------

    async def _static(self, request: Request) -> Response:
        file = _STATIC.get(request.path_params["name"])
        return FileResponse(file, headers=HEADERS) if file else Response(status_code=404)

    async def _world(self, request: Request) -> Response:
        """The whole visible state; 304 if ``If-None-Match`` names it. The first such request opens the page."""
        if self._opened is not None:
            self._opened()
            self._opened = None
        seen = self._sightings.of(len(self._slack.workspace.ephemerals), wall_clock())
        state = {
            "person": {"name": self._person.name, "email": self._person.email},
            "slack": slack_json(self._slack, self._person.slack_user_id, seen),
            "troubles": troubles_json(self._slack),
            "mail": mail_json(self._mailbox, self._person.email, self._sent),
            "pager": pager_json(self._pagerduty),
            "board": self.board,
        }
        body = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        headers = {**HEADERS, "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    # --- Slack ----------------------------------------------------------------------------------------------------

    async def _click(self, request: Request) -> Response:
        given = await request.json()
        message = self._slack.workspace.at(given["channel"], given["ts"])
        if message is None:
            raise LookupError("the message is gone")
        return told(await self._slack.click(self._person.slack_user_id, message, given["action_id"]))

    async def _submit(self, request: Request) -> Response:
        given = await request.json()
        values = {str(block): str(value) for block, value in given["values"].items()}
        return told(await self._slack.submit(given["view"], self._person.slack_user_id, values))

    async def _close(self, request: Request) -> Response:
        """Slack notifies the app only if the view asks for it, and ours don't."""
        view = self._slack.workspace.views[(await request.json())["view"]]
        view.is_open = False
        self._slack.workspace.touch()
        return done()

    async def _trouble(self, request: Request) -> Response:
        trouble = TROUBLES.get((await request.json())["name"])
        if trouble is None:
            raise LookupError("there is no such trouble")
        if (lasts := trouble.make(self._slack)) is not None:
            await lasts
        return done()

    # --- Mail -----------------------------------------------------------------------------------------------------

    async def _mail_html(self, request: Request) -> Response:
        """Links open beside the mail, as in any mail program."""
        html = self._mail(request).html.replace("<head>", '<head><base target="_blank">', 1)
        return HTMLResponse(html, headers=_MAIL_HEADERS)

    async def _reply(self, request: Request) -> Response:
        mail, text = self._mail(request), str((await request.json())["text"])
        response = await self._mailbox.reply(mail, text)
        self._sent.append(Sent(mail.id, text, wall_clock(), response.status_code))
        return told(response)

    def _mail(self, request: Request) -> Mail:
        for mail in self._mailbox.of(self._person.email):
            if mail.id == request.path_params["id"]:
                return mail
        raise LookupError("there is no such mail")

    # --- The pager ------------------------------------------------------------------------------------------------

    async def _acknowledge(self, request: Request) -> Response:
        return told(await self._pagerduty.acknowledge(self._incident(request), self._on_call))

    async def _resolve(self, request: Request) -> Response:
        return told(await self._pagerduty.resolve(self._incident(request), self._on_call))

    async def _note(self, request: Request) -> Response:
        text = str((await request.json())["text"])
        return told(await self._pagerduty.add_note(self._incident(request), self._on_call, text))

    @property
    def _on_call(self) -> User:
        return self._pagerduty.account.users[self._person.pagerduty_user_id]

    def _incident(self, request: Request) -> Incident:
        incident = self._pagerduty.account.incident(request.path_params["id"])
        if incident is None:
            raise LookupError("there is no such incident")
        return incident

    # --- The agents -----------------------------------------------------------------------------------------------

    async def _ask_again(self, request: Request) -> Response:
        sample = (await request.json())["sample"]
        if self._ask is None or sample not in {one["name"] for one in self.board["samples"]}:
            return no(404, "No agent here asks that.")
        self._ask(sample)
        return done()

    async def _nobody_answers(self, request: Request) -> Response:
        """The person lets the time until the next step of one open question pass."""
        ref = str((await request.json())["ref"])
        if self._stay_silent is None or ref not in {one["ref"] for one in self.board["agents"] if not one["got"]}:
            return no(404, "No agent here waits for that any more.")
        self._stay_silent(ref)
        return done()

    async def _set_board(self, request: Request) -> Response:
        """By the demo, which is signed in like any visitor."""
        board = await request.json()
        self.board = {"samples": list(board["samples"]), "agents": list(board["agents"])}
        return done()
