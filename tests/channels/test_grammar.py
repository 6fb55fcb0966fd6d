"""The strict grammar: a clear answer is read, a doubt never is (facts on mail §B4)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.grammar import ClaimWord, Matched, Nothing, Reading, Unclear, read_answer
from channels.vocabulary import CLAIM
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType

REFUND = (
    NoticeChoice(0, "Approve refund", "approve"),
    NoticeChoice(1, "Deny refund", "deny"),
    NoticeChoice(2, "Do not refund, but apologise", "sorry"),
)
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))


def choose(text: str, choices: tuple[NoticeChoice, ...] = REFUND) -> Reading:
    return read_answer(text.split("\n"), ResponseType.CHOICE, choices)


def confirm(text: str) -> Reading:
    return read_answer(text.split("\n"), ResponseType.CONFIRM, YES_NO)


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
        ("2️⃣", 1),
        ("option 2", 1),
        ("2 please", 1),
        ("ok, let's go with 2", 1),
        ("2) Deny refund", 1),
        ("1) Approve refund\n", 0),
        ("Approve", 0),
        ("APPROVE!", 0),
        ("approve refund.", 0),
        ("**Approve**", 0),
        ("Approved", 0),
        ("Denied, thanks", 1),
        ("Please approve it.", 0),
        ("I approve", 0),
        ("approve the refund please", 0),
        ("Approve, no problem", 0),
        ("approve because he is a good customer", 0),
        ("Do not refund, but apologise", 2),
        ("do not refund, but apologise please", 2),
        ("sorry", 2),
        ("Hi team,\n\nApprove", 0),
        ("Approve\n\nThanks,\nAlice", 0),
        ("Checked everything.\nApprove", 0),
        ("Approve\nTel. +1 415 555 0199", 0),
        ("\u200bApp\u00adrove\u202c", 0),
        ("Ａｐｐｒｏｖｅ", 0),
    ],
)
def test_a_clear_choice_is_read(text: str, index: int) -> None:
    assert index_of(choose(text)) == index


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("approve or deny", "two_choices"),
        ("approve\ndeny", "two_choices"),
        ("1, 2", "two_choices"),
        ("2) approve", "two_choices"),
        ("Approve. I mean 2", "two_choices"),
        ("not approve", "no_match"),
        ("don't approve", "no_match"),
        ("approve?", "question"),
        ("approve\nor what do you think?", "question"),
        ("approve but not today", "doubt"),
        ("approve, unless it is above 500", "doubt"),
        ("approve\nwait", "doubt"),
        ("approve tomorrow", "doubt"),
        ("approve if Bob agrees", "doubt"),
        ("Approve\nActually, scratch that", "doubt"),
        ("approve, I'll check the order", "doubt"),
        ("approved by Bob already", "no_match"),
        ("approve rates are low", "no_match"),
        ("approve-ish", "no_match"),
        ("2 issues with this", "no_match"),
        ("2) the price seems high", "no_match"),
        ("ask Bob to\napprove", "no_match"),
        ("Bob will approve", "no_match"),
        ("Refund was done", "no_match"),
        ("yes", "no_match"),
        ("👍", "no_match"),
        ("7", "no_such_number"),
        ("on it, approve", "claim_and_choice"),
        ("approve " + "because of reasons " * 40, "too_long"),
        ("x" * 5_000, "too_long"),
    ],
)
def test_a_doubtful_choice_is_never_an_answer(text: str, reason: str) -> None:
    assert choose(text) == Unclear(reason)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("yes", 0),
        ("Yes, go ahead", 0),
        ("yes please do it", 0),
        ("Yep!", 0),
        ("y", 0),
        ("ok", 0),
        ("LGTM", 0),
        ("sure, thanks", 0),
        ("agreed, thanks", 0),
        ("yes, no objections", 0),
        ("Ja, gerne", 0),
        ("in Ordnung", 0),
        ("1", 0),
        ("no", 1),
        ("No, thanks.", 1),
        ("no way", 1),
        ("nope", 1),
        ("Nein danke", 1),
        ("no, too expensive", 1),
    ],
)
def test_yes_and_no_have_many_words(text: str, index: int) -> None:
    assert index_of(confirm(text)) == index


@pytest.mark.parametrize(
    "text",
    [
        "yes but",
        "not yet",
        "no wait",
        "yes no",
        "yes\nno",
        "no problem",
        "no worries, go ahead",
        "no idea",
        "ok thanks",
        "ok, noted",
        "ok, I see",
        "Yes, I saw it",
        "yes, after lunch",
        "no, don't",
        "ok, I'll look into it",
        "ok\nwill check tomorrow",
        "N. Okafor",
        "ja, aber erst morgen",
        "nicht",
        "sure?",
    ],
)
def test_a_yes_or_no_with_a_doubt_is_never_an_answer(text: str) -> None:
    assert isinstance(confirm(text), Unclear)


@pytest.mark.parametrize(
    "text",
    ["on it", "I’m on it, thanks", "ok, on it", "ack", "Looking", "looking into it now", "I'll take it!", "bin dran"],
)
@pytest.mark.parametrize("kind", [ResponseType.CHOICE, ResponseType.TEXT, ResponseType.FORM])
def test_claim_words_claim_and_answer_nothing(text: str, kind: ResponseType) -> None:
    assert isinstance(read_answer([text], kind, REFUND if kind is ResponseType.CHOICE else ()), ClaimWord)


@pytest.mark.parametrize("text", ["looking good", "looking forward to it", "ack?", "not on it"])
def test_what_only_sounds_like_a_claim_is_none(text: str) -> None:
    assert isinstance(choose(text), Unclear)


def test_what_follows_the_choice_is_its_reason() -> None:
    reading = choose("Deny, the amount is above what he paid.")

    assert isinstance(reading, Matched)
    assert reading.reason == "the amount is above what he paid."


@pytest.mark.parametrize("text", ["2) Deny refund", "deny it, please", "Denied. Thanks"])
def test_the_choice_said_again_and_politeness_are_no_reason(text: str) -> None:
    reading = choose(text)

    assert isinstance(reading, Matched)
    assert reading.reason is None


def test_a_number_that_is_another_choice_s_name_is_ambiguous() -> None:
    choices = (NoticeChoice(0, "2", "two"), NoticeChoice(1, "1", "one"))

    assert choose("2", choices) == Unclear("two_choices")


def test_the_longer_name_wins_over_the_one_it_begins_with() -> None:
    choices = (NoticeChoice(0, "Approve", "a"), NoticeChoice(1, "Approve with discount", "d"))

    assert index_of(choose("approve with discount, please", choices)) == 1
    assert index_of(choose("approve", choices)) == 0


def test_a_label_with_a_question_mark_is_read_where_it_is_the_whole_line() -> None:
    choices = (NoticeChoice(0, "Ask again?", "again"), NoticeChoice(1, "Stop", "stop"))

    assert index_of(choose("ask again?", choices)) == 0


@pytest.mark.parametrize("lines", [[], [""], ["  ", "\t"], ["> approve"], ["> 1", ">> 2"]])
@pytest.mark.parametrize("kind", list(ResponseType))
def test_no_words_say_nothing(lines: list[str], kind: ResponseType) -> None:
    assert read_answer(lines, kind, REFUND) == Nothing()


def test_a_text_question_takes_all_that_was_written() -> None:
    reading = read_answer(["Ship it to Oslo.", "", "No, wait: to Bergen?"], ResponseType.TEXT, ())

    assert reading == Matched(
        "Ship it to Oslo.\n\nNo, wait: to Bergen?", value="Ship it to Oslo.\n\nNo, wait: to Bergen?"
    )


SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer"},
        "ship_to": {"type": "string", "title": "Ship to"},
        "express": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "rate": {"type": "number"},
    },
}


def fill_in(text: str) -> Reading:
    return read_answer(text.split("\n"), ResponseType.FORM, (), SCHEMA)


def test_a_form_is_filled_in_line_by_line_in_the_schema_s_types() -> None:
    reading = fill_in(
        "Hi,\n\nAmount: 12\nShip to: Main Street 5\nOslo\nexpress: yes\ntags: a, b\nrate: 0.5\n\nThanks, Bo"
    )

    assert isinstance(reading, Matched)
    assert reading.value == {
        "amount": 12,
        "ship_to": "Main Street 5\nOslo",
        "express": True,
        "tags": ["a", "b"],
        "rate": 0.5,
    }


def test_a_form_field_of_the_wrong_type_is_left_for_the_engine_to_refuse() -> None:
    assert fill_in("amount: a dozen") == Matched("amount: a dozen", value={"amount": "a dozen"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("looks fine to me", "no_field"),
        ("colour: red", "unknown_field"),
        ("amount: 1\namount: 2", "field_given_twice"),
    ],
)
def test_a_form_that_is_not_filled_in_is_asked_about(text: str, reason: str) -> None:
    assert fill_in(text) == Unclear(reason)


# --- Properties ---------------------------------------------------------------------------------------------------

ANSWERS = ["2", "approve", "Deny refund", "please approve it", "1) Approve refund", "deny, too expensive", "ok, 2"]
DOUBTS = ["not", "don't", "no", "never", "but", "unless", "wait", "if", "maybe", "nicht", "aber", "cannot", "isn't"]


@given(answer=st.sampled_from(ANSWERS), doubt=st.sampled_from(DOUBTS), place=st.integers(0, 5))
def test_a_doubt_put_anywhere_into_an_answer_unmakes_it(answer: str, doubt: str, place: int) -> None:
    words = answer.split(" ")
    words.insert(min(place, len(words)), doubt)

    assert not isinstance(choose(" ".join(words)), Matched)


@given(answer=st.sampled_from(ANSWERS), doubt=st.sampled_from(DOUBTS), line=st.integers(0, 2))
def test_a_doubt_on_a_line_near_an_answer_unmakes_it(answer: str, doubt: str, line: int) -> None:
    lines = [answer, "Thanks"]
    lines.insert(line, f"well, {doubt}")

    assert not isinstance(choose("\n".join(lines)), Matched)


@given(
    first=st.sampled_from(["1", "approve", "Approve refund", "#1"]),
    second=st.sampled_from(["2", "deny", "Deny refund", "(2)"]),
    between=st.sampled_from([" ", ", ", "\n", " / ", " - ", ". ", "; "]),
    turned=st.booleans(),
)
def test_two_choices_named_are_never_an_answer(first: str, second: str, between: str, turned: bool) -> None:
    said = [second, first] if turned else [first, second]

    assert not isinstance(choose(between.join(said)), Matched)


@given(lines=st.lists(st.text(max_size=30).map(lambda text: "> " + " ".join(text.split())), max_size=6))
def test_quoted_lines_never_answer(lines: list[str]) -> None:
    assert choose("\n".join([*lines, "> approve", ">2"])) == Nothing()


@given(phrase=st.sampled_from(sorted(CLAIM.listed)), choice=st.sampled_from(["approve", "2", "deny refund"]))
def test_a_claim_beside_a_choice_is_neither(phrase: tuple[str, ...], choice: str) -> None:
    reading = choose(f"{' '.join(phrase)}\n{choice}")

    assert not isinstance(reading, Matched | ClaimWord)


@given(text=st.text(max_size=200), kind=st.sampled_from(list(ResponseType)))
@example(text="\x00\n\ud800", kind=ResponseType.CHOICE)
@example(text="1" * 200, kind=ResponseType.FORM)
def test_any_text_is_read_without_failing(text: str, kind: ResponseType) -> None:
    assert isinstance(read_answer(text.split("\n"), kind, REFUND, SCHEMA), Matched | ClaimWord | Unclear | Nothing)


@given(
    index=st.integers(0, 2), number=st.booleans(), mark=st.sampled_from(["", ".", "!", ")", ",", " please", ", thanks"])
)
def test_what_the_notice_shows_is_always_an_answer(index: int, number: bool, mark: str) -> None:
    choice = REFUND[index]

    assert index_of(choose((str(choice.number) if number else choice.label) + mark)) == index
