"""What a mail that comes in costs: a long reply, and hostile ones, beside the standard library's bare
parser and beside the first half of itself: whatever grows with the square of a mail's size takes four times as long.

Seconds of the processor, so that whatever else runs on the machine does not count; memory as the kernel's peak.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from email import message_from_bytes
from email.policy import compat32
from pathlib import Path

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.inbound import MailRules, read_mail, read_reply
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.bench.sheet import Sheet

_RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com", key=b"mail"),
    SenderAuth.TOKEN_ONLY,
    "mx.example.com",
)
_CHOICES = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
_HEAD = (
    b"From: Alice <alice@example.org>\r\nTo: answers+r.abcdefghijklmnopqrstuvwx27@example.com\r\n"
    b"Subject: Re: [HR-1]\r\nMessage-ID: <1@example.org>\r\nContent-Type: "
)
_PLAIN, _HTML = b"text/plain; charset=utf-8\r\n\r\n", b"text/html; charset=utf-8\r\n\r\n"
_LONG, _HUGE = 100_000, 2_000_000
LEAST_SECONDS = 0.01
"""Less than this is noise."""


def _of(size: int, kind: bytes, piece: bytes, start: bytes = b"") -> bytes:
    head = _HEAD + kind + start
    return head + piece * ((size - len(head)) // len(piece))


REPLIES = {
    "a quoted thread": _of(_LONG, _PLAIN, b"> and so we thought that it would be wise to wait\r\n", b"Approve\r\n\r\n"),
    "all of it their own": _of(_LONG, _PLAIN, b"We thought about it for a long time, and asked: why not?\r\n"),
    "own, in HTML": _of(_LONG, _HTML, b"<p>We thought about <b>it</b> for a long time.</p>\r\n"),
    "quoted, in HTML": _of(_LONG, _HTML, b"<p>and <i>so</i></p>", b"<div>Approve</div><blockquote type=cite>"),
}
HOSTILE = {
    "one line of >": _of(_HUGE, _PLAIN, b">"),
    "On On On": _of(_HUGE, _PLAIN, b"On "),
    "On, wrapped": _of(_HUGE, _PLAIN, b"On 1:00 a@b.c\r\nOn 2:\r\n"),
    "a million _": _of(_HUGE, _PLAIN, b"_"),
    "short lines": _of(_HUGE, _PLAIN, b"a\r\n"),
    "lines of heads": _of(_HUGE, _PLAIN, b"From: a\r\nTo\r\n"),
    "full-width": _of(_HUGE, _PLAIN, "①、がか。".encode()),
    "combining marks": _of(_HUGE, _PLAIN, "\u0301\u0323".encode(), b"a"),
    "deep blockquotes": _of(_HUGE, _HTML, b"<blockquote>"),
    "deep divs": _of(_HUGE, _HTML, b"<div>"),
    "many small tags": _of(_HUGE, _HTML, b"<b>a</b>"),
    "attributes": _of(_HUGE, _HTML, b"<p class='a b c' style='border-top:solid'>"),
    "open tags": _of(_HUGE, _HTML, b"<"),
    "entities": _of(_HUGE, _HTML, b"&#x61;"),
    "escape sequences": _of(_HUGE, b"text/plain; charset=iso-2022-jp\r\n\r\n", b"\x1b$B-!"),
    "flowed": _of(_HUGE, b"text/plain; format=flowed\r\n\r\n", b"a \r\n"),
    "base64": _of(_HUGE, b"text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n", b"T24g\r\n"),
    "soft breaks": _of(_HUGE, b"text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", b"=41=\r\n"),
}


def read_whole(raw: bytes) -> None:
    """A mail as the inbox reads it: classified, trimmed, parsed."""
    read_reply(read_mail(raw, _RULES).words, ResponseType.CHOICE, _CHOICES)


def _parse_only(raw: bytes) -> None:
    message_from_bytes(raw, policy=compat32)


def _median(act: Callable[[bytes], None], raw: bytes, runs: int) -> float:
    times = []
    for _ in range(runs):
        started = time.process_time()
        act(raw)
        times.append(time.process_time() - started)
    return statistics.median(times)


async def measured(_folder: Path, sheet: Sheet) -> None:
    read_whole(REPLIES["a quoted thread"])
    for name, raw in REPLIES.items():
        took, bare = _median(read_whole, raw, 15), _median(_parse_only, raw, 15)
        sheet.note(f"100 kB: {name}", took * 1000, "ms")
        sheet.note("  times the bare parser", took / bare, "x")
    for name in HOSTILE:
        seconds, half, grown = _in_a_child(name)
        sheet.note(f"2 MB: {name}", 1000 * seconds, "ms")
        sheet.at_most(f"2 MB: {name}, of its first half", seconds / max(half, LEAST_SECONDS), 3, "")
        sheet.at_most(f"2 MB: {name}, memory at its peak, of its size", grown / (_HUGE / 1e6), 50, "")


def _in_a_child(name: str) -> tuple[float, float, float]:
    """Seconds to read it, seconds to read its first half, and MB by which the process grew at its peak."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.replies", name], check=True, capture_output=True, text=True
    )
    seconds, half, grown = done.stdout.split()
    return float(seconds), float(half), float(grown)


def _status(name: str) -> float:
    """A figure of this process, in MB. Source: proc(5)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main(name: str) -> None:
    read_whole(REPLIES["own, in HTML"])
    raw = HOSTILE[name]
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    seconds = _median(read_whole, raw, 1)
    grown = _status("VmHWM") - before
    print(seconds, _median(read_whole, raw[: len(raw) // 2], 1), grown)


if __name__ == "__main__":
    main(sys.argv[1])
