"""Signing in through a provider: the redirect there, and the return.

Before the redirect the browser gets a sealed cookie, and the provider the number in it (``state``). A returning browser
has to bring both: so nobody can be signed in by another's link, in another browser, at another provider, late, or
twice. The secrets of a sign-in (its nonce, its verifier) are derived from ``state`` by our key, and never stored.

The redirect is a link and not a form: the pages' policy lets forms go only to ourselves, and a provider may send a
browser through unknown sites. It stores nothing.

Source: RFC 6749 §10.12; RFC 7636; RFC 9207; RFC 9700 §2.1, §4.4 (mix-up), §4.7; docs/decisions/0074.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bot.openid.identity import SignInRefusal, person_of
from bot.openid.provider import Provider
from bot.openid.registration import ProviderFailure
from bot.web.pages.cookies import Content
from bot.web.pages.rendering import HEADERS, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import INBOX, SIGN_IN, back_place, onward
from core.store.markers import Marker

log = structlog.get_logger(__name__)

AWAY = timedelta(minutes=10)
"""How long somebody may take at the provider."""
_COOKIE, _PURPOSE = "signin", "sign-in at a provider"
_NONCE, _VERIFIER = "sign-in nonce", "sign-in verifier"
_LONGEST = 4096
"""Characters of a code."""

_AGAIN = (SIGN_IN, "Sign in")


@dataclass(frozen=True, slots=True)
class Begun:
    """The browser's part of a sign-in: its number, and the page it leads to."""

    state: str
    leads_to: str


@dataclass(frozen=True, slots=True)
class ProviderPages:
    """The pages of one provider."""

    room: PageContext
    sessions: Sessions
    provider: Provider

    async def begin(self, request: Request) -> Response:
        """Redirect to the provider, with a state of this browser's own."""
        leads_to = onward(request.query_params.get("next"))
        if await self.sessions.current(request) is not None:
            return self.room.renderer.redirect(leads_to)
        state = secrets.token_hex(16)
        try:
            url = await self.provider.authorization_url(self._back, state, *self._own(state))
        except ProviderFailure as failure:
            return self._failed(failure)
        response = RedirectResponse(url, 303, headers=HEADERS)
        until = int((self.room.clock.now() + AWAY).timestamp())
        held: Content = {"state": state, "key": self._key, "next": leads_to, "until": until}
        sealed = self.room.seal.close(_PURPOSE, held)
        self.room.cookies.set(response, _COOKIE, sealed, max_age=int(AWAY.total_seconds()))
        return response

    async def finish(self, request: Request) -> Response:
        """The return from the provider: signed in, or told why not."""
        begun = self._begun(request)
        if begun is None:
            return await self._not_begun(request, "state")
        if await self.room.incoming.seen(Marker.SIGN_IN_USED, self.room.seal.mark(_PURPOSE, begun.state)):
            return await self._not_begun(request, "used")
        response = await self._entered(request, begun)
        self.room.cookies.drop(response, _COOKIE)
        return response

    async def _entered(self, request: Request, begun: Begun) -> Response:
        query = request.query_params
        if "error" in query:
            return self._denied(query["error"])
        try:
            await self._check_sender(query.get("iss"))
            code = query.get("code", "")
            if not 0 < len(code) <= _LONGEST:
                raise ProviderFailure("no_code")
            claims = await self.provider.claims(code, self._back, *self._own(begun.state))
        except ProviderFailure as failure:
            return self._failed(failure)
        person = person_of(claims, self.provider.registration, self.room.responders, self.sessions.may_sign_in)
        if isinstance(person, SignInRefusal):
            return self._not_admitted(person)
        log.info("signin.completed", way=self._key)
        response = self.room.renderer.redirect(begun.leads_to)
        self.sessions.begin(response, person)
        return response

    async def _check_sender(self, issuer: str | None) -> None:
        """Check that the response is from this provider, if it names its issuer (RFC 9207)."""
        published = await self.provider.published()
        if issuer is None and not published.names_itself:
            return
        if issuer != published.issuer:
            raise ProviderFailure("answer_of_another_issuer")

    def _begun(self, request: Request) -> Begun | None:
        """The sign-in that this browser has begun at this provider, if the request belongs to it."""
        held = self.room.seal.open(_PURPOSE, self.room.cookies.get(request, _COOKIE))
        if held is None or held["key"] != self._key or int(held["until"]) <= self.room.clock.now().timestamp():
            return None
        state, given = str(held["state"]), request.query_params.get("state", "")
        is_its = hmac.compare_digest(state.encode(), given.encode())
        return Begun(state, onward(str(held["next"]))) if is_its else None

    def _own(self, state: str) -> tuple[str, str]:
        """The nonce and the verifier of a sign-in (64 characters each; RFC 7636 §4.1 asks for 43 to 128)."""
        return self.room.seal.mark(_NONCE, self._key, state), self.room.seal.mark(_VERIFIER, self._key, state)

    @property
    def _key(self) -> str:
        return self.provider.registration.key

    @property
    def _name(self) -> str:
        return self.provider.registration.name

    @property
    def _back(self) -> str:
        """The redirect URI, as registered with the provider."""
        return self.room.site.url(back_place(self._key))

    # --- What people are told -------------------------------------------------------------------------------------

    async def _not_begun(self, request: Request, reason: str) -> Response:
        """A signed-in person has only loaded the page again."""
        if await self.sessions.current(request) is not None:
            return self.room.renderer.redirect(INBOX)
        log.warning("signin.refused", way=self._key, reason=reason)
        return self.room.renderer.message(
            "Please sign in again",
            "This sign-in was begun in another browser, or it is too old or was used already.",
            "Your browser has to accept cookies from this site.",
            status=403,
            onward=_AGAIN,
        )

    def _denied(self, error: str) -> Response:
        is_denied = error == "access_denied"
        log.warning("signin.refused", way=self._key, reason="access_denied" if is_denied else "provider_error")
        told = f"You stopped, or {self._name} does not let you in here." if is_denied else f"{self._name} refused."
        return self.room.renderer.message("You are not signed in", told, status=403, onward=_AGAIN)

    def _failed(self, failure: ProviderFailure) -> Response:
        log.warning("signin.failed", way=self._key, reason=failure.reason)
        if failure.is_away:
            return self.room.renderer.message(
                "Please try again in a minute", f"{self._name} does not answer just now.", status=503, onward=_AGAIN
            )
        return self.room.renderer.message(
            "You are not signed in",
            f"What {self._name} said could not be used. Try again.",
            "If it happens again, tell whoever runs this service.",
            status=502,
            onward=_AGAIN,
        )

    def _not_admitted(self, why: SignInRefusal) -> Response:
        log.warning("signin.refused", way=self._key, reason=why.value)
        return self.room.renderer.message("You are not signed in", _told(why, self._name), status=403, onward=_AGAIN)


def _told(why: SignInRefusal, name: str) -> str:
    match why:
        case SignInRefusal.UNVERIFIED:
            return f"{name} has not verified your e-mail address. Verify it there, then sign in again."
        case SignInRefusal.NO_MAIL:
            return f"{name} did not tell us your e-mail address. Tell whoever runs this service."
        case SignInRefusal.OTHER_TEAM:
            return "That is another Slack workspace than the one that this service belongs to."
        case SignInRefusal.UNKNOWN:
            return f"{name} knows you, but this service does not. Ask whoever runs it to add you to its people."
