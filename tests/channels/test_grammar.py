"""The closed reading: a reply decides only if it can mean nothing else (API.md §6, "What a reply means")."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.grammar.phrases import CLAIM
from channels.grammar.reader import Circumstances, ClaimWord, Matched, Nothing, Reading, Unclear, agrees, read_answer
from core.domain.notice import NoticeChoice, Proposal
from core.domain.suspension import ResponseType

REFUND = (
    NoticeChoice(0, "Approve refund", "approve"),
    NoticeChoice(1, "Deny refund", "deny"),
    NoticeChoice(2, "Do not refund, but apologise", "sorry"),
)
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))


def why(reading: Reading) -> str:
    assert isinstance(reading, Unclear)
    return reading.reason


def choose(text: str, choices: tuple[NoticeChoice, ...] = REFUND, question: str = "") -> Reading:
    return read_answer(text.split("\n"), ResponseType.CHOICE, choices, question=question)


def confirm(text: str, question: str = "") -> Reading:
    return read_answer(text.split("\n"), ResponseType.CONFIRM, YES_NO, question=question)


def index_of(reading: Reading) -> int | None:
    return reading.index if isinstance(reading, Matched) else None


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("2", 1),
        ("#2", 1),
        ("2)", 1),
        ("(2)", 1),
        ("2.", 1),
        ("**2**", 1),
        ("2️⃣", 1),
        ("②", 1),
        ("２", 1),
        ("option 2", 1),
        ("Answer: 2", 1),
        ("Opção 2, obrigada", 1),
        ("2番でお願いします。", 1),
        ("2 please", 1),
        ("Hi,\n\n2\n\nBest regards", 1),
        ("2) Deny refund", 1),
        ("Approve", 0),
        ("APPROVE!", 0),
        ("approve refund.", 0),
        ("Approve refund, thanks", 0),
        ("Approved", 0),
        ("Denied, thank you", 1),
        ("Yes, approved.", 0),
        ("Nicht genehmigt", 1),
        ("Je n’approuve pas", 1),
        ("承認しません", 1),
        ("Do not refund, but apologise", 2),
        ("sorry", 2),
        ("\u200bApp\u00adrove\u202c", 0),
        ("Ａｐｐｒｏｖｅ", 0),
    ],
)
def test_one_option_said_politely_decides(text: str, index: int) -> None:
    assert index_of(choose(text)) == index


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("approve or deny", "no_match"),
        ("approve\ndeny", "no_match"),
        ("approve\napprove", "no_match"),
        ("2) approve", "no_match"),
        ("don't approve", "no_match"),
        ("no reject", "no_match"),
        ("yes, deny", "no_match"),
        ("2, yes please", "no_match"),
        ("2, no", "no_match"),
        ("approve but not today", "no_match"),
        ("Approve. The parcel was damaged.", "no_match"),
        ("ok thanks", "no_match"),
        ("Hi Bob, approve", "no_match"),
        ("“approve”", "no_match"),
        ("approve…", "no_match"),
        ("!approve", "no_match"),
        ("Yes 👍", "no_match"),
        ("👎", "no_match"),
        ("7", "no_such_number"),
        ("Best regards\n2", "no_match"),
        ("approve\n> 100 EUR only", "no_match"),
        ("2\n>", "no_match"),
        ("option approve", "no_match"),
        ("²", "no_match"),
        ("₂", "no_match"),
        ("approve?", "question"),
        ("2\nReason: is it the same card\ufffd", "question"),
        ("approve\nor what do you think?", "question"),
        ("on it, approve", "no_match"),
        ("x " * 1_001, "too_long"),
    ],
)
def test_everything_else_decides_nothing(text: str, reason: str) -> None:
    assert why(choose(text)) == reason


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("yes", 0),
        ("Yes, go ahead", 0),
        ("Yep!", 0),
        ("Ja, gerne", 0),
        ("Oui, allez-y.", 0),
        ("¡Sí, por favor!", 0),
        ("Tak, proszę", 0),
        ("はい、お願いします。", 0),
        ("1", 0),
        ("no", 1),
        ("No, thanks.", 1),
        ("Nein danke", 1),
        ("Nej tack", 1),
        ("Si", 0),
        ("👍", 0),
        ("👍🏽", 0),
        ("✅", 0),
        ("+1", 0),
        ("LGTM, thanks", 0),
    ],
)
def test_a_bare_yes_or_no_is_known_in_ten_languages(text: str, index: int) -> None:
    assert index_of(confirm(text)) == index


@pytest.mark.parametrize("text", ["Doch", "Jo", "Klar", "Pois não", "Tak", "ok", "D'accord", "大丈夫です", "了解"])
def test_a_word_that_may_mean_something_else_somewhere_decides_nothing(text: str) -> None:
    assert isinstance(confirm(text), Unclear)


@pytest.mark.parametrize(
    ("values", "yes", "no"),
    [
        (("approve", "deny"), 0, 1),
        (("deny", "escalate", "proceed"), 2, 0),
        (("allow", "confirm"), None, None),
        (("eu", "us"), None, None),
        (("authorize", "veto"), 0, 1),
    ],
)
def test_yes_and_no_go_with_the_only_choice_whose_value_says_so(
    values: tuple[str, ...], yes: int | None, no: int | None
) -> None:
    choices = tuple(NoticeChoice(at, f"Label {at}", value) for at, value in enumerate(values))

    assert (index_of(choose("yes", choices)), index_of(choose("Nein", choices))) == (yes, no)


@pytest.mark.parametrize("question", ["Deny the refund?", "Approve or deny?"])
def test_yes_to_a_question_that_names_the_other_choice_decides_nothing(question: str) -> None:
    assert index_of(choose("yes", question=question)) is None
    assert index_of(choose("approve", question=question)) == 0
    assert index_of(choose("yes", question="Approve the refund?")) == 0


def test_yes_to_a_question_in_the_words_of_the_other_choice_s_label_decides_nothing() -> None:
    choices = (NoticeChoice(0, "Go ahead", "proceed"), NoticeChoice(1, "Stop it", "veto"))

    assert index_of(choose("yes", choices, "Stop it?")) is None
    assert index_of(choose("yes", choices, "Go ahead with it?")) == 0


def test_a_yes_says_that_it_was_one() -> None:
    assert [choose(text).spoken for text in ("yes", "Yes, approved", "1", "approve")] == [True, True, False, False]  # type: ignore[union-attr]
    assert confirm("Yes") == Matched("Yes", index=0, spoken=True)


# --- The reason ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        "Reason:",
        "reason :",
        "Grund:",
        "Begründung:",
        "Motif:",
        "Raison:",
        "Motivo:",
        "Reden:",
        "Orsak:",
        "Powód:",
        "理由：",
    ],
)
def test_a_block_that_begins_with_reason_goes_with_the_answer(head: str) -> None:
    text = f"2\n\n{head} he never sent it back,\nand no, we can't wait.\n\nBest regards"

    assert choose(text) == Matched("2", index=1, reason="he never sent it back,\nand no, we can't wait.")


@pytest.mark.parametrize("text", ["2\nReason:", "2\n\nReason: \n", "2\nReason:\n\n\nThanks"])
def test_an_empty_reason_is_none(text: str) -> None:
    assert choose(text) == Matched("2", index=1)


@pytest.mark.parametrize(
    "text",
    [
        "2 Reason: x",
        "Reason: 2",
        "2\nfor this reason: no",
        "on it\nReason: x",
        "2\nReason: is it the same card?",
        "2\nReasons: x",
        "2) Deny refund\n\nReason:\n\n1) Approve refund\n\nReason:",
        "2\nReason: approve",
        "approve\nReason: x\nno",
    ],
)
def test_what_only_looks_like_a_reason_or_names_another_option_decides_nothing(text: str) -> None:
    assert isinstance(choose(text), Unclear)


def test_a_reason_is_as_long_as_over_http() -> None:
    assert index_of(choose("2\nReason: " + "x" * 3_000)) == 1
    assert why(choose("2\nReason: " + "x" * 3_001)) == "too_long"


# --- Names --------------------------------------------------------------------------------------------------------


def test_a_number_that_is_another_choice_s_name_is_ambiguous() -> None:
    choices = (NoticeChoice(0, "2", "two"), NoticeChoice(1, "1", "one"))

    assert choose("2", choices) == Unclear("two_choices")
    assert index_of(choose("1) 2", choices)) == 0
    assert index_of(choose("one", choices)) == 1


def test_a_label_that_a_language_reads_as_another_number_is_ambiguous() -> None:
    choices = (NoticeChoice(0, "La 2", "second-line"), NoticeChoice(1, "Other", "other"))

    assert choose("la 2", choices) == Unclear("two_choices")
    assert index_of(choose("1) La 2", choices)) == 0


def test_the_whole_line_is_the_name() -> None:
    choices = (NoticeChoice(0, "Approve", "a"), NoticeChoice(1, "Approve with discount", "d"))

    assert index_of(choose("approve with discount, please", choices)) == 1
    assert index_of(choose("approve", choices)) == 0
    assert index_of(choose("approve with", choices)) is None


def test_a_question_mark_counts_unless_it_is_the_label_s_own() -> None:
    choices = (NoticeChoice(0, "Ask again?", "again"), NoticeChoice(1, "Stop", "stop"))

    assert index_of(choose("ask again?", choices)) == 0
    assert why(choose("ask again?\nThanks?", choices)) == "question"


def test_marks_in_a_label_are_part_of_it() -> None:
    choices = (NoticeChoice(0, "C", "c-89"), NoticeChoice(1, "C++", "cpp"), NoticeChoice(2, "2 %", "two"))

    assert [index_of(choose(text, choices)) for text in ("c", "C++", "2 %")] == [0, 1, 2]


# --- Claims, texts, forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "on it",
        "I’m on it, thanks",
        "Looking",
        "I'll take it!",
        "bin dran",
        "確認します",
        "Deixa comigo, já estou vendo.",
        "Jag jobbar på saken.",
        "Estou tratando disso.",
        "I'm working on it.",
    ],
)
@pytest.mark.parametrize("kind", [ResponseType.CHOICE, ResponseType.TEXT, ResponseType.FORM])
def test_claim_words_alone_claim_and_answer_nothing(text: str, kind: ResponseType) -> None:
    assert isinstance(read_answer([text], kind, REFUND if kind is ResponseType.CHOICE else ()), ClaimWord)


@pytest.mark.parametrize("text", ["looking good", "ack?", "not on it", "on it, but not before Monday", "on it\n2"])
def test_what_only_sounds_like_a_claim_is_none(text: str) -> None:
    assert isinstance(choose(text), Unclear)


@pytest.mark.parametrize(
    "said",
    [
        "On it, back in ten minutes",
        "On it. The warehouse tells me this afternoon where the parcel went, and then I write the text.",
        "We're still checking with the carrier.",
        "Jag arbetar fortfarande med texten.",
        "Kümmern uns drum",
    ],
)
def test_a_text_that_may_be_a_claim_is_put_to_its_writer(said: str) -> None:
    assert read_answer([said], ResponseType.TEXT, ()) == Unclear("claim_or_text", said)


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("ok", True),
        ("Yes, please", True),
        ("confirmed", True),
        ("Yes, exactly.", True),
        ("„Ja“", True),
        ("« oui »", True),
        ("「はい」", True),
        ("Sì, esatto", True),
        ("Tak", False),
        ("1", False),
        ("ok if Bob", False),
        ("no", False),
        ("", False),
    ],
)
def test_a_bare_affirmative_agrees(text: str, yes: bool) -> None:
    assert agrees(text.split("\n")) is yes


def test_tak_is_a_yes_from_who_writes_polish_alone() -> None:
    assert agrees(["Tak"], "pl")
    assert not agrees(["Tak"], "sv")
    assert isinstance(read_answer(["Tak."], ResponseType.CONFIRM, YES_NO, known=Circumstances(language="pl")), Matched)
    assert isinstance(read_answer(["Tak."], ResponseType.CONFIRM, YES_NO, known=Circumstances(language="de")), Unclear)


@pytest.mark.parametrize(
    "text",
    [
        "Approved, thx Robin",
        "Hi Robin,\n\nApprove",
        "Hello Handraise,\napprove",
        "Hola:\nApprove",
        "Dear Alice,\n1",
        "approve\n\nVG Robin",
        "approve\n\nVG\nRobin",
    ],
)
def test_a_name_in_a_greeting_in_thanks_or_below_a_farewell_says_nothing(text: str) -> None:
    assert index_of(choose(text)) == 0


@pytest.mark.parametrize(
    "text",
    [
        "approve, thanks but no",
        "approve thanks Not",
        "approve\n\nThanks,\nWait",
        "approve\n\nVG\nDeny",
        "approve\n\nRobin",
        "Hi Bob, approve",
        "approve\nthanks robin",
        "approve\n\nRegards,\nNur Mit Beleg",
        "approve\n\nCheers\nAls Bob Wil",
    ],
)
def test_what_could_speak_is_no_name(text: str) -> None:
    assert isinstance(choose(text), Unclear)


@pytest.mark.parametrize(
    "text",
    [
        "Genehmigt, bitte Teilzahlung",
        "1, bitte Ratenzahlung",
        "1, graag Korting",
        "Approve please Exclude Shipping",
        "1, merci Remboursement Partiel",
        "1\n\nThanks\nOption Two",
        "1\n\nCheers\nTwo",
        "1\n\nGrüße\nZwei",
        "approve\n\nThanks\nDisapproved",
        "approve\n\nThanks\nRevoke",
        "approve\n\nLG\nStorniert",
        "approve\n\nSaludos\nAnulado",
        "approve\n\nThanks\nJust Kidding",
        "approve\n\nThanks\nBob Disagrees",
        "approve\n\nThanks\nProvisionally",
        "approve\nHi Bob Disagrees",
        "1\nDear Two",
        "1\n\nCaro",
    ],
)
def test_a_capital_makes_no_name(text: str) -> None:
    assert isinstance(choose(text), Unclear)


def test_all_names_of_the_writer_are_names() -> None:
    known = Circumstances(writer="Robin Muster <rm@example.com>")

    for text in ("approve\n\nVG\nRobin Muster", "approve, thanks Robin Muster"):
        assert isinstance(read_answer(text.split("\n"), ResponseType.CHOICE, REFUND, known=known), Matched), text
        assert isinstance(choose(text), Unclear), text


@pytest.mark.parametrize("words", ["ok", "confirmed", "Yes"])
def test_a_yes_that_may_be_to_the_question_is_no_yes_to_another_proposal(words: str) -> None:
    """It answers the first mail, and the last one proposed to deny."""
    known = Circumstances((None, Proposal(1, "deny")))
    same = Circumstances((None, Proposal(0, "approve")))

    assert read_answer([words], ResponseType.CHOICE, REFUND, known=known) == Unclear("not_proposed")
    assert index_of(read_answer([words], ResponseType.CHOICE, REFUND, known=same)) == 0


def test_a_yes_to_a_question_for_a_text_may_be_the_text() -> None:
    known = Circumstances((None, Proposal(None, "It comes on Friday?")))

    assert isinstance(read_answer(["Correct"], ResponseType.TEXT, (), known=known), Unclear)


def test_a_name_that_is_an_option_is_no_name() -> None:
    choices = (NoticeChoice(0, "Frankfurt", "eu-central-1"), NoticeChoice(1, "Paris", "eu-west-3"))

    assert index_of(choose("1, thanks Robin", choices)) == 0
    assert isinstance(choose("1, thanks Paris", choices), Unclear)
    assert isinstance(choose("Hi Paris,\n1", choices), Unclear)


@pytest.mark.parametrize("lines", [[], [""], ["  ", "\t"], ["> approve"], ["> 1", ">> 2"]])
@pytest.mark.parametrize("kind", list(ResponseType))
def test_no_words_say_nothing(lines: list[str], kind: ResponseType) -> None:
    assert read_answer(lines, kind, REFUND) == Nothing()


def test_a_text_question_takes_all_that_was_written() -> None:
    text = "Ship it to Oslo.\n\nNo, wait: to Bergen."

    assert read_answer([*text.split("\n"), "", "Best regards"], ResponseType.TEXT, ()) == Matched(text, value=text)


@pytest.mark.parametrize(
    "text", ["Which delivery? ACME has three.", "Why is it late？", "Le colis arrive lundi ; d\u037e"]
)
def test_a_text_that_asks_something_is_for_its_writer_to_confirm(text: str) -> None:
    assert read_answer([text], ResponseType.TEXT, ()) == Unclear("question", text)


def test_a_text_too_long_to_be_shown_whole_is_not_put_to_its_writer() -> None:
    assert read_answer(["Why? " * 500], ResponseType.TEXT, ()) == Unclear("question")


@pytest.mark.parametrize("text", ["???", "👍", "...", "--"])
def test_signs_are_no_text(text: str) -> None:
    assert read_answer([text], ResponseType.TEXT, ()) == Unclear("no_words")


def test_a_farewell_alone_is_no_text() -> None:
    assert read_answer(["Best regards"], ResponseType.TEXT, ()) == Nothing()


@pytest.mark.parametrize("text", ["ja ja", "Ja, ja.", "yes yes", "sì, sì", "Yes, yes, approve"])
def test_a_yes_that_is_said_twice_is_none(text: str) -> None:
    assert isinstance(choose(text), Unclear)


# --- Whatever is written ------------------------------------------------------------------------------------------


@given(phrase=st.sampled_from(sorted(CLAIM.listed)), choice=st.sampled_from(["approve", "2", "deny refund"]))
def test_a_claim_beside_a_choice_is_neither(phrase: tuple[str, ...], choice: str) -> None:
    assert isinstance(choose(f"{' '.join(phrase)}\n{choice}"), Unclear)


@given(text=st.text(max_size=200), kind=st.sampled_from(list(ResponseType)))
@example(text="\x00\n\ud800", kind=ResponseType.CHOICE)
@example(text="1" * 200, kind=ResponseType.FORM)
def test_any_text_is_read_without_failing(text: str, kind: ResponseType) -> None:
    assert isinstance(read_answer(text.split("\n"), kind, REFUND), Matched | ClaimWord | Unclear | Nothing)


@given(lines=st.lists(st.text(max_size=30).map(lambda text: "> " + " ".join(text.split())), max_size=6))
def test_quoted_lines_never_answer(lines: list[str]) -> None:
    assert choose("\n".join([*lines, "> approve", ">2"])) == Nothing()
