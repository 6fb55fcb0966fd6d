"""A mail without words of its own is named as what it is: a reaction, Outlook's own format, what is encrypted."""

from __future__ import annotations

import pytest

from channels.email.inbound import read_reply
from channels.grammar.reader import Matched, Reading, Unclear
from core.domain.notice import shown_choices
from tests.channels.email.incoming import read
from tests.corpus.load import QUESTIONS


def reading(body: str, question: str = "refund", **changes: str) -> Reading:
    fields = {name.replace("_", "-"): value for name, value in changes.items()}
    ask = QUESTIONS[question]
    return read_reply(read(body, fields).words, ask.response_type, shown_choices(ask), ask.form_schema, ask.question)


def mixed(*parts: tuple[str, str]) -> str:
    return "".join(f"--b\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for kind, text in parts) + "--b--\r\n"


MIXED = 'multipart/mixed; boundary="b"'
GMAIL = mixed(
    ("text/plain; charset=utf-8", "\U0001f44d\r\n\r\nAlice reacted via Gmail"),
    ("text/vnd.google.email-reaction+json", '{"emoji": "x", "version": 1}'),
    ("text/html; charset=utf-8", "<p>\U0001f44d</p><p>Alice reacted via Gmail</p>"),
)
HEAD = "\n________________________________\nFrom: Handraise <handraise@example.com>\nSent: Saturday\nTo: Alice\n"


@pytest.mark.parametrize("question", ["refund", "note", "form"])
def test_a_reaction_from_gmail_is_no_answer(question: str) -> None:
    assert reading(GMAIL, question, Content_Type=MIXED) == Unclear("reaction")


@pytest.mark.parametrize(
    "said",
    [
        "[like] Alice Doe reacted to your message:",
        "[heart]  Alice Doe reacted to your message:",
        "\U0001f44d Alice Doe reacted to your message:",
        "[like] Alice Doe hat auf Ihre Nachricht reagiert:",
        "[like] Alice Doe a réagi à votre message :",
        "[like] Alice Doe ha reaccionado a su mensaje:",
        "[like] Alice Doe ha reagito al tuo messaggio:",
        "[like] Alice Doe reagiu à sua mensagem:",
        "[like] Alice Doe heeft gereageerd op uw bericht:",
        "[like] Alice Doe reagerade på ditt meddelande:",
        "[like] Alice Doe zareagował(a) na Twoją wiadomość:",
        "Alice Doeさんがあなたのメッセージにリアクションしました:",
        "\U0001f44d\n\nAlice reacted via Gmail",
    ],
)
@pytest.mark.parametrize("question", ["refund", "note"])
def test_a_reaction_without_a_part_of_its_own_is_no_answer(said: str, question: str) -> None:
    assert reading(said + HEAD, question) == Unclear("reaction")


def test_a_person_may_write_of_reactions() -> None:
    said = "Tell them that Bob reacted to your message: he agrees and will pay."

    assert isinstance(reading(said, "note"), Matched)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("application/ms-tnef; name=winmail.dat", "winmail"),
        ("application/octet-stream; name=winmail.dat", "winmail"),
        ("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", "encrypted"),
        ("application/x-pkcs7-mime; smime-type=signed-data; name=smime.p7m", "encrypted"),
        ("application/pgp-encrypted", "encrypted"),
    ],
)
def test_a_mail_whose_words_can_not_be_read_is_named(kind: str, code: str) -> None:
    alone, beside = reading("MIIB", Content_Type=kind), mixed(("text/plain", ""), (kind, "eJ8+"))

    assert alone == Unclear(code)
    assert reading(beside, Content_Type=MIXED) == Unclear(code)


def test_an_encrypted_mail_is_named_however_it_is_sent() -> None:
    armoured = "-----BEGIN PGP MESSAGE-----\n\nhQEMA1\n-----END PGP MESSAGE-----\n"
    whole = mixed(("application/pgp-encrypted", "Version: 1"), ("application/octet-stream; name=a.asc", armoured))

    assert reading(armoured) == Unclear("encrypted")
    assert reading(armoured, "note") == Unclear("encrypted")
    assert reading(whole, Content_Type='multipart/encrypted; boundary="b"') == Unclear("encrypted")


def test_words_beside_such_a_part_are_read() -> None:
    body = mixed(("text/plain", "Approve"), ("application/ms-tnef; name=winmail.dat", "eJ8+"))

    assert isinstance(reading(body, Content_Type=MIXED), Matched)
