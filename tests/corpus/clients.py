"""Replies as the usual mail programs send them: whole mails, from a person's words and the mail that they answer.

Each program's shape was modelled by hand after what it is known to produce (facts on mail §B4, the lists that other
reply readers publish, the programs' own translations); nothing is copied from anybody's mailbox.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import SMTP

US = "Handraise <handraise@example.com>"


@dataclass(frozen=True, slots=True)
class Tongue:
    """What programs write in one language. ``{us}`` stands for our name and address."""

    gmail: str
    apple: str
    thunderbird: str
    head: tuple[str, str, str, str]
    original: str
    iphone: str
    outlook_mobile: str
    when: str


TONGUES = {
    "en": Tongue(
        "On Sat, Nov 21, 2026 at 9:31 AM {us} wrote:",
        "On 21 Nov 2026, at 09:31, {us} wrote:",
        "On 21/11/2026 09:31, Handraise wrote:",
        ("From", "Sent", "To", "Subject"),
        "Original Message",
        "Sent from my iPhone",
        "Get Outlook for iOS<https://aka.ms/o0ukef>",
        "Saturday, November 21, 2026 9:31 AM",
    ),
    "de": Tongue(
        "Am Sa., 21. Nov. 2026 um 09:31 Uhr schrieb {us}:",
        "Am 21.11.2026 um 09:31 schrieb {us}:",
        "Am 21.11.26 um 09:31 schrieb Handraise:",
        ("Von", "Gesendet", "An", "Betreff"),
        "Ursprüngliche Nachricht",
        "Von meinem iPhone gesendet",
        "Holen Sie sich Outlook für iOS<https://aka.ms/o0ukef>",
        "Samstag, 21. November 2026 09:31",
    ),
    "fr": Tongue(
        "Le sam. 21 nov. 2026 à 09:31, {us} a écrit :",
        "Le 21 nov. 2026 à 09:31, {us} a écrit :",
        "Le 21/11/2026 à 09:31, Handraise a écrit :",
        ("De", "Envoyé", "À", "Objet"),
        "Message d'origine",
        "Envoyé de mon iPhone",
        "Télécharger Outlook pour iOS<https://aka.ms/o0ukef>",
        "samedi 21 novembre 2026 09:31",
    ),
    "es": Tongue(
        "El sáb, 21 nov 2026 a las 9:31, {us} escribió:",
        "El 21 nov 2026, a las 9:31, {us} escribió:",
        "El 21/11/26 a las 9:31, Handraise escribió:",
        ("De", "Enviado", "Para", "Asunto"),
        "Mensaje original",
        "Enviado desde mi iPhone",
        "Obtener Outlook para iOS<https://aka.ms/o0ukef>",
        "sábado, 21 de noviembre de 2026 9:31",
    ),
    "it": Tongue(
        "Il giorno sab 21 nov 2026 alle ore 09:31 {us} ha scritto:",
        "Il giorno 21 nov 2026, alle ore 09:31, {us} ha scritto:",
        "Il 21/11/2026 09:31, Handraise ha scritto:",
        ("Da", "Inviato", "A", "Oggetto"),
        "Messaggio originale",
        "Inviato da iPhone",
        "Scarica Outlook per iOS<https://aka.ms/o0ukef>",
        "sabato 21 novembre 2026 09:31",
    ),
    "pt-BR": Tongue(
        "Em sáb., 21 de nov. de 2026 às 09:31, {us} escreveu:",
        "Em 21 de nov. de 2026, à(s) 09:31, {us} escreveu:",
        "Em 21/11/2026 09:31, Handraise escreveu:",
        ("De", "Enviado", "Para", "Assunto"),
        "Mensagem original",
        "Enviado do meu iPhone",
        "Obter o Outlook para iOS<https://aka.ms/o0ukef>",
        "sábado, 21 de novembro de 2026 09:31",
    ),
    "pt-PT": Tongue(
        "{us} escreveu (sábado, 21/11/2026 à(s) 09:31):",
        "No dia 21/11/2026, às 09:31, {us} escreveu:",
        "Às 09:31 de 21/11/2026, Handraise escreveu:",
        ("De", "Enviada", "Para", "Assunto"),
        "Mensagem original",
        "Enviado do meu iPhone",
        "Obter o Outlook para iOS<https://aka.ms/o0ukef>",
        "21 de novembro de 2026 09:31",
    ),
    "nl": Tongue(
        "Op za 21 nov 2026 om 09:31 schreef {us}:",
        "Op 21 nov. 2026 om 09:31 heeft {us} het volgende geschreven:",
        "Op 21-11-2026 om 09:31 schreef Handraise:",
        ("Van", "Verzonden", "Aan", "Onderwerp"),
        "Oorspronkelijk bericht",
        "Verstuurd vanaf mijn iPhone",
        "Outlook voor iOS downloaden<https://aka.ms/o0ukef>",
        "zaterdag 21 november 2026 09:31",
    ),
    "sv": Tongue(
        "Den lör 21 nov. 2026 kl 09:31 skrev {us}:",
        "21 nov. 2026 kl. 09:31 skrev {us}:",
        "Den 2026-11-21 kl. 09:31, skrev Handraise:",
        ("Från", "Skickat", "Till", "Ämne"),
        "Ursprungligt meddelande",
        "Skickat från min iPhone",
        "Hämta Outlook för iOS<https://aka.ms/o0ukef>",
        "den 21 november 2026 09:31",
    ),
    "pl": Tongue(
        "sob., 21 lis 2026 o 09:31 {us} napisał(a):",
        "Wiadomość napisana przez {us} w dniu 21 lis 2026, o godz. 09:31:",
        "W dniu 21.11.2026 o 09:31, Handraise pisze:",
        ("Od", "Wysłano", "Do", "Temat"),
        "Wiadomość oryginalna",
        "Wysłane z iPhone'a",
        "Pobierz program Outlook dla systemu iOS<https://aka.ms/o0ukef>",
        "sobota, 21 listopada 2026 09:31",
    ),
    "ja": Tongue(
        "2026年11月21日(土) 18:31 {us}:",
        "2026/11/21 18:31、{us}のメール:",
        "On 2026/11/21 18:31, Handraise wrote:",
        ("差出人", "送信日時", "宛先", "件名"),
        "元のメッセージ",
        "iPhoneから送信",
        "Outlook for iOS を入手<https://aka.ms/o0ukef>",
        "2026年11月21日 18:31",
    ),
}


@dataclass(frozen=True, slots=True)
class Ours:
    """The mail that is answered."""

    subject: str
    message_id: str
    reply_to: str
    text: str
    page: str

    @classmethod
    def of(cls, raw: bytes) -> Ours:
        mail = message_from_bytes(raw)
        text, page = (_payload(part) for part in mail.get_payload() if isinstance(part, Message))  # type: ignore[union-attr]
        inside = page[page.index("<body") : page.index("</body>")].partition(">")[2]
        return cls(mail["Subject"], mail["Message-ID"], mail["Reply-To"], text, inside)

    @property
    def quoted(self) -> str:
        return "\n".join(f"> {line}".rstrip() for line in self.text.splitlines())


def _payload(part: Message) -> str:
    return part.get_payload(decode=True).decode().replace("\r\n", "\n")  # type: ignore[union-attr]


Shape = Callable[[str, Tongue, Ours], tuple[str | None, str | None]]
"""The plain text and the HTML of a reply."""


def _divs(own: str) -> str:
    return "".join(f"<div>{html.escape(line) or '<br>'}</div>" for line in own.split("\n"))


def _page(body: str) -> str:
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
    return f"<html><head>{meta}</head><body>{body}</body></html>"


def _head(tongue: Tongue, ours: Ours, gap: str = ":") -> str:
    sender, sent, to, subject = tongue.head
    return (
        f"{sender}{gap} {US}\n{sent}{gap} {tongue.when}\n{to}{gap} alice@example.com\n{subject}{gap} {ours.subject}\n"
    )


def gmail(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    line = tongue.gmail.format(us=US)
    cut = line.rfind(" ", 0, 74)
    wrapped = line if len(line) < 76 else f"{line[:cut]}\n{line[cut + 1 :]}"
    attribution = html.escape(line)
    return f"{own}\n\n{wrapped}\n\n{ours.quoted}\n", _page(
        f'<div dir="ltr">{_divs(own)}</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        f'class="gmail_attr">{attribution}<br></div><blockquote class="gmail_quote" style="margin:0px">{ours.page}'
        "</blockquote></div>"
    )


def apple(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    line = tongue.apple.format(us=US)
    return f"{own}\n\n> {line}\n> \n{ours.quoted}\n", _page(
        f'{_divs(own)}<div><br><blockquote type="cite"><div>{html.escape(line)}</div><br>{ours.page}</blockquote></div>'
    )


def iphone(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return f"{own}\n\n{tongue.iphone}\n\n> {tongue.apple.format(us=US)}\n> \n{ours.quoted}\n", None


def thunderbird(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return f"{own}\n\n{tongue.thunderbird}\n{ours.quoted}\n", None


def outlook(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    gap = " :" if tongue.head[0] == "De" and tongue.head[2] == "À" else ":"
    rows = "<br>".join(f"<b>{html.escape(line)}</b>" for line in _head(tongue, ours, gap).splitlines())
    paragraphs = "".join(
        f'<p class="MsoNormal">{html.escape(line) or "&nbsp;"}<o:p></o:p></p>' for line in own.split("\n")
    )
    return f"{own}\n\n{_head(tongue, ours, gap)}\n{ours.text}\n", _page(
        f'<div class="WordSection1">{paragraphs}<p class="MsoNormal"><o:p>&nbsp;</o:p></p><div><div style="border:none;'
        f'border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in"><p class="MsoNormal">{rows}</p></div></div>'
        f"{ours.page}</div>"
    )


def outlook_html(own: str, tongue: Tongue, ours: Ours) -> tuple[None, str]:
    return None, outlook(own, tongue, ours)[1]


def outlook_web(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    return f"{own}\n{'_' * 32}\n{_head(tongue, ours)}\n{ours.text}\n", _page(
        f'<div class="elementToProof">{_divs(own)}</div><div id="appendonsend"></div><hr '
        f'style="display:inline-block;width:98%">'
        f'<div id="divRplyFwdMsg" dir="ltr">{html.escape(_head(tongue, ours))}</div>{ours.page}'
    )


def outlook_new(own: str, tongue: Tongue, ours: Ours) -> tuple[None, str]:
    return None, _page(
        f'<div class="elementToProof">{_divs(own)}</div><div id="mail-editor-reference-message-container">'
        f'<div class="ms-outlook-mobile-reference-message">{html.escape(_head(tongue, ours))}</div>{ours.page}</div>'
    )


def outlook_ios(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return f"{own}\n\n{tongue.outlook_mobile}\n{'_' * 32}\n{_head(tongue, ours)}\n{ours.text}\n", None


def outlook_mac(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    return f"{own}\n \n{_head(tongue, ours)}\n{ours.text}\n", _page(
        f'{_divs(own)}<div id="OLK_SRC_BODY_SECTION">{html.escape(_head(tongue, ours))}{ours.page}</div>'
    )


def yahoo(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    line = tongue.gmail.format(us=US)
    return f" {own}\n\n    {line}  \n \n {ours.text}  ", _page(
        f'<div class="ydp1yahoo-style-wrap">{_divs(own)}</div><div id="ydp2yahoo_quoted_3" class="ydp4yahoo_quoted">'
        f"<div>{html.escape(line)}</div>{ours.page}</div>"
    )


def proton(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    line = tongue.gmail.format(us=US)
    return f"{own}\n\nSent with Proton Mail secure email.\n\n{line}\n\n{ours.quoted}\n", _page(
        f'<div>{_divs(own)}</div><div class="protonmail_signature_block">Sent with Proton Mail</div>'
        f'<div class="protonmail_quote">{html.escape(line)}<blockquote class="protonmail_quote" type="cite">'
        f"{ours.page}</blockquote></div>"
    )


def zimbra(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    return f"{own}\n\n\n{_head(tongue, ours)}\n{ours.text}\n", _page(
        f'{_divs(own)}<hr id="zwchr" data-marker="__DIVIDER__"><div data-marker="__HEADERS__">'
        f'{html.escape(_head(tongue, ours))}</div><div data-marker="__QUOTED_TEXT__">{ours.page}</div>'
    )


def roundcube(own: str, tongue: Tongue, ours: Ours) -> tuple[None, str]:
    return None, _page(
        f'{_divs(own)}<p id="reply-intro">{html.escape(tongue.thunderbird)}</p>'
        f'<blockquote type="cite" style="padding:0 0.4em">{ours.page}</blockquote>'
    )


def spark(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    line = tongue.gmail.format(us=US)
    return f"{own}\n\nSent with Spark\n{line}\n{ours.quoted}\n", _page(
        f'<div name="messageBodySection">{_divs(own)}</div><div name="messageSignatureSection"><br></div>'
        f'<div name="messageReplySection">{html.escape(line)}<blockquote type="cite">{ours.page}</blockquote></div>'
    )


def samsung(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    return f"{own}\n\n\n-------- {tongue.original} --------\n{_head(tongue, ours)}\n{ours.text}\n", _page(
        f'<div dir="auto">{_divs(own)}</div><div id="composer_signature"><div>Samsung Galaxy</div></div>'
        f"<div><br></div><div>-------- {html.escape(tongue.original)} --------</div><div>"
        f"{html.escape(_head(tongue, ours))}</div>{ours.page}"
    )


def notes(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    sender, sent, to, subject = tongue.head
    return (
        f"{own}\n\n\n\n{sender}:\t{US}\n{to}:\talice@example.com\n{sent}:\t21/11/2026 09:31\n"
        f"{subject}:\t{ours.subject}\n\n\n\n{ours.text}\n",
        None,
    )


def gmx(own: str, tongue: Tongue, ours: Ours) -> tuple[None, str]:
    sender, sent, to, subject = tongue.head
    said = ((sent, tongue.when), (sender, US), (to, "alice@example.com"), (subject, ours.subject))
    rows = "<br>".join(f"<b>{name}:</b> {html.escape(value)}" for name, value in said)
    return None, _page(
        f'<div style="font-family: Verdana">{_divs(own)}<div>&nbsp;<div name="quote" style="margin:10px 5px">{rows}'
        f"<div name='quoted-content'>{ours.page}</div></div></div></div>"
    )


def k9(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return (
        f"{own}\n\n{tongue.gmail.format(us=US)}\n{ours.quoted}\n-- \n{tongue.iphone.replace('iPhone', 'Android')}\n",
        None,
    )


def mutt(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return (
        f"{own}\n\nOn Sat, Nov 21, 2026 at 09:31:00AM +0000, Handraise wrote:\n{ours.quoted}\n\n-- \nAlice Doe\n",
        None,
    )


def bottom(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return f"{tongue.thunderbird}\n{ours.quoted}\n\n{own}\n", None


def stub(own: str, tongue: Tongue, ours: Ours) -> tuple[str, str]:
    return "This is a multi-part message in HTML format; please use an HTML capable reader.\n", gmail(
        own, tongue, ours
    )[1]


def bare(own: str, tongue: Tongue, ours: Ours) -> tuple[str, None]:
    return own + "\n", None


CLIENTS: dict[str, Shape] = {
    "gmail": gmail, "apple-mail": apple, "iphone": iphone, "thunderbird": thunderbird, "outlook": outlook,
    "outlook-html": outlook_html, "outlook-web": outlook_web, "outlook-new": outlook_new, "outlook-ios": outlook_ios,
    "outlook-mac": outlook_mac, "yahoo": yahoo, "proton": proton, "zimbra": zimbra, "roundcube": roundcube,
    "spark": spark, "samsung": samsung, "notes": notes, "gmx": gmx, "k9": k9, "mutt": mutt,
    "bottom-posted": bottom, "stub": stub, "bare": bare,
}  # fmt: skip


def mail(
    client: str, language: str, own: str, ours: Ours, charset: str = "utf-8", headers: dict[str, str] | None = None
) -> bytes:
    """One whole mail, as it comes in."""
    text, page = CLIENTS[client](own, TONGUES[language], ours)
    made = EmailMessage(policy=SMTP)
    made["From"] = "Alice Doe <alice@example.com>"
    made["To"] = ours.reply_to
    made["Subject"] = "Re: " + ours.subject
    made["Message-ID"] = "<reply-1@mail.example.org>"
    made["In-Reply-To"] = ours.message_id
    made["Date"] = "Sat, 21 Nov 2026 19:00:00 +0000"
    for name, value in (headers or {}).items():
        del made[name]
        made[name] = value
    for body, kind in ((text, "plain"), (page, "html")):
        if body is None:
            continue
        data = body.encode(charset, "replace").decode(charset)
        if made.get_content_maintype() == "text" and made.get_payload():
            made.add_alternative(data, subtype=kind, charset=charset)
        else:
            made.set_content(data, subtype=kind, charset=charset)
    return made.as_bytes()
