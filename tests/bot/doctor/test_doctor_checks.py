"""How checks are run: side by side, told in a fixed order, each within its time; and what is told of others' words."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.config.settings import Settings
from bot.doctor.examination import Examination, HostMachine, examine
from bot.doctor.findings import Finding, Severity, fault, ok, quoted, some, worst
from channels.email.authentication import LastReply
from tests.patience import PATIENCE

NOW = datetime(2026, 3, 24, 10, 0, tzinfo=UTC)


async def test_checks_run_side_by_side_and_are_told_in_their_own_order(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)

    async def first(_: Examination) -> Sequence[Finding]:
        await both.wait()
        await asyncio.sleep(0)
        return [ok("first", "")]

    async def second(_: Examination) -> Sequence[Finding]:
        await both.wait()
        return [ok("second", "")]

    found = await Examination(Settings(), tmp_path).run([("first", first), ("second", second)])
    assert found == [ok("first", ""), ok("second", "")]


async def test_a_check_that_hangs_or_fails_is_a_fault_and_the_others_are_told(tmp_path: Path) -> None:
    async def hangs(_: Examination) -> Sequence[Finding]:
        await asyncio.Event().wait()
        return []

    async def fails(_: Examination) -> Sequence[Finding]:
        raise KeyError("xoxb-secret")

    async def well(_: Examination) -> Sequence[Finding]:
        return [ok("well", "fine")]

    around = HostMachine(seconds=0.05)
    checks = [("slow", hangs), ("broken", fails), ("well", well)]
    found = await Examination(Settings(), tmp_path, around).run(checks)
    assert [(one.level, one.subject) for one in found] == [
        (Severity.FAULT, "slow"),
        (Severity.FAULT, "broken"),
        (Severity.OK, "well"),
    ]
    assert "xoxb-secret" not in found[1].line


def test_a_dns_that_is_silent_holds_the_end_up_no_longer_than_the_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(PATIENCE))

    async def looks_up(_: Examination) -> Sequence[Finding]:
        await asyncio.open_connection("a.name.example", 443)
        return []

    examination = Examination(Settings(), tmp_path, HostMachine(seconds=0.05))
    try:
        found = examine(examination, [("name", looks_up)])
        waits = [one for one in threading.enumerate() if one.name == "doctor"]
    finally:
        over.set()
    assert [one.level for one in found] == [Severity.FAULT]
    assert waits, "the look-up has ended: this was waited for"


def test_the_worst_level_counts() -> None:
    good, bad = ok("a", ""), fault("b", "", "")
    assert [worst([]), worst([good]), worst([bad, good])] == [Severity.OK, Severity.OK, Severity.FAULT]


def test_what_others_say_is_short_and_moves_nothing_on_a_terminal() -> None:
    said = quoted("220 \x1b[2J ok\r\nfault  all \u202e is well" + "x" * 500)
    assert said.isprintable()
    assert len(said) < 100
    assert some("abc", 2) == "a, b and 1 more"


def test_of_the_last_reply_the_first_names_are_kept_cut_and_each_once() -> None:
    fields = ["mx.a.example; dmarc=pass", "MX.A.example; spf=pass", f"{'b' * 400}; x", "c; x", "d; x", "=?x?=", ""]
    last = LastReply.of(fields, NOW)
    assert last.names == ("mx.a.example", "b" * 255, "c")
    assert LastReply.read(last.written()) == last
    assert LastReply.of([], NOW).names == ()
