"""Checks of PagerDuty: whether events can go there, whether its API knows us, and whether its webhooks come.

No event is sent: PagerDuty has none that pages nobody. So only the form of a routing key is checked, by the
configuration.

Source: https://developer.pagerduty.com/api-reference (List users, ``query``), …/docs/webhooks-overview.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx

from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, warning
from bot.doctor.network import Unreached
from bot.vendors.pagerduty import PagerDuty
from channels import http
from core.domain.people import canonical

EVENTS, TOKEN, FROM, WEBHOOKS = "pagerduty.events", "pagerduty.token", "pagerduty.from", "pagerduty.webhooks"

_API_SECONDS = 10.0


async def pager(examined: Examination) -> Sequence[Finding]:
    section = examined.settings.of(PagerDuty)
    if section is None:
        return []
    return [
        await _events(examined, section),
        *await _api(section),
        await _webhooks(examined, section),
    ]


async def _events(examined: Examination, section: PagerDuty) -> Finding:
    host = urlsplit(section.events_url).hostname
    try:
        await examined.around.network.get(section.events_url)
    except Unreached as unreached:
        mend = f"Let this machine reach {host} at port 443, or correct pagerduty.region."
        return fault(EVENTS, f"{host} is not reached: {unreached.why}", mend)
    number = len(section.routing_keys)
    return ok(EVENTS, f"{host} answers; {number} routing key{'s' if number > 1 else ''} of the right form")


async def _api(section: PagerDuty) -> Sequence[Finding]:
    if section.api_token is None:
        found = "no pagerduty.api_token: who is on call, and whose alerts an incident has, nobody can ask"
        return [warning(TOKEN, found, "Make one under “Integrations” → “API Access Keys”.")]
    query = {"query": section.from_email or "", "limit": "100"}
    headers = {"Authorization": f"Token token={section.api_token}", "Accept": "application/json"}
    async with http.client(_API_SECONDS, headers) as client:
        try:
            response = await client.get(f"{section.api_url.rstrip('/')}/users", params=query)
        except http.CAUGHT as failure:
            host, why = urlsplit(section.api_url).hostname, http.failure(failure)[1]
            return [fault(TOKEN, f"{host} is not reached ({why})", f"Let this machine reach {host} at port 443.")]
    if response.status_code in {401, 403}:
        mend = "Make a new key under “Integrations” → “API Access Keys” and put it into HANDRAISE_PAGERDUTY__API_TOKEN."
        return [fault(TOKEN, f"PagerDuty refuses pagerduty.api_token (status {response.status_code})", mend)]
    if response.status_code != 200:
        return [warning(TOKEN, f"PagerDuty answers with status {response.status_code}", "Run this again in a minute.")]
    return [ok(TOKEN, "PagerDuty takes pagerduty.api_token"), _from(section.from_email, _emails_in(response))]


def _emails_in(response: httpx.Response) -> set[str]:
    users = (http.object_in(response) or {}).get("users")
    shown = users if isinstance(users, list) else []
    return {canonical(str(one.get("email"))) for one in shown if isinstance(one, dict)}


def _from(email: str | None, known: set[str]) -> Finding:
    if email is None:
        found = "pagerduty.from_email is not set: no note is written, and nobody is called to an incident"
        return warning(FROM, found, "Set it to the login of a user of the PagerDuty account.")
    if canonical(email) not in known:
        found = f"pagerduty.from_email {email} is no user of the account"
        return fault(FROM, found, "Set it to the login of a user of the PagerDuty account.")
    return ok(FROM, f"{email} is a user of the account")


async def _webhooks(examined: Examination, section: PagerDuty) -> Finding:
    url = f"{examined.settings.public_url.rstrip('/')}/pagerduty/webhooks"
    if not section.webhook_secrets:
        mend = f"Add a Generic Webhook (v3) to {url} under “Integrations”, and put its secret into webhook_secrets."
        return warning(WEBHOOKS, "no pagerduty.webhook_secrets: what people do in PagerDuty is not heard", mend)
    stored = await examined.stored_if_any()
    latest = (stored.latest or {}).get("pagerduty") if stored is not None else None
    if latest is not None:
        return ok(WEBHOOKS, f"the last came at {latest:%Y-%m-%d %H:%M} UTC")
    if urlsplit(url).scheme != "https" or examined.settings.leads_here:
        return fault(WEBHOOKS, f"PagerDuty can't call {url}", "Set public_url to an https:// address that it reaches.")
    mend = f"Send a test from the Generic Webhook (v3) to {url}, or acknowledge an incident of a question."
    return warning(WEBHOOKS, "none has come within a week", mend)
