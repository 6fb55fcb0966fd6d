"""The configured providers for signing in to the pages."""

from __future__ import annotations

from bot.config import Settings
from bot.openid.provider import Provider
from bot.openid.registration import Registration
from core.ports import Clock


def providers_of(settings: Settings, clock: Clock) -> list[Provider]:
    """In the order in which the sign-in page shows them."""
    found = []
    oidc, slack = settings.signin.oidc, settings.signin.slack
    if oidc is not None:
        verified = oidc.verified_claim
        found.append(
            Registration("oidc", oidc.name, oidc.issuer, oidc.client_id, oidc.client_secret, says_verified=verified)
        )
    if slack is not None:
        team = settings.slack_team
        found.append(Registration("slack", "Slack", slack.issuer, slack.client_id, slack.client_secret, team))
    return [Provider(one, clock) for one in found]
