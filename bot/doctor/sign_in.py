"""Checks of signing in: whether each provider's metadata has what a sign-in needs. Nobody is signed in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, quoted
from bot.openid.provider import Provider
from bot.openid.registration import ProviderFailure
from bot.web.pages.urls import back_place
from bot.wiring.providers import providers_of

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
