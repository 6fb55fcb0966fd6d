"""Classification: the kind of an incoming mail. Only a reply may ever answer, and only a reply is written back to.
Pure.

The order matters: sanity, bounce, automatic reply, list, loop. A mail to one of our envelope senders, or from nobody
(``<>``), is never a reply, but may be an out-of-office note: RFC 3834 §4 sends those there.

If the head says nothing, typical phrases of absences, tickets and challenges decide (:func:`reads_like_a_machine`), one
line a language. A body only ever makes us ask back, because a person may write the same; but no person writes all of a
challenge, or the form of a receipt (:func:`is_machine_mail`).

Source: facts on mail §B3; RFC 3464 (delivery reports), RFC 8098 (MDN), RFC 5965 (ARF), RFC 3834 (automatic replies),
RFC 2919 (List-Id); of challenges RFC 3834 §1.1, and what HCL Notes and the usual challengers are known to send.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum

from channels.email.addressing import Mailboxes
from channels.email.head import MailHead

_LOOKED_AT = 1_500

_AWAY = (
    r"automatic reply|auto(?:matic)?[- ]?(?:reply|response|responder)|out of (?:the )?office|ooo\b|i am away"
    r"|away from (?:the )?office|on vacation|vacation reply|auto\s?:",  # English
    r"automatische antwort|auto-antwort|automatische nachricht|abwesenheit|abwesend|nicht im büro|urlaub:",  # German
    r"réponse automatique|absence\s?:|absence du bureau|absent du bureau|message d['’]absence",  # French
    r"respuesta automática|respuesta automatica|fuera de la oficina|ausencia",  # Spanish
    r"risposta automatica|fuori (?:sede|ufficio)|assenza",  # Italian
    r"resposta automática|fora do escritório|ausência|ausente",  # Portuguese
    r"automatisch(?:e)? antwoord|automatisch bericht|afwezig",  # Dutch
    r"autosvar|automatiskt svar|frånvaro",  # Swedish
    r"automatisk svar|fravær|ikke på kontoret|ikke til stede",  # Danish, Norwegian
    r"automaattinen vastaus|poissaolo",  # Finnish
    r"automatyczna odpowiedź|odpowiedź automatyczna|autoodpowiedź|poza biurem|nieobecność",  # Polish
    r"automatická odpověď|nepřítomnost|mimo kancelář",  # Czech
    r"automatická odpoveď|neprítomnosť",  # Slovak
    r"automatikus válasz|házon kívül",  # Hungarian
    r"automatski odgovor|samodejni odgovor|автоматичен отговор|аутоматски одговор",  # Croatian … Serbian
    r"automatinis atsakymas|automātiska atbilde|automaatvastus|automaatne vastus|sjálfvirkt svar",  # Lithuanian …
    r"resposta automàtica|ตอบกลับอัตโนมัติ|trả lời tự động|balasan otomatis|پاسخ خودکار",  # Catalan … Persian
    r"răspuns automat|absent din birou",  # Romanian
    r"αυτόματη απάντηση|εκτός γραφείου",  # Greek
    r"автоматический ответ|автоответ|отсутствие на рабочем месте",  # Russian
    r"автоматична відповідь|автовідповідь",  # Ukrainian
    r"otomatik yanıt|ofis dışında",  # Turkish
    r"自動返信|自動応答|不在",  # Japanese
    r"자동 ?회신|자동 ?응답|부재",  # Korean
    r"自动答复|自动回复|自動回覆|外出",  # Chinese
    r"رد تلقائي|خارج المكتب",  # Arabic
    r"תשובה אוטומטית|מענה אוטומטי",  # Hebrew
    r"स्वचालित उत्तर|कार्यालय से बाहर",  # Hindi
)
AWAY_SUBJECT = re.compile(rf"\s*(?:{'|'.join(_AWAY)})", re.IGNORECASE)
MACHINE_SUBJECT = re.compile(
    r"\s*(?:delivery status notification|undeliverable|undelivered mail|mail delivery (?:failed|failure|subsystem)"
    r"|returned mail|failure notice|unzustellbar|reaction (?:daily )?digest"
    r"|(?:not )?read:|(?:nicht |un)?gelesen:|(?:non )?lue?\s?:|(?:no )?leído:|letto:|lid[oa]:|(?:niet )?gelezen:"
    r"|(?:ej |inte )?läst:|(?:nie )?(?:odczytano|przeczytan[oe]):|(?:開封済み|未開封)\s?[:：]"
    r"|return receipt\s*\Z|read receipt|empfangsbestätigung|lesebestätigung|accusé de (?:réception|lecture)"
    r"|confirmación de (?:recepción|lectura)|ricevuta di ritorno|conferma di lettura|ontvangstbevestiging"
    r"|leesbevestiging|läskvitto|potwierdzenie (?:odbioru|przeczytania)|開封確認|受信確認"
    r"|\[(?:ticket|case|request|support|help ?desk)[\s#:-]*[\w-]*\d"
    r"|(?:ticket|case|request)\s?#\s?\d|(?:please )?(?:verify|confirm) your (?:e-?mail|message)|challenge[: ]"
    r"|\[?(?:boxbe|spam ?arrest|bitbounce|mailinblack)\b|sender verification|your message is (?:waiting|on hold)"
    r"|action required to deliver)",
    re.IGNORECASE,
)

_BODIES = (
    r"\bI(?:['’]m| am| will be)\b.{0,30}\b(?:out of (?:the )?office|away until|away from"
    r"|on (?:annual |parental |sick )?(?:leave|vacation|holiday))"
    r"|\b(?:automatic(?:ally generated)?|automated|auto-?)\s?(?:reply|response|message|e-?mail)\b"
    r"|\b(?:has left|no longer works (?:for|at)|is no longer (?:with|employed))"
    r".{0,30}(?:company|organi[sz]ation|us\b|here\b|\.)"
    r"|\b(?:ticket|case|request)\b.{0,60}\b(?:has been|was) (?:created|received|opened|logged)"
    r"|\bclick\b.{0,40}\blink\b.{0,60}\b(?:confirm|verify|deliver|not a robot)"
    r"|\bthank you for (?:contacting|your (?:message|e-?mail|inquiry))\b.{0,80}\b(?:we|our)\b",  # English
    r"\bich bin\b.{0,60}(?:nicht im (?:büro|haus)|außer haus|abwesend|im urlaub|in elternzeit|nicht erreichbar)"
    r"|\bautomatisch(?:e|er)? (?:antwort|nachricht)|nicht mehr (?:im unternehmen|für .{1,40} tätig)"
    r"|\b(?:ticket|anfrage)\b.{0,60}(?:erstellt|eingegangen)",  # German
    r"je suis (?:actuellement )?(?:absente?|en congés?|en vacances|hors du bureau)|(?:réponse|message) automatique"
    r"|ne fait plus partie|a quitté (?:l['’]entreprise|la société)|votre (?:demande|ticket).{0,60}(?:reçue?|créée?)",
    r"(?:estoy|estaré) (?:fuera de la oficina|de vacaciones|ausente)|respuesta automática|ya no (?:trabaja|forma parte)"
    r"|su (?:solicitud|ticket).{0,60}(?:recibid|cread)",  # Spanish
    r"(?:sono|sarò) (?:assente|fuori (?:sede|ufficio)|in ferie)|risposta automatica|non lavora più"
    r"|ha lasciato l['’]azienda|la (?:sua|tua) richiesta.{0,60}(?:ricevuta|registrata)",  # Italian
    r"(?:estou|estarei) (?:ausente|fora do escritório|de férias)|resposta automática|já não (?:trabalha|faz parte)"
    r"|não trabalha mais|(?:seu|o seu) (?:pedido|chamado|ticket).{0,60}(?:recebido|criado|aberto)",  # Portuguese
    r"ik ben\b.{0,40}(?:afwezig|niet op kantoor|met vakantie|met verlof)|automatisch(?:e)? (?:antwoord|bericht)"
    r"|niet meer werkzaam|uw (?:verzoek|ticket).{0,60}(?:ontvangen|aangemaakt)",  # Dutch
    r"jag är\b.{0,40}(?:inte på kontoret|på semester|ledig|frånvarande|föräldraledig)|automatiskt svar"
    r"|har slutat (?:på|hos)|(?:ditt|ert) (?:ärende|ticket).{0,60}(?:mottagits|skapats)",  # Swedish
    r"jeg er\b.{0,40}(?:ikke på kontoret|på ferie|fraværende|bortreist)|automatisk svar|ikke længere ansat|har sluttet"
    r"|(?:din|deres) (?:henvendelse|sag).{0,60}(?:modtaget|oprettet|mottatt)",  # Danish, Norwegian
    r"olen\b.{0,40}(?:poissa|lomalla)|automaattinen vastaus|ei ole enää (?:yrityksen )?palveluksessa",  # Finnish
    r"(?:jestem|będę)\b.{0,40}(?:poza biurem|na urlopie|nieobecn)|automatyczna odpowiedź"
    r"|nie pracuje już|już nie pracuje"
    r"|(?:zgłoszenie|państwa wiadomość).{0,60}(?:utworzon|przyjęt|zarejestrowan)",  # Polish
    r"(?:jsem|budu)\b.{0,40}(?:mimo kancelář|na dovolené|nepřítom)|automatická odpověď|již u nás nepracuje",  # Czech
    r"(?:házon kívül|szabadságon) vagyok|automatikus válasz|már nem dolgozik",  # Hungarian
    r"sunt\b.{0,30}(?:plecat|în concediu|absent)|răspuns automat|nu mai lucrează",  # Romanian
    r"(?:είμαι|θα είμαι).{0,30}(?:εκτός γραφείου|σε άδεια)|αυτόματη απάντηση",  # Greek
    r"(?:нахожусь|буду|я).{0,30}(?:в отпуске|вне офиса|отсутств)|автоматический ответ|больше не работает"
    r"|(?:ваше обращение|заявка).{0,60}(?:принят|создан|зарегистрирован)",  # Russian
    r"(?:перебуваю|буду|я).{0,30}(?:у відпустці|відсутн)|автоматична відповідь|більше не працює",  # Ukrainian
    r"(?:ofis dışındayım|izindeyim|tatildeyim)|otomatik yanıt|artık (?:şirketimizde )?çalışm",  # Turkish
    r"(?:休暇|不在|外出|出張).{0,20}(?:いただいて|しております|です|中)|自動(?:返信|応答)|退職(?:いたし|しま)"
    r"|お問い合わせ.{0,20}(?:受け付け|ありがとう)",  # Japanese
    r"(?:휴가|부재|출장) ?중|자동 ?(?:회신|응답)|퇴사",  # Korean
    r"(?:休假|外出|出差|不在办公室|不在辦公室)|自动(?:答复|回复)|自動回覆|已(?:经)?离职|已離職",  # Chinese
    r"خارج المكتب|في إجازة|رد تلقائي|لم يعد يعمل",  # Arabic
    r"מחוץ למשרד|בחופשה|מענה אוטומטי|תשובה אוטומטית",  # Hebrew
    r"कार्यालय से बाहर|छुट्टी पर|स्वचालित उत्तर",  # Hindi
)
_BODY = tuple(re.compile(one, re.IGNORECASE | re.DOTALL) for one in _BODIES)


def reads_like_a_machine(lines: Sequence[str] | Iterable[str]) -> bool:
    """Whether a body says what automatic replies say, in any of the languages."""
    text = "\n".join(lines)[:_LOOKED_AT]
    return any(one.search(text) for one in _BODY)


class MailKind(StrEnum):
    REPLY = "reply"
    UNREADABLE = "unreadable"
    BOUNCE = "bounce"
    RECEIPT = "receipt"
    """A mail program says what became of a mail: shown, deleted (MDN)."""
    COMPLAINT = "complaint"
    """Somebody has called a mail of ours abuse (ARF)."""
    AUTO = "auto"
    LIST = "list"
    LOOP = "loop"


_DAEMONS = frozenset({"mailer-daemon", "postmaster", "mail-daemon", "mailerdaemon"})
_NO_REPLY = re.compile(r"(?:no|do-?not|dont|never)[-_.]?reply(?:[-_.+].*)?|bounces?(?:[-_.+].*)?|auto-?reply")
_AUTO_HEADERS = frozenset(
    {
        "x-autoreply",
        "x-autorespond",
        "x-auto-reply",
        "x-autoreply-from",
        "x-mail-autoreply",
        "x-auto-response-from",
        "x-ms-exchange-inbox-rules-loop",
    }
)
"""Their presence is enough. ``X-Auto-Response-Suppress`` is not among them: it asks others not to answer."""
_AUTO_PRECEDENCE = frozenset({"bulk", "junk", "list", "auto_reply", "auto-reply"})
_CHALLENGERS = frozenset({"boxbe.com", "spamarrest.com", "bitbounce.com", "bitbounce.io", "mailinblack.com"})
"""Whose mail asks senders to show that they are people."""
_LIST_HEADERS = frozenset({"list-id", "list-post", "mailing-list", "x-mailing-list"})


def classify(head: MailHead, ours: Mailboxes, sender: str | None = None, recipients: Sequence[str] = ()) -> MailKind:
    """The kind of a mail that could be parsed. ``sender`` is MAIL FROM (empty for ``<>``, ``None`` if unknown) and
    ``recipients`` RCPT TO."""
    reported = _reported(head)
    if reported is not None:
        return reported
    if _is_automatic(head):
        return MailKind.AUTO
    if sender == "" or head.return_path == "<>" or _came_back(head, ours, recipients):
        return MailKind.BOUNCE
    if head.names & _LIST_HEADERS:
        return MailKind.LIST
    if _is_our_own(head, ours):
        return MailKind.LOOP
    return MailKind.REPLY


_REPORTS = {"disposition-notification": MailKind.RECEIPT, "feedback-report": MailKind.COMPLAINT}


def _reported(head: MailHead) -> MailKind | None:
    """The kind of a machine's report on our mail, by its form or its sender."""
    if head.content_type == "multipart/report":
        return _REPORTS.get(head.report_type, MailKind.BOUNCE)
    if head.report_type or "x-failed-recipients" in head.names:
        return MailKind.BOUNCE
    return MailKind.BOUNCE if head.author is not None and head.author.partition("@")[0] in _DAEMONS else None


def _came_back(head: MailHead, ours: Mailboxes, recipients: Sequence[str]) -> bool:
    """Whether the mail came to our envelope sender, where only machines write."""
    return any(map(ours.is_bounce_address, [*recipients, *head.addressed("Delivered-To", "To")]))


def is_away(head: MailHead) -> bool:
    """Whether an automatic reply says that its sender is away: made by a program that answers for a person (RFC 3834
    §5), not by a list or by a machine that nobody reads."""
    if head.author is None or _is_no_reply(head.author) or head.names & _LIST_HEADERS:
        return False
    return head.submitted.startswith("auto-replied") or bool(
        AWAY_SUBJECT.match(unicodedata.normalize("NFC", head.subject))
    )


def _is_automatic(head: MailHead) -> bool:
    if head.submitted not in {"", "no"} or head.names & _AUTO_HEADERS or head.precedence in _AUTO_PRECEDENCE:
        return True
    if head.author is not None and (_is_no_reply(head.author) or head.author.partition("@")[2] in _CHALLENGERS):
        return True
    return bool(AWAY_SUBJECT.match(_subject(head)) or MACHINE_SUBJECT.match(_subject(head)))


def _subject(head: MailHead) -> str:
    """The subject with each letter and its accent as one sign: some programs write two."""
    return unicodedata.normalize("NFC", head.subject)


def _is_no_reply(author: str) -> bool:
    return _NO_REPLY.fullmatch(author.partition("@")[0]) is not None


def _is_our_own(head: MailHead, ours: Mailboxes) -> bool:
    """Whether our own mail came back: forwarded by a rule, or by two machines that answer each other."""
    return (head.author is not None and ours.is_ours(head.author)) or ours.is_our_message_id(head.message_id)


_LONGEST = 1_500
_HELD = (
    r"\byour (?:message|e-?mail|mail)\b.{0,160}?\b(?:waiting|held|on hold|pending|queued?|quarantined?|not (?:yet )?"
    r"(?:been )?delivered|(?:be|to be|get) delivered|approved senders?|guest list|safe ?list|white ?list)\b",
    r"\b(?:ihre|deine) (?:nachricht|e-?mail|mail)\b.{0,160}?(?:wartet|zurückgehalten|quarantäne|zugestellt)",
    r"\bvotre (?:message|e-?mail|courriel|mail)\b.{0,160}?(?:en attente|retenu|bloqué|quarantaine|délivré|remis)",
    r"\b(?:su|tu) (?:mensaje|correo)\b.{0,160}?(?:en espera|retenido|pendiente|cuarentena|entregado)",
    r"\b(?:il (?:tuo|suo) messaggio|la (?:tua|sua) e-?mail)\b.{0,160}?(?:in attesa|trattenut|quarantena|consegnat)",
    r"\b(?:sua|tua) (?:mensagem|e-?mail)\b.{0,160}?(?:aguarda|retid|pendente|quarentena|entregue)",
    r"\b(?:uw|je) (?:bericht|e-?mail|mail)\b.{0,160}?(?:wacht|vastgehouden|quarantaine|afgeleverd|bezorgd)",
    r"\bditt (?:meddelande|mejl)\b.{0,160}?(?:väntar|hålls|karantän|levereras)",
    r"\b(?:twoja|państwa|pana|pani) wiadomość\b.{0,160}?(?:oczekuje|czeka|wstrzyman|kwarantann|dostarczon)",
    r"(?:あなた|お客様)の(?:メッセージ|メール).{0,80}?(?:保留|待|隔離|配信)",
)
_TO_CLICK = (
    r"\b(?:click|follow|visit|tap|press|klicken|klicke|cliquez|cliquer|haga clic|haz clic|pulse|clicca|fare clic"
    r"|clique|klik|klicka|kliknij|proszę kliknąć)|クリック"
)
_AS_A_PERSON = (
    r"spam|\b(?:robot|human|person|verif|confirm|captcha|mensch|bestätig|humain|humano|umano|mens\b|människa|bekräft"
    r"|człowiek|potwierd|bevestig|vérifi|conferm)|確認|認証"
)
_CHALLENGE = tuple(
    re.compile(f"(?:{one})", re.IGNORECASE | re.DOTALL) for one in ("|".join(_HELD), _TO_CLICK, _AS_A_PERSON)
)
"""All three: it is held back, something is to be clicked, and that tells a person from a machine."""
_RECEIPT_TITLE = re.compile(
    r"return receipt|(?:empfangs|lese)bestätigung|accusé de réception|(?:confirmación|acuse) de (?:recepción|recibo)"
    r"|ricevuta di ritorno|aviso de rece[pç]ção|(?:confirmação|aviso) de recebimento|ontvangstbevestiging|kvittens"
    r"|mottagningsbevis|potwierdzenie odbioru|受信確認|開封確認",
    re.IGNORECASE,
)
_FIELD_ENDS = re.compile(r"[:：](?:\s|\Z)")
_A_TIME = re.compile(r"\d[:.h]\d\d")
_RECEIPT_FIELDS = 3


def is_machine_mail(lines: Sequence[str]) -> bool:
    """Whether a body is a machine's although its head does not say so: no person writes all parts of such a form.

    It has all parts of a challenge ("your message is waiting, click here to show that you are no
    robot") or the form of a Notes receipt ("Return Receipt", your document:, was received by:, at:)."""
    said = [line.strip() for line in lines if line.strip()]
    text = "\n".join(said)[:_LONGEST]
    if said and _RECEIPT_TITLE.fullmatch(said[0].rstrip(" :")):
        return len(_FIELD_ENDS.findall(text)) >= _RECEIPT_FIELDS and _A_TIME.search(text) is not None
    return all(one.search(text) for one in _CHALLENGE)
