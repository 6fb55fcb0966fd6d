"""Contact details: numbers of a signature that are not an option. Streets, telephones, registers, hours. Data.

Patterns are applied in order, so that a telephone number is gone before a postcode is looked for. Each searches one
line of bounded length.
"""

from __future__ import annotations

import re

_PHONE_LABEL = (
    "tel|telephone|phone|telefon|téléphone|tél|telefoon|teléfono|telefono|telefone|móvil|mobile?|mobil|cell|cellulare"
    "|celular|gsm|kom|fax|direct|direkt|office|switchboard|durchwahl|dw|ext|extension|poste|int|wew|電話|携帯|[tmpfdw]"
)
_PHONE = "|".join(
    [
        r"\(\+\d{1,3}\) ?\d[\d ()./–-]{4,18}\d",
        r"\+\s?\d[\d ()./–-]{4,22}\d",
        r"\(?0\d{0,5}\)?(?:[ ./–-]?\d){5,13}",
        r"\(\d{2,5}\) ?\d[\d .-]{4,12}\d",
        r"\d{2,4}(?:[ .-]\d{2,4}){2,5}",
    ]
)
_DOMAINS = (
    "com|org|net|edu|gov|int|info|biz|io|dev|app|ai|eu|de|at|ch|fr|be|es|it|pt|br|nl|se|dk|no|fi|pl|cz|jp|uk|us|ie|ca|au"
    "|example|test"
)
CONTACT = re.compile(
    "|".join(
        [
            r"\[cid:\S+\]",
            r"<?[\w.+-]+@[\w.-]+\.\w+>?",
            r"<?(?:https?://|www\.)[^\s<>]+>?",
            rf"\b[\w-]+(?:\.[\w-]+)*\.(?:{_DOMAINS})(?:/[^\s<>]*)?(?!\w)",
            rf"(?<!\w)(?:(?:{_PHONE_LABEL})\b[.:]{{0,2}}\s?){{0,2}}(?:{_PHONE})(?:\s?(?:x|ext\.?|-|dw)\s?\d{{1,5}})?",
            r"\b(?:ext|extension|poste|durchwahl|dw|int|wew)\b[.:]?\s?\d{1,6}",
        ]
    ),
    re.IGNORECASE,
)
"""A mailbox, a site, a telephone number, a picture."""

_REGISTERS = (
    r"HR[AB]|USt-?Id(?:-?Nr)?|VAT|TVA|IVA|P\.? ?IVA|NIF|CIF|NIPC|NIP|REGON|KRS|KvK|BTW|SIRE[NT]|RCS|RCI|APE|NAF|CNPJ"
    r"|CPF|CUIT|EIN|ABN|ACN|CRN|EORI|REA|C\.?F\.?|org\.?\s?(?:nr|nummer)|organisationsnummer|moms"
    r"|company (?:no|number|reg)"
    r"|registered (?:in|no|number)|reg(?:istration)?\.? (?:no|number)|charity (?:no|number)"
    r"|amtsgericht|registergericht"
    r"|handelsregister|steuer-?nr|tax (?:id|no)|iso|iec|din|nen"
)
_REGISTER = re.compile(
    rf"\b(?:{_REGISTERS})\b[^,;|]{{0,60}}?\d[\d ./-]{{0,24}}\d?(?:[:-]\d{{4}})?"
    r"|\b[A-Z]{2}[ -]?\d[\d .]{6,16}\d\b"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b",
    re.IGNORECASE,
)
"""A company's number, a tax number, a norm, an IBAN."""

_STREETS = (
    "st|street|rd|road|ave|avenue|lane|ln|drive|dr|way|square|sq|court|ct|place|pl|parkway|pkwy|blvd|boulevard|terrace"
    "|close|quay|wharf|view|walk|crescent|park|highway|hwy|row|mews|hill|gardens|rue|allée|allee|impasse|quai|cours|chemin|route|passage"
    "|calle|c/|avda|avenida|av|paseo|plaza|carrer|camino|ronda|via|viale|piazza|corso|largo|vicolo|strada|rua|travessa"
    "|praça|alameda|estrada|ul|ulica|al|aleja|aleje|plac|os|osiedle|am|an der|auf der|im|zum|zur|unter den"
)
_ENDINGS = (
    r"stra(?:ß|ss)e|str\.|weg|park|gasse|platz|allee|ring|damm|ufer|markt|hof|chaussee|straat|laan|plein|kade|gracht|singel"
    r"|dijk|gatan|gata|vägen|torget|gränd|gränden|kaj|kajen"
)
_STOREYS = "floor|fl|og|etage|stock|étage|etg|piano|planta|piso|andar|verdieping|vån|tr|piętro"
_ROOMS = (
    r"desk|floor|fl|level|suite|ste|unit|room|rm|building|bldg|block|tower|gate|door|box|po box|p\.o\. box|postfach|bp"
    r"|cs|cedex|boîte postale|apartado|casella postale|caixa postal|postbus|skr\. poczt|haus|gebäude|bau|turm|étage"
    r"|bâtiment|bât|gebouw|verdieping|ebene|edificio|piso|planta|local|oficina|puerta|scala|interno|palazzina|edifício|sala|bloco|toren|etage"
    r"|våning|lok|m|pok|p"
)
_ORDINAL = r"\d{1,3}(?:st|nd|rd|th|\.|e|er|ème|o|a)?|first|second|third|fourth|fifth|ground|top"
_WORDS = r"(?:[^\W\d_][\w.'’-]*,?\s)"
_NUMBER = r"\d{1,5}\s?[a-z]?(?:\s?[-–/]\s?\d{1,5}\s?[a-z]?)?\b"
_STREET = re.compile(
    "|".join(
        [
            rf"\b[^\W\d_]*(?:{_ENDINGS})\s*(?:nr\.?\s*)?{_NUMBER}",  # Beispielstraße 2 a, Dorpsweg 12-2, Storgatan 4
            rf"\b{_NUMBER},?\s(?:(?:bis|ter|quater),?\s)?{_WORDS}{{0,4}}(?:{_STREETS})\b\.?",  # 2 Example Street
            rf"\b(?:{_STREETS})\b\.?\s{_WORDS}{{0,5}}?(?:n[.ro]{{0,3}}\s?)?{_NUMBER}(?:,?\s?\d{{1,2}}[ao]\b)?",
            rf"\b(?:{_ROOMS})\b\.?\s?(?:n[.ro]{{0,3}}\s?)?\d{{1,5}}[a-z]?\b",  # Suite 2, PO Box 2
            r"[0-9]{1,4}(?:丁目|番地|番|号室|号|階|F)|第[0-9]{1,3}[部課室係]|(?<=[^\W\d_])[0-9]{1,4}-[0-9]{1,4}(?:-[0-9]{1,4})?",
        ]
    ),
    re.IGNORECASE,
)
_STOREY = re.compile(rf"\b(?:{_ORDINAL})\s?(?:{_STOREYS})\b\.?", re.IGNORECASE)
_DAYS = (
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|mo|di|mi|do|fr|sa|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi|lunes|martes|miércoles|jueves|viernes|sábado|lunedì|martedì|mercoledì|giovedì"
    r"|venerdì|sabato|segunda|terça|quarta|quinta|sexta|maandag|dinsdag|woensdag|donderdag"
    r"|vrijdag(?:ochtend|middag)?|zaterdag|ma|wo|vr|za|måndag|tisdag|onsdag|torsdag|fredag|lördag"
    r"|poniedziałek|wtorek|środa|czwartek|piątek|sobota|pon|wt|śr|czw|pt"
)
_TIME = r"\d{1,2}(?:[:.h]\d{2})?\s?(?:a\.?m\.?|p\.?m\.?|uhr|h)?"
_AND = r"[ ,/–-]{1,3}(?:(?:to|bis|au|à|al|a|e|y|en|i|och|und|and|et|tot|t/m|till|do)[ ,])?"
_WEEK = rf"(?:{_DAYS})\b\.?(?:{_AND}(?:{_DAYS})\b\.?)"
_HOURS = re.compile(
    rf"\b{_WEEK}{{0,6}}(?: anche)?[ ,:]{{1,3}}{_TIME}\s?[-–]\s?{_TIME}|(?<=: ){_WEEK}{{1,6}}|"
    r"\b\d{1,2}[:.h]\d{2}(?:\s?(?:uhr|am|pm|h))?\b|©\s?\d{4}"
    r"|\bcon cita previa\b|\bby appointment(?: only)?\b"
    r"|\b(?:est|since|seit|depuis|desde|dal|sinds|sedan|od)\b\.?\s?\d{4}\b",
    re.IGNORECASE,
)
_POSTCODE = re.compile(
    r"\b(?:[A-Z]{1,2}-)?\d{4,6}(?:[ -]\d{3,4})?\b|\b\d{3} ?\d{2}\b|\b\d{2}-\d{3}\b|\b\d{4} ?[A-Z]{2}\b"
    r"|\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|〒\s?\d{3}-?\d{4}"
)
_MONTHS = (
    r"jan(?:uary|uar|vier|uari)?|feb(?:ruary|ruar|ruari)?|f[ée]vr(?:ier)?|mar(?:ch|s|zo|ço|zec|ca)?|märz|maart|apr(?:il|ile)?"
    r"|avril|abril|kwietnia|may|mai|mayo|maio|maggio|mei|maj|maja|june?|juni|juin|junio|junho|giugno|czerwca|july?|juli"
    r"|juillet|julio|julho|luglio|lipca|aug(?:ust|usti|ustus)?|août|agosto|sierpnia|sept?(?:ember|embre|iembre|tembro)?"
    r"|settembre|setembro|września|o[ck]t(?:ober|obre|ubre|ubro)?|outubro|ottobre|października|nov(?:ember|embre|iembre|embro)?"
    r"|listopada|de[cz](?:ember|embre|iembre|embro)?|décembre|dicembre|grudnia|stycznia|lutego|gennaio|febbraio|enero|febrero"
    r"|janeiro|fevereiro"
)
_DATES = re.compile(
    rf"\b\d{{1,2}}\.?\s?[-–]\s?\d{{1,2}}\.?\s(?:de\s)?(?:{_MONTHS})\b|\b(?:{_MONTHS})\s\d{{1,2}}\s?[-–]\s?\d{{1,2}}\b",
    re.IGNORECASE,
)
_FIGURES = re.compile(r"\b\d{1,3}(?:[., ]\d{3})+(?:[.,]\d{2})?\b|\b\d{4,}[-/.]\d{1,3}\b|\b\d{1,3}\.?[oa]\b")
"""Large figures, numbers of a file, "2.º"."""
_BIS = re.compile(
    r"(?<=\d )(?:bis|ter|quater)(?=,? (?:rue|av|avenue|bd|boulevard|place|chemin|allée|quai|route|cours)\b)"
)
_PROVINCE = re.compile(r"\bREA\s(?:n\.?\s?)?[A-Z]{2}\b")
"""In an Italian register's number."""
_NUMERO = re.compile(r"\bno\b\.?\s?(?=(?:(?-i:[A-Z]{2})\s?)?\d)", re.IGNORECASE)
"""An abbreviation, and no denial."""
_ORDINALS = str.maketrans({"º": "o", "ª": "a", "°": "o"})


def without_addresses(line: str) -> str:
    """``line`` without mailboxes, sites, "No. 5", storeys and opening hours: their words mean something elsewhere. No
    other word is taken out: in a street or a register it may be a condition."""
    text = line
    for kind in (_NUMERO, _PROVINCE, _BIS, _HOURS, CONTACT, _STOREY):
        text = kind.sub(" ", text)
    return text


def without_numbers(line: str) -> str:
    """``line`` without the numbers that name a place, a company, an hour or a way to reach somebody."""
    text = line
    for kind in (_HOURS, _DATES, _REGISTER, CONTACT, _STOREY, _STREET, _POSTCODE, _FIGURES):
        text = kind.sub(" ", text)
    return text


def spelled(line: str) -> str:
    """``line`` with the raised letters of "2º piso" on the line."""
    return line.translate(_ORDINALS)
