"""What a person may call their signature of the lines around a reply: never their first words, never an answer."""

from __future__ import annotations

from core.domain.signature_lines import KnownLines, Side, SignatureOffer, signature_offer

OPTIONS = ("approve", "Approve refund", "1", "deny", "Deny refund", "2")
SLOGAN = "Never stop innovating."


def offered(*below: str, first: str = "1") -> tuple[str, ...]:
    offer = signature_offer((), below, first=first, options=OPTIONS)
    return () if offer is None else offer.below


def test_lines_keep_their_side_their_order_and_their_letters() -> None:
    offer = signature_offer(["CAUTION: if you…"], [SLOGAN, " If not for you: <b>delete</b>"], first="1", choice=0)
    assert offer == SignatureOffer(("CAUTION: if you…",), (SLOGAN, " If not for you: <b>delete</b>"), 0)


def test_the_first_own_line_is_never_offered() -> None:
    assert offered("But  ONLY after Monday.", SLOGAN, first="but only after monday") == (SLOGAN,)


def test_a_line_that_is_an_option_by_itself_is_never_offered() -> None:
    assert offered("Deny", "2", "2.", "(2)", "#2", "deny refund!", "[ 2 ]", "“Deny”", SLOGAN) == (SLOGAN,)


def test_nothing_is_offered_where_nothing_is_left() -> None:
    assert signature_offer(["", "  "], ["Deny", "1"], first="1", options=OPTIONS) is None


def test_what_is_too_long_is_left_out_and_of_many_lines_the_first_sixty_count() -> None:
    lines = [f"If line {number}" for number in range(70)]
    assert offered("if " * 1400, *lines) == tuple(lines[:60])
    long = ["if " * 1300 + str(number) for number in range(10)]
    assert sum(map(len, offered(*long))) <= 24_000


def test_the_mark_tells_one_offer_from_another() -> None:
    offers = [
        SignatureOffer((), (SLOGAN,)),
        SignatureOffer((SLOGAN,), ()),
        SignatureOffer((), (SLOGAN,), 0),
        SignatureOffer((), (SLOGAN, "If so.")),
    ]
    assert len({offer.mark for offer in offers}) == 4


def test_an_empty_line_and_a_person_of_whom_nothing_is_kept_know_no_line() -> None:
    digests = SignatureOffer((), (SLOGAN, " ")).digests(b"k", "alice@example.com")
    mine = KnownLines("alice@example.com", digests, b"k")
    assert mine.is_known("ＮＥＶＥＲ stop\u00a0innovating.", Side.BELOW)  # the same characters, in other forms
    assert not mine.is_known("  ", Side.BELOW)
    assert not KnownLines("alice@example.com").is_known(SLOGAN, Side.BELOW)


def test_the_key_is_in_no_text() -> None:
    assert "secret" not in repr(KnownLines("alice@example.com", frozenset(), b"secret"))
