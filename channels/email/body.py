"""Mail bodies: choose the text part, decode its bytes, and find the person's own words in it. Pure.

A part is decoded whatever its label says. The WHATWG maps some labels to another table, and so do we: latin-1 is
windows-1252, gb2312 is gb18030, shift_jis is windows-31j.

Source: RFC 2046 §5.1 (parts), RFC 3676 (format=flowed), RFC 2045 §5.2 (the label), RFC 1468 (ISO-2022-JP); the WHATWG's
Encoding Standard; facts on mail §B4. Mails without words: Gmail API ("Email reactions"), what Outlook is known to send
to other servers, MS-OXTNEF, RFC 8551 (S/MIME), RFC 3156 and RFC 9580 (OpenPGP).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import replace
from email.message import Message
from itertools import islice

from channels.email.classify import reads_like_a_machine
from channels.email.css import Visibility
from channels.email.head import header
from channels.email.html import HtmlText, read_page
from channels.email.own_words import OwnWords, own_words
from channels.email.quoting import STUB
from channels.grammar.signatures import parted

_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "gb18030",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "euc_kr": "cp949",
    "x-gbk": "gb18030",
    "x-mac-roman": "mac-roman",
    "unicode-1-1-utf-8": "utf-8",
    "iso-8859-8-i": "iso8859-8",
    "cp-850": "cp850",
}
_NO_CHARSET = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"})
"""Python's codecs that no mail is written in, or that take more than linear time."""
_ONE_BYTE = frozenset({"cp1252", "cp1254"})
"""Labels that mail programs put on everything: believed only if the bytes can't be UTF-8."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_JAPANESE = re.compile(rb"\x1b\$[@B]([\x21-\x7e\r\n]*)|\x1b\([BJI]|\x1b[$&(][^\x1b]")
_KANA = re.compile("[\u3040-\u30ff]")
_META = re.compile(rb"<meta[^>]{1,200}charset\s*=\s*[\"']?\s*([a-z0-9_:.-]{1,40})", re.IGNORECASE)


def decoded(data: bytes, charset: str | None) -> str:
    """``data`` as text. A label that can't be true is ignored: only bytes that no table knows are lost."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    name = _codec(charset)
    if b"\x1b$" in data[:4_000] and name not in {"utf-16", "utf-16-le", "utf-16-be"}:
        return _iso_2022_jp(data)
    if name == "utf-16":
        return data.decode(_order(data), "replace")
    tried = ("utf-8", name) if name in _ONE_BYTE else (name, "utf-8")
    for one in dict.fromkeys(tried):
        try:
            return data.decode(one)
        except UnicodeError:
            continue
    return _guessed(data, name)


def charset_in_page(data: bytes) -> str | None:
    """The charset that an HTML page names in its first kilobyte."""
    found = _META.search(data[:1_024])
    return found[1].decode("ascii") if found else None


def _codec(charset: str | None) -> str:
    label = (charset or "utf-8").strip().strip("\"'").casefold()
    if label in _MEANT:
        return _MEANT[label]
    try:
        name = codecs.lookup(label).name
        b" ".decode(name, "replace")  # refuses what is no text encoding, such as "zlib"
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name in _NO_CHARSET else _MEANT.get(name, name)


def _order(data: bytes) -> str:
    """UTF-16 without its mark: Latin letters have their zero byte first in big endian, the RFC's default."""
    return "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"


def _iso_2022_jp(data: bytes) -> str:
    """Also with the vendors' signs such as ①, which Python's own codec refuses."""
    try:
        return data.decode("iso2022_jp_ext")
    except UnicodeError:
        shifted = _JAPANESE.sub(lambda found: _high(found[1] or b""), data)
        return shifted.decode("euc_jis_2004", "replace")


def _high(pairs: bytes) -> bytes:
    return bytes(one | 0x80 if one > 0x20 else one for one in pairs)


def _guessed(data: bytes, name: str) -> str:
    """For a wrong label on bytes that are not UTF-8: Japanese if they read as Japanese, else windows-1252."""
    for one in ("cp932", "euc_jp"):
        try:
            text = data.decode(one)
        except UnicodeError:
            continue
        if _KANA.search(text):
            return text
    return data.decode("cp1252" if name == "utf-8" else name, "replace")


_MOST_PARTS = 200
_LONGEST_PART = 500_000
"""Bytes of a text part that are decoded. The person's own words are at its top."""


_BESIDE_WORDS = re.compile(r"<?\b(?:https?|mailto|cid|tel):[^\s>\]]*>?|\[(?:image|cid)\b[^\]]{0,200}\]", re.IGNORECASE)
"""Links and pictures, which a plain part shows in words."""
_WORDS = re.compile(r"[^\W_]+|~~|[?+$€£%-]|\N{INVERTED QUESTION MARK}|[\u2600-\u27bf\U0001f000-\U0001faff]")
_LONGEST_STUB = 300


def body_words(message: Message, sender: str, gateway_lines: Sequence[re.Pattern[str]] = ()) -> OwnWords:
    """The person's own words: from the plain text, or from the HTML if the plain text has none. The lines below the
    name of ``sender`` ("Alice Doe <alice@example.com>") are kept apart. If the parts disagree, that is a doubt."""
    words = _words(message, gateway_lines)
    if (unreadable := kind_of(message, words.lines)) is not None:
        return OwnWords(writer=sender, unreadable=unreadable)
    own, named = parted(words.lines, sender)
    doubt = "machine" if reads_like_a_machine(words.lines) else words.doubt
    return replace(words, lines=own, named=named, writer=sender, doubt=doubt)


def _words(message: Message, gateway_lines: Sequence[re.Pattern[str]]) -> OwnWords:
    parts = _body_parts(message)
    if REACTION in parts:
        return OwnWords()
    plain, pages = parts.get("text/plain", []), parts.get("text/html", [])
    words = own_words("\n".join(map(_text, plain)), gateway_lines)
    if not pages:
        return words
    is_alone = not (words.lines or words.below) or _is_stub(words.lines)
    page = read_page("\n<br>".join(map(_text, pages)), is_alone=is_alone, is_cut=any(map(_is_cut, pages)))
    shown = own_words(page.text, gateway_lines)
    if is_alone:
        signed = (*shown.signed, *page.pictured)
        return replace(shown, signed=signed, doubt=shown.doubt or _doubt_of_page(page, shown))
    if page.sight is Visibility.HIDDEN or not _agree(words, shown):
        return replace(words, doubt="html_differs")
    return replace(words, signed=tuple(dict.fromkeys([*words.signed, *shown.signed])))


def _doubt_of_page(page: HtmlText, shown: OwnWords) -> str | None:
    """A page without a plain part beside it is believed as a browser would show it."""
    if "~~" in "\n".join((*shown.lines, *shown.signed)):
        return "struck_out"
    return None if page.sight is Visibility.SHOWN else "html_alone"


def _agree(words: OwnWords, shown: OwnWords) -> bool:
    """Whether both parts say the same above the quote. A signature may be in only one of them."""
    if words.below != shown.below:
        return False
    alike = _said(words.lines) == _said(shown.lines)
    return alike or _said((*words.lines, *words.signed)) == _said((*shown.lines, *shown.signed))


def _said(lines: Sequence[str]) -> list[str]:
    return [one.casefold() for one in _WORDS.findall(_BESIDE_WORDS.sub(" ", "\n".join(lines)))]


def _is_stub(lines: tuple[str, ...]) -> bool:
    """Whether the text only says that there is an HTML part."""
    text = " ".join(lines)
    return bool(text) and len(text) <= _LONGEST_STUB and STUB.match(text) is not None


def _body_parts(message: Message) -> dict[str, list[Message]]:
    """The text parts of the body by type, in order; attachments and mails inside the mail are left out.

    All parts count: a mail program splits a text around a picture, and the condition may stand below it.
    """
    found: dict[str, list[Message]] = {}
    waiting, seen = [message], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop(0)
        seen += 1
        if part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            waiting[:0] = [one for one in inner if isinstance(one, Message)] if isinstance(inner, list) else []
        elif part.get_content_maintype() == "text" and not _is_attached(part):
            found.setdefault(part.get_content_type(), []).append(part)
    return found


def _is_attached(part: Message) -> bool:
    return header(part, "Content-Disposition").strip().casefold().startswith("attachment") or bool(part.get_filename())


def _is_cut(part: Message) -> bool:
    payload = part.get_payload(decode=True)
    return isinstance(payload, bytes) and len(payload) > _LONGEST_PART


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload[:_LONGEST_PART] if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if charset is None and part.get_content_subtype() == "html":
        charset = charset_in_page(data)
    text = decoded(data, charset)
    if str(part.get_param("format", "")).casefold() != "flowed":
        return text
    return _unflowed(text, "" if str(part.get_param("delsp", "")).casefold() == "yes" else " ")


def _unflowed(text: str, kept: str) -> str:
    """Lines that the mail program wrapped, as they were typed; ``kept`` is what stays of the space at a soft line end.

    Source: RFC 3676 §4.1 to §4.4.
    """
    lines: list[str] = []
    flowing = False
    for raw in text.splitlines():
        line = raw[1:] if raw.startswith(" ") else raw
        flows = line.endswith(" ") and line != "-- " and not line.startswith(">")
        shown = line[:-1] + kept if flows else line
        if flowing and line != "-- " and not line.startswith(">"):
            lines[-1] += shown
        else:
            lines.append(shown)
        flowing = flows
    return "\n".join(lines)


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
    """The stable code of a mail without a person's words (a reaction, Outlook's own format, encrypted mail), which has
    only these ``lines`` of its own; ``None`` if they are words or nothing is known. By the code its sender is told."""
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
