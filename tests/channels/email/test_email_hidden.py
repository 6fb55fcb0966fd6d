"""Words that a browser would not show, beside words that it would: nothing of such a mail decides."""

from __future__ import annotations

import pytest

from channels.email.inbound import read_reply
from channels.grammar.reader import Matched, Reading
from core.domain.notice import shown_choices
from tests.channels.email.incoming import read
from tests.corpus.load import QUESTIONS

REFUND = QUESTIONS["refund"]
HTML = {"Content-Type": "text/html; charset=utf-8"}
STYLES = [
    "display:none",
    "DISPLAY : NONE !important",
    "d\\69splay:none",
    "display:/* block */none",
    "display:block;display:none",
    "visibility:hidden",
    "visibility:collapse",
    "opacity:0",
    "opacity:.01",
    "font-size:0",
    "font-size:1px",
    "font-size:0.05em",
    "font:1px Arial",
    "font-family:Wingdings",
    "color:white",
    "color:#fffffe",
    "color:rgb(255 255 255)",
    "color:hsl(0,0%,99%)",
    "color:rgba(0,0,0,.02)",
    "color:transparent",
    "color:#000;background:#000",
    "color:var(--x)",
    "background-color:1",
    "-webkit-text-fill-color:transparent",
    "position:absolute;left:-9999px",
    "position:fixed;top:0",
    "position:relative;top:-40px",
    "margin-left:-9999px",
    "margin-top:-20px",
    "text-indent:-999em",
    "height:0;overflow:hidden",
    "max-height:0",
    "width:0;overflow:hidden",
    "width:60px;overflow:hidden;white-space:nowrap",
    "line-height:0",
    "letter-spacing:-1em",
    "clip:rect(0,0,0,0)",
    "clip-path:inset(50%)",
    "transform:scale(0)",
    "filter:opacity(0)",
    "mask:url(#m)",
    "zoom:0.01",
    "mso-hide:all",
    "mso-element:comment",
    "content:'x'",
    "float:right",
    "unicode-bidi:bidi-override;direction:rtl",
    "background:url(https://example.org/not.png)",
    "all:unset",
    "-webkit-text-security:disc",
    "unheard-of:1",
    "broken",
]


def doubt_of(page: str) -> str | None:
    return read(page, HTML).words.doubt


@pytest.mark.parametrize("style", STYLES)
def test_an_element_that_could_be_hidden_is_a_doubt(style: str) -> None:
    assert doubt_of(f'<p>Approve</p><p style="{style}">Deny</p>') == "html_alone"


RULES = [
    ".x{display:none}",
    "p.x , u { visibility:hidden }",
    "#y{font-size:0}",
    "div > p.x:not(.z){opacity:0}",
    "[class]{color:#fff}",
    "*{text-indent:-99em}",
    "p{} .x{height:0}",
    "@media all{@supports (color:red){.x{display:none}}}",
    ".a{.x{display:none}}",
    "/* */.X{display:none}",
    "<!-- .x{display:none} -->",
    "\\2e x{}.x{display:none}",
    ".\\78{display:none}",
    "@import url(https://example.org/a.css);",
    "@layer a{.x{display:none}}",
    "@container (width>1px){.x{display:none}}",
    "p{} } .x{display:none}",
    ".x::before{content:'not '}",
    "p:first-child::after{content:' unless Bob agrees'}",
    "@font-face{font-family:a;src:url(a.woff)}",
    "title{display:block}",
    ".x{text-decoration:line-through}",
    "p{font-size:.3em} .x{font-size:50%}",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_could_hide_an_element_is_a_doubt(rule: str) -> None:
    page = f"<head><title>Deny</title><style>{rule}</style></head><div><p>Approve</p><p id=y class=x>Deny</p></div>"

    assert doubt_of(page) == "html_alone"


PAGES = [
    "<p>Approve</p><p hidden>Deny</p>",
    "<p>Approve</p><p popover>Deny</p>",
    '<p>Approve</p><font color="#ffffff">Deny</font>',
    '<p>Approve</p><font color="fffff0">Deny</font>',
    "<p>Approve</p><font color=windowtext>Deny</font>",
    "<body text=white><p>Approve</p>",
    "<body bgcolor=black><p>Approve</p>",
    '<table background="not.png"><tr><td>Approve</td></tr></table>',
    "<p>Approve</p><template>Deny</template>",
    "<p>Approve</p><noscript>Deny</noscript>",
    "<p>Approve</p><details>unless Bob agrees</details>",
    "<p>Approve</p><dialog>Deny</dialog>",
    "<p>Approve</p><title>Deny</title>",
    "<p>Approve</p><textarea>Deny</textarea>",
    "<p>Approve</p><select><option>Deny</select>",
    "<p>Approve</p><svg><text>not</text></svg>",
    "<p>Approve</p><iframe srcdoc='not'></iframe>",
    "<p>Approve</p><object data=not.png></object>",
    "<p>Approve</p><button>not</button>",
    "<p>Approve</p><xmp>not</xmp>",
    "<p>Approve</p><script>document.write('not')</script>",
    "<p>Approve</p><link rel=stylesheet href=a.css>",
    "<p>Approve</p><!--[if mso]><p>unless Bob agrees</p><![endif]-->",
    "<p style='display:none'>Approve</p><img src='cid:deny'>",
    "<p>Approve</p><img src=not.png style='position:absolute;top:0'>",
    "<div style='display:none'/>Approve",
    "<small>" * 8 + "Approve",
    "<p>Approve</p>" + "<div>" * 300 + "unless Bob agrees",
    "<p>Approve</p>" + "<!-- x -->" * 40_000 + "unless Bob agrees",
    "<p>Approve</p><blockquote>— reply above this line —" + "<!-- x -->" * 40_000 + "<style>p{color:#fff}</style>",
    "<blockquote>Bob asked</blockquote><p style='display:none'>Approve</p>",
    "<div style='opacity:0'><p>Approve</p><blockquote>— reply above this line · HR-1 —</blockquote></div>",
    "<p>Approve</p><blockquote>— reply above this line —<b style='position:absolute;top:0'>x</b></blockquote>",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_could_hide_anything_is_a_doubt(page: str) -> None:
    assert doubt_of(page) == "html_alone"


@pytest.mark.parametrize(
    "page",
    [
        "<p>Approve</p><s>not</s>",
        "<p><del>Approve</del></p>",
        "<p style='text-decoration:line-through'>Approve</p>",
        "<p style='text-decoration:underline l\\69ne-through red'>Approve</p>",
        "<p style='text-decoration-line:line-through'>Approve</p>",
    ],
)
def test_what_is_struck_out_is_a_doubt(page: str) -> None:
    assert doubt_of(page) == "struck_out"


def lines_of(page: str) -> list[str]:
    return [line for line in read(page, HTML).words.lines if line]


@pytest.mark.parametrize(
    "end",
    [
        "</body></html>unless Bob agrees",
        "</html><p>unless Bob agrees</p>",
        "</BODY ></HTML ><div>unless Bob agrees</div>",
        "<!--> unless Bob agrees -->",
        "<\0style>unless Bob agrees</style>",
        "<![if !mso]>unless Bob agrees<![endif]>",
        "<head>unless Bob agrees</head>",
        "<table>unless Bob agrees<tr><td></td></tr></table>",
    ],
)
def test_what_a_browser_shows_in_an_odd_place_is_read(end: str) -> None:
    assert any("unless Bob agrees" in line for line in lines_of(f"<html><body><p>Approve</p>{end}"))


def reading(page: str) -> Reading:
    return read_reply(read(page, HTML).words, REFUND.response_type, shown_choices(REFUND), None, REFUND.question)


@pytest.mark.parametrize("page", [f'<p>Approve</p><p style="{one}">not</p>' for one in STYLES] + PAGES)
def test_none_of_them_decides(page: str) -> None:
    assert not isinstance(reading(page), Matched)


def test_what_is_written_behind_the_quote_in_its_container_is_noticed() -> None:
    quote = "<blockquote>— reply above this line · HR-1 —</blockquote>"
    page = f'<p>Approve</p><div class="gmail_quote"><div>{quote}<br></div><div>unless Bob agrees</div></div>'

    assert read(page, HTML).words.below
    assert not read(page.replace("unless Bob agrees", ""), HTML).words.below


def test_what_is_hidden_for_certain_differs_from_a_text_that_says_it() -> None:
    body = (
        "--b\r\nContent-Type: text/plain\r\n\r\nApprove\r\n--b\r\nContent-Type: text/html\r\n\r\n"
        "<p style='display:none'>Approve</p><img src='cid:deny'>\r\n--b--\r\n"
    )

    assert read(body, {"Content-Type": 'multipart/alternative; boundary="b"'}).words.doubt == "html_differs"
