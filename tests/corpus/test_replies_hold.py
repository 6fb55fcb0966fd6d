"""What holds for any reply, in any language and program."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.replies import MailRules, read_mail
from channels.email.trim import OwnWords
from channels.grammar import Matched, Reading, read_answer
from channels.phrases import Line
from channels.vocabulary import CONCEPTS, DOUBT, NEGATION, NO, YES
from channels.words import LOCALES
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.corpus.clients import CLIENTS, TONGUES, Ours, mail
from tests.corpus.load import HERE
from tests.corpus.replies import PLAIN

RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com"), SenderAuth.TOKEN_ONLY, "mx.example.com"
)
OURS = {one: Ours.of((HERE / "ours" / f"{one}.eml").read_bytes()) for one in ("refund", "region", "deploy")}
REFUND = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))
WHOLE = sorted({*CLIENTS} - {"bottom-posted", "bare"})


def choose(text: str, choices: tuple[NoticeChoice, ...] = REFUND) -> Reading:
    return read_answer(text.split("\n"), ResponseType.CHOICE, choices)


def _listed(*names: str) -> list[str]:
    return sorted(
        {one.strip() for words in LOCALES.values() for name in names for one in getattr(words, name).split(",")} - {""}
    )


ANY_WORDS = st.lists(
    st.sampled_from(
        [*_listed("yes", "no", "approve", "deny", "doubt", "polite", "filler", "lead_in", "claim", "subject")]
    )
    | st.sampled_from(["1", "2", "３", "①", "Bob", ",", ".", "\n", "?", "👍", "👎", "、", "。"])
    | st.text(max_size=8),
    max_size=7,
).map(" ".join)


@given(text=ANY_WORDS)
def test_an_answer_is_read_only_where_the_first_lines_name_that_choice(text: str) -> None:
    reading = choose(text)

    if isinstance(reading, Matched):
        assert reading.index in {0, 1}
        top = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(">")][:3]
        words = [Line.of(line).words for line in top]
        meant = (
            (YES, NO)[reading.index].listed | {(str(reading.index + 1),)} | {Line.of(REFUND[reading.index].label).words}
        )
        assert any(line[at : at + size] in meant for line in words for at in range(len(line)) for size in range(1, 8))


@pytest.mark.parametrize("client", WHOLE)
@settings(max_examples=15, deadline=None)
@given(
    language=st.sampled_from(sorted(TONGUES)),
    ours=st.sampled_from(sorted(OURS)),
    own=st.sampled_from([reply.own for reply in PLAIN]) | st.sampled_from(["", "Approve", "はい", "wait", "> hm"]),
)
def test_our_own_mail_quoted_below_in_any_program_says_nothing(client: str, language: str, ours: str, own: str) -> None:
    words = read_mail(mail(client, language, own, OURS[ours]), RULES).words

    assert _flat(words) == _flat(read_mail(mail("bare", language, own, OURS[ours]), RULES).words)


def _flat(words: OwnWords) -> list[str]:
    return [" ".join(line.split()) for line in words.lines if line.strip()]


ANSWERS = sorted(
    {"1", "2", "Approve refund", "deny"}
    | {" ".join(one) for name in ("approve", "deny") for one in CONCEPTS[name].listed if len(one) == 1}
)
NEGATIVE = sorted({" ".join(one) for one in NEGATION.listed} | {"don't", "isn't", "ne", "n'est"})


@given(
    answer=st.sampled_from(ANSWERS),
    negation=st.sampled_from(NEGATIVE),
    before=st.booleans(),
    gap=st.sampled_from([" ", ", "]),
)
def test_a_negation_beside_a_choice_is_never_that_choice(answer: str, negation: str, before: bool, gap: str) -> None:
    """Nor the other one, unless the language itself says so: «nicht genehmigt» denies."""
    text = f"{negation}{gap}{answer}" if before else f"{answer}{gap}{negation}"
    plain, negated = choose(answer), choose(text)

    if isinstance(negated, Matched):
        whole = Line.of(text.replace(",", "")).words
        no_up_front = before and gap == ", " and Line.of(negation).words in NO.listed
        assert negated.index == 1
        assert whole in CONCEPTS["deny"].listed or (no_up_front and isinstance(plain, Matched) and plain.index == 1)


@given(
    verb=st.sampled_from(["承認", "許可", "却下", "返金を承認", "はい、承認", "同意"]),
    end=st.sampled_from(
        [
            "しません",
            "できません",
            "しかねます",
            "しないでください",
            "するかもしれません",
            "しますか",
            "すべきでしょうか",
            "待ち",
            "は見送り",
            "ではない",
        ]
    ),
)
def test_japanese_is_not_read_up_to_the_middle_of_a_verb(verb: str, end: str) -> None:
    for choices in (REFUND, YES_NO):
        reading = choose(verb + end, choices)
        assert not isinstance(reading, Matched) or (reading.index == 1 and verb != "却下")


@given(
    language=st.sampled_from(sorted(LOCALES)),
    condition=st.sampled_from(sorted(" ".join(one) for one in DOUBT.listed)),
    place=st.sampled_from(["{yes} {doubt}", "{yes}, {doubt}", "{doubt} {yes}", "{yes}\n{doubt}", "{yes}. {doubt} Bob"]),
)
def test_a_doubt_of_any_language_beside_a_yes_of_any_is_no_yes(language: str, condition: str, place: str) -> None:
    assume(not isinstance(choose(condition.split(maxsplit=1)[0], YES_NO), Matched))  # "ok thank you" takes no yes back
    text = place.format(yes=LOCALES[language].yes.split(",")[0], doubt=condition)
    reading = choose(text, YES_NO)

    assert not isinstance(reading, Matched), text
