"""A reply that has HTML and no text part decides as its text would."""

from __future__ import annotations

import pytest

from channels.email.inbound import read_reply
from channels.grammar.reader import Matched, Reading, Unclear
from core.domain.notice import shown_choices
from tests.channels.email.incoming import read
from tests.channels.email.pages import PAGES
from tests.corpus.clients import CLIENTS, TONGUES, Ours
from tests.corpus.load import HERE, QUESTIONS

REFUND = QUESTIONS["refund"]
OURS = Ours.of((HERE / "ours" / "refund.eml").read_bytes())
SAID = ["Approve", "2", "On it", "Yes, please.", "Approve\n\nReason: they paid twice", "I'd rather not approve", "3"]


def reading(body: str, kind: str) -> Reading:
    words = read(body, {"Content-Type": f"{kind}; charset=utf-8", "From": "Alice Doe <alice@example.org>"}).words
    return read_reply(words, REFUND.response_type, shown_choices(REFUND), None, REFUND.question)


@pytest.mark.parametrize("client", PAGES)
@pytest.mark.parametrize("said", SAID)
def test_the_page_of_a_program_is_read_as_its_text(client: str, said: str) -> None:
    assert reading(PAGES[client](said), "text/html") == reading(said, "text/plain")


PAGES_OF_CORPUS = [
    name for name, shape in CLIENTS.items() if name != "stub" and shape("x", TONGUES["en"], OURS)[1] is not None
]


@pytest.mark.parametrize("client", PAGES_OF_CORPUS)
@pytest.mark.parametrize("language", TONGUES)
def test_the_pages_of_the_corpus_decide_without_their_text(client: str, language: str) -> None:
    page = CLIENTS[client]("Approve", TONGUES[language], OURS)[1]

    assert page is not None
    assert isinstance(reading(page, "text/html"), Matched)


SEEN = [
    '<p style="color:#1F497D;background:#fff">Approve</p>',
    '<p style="font:12px/1.4 Arial;margin:0 0 8pt .5in;padding:2px">Approve</p>',
    '<p style="background-color:rgba(0, 0, 0, 0);color:rgba(0,0,0,.87)">Approve</p>',
    '<p style="background:yellow;mso-highlight:yellow">Approve</p>',
    '<table width="100%" bgcolor="#f5f5f5"><tr><td height="20" style="width:10px">Approve</td></tr></table>',
    '<font color="#000080" face="Arial" size="2">Approve</font>',
    "<style>p{color:red;margin:0} .signature{font-size:9pt}</style><p>Approve</p>",
    "<style>.x{display:none}</style><p>Approve</p>",
    "<style>@media (max-width:600px){.card{display:none!important}}</style><p class=reply>Approve</p>",
    '<p>Approve<img src="https://track.example/1" width="1" height="1" style="display:none"></p>',
    "<p>Approve</p><!-- Deny -->",
    "<p>Approve</p><!--[if gte mso 9]><xml></xml><![endif]-->",
    "<div aria-hidden=true>Approve</div>",
    '<p>Approve</p>-- <br>Alice Doe<br><img src="cid:1" alt="Example Inc.">',
    '<p>Approve</p><img src="cid:1" alt="image001.png">',
]


@pytest.mark.parametrize("page", SEEN)
def test_what_hides_nothing_is_no_doubt(page: str) -> None:
    assert isinstance(reading(page, "text/html"), Matched)


def test_the_number_that_a_list_shows_is_read() -> None:
    """Mail programs turn "1. Deny" into a list."""
    listed = read("<ol><li>Deny</li><li value=7>x</li></ol>", {"Content-Type": "text/html"}).words.lines

    assert [line for line in listed if line] == ["1. Deny", "7. x"]
    assert isinstance(reading("<ol><li>Deny refund</li></ol>", "text/html"), Unclear)
    assert reading('<ol start="2"><li>Deny refund</li></ol>', "text/html") == reading("2. Deny refund", "text/plain")


def test_what_a_picture_says_is_asked_about() -> None:
    page = '<p>Approve</p>-- <br>Alice<br><img src="cid:1" alt="only if Bob agrees">'

    assert reading(page, "text/html") == Unclear("below_signature", first=0)


@pytest.mark.parametrize(
    "page",
    [
        '<div style="display:table-column">1</div>',
        '<div style="background:#fff"><div style="z-index:-1;position:relative">1</div></div>',
        '<div style="height:0"><div style="position:relative;height:40px;width:500px;background:#fff"></div></div>'
        "<div>1</div>",
        '<div style="border-left:60000px solid white">1</div>',
        '<table style="width:50000px"><tr><td style="text-align:right">1</td></tr></table>',
        '<img alt="👍" style="display:none">',
        '<img alt="👍" width="0">',
        '<div style="opacity:0"><img alt="👍"></div>',
        '<div><img alt="✅ verified" src="x"></div>',
        '<a href="https://example.org"><img alt="👍" src="like.png"></a>',
        '<ol start="2" style="list-style:none"><li></li></ol>',
        '<ol style="color:#fff"><li></li></ol>',
        '<font face="Wingdings">1</font>',
    ],
)
def test_what_no_browser_shows_is_no_answer(page: str) -> None:
    assert not isinstance(reading(page, "text/html"), Matched)


def test_a_picture_of_a_sign_is_the_sign() -> None:
    assert isinstance(reading('<div><img alt="👍" src="cid:1"></div>', "text/html"), Matched)
