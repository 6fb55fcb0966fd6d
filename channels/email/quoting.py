"""How mail programs mark what is not the person's own: quotes, forwarded heads, signatures, disclaimers.

Data, one entry per habit; a further language is one more line in each list. What is listed was taken as facts from
the lists that other reply readers publish (facts on mail §B4) and from the programs' own output.
"""

from __future__ import annotations

import re

MARKER = "reply above this line"
"""Stands in the first line of every mail that we send: whatever comes below it in a reply is ours."""

# --- Plain text ---------------------------------------------------------------------------------------------------

_ATTRIBUTIONS = (
    ("On", r"wrote"),  # English: Gmail, Apple Mail, Thunderbird
    ("Am", r"schrieb\b.{0,200}"),  # German
    ("Le", r"a écrit"),  # French
    ("El", r"escribió"),  # Spanish
    ("Il", r"ha scritto"),  # Italian
    ("Em", r"escreveu"),  # Portuguese
    ("Op", r"schreef\b.{0,200}"),  # Dutch
    ("Den", r"skrev\b.{0,200}"),  # Swedish, Danish, Norwegian
    ("W dniu", r"napisał\(?a?\)?"),  # Polish
)
ATTRIBUTION = re.compile(
    "|".join(rf"{opening}\b(?=.*\d).{{1,300}}\b{verb}\s*:\Z" for opening, verb in _ATTRIBUTIONS), re.IGNORECASE
)
"""Says when who wrote what follows; mail programs wrap it over as many as three lines. There is always a date."""
ANY_ATTRIBUTION = re.compile(r".{0,300}<[^<>\s@]+@[^<>\s@]+>[^<>]{0,40}[:：]\Z")
"""The same in any language, where it fits on one line: a name, ``<address>`` and a colon."""

SEPARATOR = re.compile(
    r"\s*(?:"
    r"[-_*=]{2,}\s*(?:Original Message|Original Appointment|Forwarded message|Ursprüngliche Nachricht|"
    r"Originalnachricht|Weitergeleitete Nachricht|Message d'origine|Message transféré|Mensaje original|"
    r"Messaggio originale|Mensagem original|Oorspronkelijk bericht|Ursprungligt meddelande|Wiadomość oryginalna)"
    r"\s*[-_*=]{2,}"
    r"|Begin forwarded message\s*:|Anfang der weitergeleiteten Nachricht\s*:"
    r"|_{20,}"  # Outlook's rule above the head of the quoted mail
    r")\s*",
    re.IGNORECASE,
)

HEAD_FIRST = re.compile(r"\s*>*\s*\**(?:From|Von|De|Da|Van|Från|Od|差出人)\s*:\**\s*\S.*", re.IGNORECASE)
HEAD_NEXT = re.compile(
    r"\s*>*\s*\**(?:Sent|Date|To|Cc|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado|Para|Asunto|Inviato|"
    r"A|Oggetto|Verzonden|Aan|Onderwerp|Skickat|Till|Ämne|Wysłano|Do|Temat|送信日時|宛先|件名)\s*:\**.*",
    re.IGNORECASE,
)
"""The head of a quoted mail: a sender line, and one of these within the next three lines."""

SIGNATURE = re.compile(
    r"\s*(?:"
    r"--\s?|—|__+"
    r"|Sent from (?:my|Mail|Outlook|Yahoo|Proton|AOL|the)\b.*|Get Outlook for .*|Sent (?:via|with|using) .*"
    r"|Von meinem .{1,60} gesendet\.?|Gesendet (?:von|mit|via) .*|Diese Nachricht wurde von meinem .* gesendet.*"
    r"|Envoyé (?:de|depuis) .*|Enviado (?:desde|do|de) .*|Inviato da .*|Verzonden (?:vanaf|met) .*|Skickat från .*"
    r"|Wysłane? z .*|iPhoneから送信"
    r")\s*",
    re.IGNORECASE,
)

DISCLAIMER = re.compile(
    r"\s*\**(?:"
    r"(?:CONFIDENTIALITY|LEGAL|PRIVACY|PRIVILEGED)\b.{0,30}\b(?:NOTICE|DISCLAIMER)"
    r"|DISCLAIMER\b"
    r"|(?:This|The information (?:contained )?in this|The contents of this) (?:e-?mail|message|communication)\b.{0,80}"
    r"\b(?:confidential|intended|privileged|attachment|attachments|transmitted)"
    r"|Diese E-?Mail (?:enthält|ist)\b.{0,60}\bvertraulich"
    r").*",
    re.IGNORECASE,
)

# --- HTML ---------------------------------------------------------------------------------------------------------

QUOTE_CLASSES = frozenset(
    {
        "gmail_quote",
        "gmail_quote_container",
        "gmail_extra",
        "gmail_attr",
        "moz-cite-prefix",
        "moz-forward-container",
        "yahoo_quoted",
        "protonmail_quote",
        "protonmail_original_message",
        "tutanota_quote",
        "zmail_extra",
        "front-blockquote",
        "ms-outlook-mobile-reference-message",
    }
)
QUOTE_NAMES = frozenset({"messageReplySection"})  # Spark
QUOTE_MARKERS = frozenset({"__QUOTED_TEXT__"})  # Zimbra, in data-marker
REST_IDS = frozenset(
    {
        "divRplyFwdMsg",  # Outlook on the web
        "x_divRplyFwdMsg",
        "appendonsend",
        "x_appendonsend",
        "mail-editor-reference-message-container",  # the new Outlook
        "OLK_SRC_BODY_SECTION",  # Outlook for Mac
        "reply-intro",  # Roundcube
    }
)
"""Everything from such an element on is the quoted mail."""
REST_STYLE = re.compile(r"border-top\s*:\s*solid\s+#(?:E1E1E1|B5C4DF)", re.IGNORECASE)
"""Outlook for Windows draws this line above the head of the quoted mail, and nowhere else."""
SIGNATURE_CLASSES = frozenset(
    {"gmail_signature", "gmail_signature_prefix", "moz-signature", "protonmail_signature_block"}
)
SIGNATURE_IDS = frozenset({"Signature", "x_Signature", "ms-outlook-mobile-signature", "AppleMailSignature"})
