"""Sixty ordinary signatures of ten countries, below an answer (API.md §6, docs/decisions/0098).

``signatures.json`` was written by somebody who had not seen the grammar. ``speaks`` says that a line of it addresses
its reader or is in the first person: such a signature asks for one more reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any

import pytest

from channels.email.called_lines import offer_of
from channels.email.inbound import read_mail, read_reply
from channels.email.own_words import OwnWords
from channels.grammar.reader import Matched, Unclear
from core.domain.notice import NoticeChoice
from core.domain.signature_lines import NOTHING_CALLED, KnownLines
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import RULES, TO
from tests.corpus.load import HERE

KEY = b"key"
REFUND = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
SIGNED: list[Mapping[str, Any]] = json.loads((HERE / "signatures.json").read_text())
PLACES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "below the name": lambda one: one["signature"],
    "below a farewell": lambda one: f"{one['farewell']}\n{one['signature']}",
    "below a mark": lambda one: f"-- \n{one['signature']}",
}


def words_of(one: Mapping[str, Any], answer: str) -> OwnWords:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = one["from"], TO, "Re: [HR-7F3K] Refund?"
    mail.set_content(answer)
    return read_mail(mail.as_bytes(), RULES).words


def decides(one: Mapping[str, Any], answer: str) -> bool:
    return isinstance(read_reply(words_of(one, answer), ResponseType.CHOICE, REFUND), Matched)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("one", SIGNED, ids=lambda one: one["id"])
def test_whatever_it_says_one_press_makes_the_next_answer_decide(one: Mapping[str, Any], place: str) -> None:
    first = words_of(one, f"Approve\n\n{PLACES[place](one)}\n")
    reading = read_reply(first, ResponseType.CHOICE, REFUND)
    called = NOTHING_CALLED
    if isinstance(reading, Unclear):
        offer = offer_of(first, REFUND, reading.first)
        assert offer is not None
        called = KnownLines("alice", offer.digests(KEY, "alice"), KEY)

    again = words_of(one, f"2\n\n{PLACES[place](one)}\n")
    reading = read_reply(again, ResponseType.CHOICE, REFUND, called=called)

    assert isinstance(reading, Matched)
    assert reading.index == 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("one", [one for one in SIGNED if not one["speaks"]], ids=lambda one: one["id"])
def test_an_answer_above_an_ordinary_signature_decides(one: Mapping[str, Any], place: str) -> None:
    assert decides(one, f"Approve\n\n{PLACES[place](one)}\n")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("one", [one for one in SIGNED if not one["speaks"]], ids=lambda one: one["id"])
@pytest.mark.parametrize("condition", ["Only if the goods are back", "2", "Deny refund", "unter Vorbehalt"])
def test_a_condition_in_any_of_them_decides_nothing(condition: str, one: Mapping[str, Any], place: str) -> None:
    above, _, below = PLACES[place](one).rpartition("\n")
    assert not decides(one, f"Approve\n\n{above}\n{condition}\n{below}\n")
    assert not decides(one, f"Approve\n\n{above}\n{below}\n{condition}\n")
