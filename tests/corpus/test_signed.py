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

from channels.email.inbound import read_mail, read_reply
from channels.grammar.reader import Matched
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import RULES, TO
from tests.corpus.load import HERE

REFUND = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
SIGNED: list[Mapping[str, Any]] = json.loads((HERE / "signatures.json").read_text())
PLACES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "below the name": lambda one: one["signature"],
    "below a farewell": lambda one: f"{one['farewell']}\n{one['signature']}",
    "below a mark": lambda one: f"-- \n{one['signature']}",
}
MISSED = {
    ("es5", "below the name"): '«previa» may be a condition: "con cita previa" is by appointment',
    ("es5", "below a farewell"): "the same",
    ("es5", "below a mark"): "the same",
    ("es3", "below a farewell"): "a farewell in Spanish and Basque",
}


def decides(one: Mapping[str, Any], answer: str) -> bool:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = one["from"], TO, "Re: [HR-7F3K] Refund?"
    mail.set_content(answer)
    words = read_mail(mail.as_bytes(), RULES).words
    return isinstance(read_reply(words, ResponseType.CHOICE, REFUND), Matched)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("one", [one for one in SIGNED if not one["speaks"]], ids=lambda one: one["id"])
def test_an_answer_above_an_ordinary_signature_decides(one: Mapping[str, Any], place: str) -> None:
    assert decides(one, f"Approve\n\n{PLACES[place](one)}\n") is ((one["id"], place) not in MISSED)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("one", [one for one in SIGNED if not one["speaks"]], ids=lambda one: one["id"])
@pytest.mark.parametrize("condition", ["Only if the goods are back", "2", "Deny refund", "unter Vorbehalt"])
def test_a_condition_in_any_of_them_decides_nothing(condition: str, one: Mapping[str, Any], place: str) -> None:
    above, _, below = PLACES[place](one).rpartition("\n")
    assert not decides(one, f"Approve\n\n{above}\n{condition}\n{below}\n")
    assert not decides(one, f"Approve\n\n{above}\n{below}\n{condition}\n")
