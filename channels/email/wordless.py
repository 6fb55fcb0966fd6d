"""Mails without a person's words: a reaction, Outlook's own format, encrypted mail. Pure.

Each kind has its own code, so that its sender is told. Source: Gmail API ("Email reactions"), what Outlook is known to
send to other servers, MS-OXTNEF, RFC 8551 (S/MIME), RFC 3156 and RFC 9580 (OpenPGP).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.message import Message
from itertools import islice

_MOST_PARTS = 200
REACTION = "text/vnd.google.email-reaction+json"
"""Gmail's: a sign, sent by a slip of the finger; the words in its other parts are Gmail's."""
_WINMAIL = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_ENCRYPTED = frozenset(
    {"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted", "application/pgp-encrypted"}
)
_PGP = "-----BEGIN PGP MESSAGE-----"
_REACTED = re.compile(
    r".{1,120}\b(?:reacted (?:to your (?:message|e-?mail)|via Gmail)"
    r"|hat (?:auf (?:Ihre|deine) (?:Nachricht|E-Mail)|über Gmail|via Gmail) reagiert"
    r"|a réagi (?:à votre (?:message|e-mail)|via Gmail)"
    r"|(?:ha reaccionado|reaccionó) (?:a (?:su|tu) (?:mensaje|correo)|a través de Gmail|desde Gmail)"
    r"|ha reagito (?:al (?:tuo|suo) messaggio|tramite Gmail)"
    r"|reagiu (?:à (?:sua|tua) mensagem|(?:pelo|através do) Gmail)"
    r"|heeft (?:gereageerd op (?:uw|je) bericht|op (?:uw|je) bericht gereageerd|gereageerd via Gmail)"
    r"|(?:har reagerat|reagerade) (?:på ditt meddelande|via Gmail)"
    r"|reag(?:erede|erte) (?:på (?:din besked|din mail|meldingen din)|via Gmail)"
    r"|zareagował(?:\(a\)|a)? (?:na (?:Twoją|Państwa|Pana|Pani) wiadomość|(?:przez|za pomocą) Gmail\w*))\W*"
    r"|.{1,80}(?:さんが|が).{0,20}メッセージに(?:リアクション|反応)しました\W*",
    re.IGNORECASE,
)
"""The line that is all of it: Outlook's "[like] Alice Doe reacted to your message:", or Gmail's below its sign."""
_LINES_OF_REACTION = 3


def kind_of(message: Message, lines: Sequence[str]) -> str | None:
    """The stable code of a mail without words, which has only these ``lines`` of its own; ``None`` if they are words
    or nothing is known."""
    said = [line for line in lines if line.strip()]
    if said:
        if len(said) <= _LINES_OF_REACTION and _REACTED.fullmatch(said[-1].strip()[:300]):
            return "reaction"
        return "encrypted" if said[0].startswith(_PGP) else None
    kinds = {_kind_of_part(part) for part in islice(message.walk(), _MOST_PARTS)}
    return next((kind for kind in ("reaction", "encrypted", "winmail") if kind in kinds), None)


def _kind_of_part(part: Message) -> str | None:
    kind = part.get_content_type()
    if kind == REACTION:
        return "reaction"
    if kind in _ENCRYPTED:
        return "encrypted"
    return "winmail" if kind in _WINMAIL or (part.get_filename() or "").casefold() == "winmail.dat" else None
