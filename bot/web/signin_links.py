"""Magic links: signed, short-lived, for one use, and nothing is stored until they are used."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from bot.web.places import INBOX, SIGN_IN, Site, onward
from bot.web.sealed import Content, Seal
from core.domain.people import RecipientKind, canonical, parse_recipient
from core.errors import InvalidRecipient
from core.ports import Clock

LINK_LIFE = timedelta(minutes=15)
LONGEST_LIFE = timedelta(days=7)
"""As long as the use of a link is remembered; after that it could be used again."""

LONGEST_MAIL = 254
"""Characters of an address (RFC 5321 §4.5.3.1.3, less the angle brackets)."""

_PURPOSE = "sign-in"


@dataclass(frozen=True, slots=True)
class SignInLink:
    """What a link says. ``nonce`` makes it good for one use; ``onward`` is where it leads after that."""

    mail: str
    nonce: str
    onward: str


@dataclass(frozen=True, slots=True)
class SignInLinks:
    seal: Seal
    site: Site
    clock: Clock

    def issue(self, mail: str, leads_to: str = INBOX, life: timedelta = LINK_LIFE) -> str:
        """A URL that signs ``mail`` in once, within ``life`` (a week at most), and then goes to ``leads_to``."""
        until = int((self.clock.now() + min(life, LONGEST_LIFE)).timestamp())
        content: Content = {
            "mail": canonical(mail),
            "until": until,
            "nonce": secrets.token_hex(16),
            "next": onward(leads_to),
        }
        return self.site.url(f"{SIGN_IN}/{self.seal.close(_PURPOSE, content)}")

    def read(self, token: str) -> SignInLink | None:
        """``None`` for a link that is not ours or too old. Whether it was used is not for this to say."""
        held = self.seal.open(_PURPOSE, token)
        if held is None or int(held["until"]) <= self.clock.now().timestamp():
            return None
        return SignInLink(str(held["mail"]), str(held["nonce"]), onward(str(held["next"])))


def issue_sign_in_url(
    mail: str, *, public_url: str, key: bytes, clock: Clock, leads_to: str = INBOX, life: timedelta = LINK_LIFE
) -> str:
    """A URL that signs ``mail`` in, for whoever runs the service to hand over; ``key`` is the pages' own."""
    return SignInLinks(Seal(key), Site(public_url), clock).issue(mail, leads_to, life)


def read_mail_address(text: str) -> str | None:
    """The canonical address that somebody typed, ``None`` where it can't be one."""
    try:
        recipient = parse_recipient(text)
    except InvalidRecipient:
        return None
    is_mail = recipient.kind is RecipientKind.PERSON and len(recipient.value) <= LONGEST_MAIL
    return recipient.value if is_mail else None
