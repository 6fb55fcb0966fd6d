"""Banners: lines that a mail gateway writes above external mail. They are nobody's words. Pure.

Known are the banners of Exchange and Outlook, Proofpoint, Mimecast and Barracuda, and the sentences that organisations
usually set up there. Each sentence has to be one of these as a whole: a person wrote "This message is external, so do
not approve". An installation adds its own lines (``email.gateway_lines``).

Source: API.md §6 ("What a reply means"); docs/decisions/0099.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from channels.grammar.phrases import APPROVE, DENY, Line, Phrases

_MOST_LINES = 6
"""A banner is wrapped over at most so many lines."""
_MOST_BANNERS = 6
_LONGEST = 1_000

_DECIDING = APPROVE | DENY
"""No gateway says any of these."""

_ALARM = (
    "external|extern|externe|externer|externo|externt|esterno|zewnętrzny|caution|warning|attention|achtung|vorsicht"
    "|uwaga|atenção|attenzione|atención|varning|obs|let op"
)
_OF_WHAT = "[ -](?:e-?mail|mail|sender|message|source|absender|nachricht|expéditeur|correo|afzender)"
_TAG = rf"[\[(*<\s]{{0,4}}(?:{_ALARM})(?:{_OF_WHAT})?[\])*>:!\s]{{0,4}}"
_TAG_ALONE = rf"[\[(*<]{{1,4}}\s?(?:{_ALARM})(?:{_OF_WHAT})?\s?[\])*>]{{1,4}}[:!]?|(?:{_ALARM}){_OF_WHAT}[:!]?"
"""A bare "External" may be an answer."""
_OPENING = rf"(?:{_TAG}[-–:!\s]*){{0,2}}"


def _advice(opens: str, about: str) -> str:
    """Up to four sentences that open with one of a few words and are about links, attachments or the sender."""
    return rf"(?:\s*(?:{opens})\b[^.!?]{{0,160}}\b(?:{about})\b[^.!?]{{0,120}}[.!]?){{0,4}}"


_SENTENCES = [
    (
        r"(?:this|the) (?:e-?mail|message|mail)(?: (?:has|may have|was))?"
        r"(?: (?:originated|come|came|comes|is|sent|been sent))?(?: (?:from|by))?"
        r"(?: (?:an?|the|someone|somebody|sender))*? (?:outside|external)"
        r"(?: (?:of )?(?:the|your|our|my) (?:organi[sz]ation|company|network|domain)| sender| source)?[.!]?"
        r"|the sender of this (?:e-?mail|message) is (?:external|outside (?:the|your|our) organi[sz]ation)[.!]?",
        "please|do not|don't|never|exercise|be|use|report|verify|think before|treat",
        "links?|attachments?|sender|content|credentials|passwords?|phishing|suspicious|security|caution",
    ),
    (
        r"(?:diese|die) (?:e-?mail|nachricht|mail) (?:stammt|kommt|kam|wurde)(?: (?:von|aus))?"
        r"(?: (?:einem|einer|der|dem))? (?:externen?|außerhalb)"
        r"(?: (?:absender|quelle|der organisation|ihrer organisation|des unternehmens))?"
        r"(?: (?:gesendet|versendet))?[.!]?",
        "bitte|klicken sie|öffnen sie|seien sie|prüfen sie",
        "links?|anh[aä]nge?|absender|inhalt|vorsichtig",
    ),
    (
        r"(?:ce|cet) (?:e-?mail|message|courriel|courrier) (?:provient|vient|émane|a été envoyé)"
        r"(?: (?:d'un|de l'|de|depuis l'))? ?(?:expéditeur )?(?:extérieur|externe)"
        r"(?: (?:à|de) (?:l'|votre |notre )?(?:organisation|entreprise|société))?[.!]?",
        "ne|n'ouvrez|soyez|veuillez|merci de",
        "liens?|pièces? jointes?|expéditeur|contenu|prudents?|vigilants?",
    ),
    (
        r"este (?:correo(?: electrónico)?|mensaje|e-?mail) (?:proviene|procede|se originó|fue enviado)"
        r"(?: (?:de|desde))?(?: un remitente)? (?:fuera|externo)"
        r"(?: de (?:la|su|tu|nuestra) (?:organización|empresa))?[.!]?",
        "no|tenga|por favor|verifique",
        "enlaces?|adjuntos?|remitente|contenido|cuidado|precaución",
    ),
    (
        r"(?:questa e-?mail|questo messaggio) (?:proviene|è stat[ao] inviat[ao])(?: (?:da un|da|dall'))?"
        r" ?(?:mittente )?(?:esterno|fuori)(?: (?:all'|alla |dall')?(?:organizzazione|azienda))?[.!]?",
        "non|prestare|si prega|fare",
        "link|allegati|mittente|contenuto|attenzione",
    ),
    (
        r"(?:deze e-?mail|dit bericht) (?:komt|is)(?: afkomstig)?(?: (?:van|door))?(?: een)? (?:buiten|externe?)"
        r"(?: (?:de|uw|onze) organisatie| afzender)?(?: (?:verzonden|afkomstig))?[.!]?",
        "klik|open|wees|let|controleer",
        "links?|koppelingen|bijlagen?|afzender|voorzichtig",
    ),
    (
        r"ta wiadomość pochodzi (?:od nadawcy zewnętrznego|spoza (?:organizacji|firmy))[.!]?"
        r"|wiadomość pochodzi (?:od nadawcy zewnętrznego|spoza (?:organizacji|firmy))[.!]?",
        "nie|zachowaj|proszę|uważaj",
        "linki|linków|załączników|załączniki|nadawcy|nadawcę|ostrożność|treści",
    ),
    (
        r"(?:esta|este) (?:mensagem|e-?mail|correio) (?:vem|provém|foi enviad[ao]|teve origem)(?: (?:de|por))?"
        r"(?: um)?(?: remetente)? (?:fora|extern[oa])(?: d[ae] (?:organização|empresa|sua organização))?[.!]?",
        "não|tenha|por favor|verifique",
        "links?|ligações|anexos?|remetente|conteúdo|cuidado",
    ),
    (
        r"(?:detta|det här) (?:meddelandet|mejlet|e-?postmeddelandet) (?:kommer|skickades)(?: från)?(?: en)?"
        r" (?:extern avsändare|utanför (?:organisationen|företaget))[.!]?",
        "klicka inte|öppna inte|var|kontrollera",
        "länkar|bilagor|avsändaren|innehållet|försiktig",
    ),
]
"""That the mail comes from outside; and by which words advice behind it begins, and what it is about."""
_WHOLE = [
    _TAG_ALONE,
    *(f"{_OPENING}(?:{said}){_advice(opens, about)}" for said, opens, about in _SENTENCES),
    r"\[?(?:you|some people who received this (?:message|e-?mail)) don't often get e-?mail from \S{3,120}?\.?"
    r" ?(?:learn why this is important)?(?: ?(?:at )?<?https://aka\.ms/LearnAboutSenderIdentification>?)?\s?\]?",
    r"ZjQcmQRYFpfptBanner(?:Start|End)",
    r"this message is from an? (?:external|untrusted|unknown|unfamiliar|new) sender\.?",
    r"you have not previously corresponded with this sender\.?",
    r"this message (?:came|originated|is) (?:from )?outside (?:of )?your organi[sz]ation\.?",
    r"report suspicious(?:\s*<?https?://\S{1,400}>?)?",
]
_BANNER = re.compile("|".join(f"(?:{one})" for one in _WHOLE), re.IGNORECASE)


_WORDED = Phrases.read(
    """external, extern, externe, externer, externen, externt, externo, externa, esterno, esterna, extérieur,
    extérieure, zewnętrzny, zewnętrzna, zewnętrznego, outside, warning, caution, attention, achtung, vorsicht,
    atención, atenção, attenzione, uwaga, varning, obs, mail, e-mail, email, e, mails, message, sender, source,
    nachricht, absender, quelle, absenders, courriel, expéditeur, correo, electrónico, mensaje, remitente,
    mensagem, remetente, messaggio, mittente, bericht, afzender, meddelande, meddelandet, avsändare, wiadomość,
    nadawca, nadawcy, this, is, from, an, a, the, comes, came, sent, by, diese, von, einem, einer, ist, stammt,
    kommt, aus, ce, cet, est, provient, d'un, d'une, un, une, este, es, de, proviene, esta, é, vem, do, da,
    questa, questo, è, proveniente, uno, una, deze, dit, komt, van, een, detta, det, här, kommer, från, en, är,
    ta, jest, od, pochodzi, spoza, fora, organização, organization, organisation, company, handle, with, care"""
)
"""All words of the lines that organisations word themselves."""
_MARKS_MAIL = Phrases.read(
    """mail, e-mail, email, mails, message, nachricht, courriel, correo, mensaje, mensagem, messaggio, bericht,
    sender, absender, expéditeur, remitente, remetente, mittente, afzender, avsändare, nadawca, nadawcy,
    meddelande, meddelandet, wiadomość"""
)
_FEWEST_WORDED = 3
_OUTSIDE = ("extern", "estern", "extér", "zewn", "outside")
_IN_JAPANESE = re.compile(
    r"[\[【(]?(?:社外|外部)メール[\]】)]?(?:このメールは(?:社外|外部)から送信されて(?:い|おり)ます。?)?"
)


def _is_worded(text: str) -> bool:
    """Whether the text says that a mail is external, in words that only banners use."""
    if _IN_JAPANESE.fullmatch(text):
        return True
    words = [word for word in Line.of(text).words if any(map(str.isalnum, word))]
    says_outside = any(word.startswith(_OUTSIDE) for word in words)
    says_mail = any((word,) in _MARKS_MAIL for word in words)
    return says_outside and says_mail and len(words) >= _FEWEST_WORDED and all((word,) in _WORDED for word in words)


def without_banners(lines: Sequence[str], gateway_lines: Sequence[re.Pattern[str]] = ()) -> list[str]:
    """``lines`` without the banners at their top, and without lines that ``gateway_lines`` match as a whole."""
    own = [line for line in lines if not any(one.fullmatch(line.strip()[:_LONGEST]) for one in gateway_lines)]
    for _ in range(_MOST_BANNERS):
        first = next((at for at, line in enumerate(own) if line.strip()), len(own))
        size = _banner_at(own, first)
        if not size:
            break
        own = own[first + size :]
    return own if any(map(str.strip, own)) else list(lines)


def _banner_at(lines: Sequence[str], first: int) -> int:
    """The length in lines of the longest banner that begins there; 0 without one."""
    block = lines[first : first + _MOST_LINES]
    end = next((at for at, line in enumerate(block) if not line.strip()), len(block))
    for size in range(end, 0, -1):
        text = " ".join(" ".join(block[:size]).split())
        if (
            len(text) <= _LONGEST
            and (_BANNER.fullmatch(text.replace("’", "'")) or (size == 1 and _is_worded(text)))
            and not _DECIDING.places(Line.of(text).words)
        ):
            return size
    return 0
