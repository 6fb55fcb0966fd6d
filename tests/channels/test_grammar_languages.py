"""What other languages say, and nearly say, to a question with approve and deny, and to yes or no."""

from __future__ import annotations

import pytest

from channels.grammar import ClaimWord, Matched, Reading, Unclear, read_answer
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType

REFUND = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))
ACCESS = (NoticeChoice(0, "Allow", "allow"), NoticeChoice(1, "Deny", "deny"))


def read(text: str, choices: tuple[NoticeChoice, ...] = REFUND) -> Reading:
    return read_answer(text.split("\n"), ResponseType.CHOICE, choices)


def index_of(reading: Reading) -> int | None:
    return reading.index if isinstance(reading, Matched) else None


@pytest.mark.parametrize(
    "text",
    [
        "Bitte nicht ablehnen, der Mann ist im Recht.",
        "no rechazar",
        "non rifiutare",
        "nie odrzucać",
        "ablehnen bitte nicht",
        "rechazar, no",
        "No deny",
        "2) bitte nicht ablehnen",
        "La 2 no",
        "2, no",
        "ne pas refuser",
        "avslå inte",
        "niet afwijzen",
        "却下しません",
    ],
)
def test_a_denial_that_is_forbidden_is_none(text: str) -> None:
    assert isinstance(read(text), Unclear)


@pytest.mark.parametrize(
    "text", ["Nicht genehmigt", "Je n’approuve pas", "No apruebo", "Nie zatwierdzam", "承認しません"]
)
def test_what_the_language_itself_denies_is_denied(text: str) -> None:
    assert index_of(read(text)) == 1


@pytest.mark.parametrize("text", ["Ja", "Oui, allez-y", "Yes, go ahead", "はい"])
def test_yes_chooses_approve_of_approve_and_deny_and_nothing_else(text: str) -> None:
    assert index_of(read(text)) == 0
    assert index_of(read(text, ACCESS)) is None


@pytest.mark.parametrize(
    "text", ["Nein, lieber am Montag", "No, mejor el lunes", "No, grazie. Aspettiamo il prossimo sprint"]
)
def test_a_no_with_another_time_is_a_no_and_a_yes_with_one_is_a_doubt(text: str) -> None:
    yes = {"Ne": "Ja", "No": "Yes"}[text[:2]] + text[text.index(",") :]

    assert index_of(read(text, YES_NO)) == 1
    assert index_of(read(yes, YES_NO)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Yes, as soon as legal signs",
        "Ja, sobald Bob zustimmt",
        "Oui, dès que Paul est d'accord",
        "Sí, en cuanto llegue",
        "Va bene, appena arriva il reso",
        "Sim, assim que chegar",
        "Ja, na akkoord van finance",
        "Ja, så snart Eva har skrivit på",
        "Tak, jak tylko Ewa potwierdzi",
    ],
)
def test_a_yes_that_waits_for_something_is_a_doubt(text: str) -> None:
    assert read(text, YES_NO) == Unclear("doubt")


@pytest.mark.parametrize("text", ["Yes, as soon as possible please", "Oui, dès que possible", "Ja, zo snel mogelijk"])
def test_a_yes_that_is_in_a_hurry_is_a_yes(text: str) -> None:
    assert index_of(read(text, YES_NO)) == 0


@pytest.mark.parametrize("text", ["No, wait", "Nein, warte", "No. Hold on"])
def test_a_no_that_only_waits_is_a_doubt(text: str) -> None:
    assert read(text, YES_NO) == Unclear("doubt")


@pytest.mark.parametrize(
    "below", ["PS: wait", "Wait!", "But not before Monday", "p.s. ask Bob first", "actually, please hold"]
)
def test_what_stands_below_a_farewell_may_still_take_it_back(below: str) -> None:
    assert isinstance(read(f"Approve.\n\nBest regards,\nAlice Doe\n{below}"), Unclear)


def test_a_title_and_a_street_below_a_farewell_say_nothing() -> None:
    assert index_of(read("Approve.\n\nBest regards,\nAlice Doe\nHead of Refunds\n2 Denial Street")) == 0


@pytest.mark.parametrize("text", ["Yes 👎", "Yes 🤔", "No 👍", "~~Yes~~", "👍", "~~Yes~~ No"])
def test_a_sign_decides_nothing_and_may_make_a_doubt(text: str) -> None:
    assert isinstance(read(text, YES_NO), Unclear)


def test_a_sign_that_agrees_does_no_harm() -> None:
    assert index_of(read("Yes 👍", YES_NO)) == 0


@pytest.mark.parametrize("text", ["ich kümmere mich darum", "確認します", "Jag tar det, tack", "Hola, me encargo yo"])
def test_claims_are_known_in_other_languages(text: str) -> None:
    assert isinstance(read(text), ClaimWord)


@pytest.mark.parametrize(
    ("text", "reason"), [("Why is it late? Who knows?", "question"), ("Best regards,\nAlice", "nothing")]
)
def test_a_text_that_only_asks_or_greets_is_no_answer(text: str, reason: str) -> None:
    reading = read_answer(text.split("\n"), ResponseType.TEXT, ())

    assert not isinstance(reading, Matched)
    assert (reading.reason if isinstance(reading, Unclear) else "nothing") == reason


@pytest.mark.parametrize(
    ("given", "meant"),
    [("0,5", 0.5), ("1.234,56", 1234.56), ("1,234.56", 1234.56), ("１２", 12), ("1.234", "1.234"), ("1,234", "1,234")],
)
def test_a_number_is_read_where_its_comma_can_only_be_one_thing(given: str, meant: object) -> None:
    schema = {"type": "object", "properties": {"rate": {"type": "number"}}}

    assert read_answer([f"rate：{given}"], ResponseType.FORM, (), schema) == Matched(
        f"rate：{given}", value={"rate": meant}
    )


@pytest.mark.parametrize(
    ("given", "meant"), [("ja", True), ("non", False), ("はい", True), ("nie", False), ("vielleicht", "vielleicht")]
)
def test_a_boolean_is_read_in_any_language(given: str, meant: object) -> None:
    schema = {"type": "object", "properties": {"urgent": {"type": "boolean"}}}

    assert read_answer([f"urgent: {given}"], ResponseType.FORM, (), schema) == Matched(
        f"urgent: {given}", value={"urgent": meant}
    )
