"""Delivery reports as mail servers write them: what each says of one recipient.

The postfix report is one that postfix 3.7 wrote for an unknown user; Exchange's and Gmail's follow their published
examples. Source: RFC 3464; facts on mail §B3.
"""

from __future__ import annotations

from email import message_from_bytes
from email.policy import compat32

import pytest

from channels.email.delivery_reports import Fate, Report, ReportVerdict, read_report

ALICE = frozenset({"alice@example.com"})
ORIGINAL = "<n.0123456789abcdef0123456789abcdef@handraise.example>"


def report(status: str, original: str = "", text: str = "It failed.") -> Report:
    parts = [f"Content-Type: text/plain\n\n{text}\n", f"Content-Type: message/delivery-status\n\n{status}\n"]
    if original:
        parts.append(original)
    head = "From: MAILER-DAEMON@mx.example.com\nContent-Type: multipart/report; report-type=delivery-status;"
    raw = f"{head} boundary=b\n\n" + "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"
    return read_report(message_from_bytes(raw.encode(), policy=compat32))


POSTFIX = """Reporting-MTA: dns; mx.example.com
X-Postfix-Queue-ID: 4ABC
Arrival-Date: Tue, 24 Mar 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; alice@example.com
Original-Recipient: rfc822;alice@example.com
Action: failed
Status: 5.1.1
Diagnostic-Code: X-Postfix; unknown user: "alice"
"""
EXCHANGE = """Reporting-MTA: dns;AM0PR01.prod.outlook.com

Final-Recipient: rfc822;Alice@Example.com
Action: Failed (user unknown)
Status: 5.1.10 (bad address)
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound
"""


@pytest.mark.parametrize(("status", "code"), [(POSTFIX, "5.1.1"), (EXCHANGE, "5.1.10")])
def test_a_failed_recipient_is_refused(status: str, code: str) -> None:
    assert report(status).about(ALICE) == (ReportVerdict.REFUSED, code)


@pytest.mark.parametrize(
    ("action", "status", "verdict"),
    [
        ("failed", "4.4.7", ReportVerdict.TEMPORARY),
        ("failed", "", ReportVerdict.UNCLEAR),
        ("failed", "2.1.5", ReportVerdict.UNCLEAR),
        ("delayed", "5.0.0", ReportVerdict.DELAYED),
        ("delivered", "2.1.5", ReportVerdict.DELIVERED),
        ("relayed", "5.1.1", ReportVerdict.DELIVERED),
        ("unheard-of", "5.1.1", ReportVerdict.UNCLEAR),
    ],
)
def test_the_action_and_the_status_s_class_decide_together(action: str, status: str, verdict: ReportVerdict) -> None:
    assert Fate(ALICE, action, status).verdict is verdict


def test_of_several_recipients_each_has_a_fate_of_their_own() -> None:
    said = report(f"{POSTFIX}\nFinal-Recipient: rfc822; bob@example.com\nAction: delayed\nStatus: 4.2.2\n")

    assert said.about(ALICE)[0] is ReportVerdict.REFUSED
    assert said.about(frozenset({"bob@example.com"})) == (ReportVerdict.DELAYED, "4.2.2")
    assert said.about(frozenset({"carol@example.com"})) == (ReportVerdict.OTHER_RECIPIENT, "")


@pytest.mark.parametrize(
    "original",
    [
        f"Content-Type: message/rfc822\n\nSubject: x\nMessage-ID: {ORIGINAL}\n\nbody\n",
        f"Content-Type: text/rfc822-headers\n\nSubject: x\nMessage-ID: {ORIGINAL}\n",
    ],
)
def test_the_mail_that_it_is_about_is_known_by_its_head(original: str) -> None:
    assert report(POSTFIX, original).original == ORIGINAL


def test_a_report_inside_the_mail_that_came_back_is_not_read() -> None:
    """Whoever writes a mail that bounces does not get to say what became of it."""
    inner = f"Content-Type: message/rfc822\n\nContent-Type: message/delivery-status\n\n{POSTFIX}"

    assert report("Reporting-MTA: dns; mx", inner, "All is well.").about(ALICE)[0] is ReportVerdict.UNCLEAR


def test_a_report_without_any_recipient_says_nothing_clear() -> None:
    assert report("Reporting-MTA: dns; mx.example.com").about(ALICE) == (ReportVerdict.UNCLEAR, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<alice@example.com>: host mx said: 550 5.1.1 User unknown", (ReportVerdict.REFUSED, "5.1.1")),
        ("<alice@example.com>: host mx said: 452 4.2.2 Mailbox full", (ReportVerdict.TEMPORARY, "4.2.2")),
        ("<bob@example.com>: 5.1.1 User unknown", (ReportVerdict.OTHER_RECIPIENT, "")),
        ("This is a permanent error; I've given up.", (ReportVerdict.REFUSED, "5.0.0")),
        ("Your message to 10.5.1.1.2 is on its way.", (ReportVerdict.UNCLEAR, "")),
        ("Ich bin vom 5.1.26 bis zum 9.1.26 nicht da.", (ReportVerdict.UNCLEAR, "")),
        ("The server said: 550-5.7.1 refused by policy.", (ReportVerdict.REFUSED, "5.7.1")),
        ("Sorry, no mailbox here by that name. (#5.1.1)\nI've given up.", (ReportVerdict.REFUSED, "5.1.1")),
        ("Hello.\n--- Below this line is a copy of the message.\n5.1.1 permanent error", (ReportVerdict.UNCLEAR, "")),
    ],
)
def test_a_report_in_words_is_read_above_the_copy_of_our_mail(text: str, said: tuple[ReportVerdict, str]) -> None:
    raw = f"From: MAILER-DAEMON@mx.example.com\nSubject: failure notice\n\n{text}\n"

    assert read_report(message_from_bytes(raw.encode(), policy=compat32)).about(ALICE) == said
