"""A form that a browser posted, read strictly: of a size, in UTF-8, without NUL.

The body is parsed here rather than by ``python-multipart``, whose decoding quietly replaces bytes that are no UTF-8:
an answer would be recorded that nobody typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

LARGEST_FORM = 768 * 1024
"""Bytes. The longest text, every character of it percent-encoded, fits."""

MOST_FIELDS = 5_000
_FORM = "application/x-www-form-urlencoded"


class BadPost(Exception):
    """The body is no form that a page of ours sends. ``status`` and ``message`` are for the person."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Posted:
    """The fields of a form, each with everything that was given for it."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """The field's value, empty where it has none; raises :class:`BadPost` where it has several."""
        values = self.fields.get(name, ())
        if len(values) > 1:
            raise BadPost(400, "The form held a field twice.")
        return values[0] if values else ""

    def all(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())


NOTHING = Posted({})


async def read_post(request: Request) -> Posted:
    """The form in ``request``; raises :class:`BadPost`."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _FORM:
        raise BadPost(400, "The request held no form.")
    return parse_form(await _body(request))


def parse_form(body: bytes) -> Posted:
    """Raises :class:`BadPost` for bytes that are no form, or that no database can keep."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS, separator="&"
        )
    except ValueError:  # no ASCII, no UTF-8 behind the percent signs, or too many fields
        raise BadPost(400, "The form held something that is no text.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\x00" in name or "\x00" in value:
            raise BadPost(400, "The form held something that is no text.")
        # browsers send the lines of a text with CR LF, whatever was typed (HTML, "constructing the entry list")
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Posted({name: tuple(values) for name, values in fields.items()})


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise BadPost(413, "That is too long.")
    return body
