"""Replies that have no text part, as the usual programs write them: the whole page, from a person's words.

Modelled by hand after what the programs are known to write, with their style sheets, conditional comments and
attributes; nothing is copied from anybody's mailbox. What is quoted is a mail of ours as it was sent.
"""

from __future__ import annotations

import html
from collections.abc import Callable

from tests.corpus.clients import Ours
from tests.corpus.load import HERE

_OURS = Ours.of((HERE / "ours" / "refund.eml").read_bytes())
_US = "Handraise &lt;handraise@example.com&gt;"
_SIGNED = "Alice Doe<br>Head of Refunds<br>Example Inc., 12 High Street, Leeds"


def _each(own: str, line: str, empty: str = "<br>") -> str:
    return "".join(line.format(html.escape(one) or empty) for one in own.split("\n"))


_WORD_STYLE = """<style><!--
/* Font Definitions */
@font-face
	{font-family:"Cambria Math";
	panose-1:2 4 5 3 5 4 6 3 2 4;}
@font-face
	{font-family:Aptos;
	panose-1:2 11 0 4 2 2 2 2 2 4;}
/* Style Definitions */
p.MsoNormal, li.MsoNormal, div.MsoNormal
	{margin:0in;
	font-size:11.0pt;
	font-family:"Calibri",sans-serif;
	mso-ligatures:standardcontextual;}
a:link, span.MsoHyperlink
	{mso-style-priority:99;
	color:#0563C1;
	text-decoration:underline;}
span.EmailStyle17
	{mso-style-type:personal-reply;
	font-family:"Calibri",sans-serif;
	color:windowtext;}
.MsoChpDefault
	{mso-style-type:export-only;
	font-size:10.0pt;
	mso-ligatures:none;}
@page WordSection1
	{size:8.5in 11.0in;
	margin:1.0in 1.0in 1.0in 1.0in;}
div.WordSection1
	{page:WordSection1;}
--></style>"""


def outlook(own: str) -> str:
    line = (
        "<p class=MsoNormal style='margin-bottom:8.0pt;line-height:107%'><span lang=EN-GB style='font-size:11.0pt;"
        'font-family:"Calibri",sans-serif;color:#1F497D;mso-fareast-language:EN-US\'>{}<o:p></o:p></span></p>'
    )
    return (
        '<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" '
        'xmlns="http://www.w3.org/TR/REC-html40"><head><META HTTP-EQUIV="Content-Type" CONTENT="text/html; '
        'charset=utf-8"><meta name=Generator content="Microsoft Word 15 (filtered medium)"><!--[if !mso]><style>'
        f"v\\:* {{behavior:url(#default#VML);}}</style><![endif]-->{_WORD_STYLE}<!--[if gte mso 9]><xml>"
        '<o:shapedefaults v:ext="edit" spidmax="1026" /></xml><![endif]--></head><body lang=EN-US link="#0563C1" '
        f"vlink=\"#954F72\" style='word-wrap:break-word'><div class=WordSection1>{_each(own, line, '&nbsp;')}"
        "<p class=MsoNormal><o:p>&nbsp;</o:p></p><div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt "
        f"0in 0in 0in'><p class=MsoNormal><b>From:</b> {_US}<br><b>Sent:</b> Saturday, 21 November 2026 09:31</p></div>"
        f"{_OURS.page}</div></body></html>"
    )


def outlook_web(own: str) -> str:
    line = (
        '<div class="elementToProof" style="font-family: Aptos, Aptos_EmbeddedFont, Calibri, Helvetica, sans-serif; '
        'font-size: 12pt; color: rgb(33, 33, 33);">{}</div>'
    )
    return (
        '<html><head>\n<meta http-equiv="Content-Type" content="text/html; charset=utf-8">\n<style type="text/css" '
        'style="display:none;"> P {margin-top:0;margin-bottom:0;} </style>\n</head>\n<body dir="ltr">\n'
        f'{_each(own, line)}<div id="appendonsend"></div><hr style="display:inline-block;width:98%" tabindex="-1">'
        f'<div id="divRplyFwdMsg" dir="ltr"><font face="Calibri, sans-serif" style="font-size:11pt" color="#000000">'
        f"<b>From:</b> {_US}</font></div>{_OURS.page}</body></html>"
    )


def apple(own: str) -> str:
    return (
        '<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head><body style="'
        'overflow-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;">'
        f'{_each(own, "<div>{}</div>")}<div><br id="lineBreakAtBeginningOfMessage"><div><br><blockquote type="cite">'
        f'<div>On 21 Nov 2026, at 09:31, {_US} wrote:</div><br class="Apple-interchange-newline"><div>{_OURS.page}'
        "</div></blockquote></div><br></div></body></html>"
    )


def apple_signed(own: str) -> str:
    rest = (
        '<span class="Apple-style-span" style="border-collapse: separate; color: rgb(0, 0, 0); font-family: Helvetica; '
        "font-style: normal; font-variant-caps: normal; letter-spacing: normal; orphans: auto; text-indent: 0px; "
        "text-transform: none; white-space: normal; widows: auto; word-spacing: 0px; -webkit-text-size-adjust: auto; "
        '-webkit-text-stroke-width: 0px; font-size: 12px; text-decoration: none; caret-color: rgb(0, 0, 0);">'
    )
    return apple(own).replace("<div><br id=", f"<div>{rest}<div>-- </div>{_SIGNED}</span></div><div><br id=")


def samsung(own: str) -> str:
    return (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"></head><body dir="auto">'
        f'{_each(own, "<div dir=auto>{}</div>")}<div dir="auto"><br></div><div id="composer_signature" dir="auto"><div '
        'style="font-size:85%;color:#575757">Sent from my Galaxy</div></div><div dir="auto"><br></div><div><br></div>'
        '<div align="left" dir="auto" style="font-size:100%;color:#000000"><div>-------- Original message --------'
        f"</div><div>From: {_US} </div><div>Date: 21/11/2026  09:31  (GMT+00:00) </div><div>To: alice@example.com "
        f"</div><div>Subject: Refund order 12345? </div><div><br></div></div>{_OURS.page}</body></html>"
    )


def gmail(own: str) -> str:
    return (
        f'<div dir="ltr">{_each(own, "<div class=gmail_default style=font-family:verdana,sans-serif>{}</div>")}</div>'
        '<br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Sat, Nov 21, 2026 at '
        f'9:31\u202fAM {_US} wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;'
        f'border-left:1px solid rgb(204,204,204);padding-left:1ex">{_OURS.page}</blockquote></div>'
    )


def yahoo(own: str) -> str:
    line = '<div dir="ltr" data-setdir="false">{}</div>'
    return (
        '<html><head></head><body><div class="ydp1a2byahoo-style-wrap" style="font-family:Helvetica Neue, Helvetica, '
        f'Arial, sans-serif;font-size:16px;"><div></div>{_each(own, line)}<div><br></div></div><div '
        'id="ydp7cyahoo_quoted_71" class="ydp7cyahoo_quoted"><div style="font-family:\'Helvetica Neue\', Helvetica, '
        'Arial, sans-serif;font-size:13px;color:#26282a;"><div>On Saturday, November 21, 2026 at 09:31:00 AM UTC, '
        f"{_US} wrote:</div>{_OURS.page}</div></div></body></html>"
    )


def proton(own: str) -> str:
    line = '<div style="font-family: Arial, sans-serif; font-size: 14px; color: rgb(0, 0, 0); background-color: rgb(255, 255, 255);">{}</div>'  # noqa: E501
    return (
        f'{_each(own, line)}<div class="protonmail_signature_block" style="font-family: Arial, sans-serif; font-size: '
        '14px;"><div class="protonmail_signature_block-user protonmail_signature_block-empty"></div><div '
        'class="protonmail_signature_block-proton">Sent with <a target="_blank" href="https://proton.me/">Proton Mail'
        '</a> secure email.</div></div><div class="protonmail_quote">On Saturday, November 21st, 2026 at 9:31 AM, '
        f'{_US} wrote:<br><blockquote class="protonmail_quote" type="cite">{_OURS.page}</blockquote><br></div>'
    )


def thunderbird(own: str) -> str:
    return (
        '<!DOCTYPE html>\n<html data-lt-installed="true">\n  <head>\n    <meta http-equiv="Content-Type" content="'
        'text/html; charset=UTF-8">\n  </head>\n  <body text="#000000" bgcolor="#FFFFFF" style="padding-bottom: 1px;">'
        f'{_each(own, "<p>{}</p>")}<p><br></p><div class="moz-signature">-- <br>{_SIGNED}</div><div '
        'class="moz-cite-prefix">Am 21.11.26 um 09:31 schrieb Handraise:<br></div><blockquote type="cite" '
        f'cite="mid:1@example.com">{_OURS.page}</blockquote></body></html>'
    )


def outlook_ios(own: str) -> str:
    line = '<div dir="ltr" style="font-family: -apple-system, Helvetica; font-size: 12pt;">{}</div>'
    return (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"></head><body><div dir="ltr" '
        f'class="ms-outlook-mobile-body"></div>{_each(own, line)}<div id="ms-outlook-mobile-signature" style="color: '
        'inherit; background-color: inherit;"><div></div>Get <a href="https://aka.ms/o0ukef">Outlook for iOS</a></div>'
        '<div id="mail-editor-reference-message-container" class="ms-outlook-mobile-reference-message"><hr style="'
        f'display: inline-block; width: 98%;"><div id="divRplyFwdMsg"><b>From:</b> {_US}</div>{_OURS.page}</div></body>'
        "</html>"
    )


def gmx(own: str) -> str:
    return (
        '<html><head></head><body><div style="font-family: Verdana;font-size: 12.0px;">'
        f'{_each(own, "<div>{}</div>")}<div> <div name="quote" style="margin: 10.0px 5.0px 5.0px 10.0px;padding: '
        '10.0px 0 10.0px 10.0px;border-left: 2.0px solid rgb(195,217,229);"><div style="margin: 0 0 10.0px 0;"><b>'
        f'Gesendet:</b> Samstag, 21. November 2026 um 09:31 Uhr<br/><b>Von:</b> {_US}</div><div name="quoted-content">'
        f"{_OURS.page}</div></div></div></div></body></html>"
    )


def zoho(own: str) -> str:
    return (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><html><head><meta content="text/html;'
        'charset=UTF-8" http-equiv="Content-Type"></head><body ><div style="font-family: Verdana, Arial, Helvetica, '
        f'sans-serif; font-size: 10pt;">{_each(own, "<div>{}<br></div>")}<div class="zmail_extra_hr" style="border-top'
        ': 1px solid rgb(204, 204, 204); height: 0px; margin-top: 10px; margin-bottom: 10px; line-height: 0px;"><br>'
        f'</div><div class="zmail_extra" data-ignore="true"><div id="Zm-_Id_-Sgn1">---- On Sat, 21 Nov 2026 '
        f'09:31:00 +0000 <b>{_US}</b> wrote ---</div><blockquote id="blockquote_zmail" style="margin: 0px;">'
        f"{_OURS.page}</blockquote></div></div></body></html>"
    )


PAGES: dict[str, Callable[[str], str]] = {
    "outlook": outlook, "outlook-web": outlook_web, "apple-mail": apple, "apple-mail, signed": apple_signed,
    "samsung": samsung, "gmail": gmail, "yahoo": yahoo, "proton": proton, "thunderbird": thunderbird,
    "outlook-ios": outlook_ios, "gmx": gmx, "zoho": zoho,
}  # fmt: skip
