"""Every class of mistake that a reply was once read wrongly by, as a mail: none of them records anything."""

from __future__ import annotations

from email.header import Header

import pytest

from channels.email.classify import MailKind
from channels.email.inbound import read_reply
from channels.grammar.reader import ClaimWord, Matched, Reading, Unclear
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import read

REFUND = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
LIMIT = (
    NoticeChoice(0, "Approve", "approve"),
    NoticeChoice(1, "Approve with limit", "limit"),
    NoticeChoice(2, "Deny", "deny"),
)
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))
DELETE = (NoticeChoice(0, "Delete it", "approve"), NoticeChoice(1, "Keep it", "deny"))
URGENT = {"type": "object", "properties": {"urgent": {"type": "boolean"}, "country": {"type": "string"}}}


def reply(
    own: str, choices: tuple[NoticeChoice, ...] = REFUND, kind: ResponseType = ResponseType.CHOICE, question: str = ""
) -> Reading:
    return read_reply(read(own).words, kind, choices, URGENT if kind is ResponseType.FORM else None, question)


def decides(reading: Reading) -> bool:
    return isinstance(reading, Matched | ClaimWord)


@pytest.mark.parametrize("own", ["Yes, bananas.", "Yes. Bananas!", "Sí, plátanos", "No, oranges"])
def test_a_yes_with_anything_beside_it(own: str) -> None:
    assert not decides(reply(own, YES_NO))


@pytest.mark.parametrize(
    "own", ["Ja, Frau Roth entscheidet das.", "Oui, Mme Petit décide", "Yes, Bob's call", "Sim, a Ana trata disso"]
)
def test_a_yes_that_hands_the_decision_to_somebody_else(own: str) -> None:
    assert not decides(reply(own, YES_NO))


@pytest.mark.parametrize(
    "own", ["approve, up to 100 EUR", "Approved, half of it", "genehmigt bis 100", "1, net of fees"]
)
def test_an_approval_with_a_limit(own: str) -> None:
    assert not decides(reply(own))


@pytest.mark.parametrize("own", ["No, delete it", "no delete it", "No. Keep deleting", "Nein, löschen"])
def test_a_no_to_a_question_that_names_what_the_no_forbids(own: str) -> None:
    assert not decides(reply(own, DELETE, question="Delete the backup?"))


@pytest.mark.parametrize("own", ["Ja, thanks", "Approve por favor, danke", "Yes merci", "No, die", "はい, please"])
def test_a_filler_of_one_language_in_a_sentence_of_another(own: str) -> None:
    assert not decides(reply(own))


@pytest.mark.parametrize(
    "own",
    [
        "$2",
        "2 $",
        "-1",
        "2 %",
        "2%",
        "1-2",
        "1/2",
        "2.5",
        "2 EUR",
        "2 Nov",
        "2nd",
        "1 x",
        "~2",
        "½",
        "2²",
        ".2",
        ",2",
        "!2",
    ],
)
def test_a_number_that_counts_something(own: str) -> None:
    assert not decides(reply(own))


@pytest.mark.parametrize("own", ["Approve\nwith limit", "Approve\n\nwith a limit of 100", "Approve\nwith"])
def test_a_name_that_goes_on_in_the_next_line(own: str) -> None:
    assert not decides(reply(own, LIMIT))


@pytest.mark.parametrize("own", ["2\nweeks", "2\n\nweeks from now", "1\n%"])
def test_a_number_whose_unit_is_in_the_next_line(own: str) -> None:
    assert not decides(reply(own))


@pytest.mark.parametrize(
    "own", ["¿approve", "¿Sí", "approve;", "approve\ufffd", "approve ⁇", "approve‽", "؟approve", "❓ 2"]
)
def test_a_question_mark_before_or_lost(own: str) -> None:
    assert not decides(reply(own.replace(";", "\u037e")))


def alternative(plain: str, page: str) -> Reading:
    body = f"--b\nContent-Type: text/plain\n\n{plain}\n--b\nContent-Type: text/html\n\n{page}\n--b--\n"
    mail = read(body, {"Content-Type": 'multipart/alternative; boundary="b"'})
    return read_reply(mail.words, ResponseType.CHOICE, REFUND)


@pytest.mark.parametrize(
    "page",
    [
        "<style>.h{display:none}</style><p>approve</p><p class='h'>deny</p>",
        "<p>approve</p><p hidden>deny</p>",
        "<p>approve</p><p style='font-size:0'>deny</p>",
        "<p>approve</p><p style='opacity:0'>deny</p>",
        "<p>approve</p><p style='text-indent:-999em'>deny</p>",
        "<p>approve</p><q>deny</q>",
    ],
)
def test_an_answer_in_hidden_html(page: str) -> None:
    html_alone = read(page, {"Content-Type": "text/html"})

    assert not decides(read_reply(html_alone.words, ResponseType.CHOICE, REFUND))
    assert not decides(alternative("approve", page))


@pytest.mark.parametrize("page", ["<p>Do not approve</p>", "<p>deny</p>", "<p>approve half</p>"])
def test_a_plain_approve_beside_html_that_says_otherwise(page: str) -> None:
    assert not decides(alternative("approve", page))
    assert decides(alternative("approve", "<p>approve</p>"))


@pytest.mark.parametrize("own", ["He wrote.\n\n“approve”", "“approve”", "Bob said:\n\napprove", 'See his mail.\n"2"'])
def test_a_quoted_word_as_a_paragraph_of_its_own(own: str) -> None:
    assert not decides(reply(own))


@pytest.mark.parametrize(
    "below",
    [
        "Actually no, wait.",
        "deny instead",
        "Alice\nscrap that",
        "Alice Doe\nNo",
        "Hold on!",
        "Wait",
        "2",
        "Deny refund",
    ],
)
@pytest.mark.parametrize("mark", ["-- ", "Sent from my iPhone", "Best regards", "Alice"])
def test_a_retraction_below_a_signature_mark(mark: str, below: str) -> None:
    assert not decides(reply(f"approve\n\n{mark}\n{below}"))
    assert decides(reply(f"approve\n\n{mark}"))


@pytest.mark.parametrize(
    "own", ["Bob\nAlice\nCarol", "Alice\nBob", "Bob\n\nAlice\nBeispiel GmbH", "Carol,\nBob,\nAlice"]
)
def test_a_list_of_people_with_its_writer_among_them(own: str) -> None:
    assert not decides(reply(own, (), ResponseType.TEXT))
    assert decides(reply("Bob\nCarol", (), ResponseType.TEXT))


def test_a_field_that_goes_on_below_the_writer_s_name() -> None:
    assert not decides(reply("urgent: yes\ncountry: Foo Street 5\nAlice\n10115 Berlin", (), ResponseType.FORM))
    assert not decides(reply("urgent: yes\n\nAlice\ncountry: DE", (), ResponseType.FORM))
    assert reply("urgent: yes\ncountry: DE,\nAlice", (), ResponseType.FORM) == reply(
        "urgent: yes\ncountry: DE,", (), ResponseType.FORM
    )
    assert decides(reply("urgent: yes\n\nAlice\nCFO\n10115 Berlin", (), ResponseType.FORM))


@pytest.mark.parametrize(
    "below",
    [
        "ask bob@example.com first",
        "bob@example.com first",
        "+49 30 12345678 first",
        "see https://h.test/no first",
        "only order 1234567",
        "up to 100 000",
        "01.12.2026",
        "Erst Montag",
        "Nur Teilbetrag",
        "But Only Half",
        "Ask Legal",
        "но только завтра",
        "却下 明日",
        "no | wait",
        "Finance - wait",
    ],
)
@pytest.mark.parametrize("mark", ["Alice", "-- \nAlice", "-- "])
def test_a_retraction_that_looks_like_a_line_of_a_signature(mark: str, below: str) -> None:
    assert not decides(reply(f"approve\n\n{mark}\n{below}"))


@pytest.mark.parametrize(
    "below",
    [
        "head of finance",
        "Head of Finance",
        "Leiterin Buchhaltung | Example GmbH",
        "Sales & Marketing",
        "Tel. +49 30 123456 / Mobil: 0170 1234567",
        "alice@example.org\nhttps://example.org/alice",
        "CFO, Example Ltd.\n(555) 123-4567",
    ],
)
@pytest.mark.parametrize("mark", ["Alice", "-- \nAlice", "Best regards,\nAlice"])
def test_the_usual_signature_is_none_of_it(mark: str, below: str) -> None:
    assert decides(reply(f"approve\n\n{mark}\n{below}"))


@pytest.mark.parametrize(("name", "below"), [("Min-jun No", "No"), ("Nonna Rossi", "Non")])
def test_a_word_that_decides_is_nobody_s_name(name: str, below: str) -> None:
    mail = read(f"approve\n\n{below}", {"From": f"{name} <alice@example.org>"})

    assert not decides(read_reply(mail.words, ResponseType.CHOICE, REFUND))


@pytest.mark.parametrize(
    "below",
    [
        ">100 EUR only",
        "> 5000 needs Bob",
        "Confidential: only if Bob agrees",
        "This e-mail is confidential\nActually no, wait",
        "Sent from my iPhone, but wait for Bob",
        "Sent from my phone. Not yet final",
    ],
)
def test_a_condition_that_looks_like_a_quote_a_disclaimer_or_a_footer(below: str) -> None:
    assert not decides(reply(f"approve\n\n{below}"))


@pytest.mark.parametrize(
    "footer", ["Sent from my iPhone. Please excuse typos.", "Get Outlook for iOS<https://aka.ms/x>"]
)
def test_a_program_s_footer_is_none_of_it(footer: str) -> None:
    assert decides(reply(f"approve\n\n{footer}"))


@pytest.mark.parametrize(
    "page", ["<p>approve 👎</p>", "<p>approve <img alt='👎' src='x'></p>", "<p>approve<input value='not'></p>"]
)
def test_a_sign_or_a_field_that_only_the_page_shows(page: str) -> None:
    assert not decides(alternative("approve", page))


@pytest.mark.parametrize(
    "question", ["Reject the invoice?", "Should we decline this?", "Refund ablehnen?", "Should we not refund?"]
)
def test_a_yes_to_a_question_that_denies(question: str) -> None:
    assert not decides(reply("ja", question=question))
    assert decides(reply("ja", question="Refund order 12345?"))
    assert decides(reply("approve", question=question))


BODIES = {
    "en": "I am out of the office until 30 November. For urgent matters please contact Bob.",
    "en, a ticket": "Your request has been received and ticket #4711 has been created.",
    "en, a challenge": "Please click the link below to confirm that you are not a robot.",
    "en, somebody has left": "Alice Doe has left the company. Please write to Bob Miller instead.",
    "de": "Ich bin bis zum 30. November nicht im Büro und habe keinen Zugriff auf meine E-Mails.",
    "fr": "Bonjour, je suis absent jusqu'au 30 novembre. En cas d'urgence, écrivez à Bob.",
    "es": "Estaré de vacaciones hasta el 30 de noviembre.",
    "it": "Sono in ferie fino al 30 novembre.",
    "pt": "Estou ausente até 30 de novembro.",
    "nl": "Ik ben tot 30 november niet op kantoor.",
    "sv": "Jag är på semester till den 30 november.",
    "da": "Jeg er på ferie til den 30. november.",
    "fi": "Olen lomalla 30. marraskuuta asti.",
    "pl": "Jestem na urlopie do 30 listopada.",
    "cs": "Jsem na dovolené do 30. listopadu.",
    "hu": "November 30-ig szabadságon vagyok.",
    "ro": "Sunt în concediu până pe 30 noiembrie.",
    "el": "Είμαι εκτός γραφείου έως τις 30 Νοεμβρίου.",
    "ru": "Я нахожусь в отпуске до 30 ноября.",
    "uk": "Я перебуваю у відпустці до 30 листопада.",
    "tr": "30 Kasım'a kadar izindeyim.",
    "ja": "11月30日まで休暇をいただいております。",
    "ko": "11월 30일까지 휴가 중입니다.",
    "zh": "我在11月30日之前休假。",
    "ar": "أنا في إجازة حتى 30 نوفمبر.",
    "he": "אני בחופשה עד 30 בנובמבר.",
    "hi": "मैं 30 नवंबर तक छुट्टी पर हूँ।",
}
SUBJECTS = [
    "Automatic reply: Refund?", "Automatische Antwort: Refund?", "Réponse automatique : x", "Respuesta automática: x",
    "Risposta automatica: x", "Resposta automática: x", "Automatisch antwoord: x", "Autosvar: x", "Automatisk svar: x",
    "Automaattinen vastaus: x", "Autoodpowiedź: x", "Automatická odpověď: x", "Automatikus válasz: x",
    "Răspuns automat: x",
    "Αυτόματη απάντηση: x", "Автоматический ответ: x", "Автоматична відповідь: x", "Otomatik yanıt: x", "自動返信: x",
    "자동 회신: x", "自动答复: x", "رد تلقائي: x", "תשובה אוטומטית: x", "स्वचालित उत्तर: x", "[Ticket #4711] Refund?",
]  # fmt: skip


@pytest.mark.parametrize("language", BODIES)
def test_machine_mail_that_answers_a_text_question(language: str) -> None:
    assert reply(BODIES[language], (), ResponseType.TEXT) == Unclear("machine")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_machine_mail_by_its_subject(subject: str) -> None:
    assert read("It ships on Monday.", {"Subject": str(Header(subject, "utf-8"))}).kind is MailKind.AUTO


@pytest.mark.parametrize(
    "own", ["Tell them that the office is closed.", "It ships on Monday. Sorry!", "Please send a new ticket to Bob."]
)
def test_a_person_s_text_is_none_of_it(own: str) -> None:
    assert decides(reply(own, (), ResponseType.TEXT))


@pytest.mark.parametrize(
    "own", ["urgent: yes?", "urgent: yes, if Bob agrees", "I think\nurgent: yes", "urgent: yes\n\nor so"]
)
def test_a_doubt_in_a_form(own: str) -> None:
    reading = reply(own, (), ResponseType.FORM)

    assert not decides(reading) or reading.value == {"urgent": "yes, if Bob agrees"}  # type: ignore[union-attr]


@pytest.mark.parametrize("own", ["Tak, jeg kigger på det", "Tak", "Tak, det ser jeg på"])
def test_a_dane_s_thanks(own: str) -> None:
    assert not decides(reply(own, YES_NO))
