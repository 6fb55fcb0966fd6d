"""What is found in a text, what stands in its place, and what is left alone (RFC-0026 §11)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.domain.redaction.finders import TextFinder
from core.domain.redaction.kinds import WITHHELD, FindingKind
from core.domain.redaction.patterns import compile_pattern, luhn
from tests.core.domain.redaction_examples import ORDINARY, PLANTED, SAID

FINDER = TextFinder()
SECRETS = [(kind, secret) for kind, secrets in PLANTED.items() for secret in secrets]

planted = st.sampled_from([secret for _, secret in SECRETS])
around = st.sampled_from(
    ["", " ", "\n", "Is it ", "\t(", ") or ", ", ", '"', "'", ": ", " – ", "order 12345 ", ";", "\u2028"]
)
fragment = st.one_of(
    planted,
    st.sampled_from(
        [*SAID, *ORDINARY, WITHHELD, FindingKind.CARD.mark, "[redacted: ", "]", "password", ":", "=", " ", "\n"]
    ),
    st.text(max_size=8),
)


def redacted(text: str) -> str:
    return FINDER.redact(text)[0]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_each_kind_gives_way_to_a_mark_that_names_it(kind: FindingKind, secret: str) -> None:
    assert redacted(f"Is {secret} right?") == f"Is [redacted: {kind}] right?"
    assert FINDER.redact(secret) == (kind.mark, (kind,))


@pytest.mark.parametrize(("text", "secret"), SAID.items())
def test_what_the_words_before_it_call_a_secret_is_one(text: str, secret: str) -> None:
    assert secret not in redacted(text)
    assert redacted(text).startswith(text.partition(secret)[0].rpartition("Bearer ")[0][:4])


@pytest.mark.parametrize("text", ORDINARY)
def test_what_questions_are_about_stays(text: str) -> None:
    assert redacted(text) == text


def test_the_rest_of_the_text_stays_as_it_is() -> None:
    text = 'Charge 4111 1111 1111 1111 12/27 for "order 9", {"password": "x y", "n": 5}?'
    assert redacted(text) == (
        'Charge [redacted: card number] 12/27 for "order 9", {"password": "[redacted: password]", "n": 5}?'
    )


def test_a_number_that_fails_its_checksum_is_no_card_and_no_account() -> None:
    assert not luhn("4111111111111112")
    for wrong in ("4111 1111 1111 1112", "DE88370400440532013000"):
        assert redacted(wrong) == wrong


@given(st.lists(around, max_size=3), planted, st.lists(around, max_size=3))
def test_no_secret_is_left_whatever_stands_around_it(before: list[str], secret: str, behind: list[str]) -> None:
    assert secret not in redacted(f"{''.join(before)} {secret} {''.join(behind)}")


@given(st.lists(fragment, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redacted(text)
    assert FINDER.redact(once) == (once, ())


@given(st.text(st.characters(categories=["L", "Zs", "Po"], exclude_characters="@:"), max_size=200))
def test_words_are_left_as_they_are(text: str) -> None:
    assert redacted(text) == text


@given(
    st.one_of(
        st.uuids().map(str),
        st.dates().map(str),
        st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
        st.integers(0, 10**12).map(str),
        st.decimals(0, 10**9, places=2).map(lambda amount: f"{amount:,} EUR"),
        st.from_regex(r"\AORD-[0-9]{4,12}\Z"),
        st.from_regex(r"\A[0-9]{3}-[0-9]{4}-[0-9]{4}\Z"),
    )
)
@example("efe8b5a8-aeda-6a57-be28-dca7bdba7e56")  # its end has the form of a Belgian IBAN
def test_ids_dates_and_amounts_are_left_as_they_are(text: str) -> None:
    assert redacted(f"Release {text} now?") == f"Release {text} now?"


def test_what_an_installation_wants_to_show_is_kept() -> None:
    finder = TextFinder(keep=frozenset({FindingKind.EMAIL}))
    text = "Refund alice@customer.example, card 4111111111111111?"
    assert finder.redact(text)[0] == "Refund alice@customer.example, card [redacted: card number]?"


def test_own_patterns_are_found_beside_the_known_kinds() -> None:
    finder = TextFinder((compile_pattern(r"\bEMP-\d+\b"),))
    assert finder.redact("EMP-4711 and bob@example.com")[0] == "[redacted] and [redacted: e-mail address]"


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"\bKunde \w+", "Kunde Müller"),
        (r"[^\W\d_]+-\d{4}", "Müller-4711"),
        (r"\bÜ\d{6}\b", "Ü471100"),
        (r"Kunde\s\d+", "Kunde\u00a04711"),
        (r"KD\d+", "KD４７１１"),
        (r"(?<!\d)\d{9}(?!\d)", "471100815"),
    ],
)
def test_an_own_pattern_means_what_it_means_to_python(pattern: str, named: str) -> None:
    """Its letters, digits, spaces and boundaries are those of every script (docs/decisions/0047-libraries.md)."""
    assert TextFinder((compile_pattern(pattern),)).redact(f"An {named}.")[0] == f"An {WITHHELD}."


def test_an_own_pattern_that_describes_a_mark_does_not_eat_marks() -> None:
    finder = TextFinder((compile_pattern("redacted|card"),))
    once = finder.redact("card 4111111111111111")[0]
    assert once == "[redacted] [redacted: card number]"
    assert finder.redact(once)[0] == once


def test_an_own_pattern_is_found_anywhere_in_a_long_text() -> None:
    finder = TextFinder((compile_pattern(r"EMP-\d{60}"),))
    for offset in range(0, 700, 13):
        text = f"{'x' * offset} EMP-{'7' * 60} {'y' * (700 - offset)}"
        assert finder.redact(text)[0] == text.replace(f"EMP-{'7' * 60}", WITHHELD)


def test_text_made_to_go_on_for_ever_is_withheld() -> None:
    """Each mark sets free what stood behind it: a boundary where there was none."""
    finder = TextFinder((compile_pattern(r"\bq\d"),))
    assert finder.redact("q1" * 50) == (WITHHELD, (FindingKind.PRIVATE,))


@given(st.lists(fragment, max_size=12).map("".join), st.integers(0, 120))
def test_the_beginning_of_a_text_is_redacted_as_in_the_whole_of_it(text: str, most: int) -> None:
    """Also where a secret goes on beyond it."""
    whole, beginning = redacted(text), FINDER.redact(text, most)[0]
    assert whole.startswith(beginning) or whole == WITHHELD


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (0, ""),
        (7, "Charge "),
        (8, "Charge [redacted: card number]"),
        (26, "Charge [redacted: card number]"),
        (28, "Charge [redacted: card number] n"),
        (99, "Charge [redacted: card number] now"),
    ],
)
def test_a_secret_at_the_end_of_what_is_shown_gives_way_whole(most: int, shown: str) -> None:
    assert FINDER.redact("Charge 4111 1111 1111 1111 now", most)[0] == shown


def test_what_is_far_behind_the_end_is_not_even_looked_at() -> None:
    """What that costs does not grow with the text."""
    assert FINDER.redact("a" + " 4111" * 100_000, 1) == ("a", ())
