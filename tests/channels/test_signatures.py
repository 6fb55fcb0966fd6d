"""Which lines below a signature may be about the answer (API.md §6, docs/decisions/0098)."""

from __future__ import annotations

import pytest

from channels.grammar.names import Names
from channels.grammar.signatures import LONGEST_BLOCK, could_speak, parted
from core.domain.notice import NoticeChoice

ALICE = "Alice Doe <alice@example.com>"
NAMES = Names.of((NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny")))

SILENT = [
    "Senior Vice President, Global Operations",
    "Example Inc.",
    "2 Example Street",
    "12 Market Street, Suite 200, San Francisco, CA 94105",
    "Tel. +49 30 123456 / Mobil: 0170 1234567",
    "Moving the world forward.",
    "she/her",
    "Alice Doe, PhD",
    "Leiterin Buchhaltung | Example GmbH",
    "Geschäftsführer: Hans Beispiel",
    "Amtsgericht München, HRB 12345",
    "Sitz der Gesellschaft: Berlin",
    "USt-IdNr. DE123456789",
    "Hauptstraße 2, 10115 Berlin",
    "Am Markt 1",
    "80331 München",
    "Directeur du marketing",
    "12 bis rue de la Paix, 75002 Paris",
    "SAS au capital de 50 000 € - RCS Paris 123 456 789",
    "Directora de Operaciones",
    "Calle Mayor 12, 2º, 28013 Madrid",
    "Responsabile Amministrazione e Finanza",
    "Via Roma 2, 20121 Milano (MI)",
    "P.IVA 01234567890",
    "Diretora Financeira",
    "Rua Augusta 100, 1100-053 Lisboa",
    "Hoofd Financiën",
    "Keizersgracht 2, 1015 CJ Amsterdam",
    "KvK 12345678",
    "Ekonomichef",
    "Storgatan 4, 111 23 Stockholm",
    "Org.nr 556677-8899",
    "Kierownik Działu Zakupów",
    "ul. Prosta 2/4, 00-001 Warszawa",
    "NIP 123-456-78-90",
    "営業部 部長",
    "株式会社サンプル",
    "〒100-0001 東京都千代田区千代田1-1-2 サンプルビル3階",
    "TEL: 03-1234-5678",
    "Chief Revenue Officer",
    "www.example.com",
    "LinkedIn | Twitter | Facebook",
    "Best Place to Work 2025",
    "ISO 9001:2015 certified",
    "Book a meeting",
    "+1 (555) 010-0123",
    "T: +44 20 7946 0018 | M: +44 7700 900123",
    "Registered in England and Wales No. 01234567",
    "Award winner 2024 – Innovation of the Year",
    "CEO",
    "Vertrieb Innendienst",
    "Dyrektor Finansowy",
    "Head of IT & Security",
    "Platform Engineering, Team Blue",
    "10th Floor, 30 St Mary Axe, London EC3A 8BF",
    "Building 2, Science Park",
    "Creating tomorrow's energy",
    "The Example Group",
    "Product Owner",
    "Example Oy",
    "Finanzbuchhaltung",
    "Direction des achats",
]
"""Titles, companies, streets, telephones, registers, slogans, awards."""

SPEAKING = [
    "only order 1234567",
    "up to 100 000",
    "Erst Montag",
    "Nur Teilbetrag",
    "But Only Half",
    "Ask Legal",
    "но только завтра",
    "却下 明日",
    "no | wait",
    "Finance - wait",
    "2",
    "Deny refund",
    "Deny",
    "Wait",
    "Hold on!",
    "Actually no, wait.",
    "deny instead",
    "if Bob agrees",
    "Not this one",
    "2 it is",
    "make it 2",
    "PS: wait",
    "P.S. only once",
    "scrap that",
    "Non",
    "Nein",
    "unless the customer complains",
    "we never sleep",
    "Your partner in logistics",
    "älä hyväksy",
    "Reddet",
    "neschvaluji",
    "max 100 EUR",
    "$100",
    "ぜひ明日にしてください",
    "不批准",
    "승인하지 마세요",
    "Ne",
    "option 2",
    "#2",
    "Nie",
    "mais pas avant lundi",
    "a condición de que pague",
    "sofern der Kunde zahlt",
    "ask bob@example.com first",
    "+49 30 12345678 first",
    "bob@example.com first",
    "see https://h.test/no first",
    "I would rather not",
    "with reservations",
    "after the audit",
    "unter Vorbehalt",
    "sous réserve",
    "con riserva",
    "previa confirmación",
    "sob reserva",
    "onder voorbehoud",
    "med förbehåll",
    "z zastrzeżeniem",
    "条件付き",
    "the opposite",
    "this time",
    "second signature",
    "VAT only if under 100",
    "ein Maximum von 100",
    "Tax ID only if valid 12",
    "100 nur bis Freigabe im Haus",
    "2 weeks only by the park",
    "100 not before Bob gave way",
    "Отклонить Alice",
    "нет Alice",
    "Bob or Alice",
    "ISO only after 9001",
    "Suite yourself, not 2",
    "Nr. 2",
    "wtorek",
    "Montag",
    "Tuesday",
    "No. 2",
    "2 plan",
]
"""Options, numbers, words that decide, deny, defer or set a condition, in any language; sums; whoever is spoken to."""


def speaks(line: str, names: Names = NAMES) -> bool:
    return could_speak(line, names.phrases, names.numbers, ALICE)


@pytest.mark.parametrize("line", SILENT)
def test_what_people_sign_with_can_not_speak(line: str) -> None:
    assert not speaks(line)


@pytest.mark.parametrize("line", SPEAKING)
def test_what_may_be_about_the_answer_could(line: str) -> None:
    assert speaks(line)


def test_a_city_that_is_an_option_could_speak() -> None:
    assert not speaks("75002 Paris")
    assert speaks("75002 Paris", Names.of((NoticeChoice(0, "Paris", "eu-west-3"), NoticeChoice(1, "Frankfurt", "fra"))))


def test_an_option_that_is_called_as_the_writer_is_could_speak() -> None:
    people = Names.of((NoticeChoice(0, "Alice", "alice"), NoticeChoice(1, "Bob", "bob")))
    assert speaks("Alice Doe", people) and not speaks("Alice Doe")
    assert could_speak("Deny Refund", NAMES.phrases, NAMES.numbers, "Deny Refund <deny@example.com>")


def test_a_date_alone_may_be_from_when_on() -> None:
    assert speaks("01.12.2026") and speaks("Berlin, 2026-12-01")


@pytest.mark.parametrize(
    "name",
    [
        "Alice",
        "Alice Doe",
        "ALICE DOE",
        "A. Doe",
        "Ali",
        "AD",
        "Dr. Alice Doe",
        "Alice Doe, PhD",
        "Alice Doe (she/her)",
        "Alice Doe | Head of Finance",
        "Best regards, Alice",
        "– Alice",
    ],
)
def test_below_the_name_it_is_a_signature(name: str) -> None:
    above, below = parted(["Approve", "", name, "CFO", "Example Ltd"], ALICE)
    assert above[0] == "Approve"
    assert below[-2:] == ("CFO", "Example Ltd")
    assert "CFO" not in above


@pytest.mark.parametrize("line", ["Alice will", "Bob", "Ali G", "Alice Doe approves", "Al", "A"])
def test_another_name_or_a_sentence_signs_nothing(line: str) -> None:
    lines = ["Approve", line, "CFO"]
    assert parted(lines, ALICE) == (tuple(lines), ())


def test_the_first_own_line_is_never_a_signature() -> None:
    lines = ["Alice", "CFO"]
    assert parted(lines, ALICE) == (tuple(lines), ())


def test_a_longer_text_below_a_name_is_a_letter() -> None:
    lines = ["Approve", "Alice", *("Example",) * (LONGEST_BLOCK + 1)]
    assert parted(lines, ALICE) == (tuple(lines), ())
    assert parted(lines[:-1], ALICE)[0] == ("Approve",)
