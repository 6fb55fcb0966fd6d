"""Machine mail that its head does not reveal: challenges, and receipts of Notes. Pure.

All parts of a form have to be there, and no person writes all of them. A mail that only reads like a machine's makes us
ask back (``channels.email.classify``).

Source: RFC 3834 §1.1 (challenge-response systems), what HCL Notes and the usual challengers are known to send.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST = 1_500
_HELD = (
    r"\byour (?:message|e-?mail|mail)\b.{0,160}?\b(?:waiting|held|on hold|pending|queued?|quarantined?|not (?:yet )?"
    r"(?:been )?delivered|(?:be|to be|get) delivered|approved senders?|guest list|safe ?list|white ?list)\b",
    r"\b(?:ihre|deine) (?:nachricht|e-?mail|mail)\b.{0,160}?(?:wartet|zurückgehalten|quarantäne|zugestellt)",
    r"\bvotre (?:message|e-?mail|courriel|mail)\b.{0,160}?(?:en attente|retenu|bloqué|quarantaine|délivré|remis)",
    r"\b(?:su|tu) (?:mensaje|correo)\b.{0,160}?(?:en espera|retenido|pendiente|cuarentena|entregado)",
    r"\b(?:il (?:tuo|suo) messaggio|la (?:tua|sua) e-?mail)\b.{0,160}?(?:in attesa|trattenut|quarantena|consegnat)",
    r"\b(?:sua|tua) (?:mensagem|e-?mail)\b.{0,160}?(?:aguarda|retid|pendente|quarentena|entregue)",
    r"\b(?:uw|je) (?:bericht|e-?mail|mail)\b.{0,160}?(?:wacht|vastgehouden|quarantaine|afgeleverd|bezorgd)",
    r"\bditt (?:meddelande|mejl)\b.{0,160}?(?:väntar|hålls|karantän|levereras)",
    r"\b(?:twoja|państwa|pana|pani) wiadomość\b.{0,160}?(?:oczekuje|czeka|wstrzyman|kwarantann|dostarczon)",
    r"(?:あなた|お客様)の(?:メッセージ|メール).{0,80}?(?:保留|待|隔離|配信)",
)
_TO_CLICK = (
    r"\b(?:click|follow|visit|tap|press|klicken|klicke|cliquez|cliquer|haga clic|haz clic|pulse|clicca|fare clic"
    r"|clique|klik|klicka|kliknij|proszę kliknąć)|クリック"
)
_AS_A_PERSON = (
    r"spam|\b(?:robot|human|person|verif|confirm|captcha|mensch|bestätig|humain|humano|umano|mens\b|människa|bekräft"
    r"|człowiek|potwierd|bevestig|vérifi|conferm)|確認|認証"
)
_CHALLENGE = tuple(
    re.compile(f"(?:{one})", re.IGNORECASE | re.DOTALL) for one in ("|".join(_HELD), _TO_CLICK, _AS_A_PERSON)
)
"""All three: it is held back, something is to be clicked, and that tells a person from a machine."""
_RECEIPT_TITLE = re.compile(
    r"return receipt|(?:empfangs|lese)bestätigung|accusé de réception|(?:confirmación|acuse) de (?:recepción|recibo)"
    r"|ricevuta di ritorno|aviso de rece[pç]ção|(?:confirmação|aviso) de recebimento|ontvangstbevestiging|kvittens"
    r"|mottagningsbevis|potwierdzenie odbioru|受信確認|開封確認",
    re.IGNORECASE,
)
_FIELD_ENDS = re.compile(r"[:：](?:\s|\Z)")
_A_TIME = re.compile(r"\d[:.h]\d\d")
_RECEIPT_FIELDS = 3


def is_machine_mail(lines: Sequence[str]) -> bool:
    """Whether a body has all parts of a challenge ("your message is waiting, click here to show that you are no
    robot") or the form of a Notes receipt ("Return Receipt", your document:, was received by:, at:)."""
    said = [line.strip() for line in lines if line.strip()]
    text = "\n".join(said)[:_LONGEST]
    if said and _RECEIPT_TITLE.fullmatch(said[0].rstrip(" :")):
        return len(_FIELD_ENDS.findall(text)) >= _RECEIPT_FIELDS and _A_TIME.search(text) is not None
    return all(one.search(text) for one in _CHALLENGE)
