"""The small parts of the pages: seals, places, spans of time, posted forms."""

from __future__ import annotations

from datetime import timedelta
from string import ascii_letters, digits
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.pages.cookies import Seal
from bot.web.pages.forms import MOST_FIELDS, BadPost, parse_form
from bot.web.pages.urls import INBOX, Site, onward, sign_in_place
from core.domain.wording import span

SEAL = Seal(b"a key")


def test_what_was_sealed_opens_for_its_purpose() -> None:
    assert SEAL.open("session", SEAL.close("session", {"mail": "zoë@example.com", "until": 7})) == {
        "mail": "zoë@example.com",
        "until": 7,
    }


@pytest.mark.parametrize("made", ["session", "sign-in", "form"])
@pytest.mark.parametrize("used", ["session", "sign-in", "form"])
def test_a_seal_opens_for_its_own_purpose_alone(made: str, used: str) -> None:
    assert (SEAL.open(used, SEAL.close(made, {"mail": "a@example.com"})) is not None) == (made == used)


@pytest.mark.parametrize("purpose", ["session", "sign-in", "form"])
def test_a_form_token_signs_no_seal(purpose: str) -> None:
    """Whoever gets a page to make a token of a text of their choice has no session for it."""
    body, _ = SEAL.close(purpose, {"mail": "a@example.com"}).split(".")
    assert SEAL.open(purpose, f"{body}.{SEAL.mark(purpose, body)}") is None


def test_a_seal_does_not_open_under_another_key() -> None:
    assert SEAL.open("session", Seal(b"another").close("session", {"mail": "a@example.com"})) is None


@given(st.data())
def test_a_seal_changed_anywhere_is_worthless(data: st.DataObject) -> None:
    sealed = SEAL.close("session", {"mail": "a@example.com", "until": 7})
    place = data.draw(st.integers(0, len(sealed) - 1))
    other = data.draw(st.characters(exclude_characters=sealed[place]))
    assert SEAL.open("session", sealed[:place] + other + sealed[place + 1 :]) is None


@given(st.data())
def test_a_seal_has_one_spelling(data: st.DataObject) -> None:
    """What base64 passes over does not make a second cookie or link of the same content."""
    sealed = SEAL.close("session", {"mail": "a@example.com", "until": 7})
    place = data.draw(st.integers(0, len(sealed)))
    more = data.draw(st.text(st.sampled_from("=.-_A \n\r\t%é"), min_size=1, max_size=4))
    assert SEAL.open("session", sealed[:place] + more + sealed[place:]) is None
    assert place == len(sealed) or SEAL.open("session", sealed[:place]) is None


def test_no_other_last_sign_makes_the_same_seal() -> None:
    """The bits that base64 has to spare are none of the seal's."""
    sealed = SEAL.close("session", {"mail": "a@example.com", "until": 7})
    signs = set(f"{ascii_letters}{digits}-_")
    assert [sign for sign in signs if SEAL.open("session", sealed[:-1] + sign) is not None] == [sealed[-1]]


@given(st.text(max_size=80))
def test_no_text_that_somebody_makes_up_is_a_seal(text: str) -> None:
    assert SEAL.open("session", text) is None


def test_form_tokens_differ_by_page_and_by_visitor() -> None:
    token = SEAL.mark("form", "/a/x", "visitor")
    assert SEAL.is_mark(token, "form", "/a/x", "visitor")
    for parts in (("/a/y", "visitor"), ("/a/x", "visitor2"), ("/a/xvisitor", ""), ("", "/a/xvisitor")):
        assert not SEAL.is_mark(token, "form", *parts)
    assert not SEAL.is_mark("é", "form", "/a/x", "visitor")


def test_a_form_that_was_opened_before_an_upgrade_can_be_sent_after_it() -> None:
    before = "04cc2675c3bcee6d4ac58e921143af3ec83113b1e951d9baba7c37415f6e207b"
    assert SEAL.is_mark(before, "form", "/a/x", "visitor")


@pytest.mark.parametrize("place", ["/inbox", "/q/HR-7F3K", "/q/hr-7f3k"])
def test_sign_in_leads_on_to_our_own_pages(place: str) -> None:
    assert onward(place) == place


@pytest.mark.parametrize(
    "elsewhere",
    [
        None,
        "",
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/q/HR-7F3K",
        "https:evil.example",
        "javascript:alert(1)",
        "/q/HR-7F3K/../../evil",
        "/q/HR-7F3K?next=//evil.example",
        "/q/HR-7F3K#x",
        "/q//evil.example",
        "/q/HR-7F3K\n",
        "/inbox\r\nSet-Cookie: a=b",
        "/inbox/",
        "inbox",
        "/signout",
        "/a/abcdefghijklmnopqrstuvwxyz",
        "/q/" + "A" * 65,
    ],
)
def test_sign_in_leads_nowhere_else(elsewhere: str | None) -> None:
    assert onward(elsewhere) == INBOX


def test_the_way_to_sign_in_remembers_where_one_was_going() -> None:
    assert sign_in_place("/q/HR-7F3K") == "/signin?next=/q/HR-7F3K"
    assert sign_in_place(INBOX) == "/signin"


def test_links_keep_the_path_that_the_public_url_has() -> None:
    site = Site("https://example.com/handraise/")
    assert site.path("/inbox") == "/handraise/inbox"
    assert site.url("/q/HR-7F3K") == "https://example.com/handraise/q/HR-7F3K"
    assert Site("http://127.0.0.1:8080").path("/inbox") == "/inbox"


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(minutes=1), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(hours=1), "1 h"),
        (timedelta(hours=3, minutes=20), "3 h 20 min"),
        (timedelta(hours=47, minutes=59), "47 h 59 min"),
        (timedelta(days=2), "2 days"),
        (timedelta(days=9, hours=5), "9 days 5 h"),
    ],
)
def test_spans_read_as_people_say_them(length: timedelta, words: str) -> None:
    assert span(length) == words


def test_a_posted_form_keeps_every_value_and_plain_line_ends() -> None:
    posted = parse_form(b"answer=one%0D%0Atwo&tag=1&tag=2&empty=&zo%C3%AB=%E2%9C%93+ok")
    assert posted.one("answer") == "one\ntwo"
    assert posted.all("tag") == ("1", "2")
    assert posted.one("empty") == ""
    assert posted.one("zoë") == "✓ ok"
    assert posted.one("absent") == ""


@pytest.mark.parametrize(
    "body",
    [
        b"answer=%00",
        b"a%00b=c",
        b"answer=%FF%FE",
        b"answer=%C3",
        b"answer=\xff",
        b"answer=%ED%A0%80",
        b"&".join([b"a=1"] * (MOST_FIELDS + 1)),
    ],
    ids=["nul", "nul in a name", "no UTF-8", "half a character", "raw bytes", "a surrogate", "too many fields"],
)
def test_bytes_that_are_no_text_are_refused(body: bytes) -> None:
    with pytest.raises(BadPost) as refusal:
        parse_form(body)
    assert refusal.value.status == 400


def test_a_field_given_twice_has_no_single_value() -> None:
    with pytest.raises(BadPost):
        parse_form(b"choice=0&choice=1").one("choice")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_form_or_are_refused(body: bytes) -> None:
    for form in (body, quote_from_bytes(body).encode()):
        try:
            posted = parse_form(form)
        except BadPost:
            continue
        assert not any("\x00" in value for values in posted.fields.values() for value in values)
