"""Addresses and Message-IDs of our mails: made and recognised. Pure.

Two addresses are the same mailbox if the DNS has their domains as one and one person owns both, whatever the
sub-address (:mod:`core.domain.people`).

Source: facts on mail §B1; RFC 5321 §4.5.3.1.1 (local part of at most 64 octets), RFC 5233 (``+`` details).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field, replace

from channels.email.head import is_address, mailbox_in
from core.domain.people import Address, dns_domain, named_mailbox, owner
from core.errors import ConfigError


def is_same_mailbox(one: str, other: str) -> bool:
    """Whether one person has both. RFC 5233: the detail after a ``+`` sorts mail, and names nobody else."""
    return owner(one) == owner(other)


TOKEN_LENGTH = 26
DELIVERY_LENGTH = 32
"""Hexadecimal characters of a delivery id. It is not a secret: a question's timeline shows it."""
RETURN_LENGTH = 40
"""Characters of base32: a delivery id (16 bytes) and its MAC."""
_MAC_BYTES = 9
"""72 bits: each guess is a mail of its own."""
_LONGEST_LOCAL = 64
_LONGEST_ADDRESS = 254
"""RFC 5321 §4.5.3.1.3, without the angle brackets."""


@dataclass(frozen=True, slots=True)
class Mailboxes:
    """The addresses that this service sends from and is answered at. Build with :meth:`of`."""

    sender: str
    """The address in From, lower case."""
    name: str
    reply_local: str | None
    reply_domain: str | None
    key: bytes = field(repr=False)
    """Of the return ids' MAC."""
    bounce_local: str = "bounces"
    bounce_domain: str | None = None

    @classmethod
    def of(cls, sender: str, reply_to: str | None, bounces_to: str | None = None, *, key: bytes) -> Mailboxes:
        """``sender`` as configured (``Handraise <h@example.com>``). Bounces come to ``bounces@`` the domain of
        ``reply_to``, or to ``bounces_to``. Raises :class:`ConfigError` if one is not an address."""
        name, _ = named_mailbox(sender)
        address = _configured("from", sender)
        if reply_to is None and bounces_to is not None:
            raise ConfigError("email.bounces_to needs email.reply_to beside it, or a door that mail comes in by.")
        if reply_to is None:
            return cls(address, name, None, None, key)
        local, _, domain = _configured("reply_to", reply_to).rpartition("@")
        if len(f"{local}+r.".encode()) + TOKEN_LENGTH > _LONGEST_LOCAL:
            raise ConfigError("email.reply_to has too long a name before the @: the reply token must fit behind it.")
        if bounces_to is None:
            return cls(address, name, local, domain, key, bounce_domain=domain)
        returns, _, there = _configured("bounces_to", bounces_to).rpartition("@")
        if len(f"{returns}+".encode()) + RETURN_LENGTH > _LONGEST_LOCAL:
            longest = _LONGEST_LOCAL - RETURN_LENGTH - 1
            raise ConfigError(
                f"email.bounces_to has too long a name before the @: at most {longest} characters, "
                "so that the mail's return id fits behind it."
            )
        return cls(address, name, local, domain, key, returns, there)

    @property
    def domain(self) -> str:
        """The domain of our Message-IDs."""
        return self.reply_domain or self.sender.rpartition("@")[2]

    def reply_to(self, token: str) -> str | None:
        """The Reply-To with this token; ``None`` if replies are not set up."""
        return f"{self.reply_local}+r.{token}@{self.reply_domain}" if self.reply_local else None

    def bounces_to(self, delivery: str) -> str:
        """The envelope sender (VERP): one for each delivery if replies come in, else the plain sender."""
        if not self.reply_local:
            return self.sender
        return f"{self.bounce_local}+{self.return_id(delivery)}@{self.bounce_domain}"

    def return_id(self, delivery: str) -> str:
        """A MAC that a report has to name as proof that the mail of ``delivery`` came back. It stands only in the
        mail, never in the API."""
        raw = bytes.fromhex(delivery)
        return base64.b32encode(raw + self._mac(raw)).decode().rstrip("=").lower()

    def delivery_returned(self, return_id: str) -> str | None:
        """The delivery of a :meth:`return_id`; ``None`` for anything else."""
        if not re.fullmatch(rf"[a-zA-Z2-7]{{{RETURN_LENGTH}}}", return_id):
            return None
        known = base64.b32decode(return_id.upper())
        raw, mac = known[:-_MAC_BYTES], known[-_MAC_BYTES:]
        return raw.hex() if hmac.compare_digest(mac, self._mac(raw)) else None

    def _mac(self, raw: bytes) -> bytes:
        return hmac.new(self.key, raw, hashlib.sha256).digest()[:_MAC_BYTES]

    def message_id(self, delivery: str) -> str:
        return f"<n.{delivery}@{self.domain}>"

    def root_id(self, ref: str) -> str:
        """The Message-ID that every mail about one question refers to. No such mail was sent; it holds the thread
        together."""
        return f"<q.{ref}@{self.domain}>"

    def token_in(self, address: str) -> str | None:
        """The reply token in our address."""
        local, _, domain = address.strip().strip("<>").casefold().rpartition("@")
        if self.reply_local is None or domain != self.reply_domain:
            return None
        found = re.fullmatch(re.escape(self.reply_local) + rf"\+r\.([a-z2-7]{{{TOKEN_LENGTH}}})", local)
        return found[1] if found else None

    def delivery_in(self, address: str) -> str | None:
        """The delivery whose return id is in this envelope sender (:meth:`bounces_to`)."""
        detail = self._bounce_detail(address)
        return None if detail is None else self.delivery_returned(detail)

    def delivery_mentioned(self, address: str) -> str | None:
        """The delivery whose bare id is in an envelope sender, as older versions wrote it. Anybody who may read that
        id can have written it."""
        detail = self._bounce_detail(address)
        return detail if detail is not None and re.fullmatch(rf"[0-9a-f]{{{DELIVERY_LENGTH}}}", detail) else None

    def _bounce_detail(self, address: str) -> str | None:
        """The detail after the ``+``."""
        local, _, domain = address.strip().strip("<>").casefold().rpartition("@")
        if self.reply_local is None or domain != self.bounce_domain:
            return None
        prefix = f"{self.bounce_local}+"
        return local.removeprefix(prefix) if local.startswith(prefix) else None

    def is_bounce_address(self, address: str) -> bool:
        """Whether ``address`` has the form of our envelope senders, real or not. If answers come to the same
        mailbox, only if it could be one."""
        local, _, domain = address.strip().strip("<>").casefold().rpartition("@")
        if (self.bounce_local, self.bounce_domain) == (self.reply_local, self.reply_domain):
            return (self.delivery_in(address) or self.delivery_mentioned(address)) is not None
        return local.startswith(f"{self.bounce_local}+") and domain == (self.bounce_domain or self.domain)

    def is_ours(self, address: str) -> bool:
        """Whether a mail from this address is ours."""
        local, _, domain = address.rpartition("@")
        if address == self.sender:
            return True
        ours = {(self.reply_local, self.reply_domain), (self.bounce_local, self.bounce_domain)}
        return self.reply_local is not None and (local.partition("+")[0], domain) in ours

    def is_our_message_id(self, value: str) -> bool:
        return bool(re.match(rf"\s*<[nq]\.[^@>]+@{re.escape(self.domain)}>", value, re.IGNORECASE))

    def deliveries_named(self, value: str) -> list[str]:
        """The delivery ids in our own Message-IDs among those in ``value`` (:meth:`message_id`), each once."""
        ours = rf"<n\.([0-9a-f]{{{DELIVERY_LENGTH}}})@{re.escape(self.domain)}>"
        return list(dict.fromkeys(one.casefold() for one in re.findall(ours, value, re.IGNORECASE)))

    def refs_named(self, value: str) -> list[str]:
        """The public names of questions among the Message-IDs in ``value`` (:meth:`root_id`)."""
        return [
            one.upper() for one in re.findall(rf"<q\.([\w-]{{1,40}})@{re.escape(self.domain)}>", value, re.IGNORECASE)
        ]


def _configured(key: str, value: str) -> str:
    """The bare address that ``email.KEY`` names."""
    address = mailbox_in(value)
    if address is None or not address.isascii():
        raise ConfigError(f"email.{key} is no mail address.")
    return address


def deliverable(to: Address) -> Address | None:
    """``to`` as an SMTP command takes it: domain in ASCII, local part in UTF-8 if necessary (RFC 6531). ``None`` if
    impossible."""
    local, _, domain = to.value.rpartition("@")
    try:
        address = f"{local}@{dns_domain(domain)}"
    except UnicodeError:
        return None
    if len(address.encode()) > _LONGEST_ADDRESS or not address.isprintable() or not is_address(address):
        return None
    return replace(to, value=address)
