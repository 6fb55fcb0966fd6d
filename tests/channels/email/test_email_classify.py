"""What kind of mail came in: only a person's reply may answer (facts on mail §B3)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from channels.email.classify import MailKind
from channels.email.inbound import read_mail
from channels.email.render import message_mail
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from tests.channels.email.incoming import OURS, RULES, raw, read
from tests.vendors import mail as mail_replies
from tests.vendors.mail import Mail

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def our_mail(purpose: Purpose = Purpose.SIGN_IN) -> Mail:
    message = Message(purpose, "[HR-7F3K] Refund?", "Refund?", ref="HR-7F3K")
    sent = message_mail(message, Address("email", "alice@example.org"), "d1", OURS)
    return Mail(1, NOW, sent.sender, sent.recipient, sent.content)


def test_a_person_s_reply_is_a_reply() -> None:
    assert read().kind is MailKind.REPLY


@pytest.mark.parametrize(
    "changes",
    [
        {"Auto-Submitted": "no"},
        {"X-Auto-Response-Suppress": "All"},
        {"Subject": "Re: Automatic reply to your order?"},
        {"Subject": "=?utf-8?q?Re=3A_Gr=C3=B6=C3=9Fe?="},
        {"Precedence": "first-class"},
        {"From": "Noreen Replyson <noreen@example.org>"},
    ],
)
def test_what_only_looks_automatic_is_a_reply(changes: dict[str, str]) -> None:
    assert read(changes=changes).kind is MailKind.REPLY


@pytest.mark.parametrize(
    "changes",
    [
        {"Content-Type": 'multipart/report; report-type=delivery-status; boundary="b"'},
        {"Content-Type": 'multipart/report; boundary="b"'},
        {"Content-Type": "message/delivery-status"},
        {"Return-Path": "<>"},
        {"X-Failed-Recipients": "alice@example.org"},
        {"From": "Mail Delivery System <MAILER-DAEMON@mx.example.org>"},
        {"From": "postmaster@example.org"},
        {"Delivered-To": "bounces+d1@example.com"},
        {"To": "Someone <bounces+d1@example.com>"},
    ],
)
def test_bounces_and_reports_are_no_replies(changes: dict[str, str]) -> None:
    assert read(changes=changes).kind is MailKind.BOUNCE


@pytest.mark.parametrize(
    "changes",
    [
        {"Auto-Submitted": "auto-replied"},
        {"Auto-Submitted": "auto-generated (vacation)"},
        {"Auto-Submitted": "auto-notified; owner-email=x"},
        {"X-Autoreply": "yes"},
        {"X-Autorespond": "x"},
        {"Precedence": "bulk"},
        {"Precedence": "AUTO_REPLY"},
        {"From": "no-reply@example.org"},
        {"From": "DoNotReply+x@example.org"},
        {"Subject": "Automatic reply: [HR-7F3K] Refund?"},
        {"Subject": "Out of Office: Re: [HR-7F3K] Refund?"},
        {"Subject": "Abwesenheitsnotiz: Re: Refund?"},
        {"Subject": "=?utf-8?b?6Ieq5YuV6L+U5L+h?="},
        {"Subject": "Réponse automatique : Refund?"},
    ],
)
def test_automatic_replies_are_no_replies(changes: dict[str, str]) -> None:
    assert read(changes=changes).kind is MailKind.AUTO


@pytest.mark.parametrize(
    "subject",
    [
        "Automatic reply: Refund?",
        "Automatische Antwort: Refund?",
        "Réponse automatique\u00a0: Refund?",
        "Re\u0301ponse automatique : Refund?",
        "Respuesta automática: Refund?",
        "Risposta automatica: Refund?",
        "Resposta automática: Refund?",
        "Automatisch antwoord: Refund?",
        "Autosvar: Refund?",
        "Automatiskt svar: Refund?",
        "Odpowiedź automatyczna: Refund?",
        "自動応答: Refund?",
        "Automatisk svar: Refund?",
        "Automaattinen vastaus: Refund?",
        "Automatická odpověď: Refund?",
        "Automatski odgovor: Refund?",
        "Auto: Refund?",
        "Return Receipt",
        "Gelesen: Refund?",
        "Lu : Refund?",
        "Leído: Refund?",
        "Not read: Refund?",
        "開封済み: Refund?",
        "Reaction Daily Digest - Saturday, November 21, 2026",
        "Please verify your email to Alice Doe",
        "Your message is waiting",
    ],
)
def test_a_subject_that_only_a_machine_writes_is_automatic(subject: str) -> None:
    assert read(changes={"Subject": subject}).kind is MailKind.AUTO


def test_a_challenger_s_mail_is_automatic() -> None:
    assert read(changes={"From": "Alice Doe via Boxbe <notification@boxbe.com>"}).kind is MailKind.AUTO


@pytest.mark.parametrize(
    "body",
    [
        "Your message to alice@example.org is waiting. Click here to show that you are not a spammer:\nhttps://x.test",
        "I use a spam filter. Your e-mail has been placed on hold until you verify that you are a person. Please click "
        "the link below.",
        "Ihre Nachricht wurde noch nicht zugestellt. Bitte klicken Sie hier und bestätigen, dass Sie ein Mensch sind.",
        "Votre message est en attente. Cliquez ici pour confirmer que vous êtes un humain.",
        "Su mensaje está en espera. Haga clic aquí para confirmar que no es spam.",
        "Il tuo messaggio è in attesa. Clicca qui per confermare che sei umano.",
        "A sua mensagem aguarda. Clique aqui para provar que não é um robot.",
        "Uw bericht wacht. Klik hier om te bevestigen dat u een mens bent.",
        "Ditt meddelande väntar. Klicka här för att bekräfta att du är en människa.",
        "Twoja wiadomość oczekuje. Kliknij tutaj, aby potwierdzić, że jesteś człowiekiem.",
        "あなたのメールは保留されています。こちらをクリックして確認してください。",
    ],
)
def test_a_challenge_is_automatic(body: str) -> None:
    assert read(body).kind is MailKind.AUTO


@pytest.mark.parametrize(
    "body",
    [
        "Return Receipt\n\nYour document: Refund?\nwas received by: Alice Doe/ACME\nat: 21/11/2026 09:31:52\n",
        "Return Receipt\n\n   Your       Re: Refund?\n   document:\n\n   was        Alice Doe/ACME\n   received\n   by:"
        "\n\n   at:        21.11.2026 09:31:52\n",
        "Empfangsbestätigung\n\nIhr Dokument: Refund?\nwurde empfangen von: Alice Doe/ACME\nam: 21.11.2026 09:31:52\n",
        "Accusé de réception\n\nVotre document : Refund?\na été reçu par : Alice Doe\nà : 21/11/2026 09:31\n",
    ],
)
def test_a_receipt_of_notes_is_automatic(body: str) -> None:
    assert read(body).kind is MailKind.AUTO


@pytest.mark.parametrize(
    "body",
    [
        "Return receipt",
        "Accusé de réception : oui",
        "Tell them that their parcel is waiting at the post office, and to click the link in the mail.",
        "Please confirm that your message was received by a person.",
    ],
)
def test_what_a_person_may_write_is_no_receipt_and_no_challenge(body: str) -> None:
    assert read(body).kind is MailKind.REPLY


@pytest.mark.parametrize("name", ["List-Id", "List-Post", "Mailing-List"])
def test_mail_by_way_of_a_list_is_no_reply(name: str) -> None:
    assert read(changes={name: "<ops.example.org>"}).kind is MailKind.LIST


@pytest.mark.parametrize(
    "changes",
    [
        {"From": "Handraise <handraise@example.com>"},
        {"From": "answers+r.x@example.com"},
        {"Message-ID": "<n.d1@example.com>"},
        {"Message-ID": "<q.HR-7F3K@example.com>"},
    ],
)
def test_our_own_mail_coming_back_is_no_reply(changes: dict[str, str]) -> None:
    assert read(changes=changes).kind is MailKind.LOOP


@pytest.mark.parametrize("purpose", list(Purpose))
def test_none_of_our_own_mails_would_be_taken_for_a_reply(purpose: Purpose) -> None:
    assert read_mail(our_mail(purpose).raw, RULES).kind is not MailKind.REPLY


def test_a_real_delivery_report_is_a_bounce() -> None:
    assert read_mail(mail_replies.bounce(our_mail(), at=NOW, mail_server="mx.x"), RULES).kind is MailKind.BOUNCE


def test_an_out_of_office_note_is_automatic() -> None:
    note = mail_replies.auto_reply(
        our_mail(), "Approve nothing without me.", sender="alice@example.org", at=NOW, authentication=None
    )

    assert read_mail(note, RULES).kind is MailKind.AUTO


def test_bounce_comes_before_auto_reply() -> None:
    report = 'multipart/report; report-type=delivery-status; boundary="b"'
    changes = {"Return-Path": "<>", "Auto-Submitted": "auto-replied", "Content-Type": report}

    assert read(changes=changes).kind is MailKind.BOUNCE


@pytest.mark.parametrize(
    ("report", "kind"), [("disposition-notification", MailKind.RECEIPT), ("feedback-report", MailKind.COMPLAINT)]
)
def test_a_receipt_and_a_complaint_are_no_bounces(report: str, kind: MailKind) -> None:
    assert read(changes={"Content-Type": f'multipart/report; report-type={report}; boundary="b"'}).kind is kind


def test_an_out_of_office_note_to_an_envelope_sender_of_ours_is_no_bounce() -> None:
    """RFC 3834 §3.3, §4: from ``<>``, to the envelope sender."""
    to = f"bounces+{'0' * 32}@example.com"
    changes = {"Return-Path": "<>", "Auto-Submitted": "auto-replied", "Delivered-To": to, "To": to}

    mail = read(changes=changes)

    assert mail.kind is MailKind.AUTO
    assert mail.is_away


@pytest.mark.parametrize(
    "changes",
    [
        {"Precedence": "bulk"},
        {"From": "no-reply@example.org", "Auto-Submitted": "auto-replied"},
        {"Auto-Submitted": "auto-generated"},
        {"Auto-Submitted": "auto-replied", "List-Id": "<all.example.org>"},
    ],
)
def test_a_machine_that_answers_for_nobody_says_nothing_of_where_somebody_is(changes: dict[str, str]) -> None:
    mail = read(changes=changes)

    assert mail.kind is MailKind.AUTO
    assert not mail.is_away


def test_the_envelope_tells_a_bounce_that_its_fields_do_not() -> None:
    nobody = read_mail(raw(), RULES, sender="")
    came_back = read_mail(raw(), RULES, "postmaster@example.org", (OURS.bounces_to("0" * 32),))
    claimed = read_mail(raw(), RULES, "postmaster@example.org", (f"bounces+{'0' * 32}@example.com",))

    assert nobody.kind is MailKind.BOUNCE
    assert came_back.kind is MailKind.BOUNCE
    assert (came_back.deliveries, came_back.mentioned) == (("0" * 32,), ())
    assert (claimed.deliveries, claimed.mentioned) == ((), ("0" * 32,))
