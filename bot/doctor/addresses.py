"""Checks of addresses: whether the service runs here, whether ``public_url`` leads people to it, and whether each
provider's metadata has what a sign-in needs. Nobody is signed in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from urllib.parse import urlsplit

from bot.config.settings import Settings
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, quoted, warning
from bot.doctor.network import HttpAnswer, Unreached
from bot.openid.provider import Provider, providers_of
from bot.openid.registration import ProviderFailure
from bot.web.pages.urls import back_place

SERVICE, PUBLIC_URL = "service", "public_url"

_WITHHELD = (401, 403, 404)
"""What a proxy says that hands on some paths alone."""
_PICTURE = "/static/hand.svg"
"""On every page, and so public wherever these are. Proxies keep ``/readyz`` to themselves."""
_ANOTHER_PORT = "Stop that program, or set http.port to a free port."
_START = "Start it with `handraise serve`, then run `handraise doctor` again."


def local_url(settings: Settings) -> str:
    """The service's URL on this machine: a host that stands for every address is this machine too."""
    http = settings.http
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(http.host, http.host)  # noqa: S104 (as configured)
    return f"http://[{host}]:{http.port}" if ":" in host else f"http://{host}:{http.port}"


def is_ours(answer: HttpAnswer) -> bool:
    """Whether Handraise answers at ``/readyz``."""
    said = _object(answer)
    detail = said.get("detail")
    return said.get("status") == "ready" or (isinstance(detail, dict) and isinstance(detail.get("error"), str))


def _object(answer: HttpAnswer) -> dict[str, object]:
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


async def service(examined: Examination) -> Sequence[Finding]:
    """Whether it runs and is ready; another program may have its port."""
    url = local_url(examined.settings)
    try:
        answer = await examined.around.network.get(f"{url}/readyz")
    except Unreached as unreached:
        if unreached.nobody:
            return [ok(SERVICE, f"it does not run at {url}: nobody listens there")]
        return [fault(SERVICE, f"another program is at {url}: {unreached.why}", _ANOTHER_PORT)]
    if not is_ours(answer):
        return [fault(SERVICE, f"another program answers at {url} (status {answer.status})", _ANOTHER_PORT)]
    if answer.status == 200:
        return [ok(SERVICE, f"it runs at {url} and is ready")]
    detail = _object(answer).get("detail")
    why = str(detail.get("message", "")) if isinstance(detail, dict) else ""
    return [warning(SERVICE, f"it runs at {url} and is not ready: {quoted(why)}", "Look into its log.")]


def _picture() -> bytes:
    return files("bot.web.pages").joinpath(_PICTURE.removeprefix("/")).read_bytes()


async def public_url(examined: Examination) -> Sequence[Finding]:
    """Whether the links in messages lead to this service, by TLS, and not to each reader's own machine."""
    settings = examined.settings
    url = settings.public_url.rstrip("/")
    if settings.set_up and settings.leads_here:
        found = f"{url} leads to this machine, and the links in messages open nowhere else"
        return [warning(PUBLIC_URL, found, "Set public_url to the https:// address that people reach the service at.")]
    try:
        answer = await examined.around.network.get(f"{url}{_PICTURE}")
    except Unreached as unreached:
        return [_unreached(url, unreached)]
    if answer.status != 200 or answer.body != _picture():
        found = f"what answers at {url} is not Handraise (status {answer.status})"
        mend = f"Have the proxy hand requests on to {local_url(settings)}."
        if answer.status in _WITHHELD:
            return [warning(PUBLIC_URL, found, f"{mend} It may let others in than this machine.")]
        return [fault(PUBLIC_URL, found, mend)]
    return [ok(PUBLIC_URL, f"{url} leads to the service")]


def _unreached(url: str, unreached: Unreached) -> Finding:
    host = urlsplit(url).hostname or ""
    found = f"{url} is not reached from here: {unreached.why}"
    if unreached.by_certificate:
        return fault(PUBLIC_URL, found, f"Give the proxy a certificate for {host} that browsers accept.")
    if "resolve" in unreached.why:
        return fault(PUBLIC_URL, found, f"Add {host} to the DNS, or correct public_url.")
    return warning(PUBLIC_URL, found, f"If the service runs, open the way to it through the proxy. {_START}")


SIGN_IN = "signin"
_ANOTHER = "Set {key} to the very issuer that its discovery document names."
_NO_DISCOVERY = "Correct {key}: what stands at /.well-known/openid-configuration below it is no discovery document."


@dataclass(frozen=True, slots=True)
class _Time:
    now: Callable[[], datetime]


async def providers(examined: Examination) -> Sequence[Finding]:
    """A line for each way of signing in that is set up."""
    ways = providers_of(examined.settings, _Time(examined.around.now))
    return await asyncio.gather(*(_publishes(examined, one) for one in ways))


async def _publishes(examined: Examination, provider: Provider) -> Finding:
    known = provider.registration
    subject, key = f"{SIGN_IN}.{known.key}", f"signin.{known.key}.issuer"
    host = urlsplit(known.issuer).hostname
    try:
        published = await provider.published()
    except ProviderFailure as failure:
        mend = (_ANOTHER if failure.reason == "another_issuer" else _NO_DISCOVERY).format(key=key)
        if failure.is_away:
            mend = f"Let this machine reach {host}, or correct {key}."
        return fault(subject, f"{host} can't be used to sign in ({failure.reason})", mend)
    back = f"{examined.settings.public_url or ''}{back_place(known.key)}"
    return ok(subject, f"{quoted(published.issuer)} answers; it has to know the redirect URI {back}")
