"""The directory's identity of a person, by a provider's claims. Pure.

A person is found by an e-mail address that the provider vouches for, or by the Slack account that the directory names.
A name, a subject or an unverified address says nothing: anybody with an account there can state any.

Source: OpenID Connect Core 1.0 §5.1, §5.7; https://docs.slack.dev/authentication/sign-in-with-slack.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from bot.openid.registration import Claims, Registration
from core.domain.people import read_mail_address
from core.ports import Responders

SLACK_USER = "https://slack.com/user_id"
SLACK_TEAM = "https://slack.com/team_id"

_YES = (True, "true", "1")
"""How providers write it: some write text, and Entra ID's ``xms_edov`` may be a number."""


class SignInRefusal(StrEnum):
    """Why a person is not signed in, although the provider knows them."""

    UNVERIFIED = "unverified_email"
    NO_MAIL = "no_email"
    UNKNOWN = "unknown_person"
    OTHER_TEAM = "other_workspace"


def person_of(
    claims: Claims, registration: Registration, responders: Responders, is_known: Callable[[str], bool]
) -> str | SignInRefusal:
    """The identity of the person in ``claims``; ``is_known`` says whether an identity may sign in at all."""
    if registration.team is not None:
        return _of_slack(claims, registration, responders, is_known)
    return _of_mail(claims, registration, is_known)


def _of_mail(claims: Claims, registration: Registration, is_known: Callable[[str], bool]) -> str | SignInRefusal:
    stated = claims.get("email")
    mail = read_mail_address(stated) if isinstance(stated, str) else None
    if mail is None:
        return SignInRefusal.NO_MAIL
    vouched = claims.get(registration.says_verified)
    if not any(vouched == yes for yes in _YES):
        return SignInRefusal.UNVERIFIED
    return mail if is_known(mail) else SignInRefusal.UNKNOWN


def _of_slack(
    claims: Claims, registration: Registration, responders: Responders, is_known: Callable[[str], bool]
) -> str | SignInRefusal:
    """Another workspace's admin may give its accounts any address, so the workspace has to be ours. An account that
    the directory names counts by itself. If the directory names another account for a person, their address does not
    count."""
    if claims.get(SLACK_TEAM) != registration.team:
        return SignInRefusal.OTHER_TEAM
    account = claims.get(SLACK_USER)
    named = responders.actor_at("slack", account) if isinstance(account, str) else None
    if named is not None and is_known(named.identity):
        return named.identity
    mail = _of_mail(claims, registration, is_known)
    if isinstance(mail, SignInRefusal):
        return mail
    person = responders.actor(mail).person
    is_other = person is not None and person.account_on("slack") not in {None, account}
    return SignInRefusal.UNKNOWN if is_other else mail
