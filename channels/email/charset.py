"""Bytes of a text part as text, whatever its label says. Pure.

Source: RFC 2045 §5.2 (the label), RFC 1468 (ISO-2022-JP); the labels that the WHATWG's Encoding Standard maps to
another table (latin-1 is windows-1252, gb2312 is gb18030, shift_jis is windows-31j).
"""

from __future__ import annotations

import codecs
import re

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
"""What mail programs put on everything: believed only where it can't be UTF-8."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_JAPANESE = re.compile(rb"\x1b\$[@B]([\x21-\x7e\r\n]*)|\x1b\([BJI]|\x1b[$&(][^\x1b]")
_KANA = re.compile("[\u3040-\u30ff]")
_META = re.compile(rb"<meta[^>]{1,200}charset\s*=\s*[\"']?\s*([a-z0-9_:.-]{1,40})", re.IGNORECASE)


def decoded(data: bytes, charset: str | None) -> str:
    """``data`` as text. A label that can't be true is not believed: nothing is lost but what no table knows."""
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
    """What an HTML page says of itself in its first kilobyte."""
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
    """A label that is wrong and no UTF-8: Japanese where it reads as Japanese, else windows-1252."""
    for one in ("cp932", "euc_jp"):
        try:
            text = data.decode(one)
        except UnicodeError:
            continue
        if _KANA.search(text):
            return text
    return data.decode("cp1252" if name == "utf-8" else name, "replace")
