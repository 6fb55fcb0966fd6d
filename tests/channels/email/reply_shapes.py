"""Replies as the usual mail programs write them, for the tests of the trimmer and of the reader.

Each shape takes the person's words and our mail, and returns the plain text or the HTML that the program would send.
Modelled by hand after what the programs produce (facts on mail §B4); nothing is copied from anybody's mailbox.
"""

from __future__ import annotations

import html
from collections.abc import Callable

NOTICE = """— reply above this line · HR-7F3K —

Reminder (2 of 3)

Refund order 12345?

  order_id: 12345

  1) Approve refund – Refund in full
  2) Deny refund

Reply to this mail with the number or the name of your choice on the first line.

If nobody answers by 2026-11-21 12:00 UTC, the agent goes on with “Deny refund”.
"""
US = "Handraise <answers+r.abcdefghijklmnopqrstuvwxyz@example.com>"


def _quoted(text: str = NOTICE) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _unquoted_head(sender: str, sent: str, to: str, subject: str) -> str:
    return f"{sender}: {US}\n{sent}: Saturday, 21 November 2026 10:31\n{to}: Alice\n{subject}: [HR-7F3K] Refund?\n"


PLAIN: dict[str, Callable[[str], str]] = {
    "gmail": lambda own: f"{own}\n\nOn Sat, Nov 21, 2026 at 9:31 AM {US}\nwrote:\n\n{_quoted()}\n",
    "gmail, wrapped": lambda own: (
        f"{own}\n\nOn Sat, Nov 21, 2026 at 9:31 AM Handraise <\nanswers+r.x@example.com> wrote:\n\n{_quoted()}"
    ),
    "gmail, german": lambda own: f"{own}\n\nAm Sa., 21. Nov. 2026 um 09:31 Uhr schrieb {US}:\n\n{_quoted()}\n",
    "gmail, french": lambda own: f"{own}\n\nLe sam. 21 nov. 2026 à 09:31, {US} a écrit :\n\n{_quoted()}\n",
    "apple mail": lambda own: f"{own}\n\n> On 21 Nov 2026, at 09:31, {US} wrote:\n> \n{_quoted()}\n",
    "iphone": lambda own: f"{own}\n\nSent from my iPhone\n\n> On 21 Nov 2026, at 09:31, {US} wrote:\n> \n{_quoted()}\n",
    "thunderbird": lambda own: f"{own}\n\nOn 21/11/2026 09:31, Handraise wrote:\n{_quoted()}\n",
    "outlook": lambda own: f"{own}\n\n{_unquoted_head('From', 'Sent', 'To', 'Subject')}\n{NOTICE}",
    "outlook, rule": lambda own: f"{own}\n\n{'_' * 32}\n{_unquoted_head('From', 'Sent', 'To', 'Subject')}\n{NOTICE}",
    "outlook, old": lambda own: (
        f"{own}\n\n-----Original Message-----\n{_unquoted_head('From', 'Sent', 'To', 'Subject')}\n{NOTICE}"
    ),
    "outlook, german": lambda own: f"{own}\n\n{_unquoted_head('Von', 'Gesendet', 'An', 'Betreff')}\n{NOTICE}",
    "outlook, bold": lambda own: f"{own}\n\n*From:* {US}\n*Sent:* Saturday\n*To:* Alice\n*Subject:* x\n\n{NOTICE}",
    "outlook mobile": lambda own: (
        f"{own}\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n{'_' * 32}\n"
        f"{_unquoted_head('From', 'Sent', 'To', 'Subject')}\n{NOTICE}"
    ),
    "yahoo": lambda own: (
        f"{own}\n\n    On Saturday, November 21, 2026 at 09:31:00 AM UTC, Handraise <h@x.test> wrote:  \n \n{NOTICE}"
    ),
    "only our marker": lambda own: f"{own}\n\n{NOTICE}",
    "signed": lambda own: f"{own}\n-- \nAlice Doe\nApprove of our new tariffs!\n\n{_quoted()}\n",
    "disclaimer": lambda own: (
        f"{own}\n\nThis e-mail and any attachments are confidential and intended for the addressee only. If you are "
        f"not the addressee, please deny reading it.\n"
    ),
    "unknown language": lambda own: (
        f"{own}\n\n2026. nov. 21. 9:31 ezt írta Handraise <h@example.com>:\n\n{_quoted()}\n"
    ),
}


def _page(body: str) -> str:
    return f'<html><head><meta charset="utf-8"><style>p {{color: red}}</style></head><body>{body}</body></html>'


def _div(own: str) -> str:
    return "".join(f"<div>{html.escape(line) or '<br>'}</div>" for line in own.split("\n"))


def _breaks(own: str) -> str:
    return "<br>".join(html.escape(line) for line in own.split("\n"))


_OUR_HTML = f'<div style="font:12px">{"<br>".join(html.escape(line) for line in NOTICE.splitlines())}</div>'

HTML: dict[str, Callable[[str], str]] = {
    "gmail": lambda own: _page(
        f'<div dir="ltr">{_div(own)}</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Sat, '
        f'Handraise wrote:<br></div><blockquote class="gmail_quote" style="margin:0">{_OUR_HTML}</blockquote></div>'
    ),
    "outlook on the web": lambda own: _page(
        f'<div class="elementToProof">{_div(own)}</div><div id="Signature"><p>Deny everything Ltd</p></div>'
        f'<div id="appendonsend"></div><hr><div id="divRplyFwdMsg" dir="ltr"><b>From:</b> Handraise<br><b>Sent:</b> Sat'
        f"</div>{_OUR_HTML}"
    ),
    "outlook for windows": lambda own: _page(
        f'<div class="WordSection1"><p class="MsoNormal">{_breaks(own)}<o:p></o:p></p>'
        '<p class="MsoNormal"><o:p>&nbsp;</o:p></p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt;'
        'padding:3.0pt 0in 0in 0in"><p class="MsoNormal"><b>From:</b> Handraise<br><b>Sent:</b> Sat</p></div></div>'
        f"{_OUR_HTML}</div>"
    ),
    "apple mail": lambda own: _page(
        f'{_div(own)}<div><br><blockquote type="cite"><div>On 21 Nov 2026, at 09:31, Handraise wrote:</div>{_OUR_HTML}'
        "</blockquote></div>"
    ),
    "thunderbird": lambda own: _page(
        f'<p>{_breaks(own)}</p><div class="moz-cite-prefix">On 21/11/2026 09:31, '
        f'Handraise wrote:<br></div><blockquote type="cite">{_OUR_HTML}</blockquote>'
    ),
    "yahoo": lambda own: _page(
        f'<div class="ydp1">{_div(own)}</div><div id="ydp2yahoo_quoted_3" class="ydp4yahoo_quoted">{_OUR_HTML}</div>'
    ),
    "proton": lambda own: _page(f'{_div(own)}<div class="protonmail_quote">On Sat wrote:<br>{_OUR_HTML}</div>'),
    "spark": lambda own: _page(
        f'<div name="messageBodySection">{_div(own)}</div><div name="messageReplySection">{_OUR_HTML}</div>'
    ),
    "zimbra": lambda own: _page(f'{_div(own)}<hr data-marker="__QUOTED_TEXT__">{_OUR_HTML}'),
    "no container": lambda own: _page(f"{_div(own)}<br>{_OUR_HTML}"),
}
