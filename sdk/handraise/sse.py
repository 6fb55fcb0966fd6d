"""Parser of server-sent events.

Source: the WHATWG's, https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Block:
    """The lines up to one blank line. ``data`` is ``None`` in a block that only has the stream's position.

    ``last_id`` is the ``Last-Event-ID`` to send from now on; ``retry`` is the server's pause between two connections,
    in milliseconds.
    """

    data: str | None
    last_id: str | None
    retry: int = 0


class BlockParser:
    """Parses the stream of one connection. ``last_id`` is the position of the connection before.

    An incomplete block at the end of a connection is dropped: it comes again, whole.
    """

    def __init__(self, last_id: str | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._after_return = False
        self._line = ""
        self._id = last_id
        self._data: list[str] = []
        self._retry = 0

    def feed(self, chunk: bytes) -> Iterator[Block]:
        """The blocks that ``chunk`` completes."""
        text = self._decoder.decode(chunk)
        if not text:
            return
        if self._after_return:  # the other half of a line end
            text = text.removeprefix("\n")
        self._after_return = text.endswith("\r")
        # Not splitlines(), nor httpx's own lines: those end at U+2028 and U+0085 too, which JSON may hold.
        *lines, self._line = _LINE_END.split(self._line + text)
        for line in lines:
            if line:
                self._take(line)
            else:
                yield self._closed()

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value or None
            case "retry" if value.isascii() and value.isdigit() and len(value) < 10:
                self._retry = int(value)

    def _closed(self) -> Block:
        block = Block("\n".join(self._data) if self._data else None, self._id, self._retry)
        self._data = []
        return block
