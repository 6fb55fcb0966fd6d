"""Quoting: how mail programs mark what is not the person's own. Quotes, forwarded heads, signatures, disclaimers.

Data, one entry per habit; a further language is one more entry in each list. The entries are facts from the lists that
other reply readers publish (facts on mail §B4) and from the programs' own output. No pattern looks further than one
line, and each line is cut before it is matched: nothing here takes more than linear time.
"""

from __future__ import annotations

import re

MARKER = "reply above this line"
"""Stands in the first line of every mail that we send: whatever comes below it in a reply is ours."""

# --- Plain text ---------------------------------------------------------------------------------------------------

WROTE = re.compile(
    r"(?:\b(?:wrote|writes"  # English
    r"|schrieb|geschrieben"  # German
    r"|a écrit"  # French
    r"|escribió|escribio"  # Spanish
    r"|ha scritto|scrive"  # Italian
    r"|escreveu"  # Portuguese
    r"|schreef|geschreven"  # Dutch
    r"|skrev|skrifaði"  # Swedish, Danish, Norwegian
    r"|napisał|napisała|pisze|napisana przez"  # Polish
    r"|napsala?|napísala?|írta|kirjoitti|έγραψε|a scris"  # Czech, Slovak, Hungarian, Finnish, Greek, Romanian
    r"|yazdı"  # Turkish
    r"|пишет|писал|писала|написал|написала|пише|написав|написала"  # Russian, Ukrainian
    r")\b|писал\(а\)|написал\(а\)|написав\(ла\)|님이 작성|写道|寫道|تمت كتابة|كتب|כתב|ने लिखा"
    r"|napisał\(a\)|napisał/a|のメール|さんは書きました|さんのメッセージ|は書きました|が書きました|さん[:：])",
    re.IGNORECASE,
)
"""The person named beside it wrote the lines below."""
DATED = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.h]\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2}\b|\d年|\d月|\d{1,2}:\d\d")
"""There is always a date or a time in it, as no sentence about somebody who wrote has at its end before a colon."""
ADDRESS = re.compile(r"[^\s<>@]+@[^\s<>@]+\.[^\s<>@]+")
ATTRIBUTION_OPENS = re.compile(
    r"\s*(?:On|Am|Le|El|Il|Em|No dia|A|Às|Op|Den|W dniu|Dnia|Wiadomość napisana przez|"
    r"\d{1,4}[./年-]|(?:mon|tue|wed|thu|fri|sat|sun|pon|wt|śr|czw|pt|sob|niedz|lör|sön|mån|tis|ons|tor"
    r"|fre)\w*[.,]*\s|\d)",
    re.IGNORECASE,
)
"""The beginning of an attribution that is wrapped over several lines."""

_SEPARATED = (
    r"Original Message|Original Appointment|Original e-?mail|Forwarded (?:m|M)essage|Reply Message"
    r"|Forwarded by .{1,60}",
    r"Ursprüngliche (?:Nachricht|E-Mail)|Originalnachricht|Original-Nachricht|Weitergeleitete Nachricht",
    r"Message d['’]origine|Message original|Message transféré|Message initial|Mail original|E-mail d['’]origine",
    r"Mensaje original|Mensaje reenviado|Correo original",
    r"Messaggio originale|Messaggio inoltrato|Messaggio Originale",
    r"Mensagem original|Mensagem encaminhada|Mensagem Original",
    r"Oorspronkelijk bericht|Origineel bericht|Doorgestuurd bericht|Oorspronkelijke bericht",
    r"Ursprungligt meddelande|Originalmeddelande|Vidarebefordrat meddelande|Original meddelande",
    r"Wiadomość oryginalna|Oryginalna wiadomość|Przekazana wiadomość|Pierwotna wiadomość|Wiadomość przekazana",
    r"元のメッセージ|元のメール|転送メッセージ|転送されたメッセージ|Original Message",
    r"Opprinnelig (?:melding|e-post)|Oprindelig (?:meddelelse|besked|mail|e-mail)|Original besked"
    r"|Videresendt (?:besked|meddelelse|melding)|Orijinal (?:İleti|Mesaj)|Özgün İleti",
    r"Исходное сообщение|Пересылаемое сообщение|Оригинальное сообщение|Вихідне повідомлення|Переслане повідомлення",
    r"Původní (?:e-mail|zpráva)|Pôvodná správa|Eredeti (?:üzenet|levél)|Alkuperäinen viesti|Mesaj original"
    r"|Mesajul original|Αρχικό μήνυμα|Přeposlaná zpráva|Välitetty viesti|Továbbított üzenet",
    r"(?:Izvorna|Originalna|Proslijeđena|Prosleđena) poruka|Izvirno sporočilo|Posredovano sporočilo|Missatge original"
    r"|(?:Pradinis|Originalus) (?:laiškas|pranešimas)|Sākotnējais ziņojums|Algne (?:kiri|sõnum)|Upprunaleg skilaboð"
    r"|(?:Оригинално|Препратено) съобщение|Оригинална порука|Thư gốc|Pesan asli|ข้อความต้นฉบับ|پیام اصلی",
    r"원본 메시지|원본 메일|원래 메시지|전달된 메시지|原始邮件|原邮件|原始郵件|原始信息|转发邮件|轉寄郵件"
    r"|الرسالة الأصلية|הודעה מקורית|मूल संदेश",
)
SEPARATOR = re.compile(
    rf"\s*(?:[-_*=－―—]{{2,}}\s*(?:{'|'.join(_SEPARATED)})\s*[-_*=－―—]*"
    r"|Begin forwarded message\s*:|Anfang der weitergeleiteten (?:Nachricht|E-Mail)\s*:"
    r"|Début du message (?:réexpédié|transféré)\s*:"
    r"|Inicio del mensaje reenviado\s*:|Inizio messaggio inoltrato\s*:|Início da mensagem (?:reencaminhada"
    r"|encaminhada)\s*:"
    r"|Begin doorgestuurd bericht\s*:|Vidarebefordrat brev\s*:|Początek przekazywanej wiadomości\s*:"
    r"|転送されたメッセージ\s*[:：]"
    r"|[_＿]{20,}"  # Outlook's rule above the head of the quoted mail
    r")\s*",
    re.IGNORECASE,
)

_SENDERS = (
    "From|Von|De|Expéditeur|Da|Van|Från|Fra|Od|差出人|送信者|発信者"
    "|От|Від|Kimden|Gönderen|보낸 ?사람|发件人|寄件者|寄件人|من|מאת|प्रेषक|Από|Feladó|Lähettäjä|De la"
)
_OTHERS = (
    "Sent|Date|To|Cc|Bcc|Subject|Reply-To|Reply To|Importance|Gesendet|Datum|An|Kopie|Betreff|Antwort an"
    "|Priorität|Envoyé|À|Objet|Répondre à"
    "|Date d['’]envoi|Enviado|Enviado el|Enviado em|Enviada em|Enviada|Fecha|Data|Para|Asunto|Assunto|Inviato"
    "|Inviata|A|Oggetto"
    "|Verzonden|Aan|Onderwerp|Skickat|Skickades|Till|Kopia|Ämne|Wysłano|Wysłane|Do|DW|Temat|送信日時|日付|日時"
    "|宛先|件名|CC|Sendt|Til|Emne|Dato|Отправлено|Кому|Копия|Тема|Дата|Надіслано|Gönderildi|Kime|Bilgi|Konu"
    "|보낸 ?날짜|받는 ?사람|참조|제목|날짜|发送时间|发送日期|收件人|抄送|主题|日期|寄件日期|傳送日期|收件者|副本|主旨"
    "|تاريخ الإرسال|إلى|الموضوع|التاريخ|נשלח|אל|נושא|תאריך|भेजा गया|प्रति|विषय|दिनांक"
    "|Στάλθηκε|Προς|Θέμα|Ημερομηνία|Odesláno|Komu|Předmět|Predmet|Küldve|Címzett|Tárgy|Dátum|Lähetetty"
    "|Vastaanottaja|Aihe|Päivämäärä|Trimis|Către|Subiect"
)
HEAD_FIRST = re.compile(rf"[\s>*|]*(?:{_SENDERS}|{_OTHERS})\s?[*]?\s*[:：][*]*\s*\S.*", re.IGNORECASE)
HEAD_NEXT = re.compile(rf"[\s>*|]*(?:{_SENDERS}|{_OTHERS})\s?[*]?\s*[:：].*", re.IGNORECASE)
HEAD_SENDER = re.compile(rf"[\s>*|]*(?:{_SENDERS})\s?[*]?\s*[:：].*", re.IGNORECASE)
"""The head of a quoted mail: three such lines one after the other, a sender among them."""
RULED = re.compile(r"\s*-{3,}\s.{1,300}\s-{3,}\s*")
"""Zoho: ``---- On Sat, 21 Nov 2026 09:31:00 +0100 Handraise <handraise@example.com> wrote ----``"""
DASHED = re.compile(r"\s*[-_*=－―—─]{5,}\s?\w.{0,80}\w\s?[-_*=－―—─]{5,}\s*")
"""Words between two rules, in any language: Samsung's "-------- Oprindelig besked --------". Somebody may also write a
headline so, and only what stands below it tells."""
NOTES_HEAD = re.compile(r"\s*\S.{0,80}---\s?\d{1,4}[./-]\d{1,2}[./-]\d{1,4} .{0,40}---.*")
"""Lotus Notes: ``Handraise ---21/11/2026 09:31:52---Refund order 12345?``"""

_FIRST_WORDS = """
odesláno komu předmět predmet küldve címzett tárgy dátum feladó lähettäjä lähetetty vastaanottaja aihe trimis către
subiect please think bitte denken pensez fra sendt til emne dato hent få kimden gönderen gönderildi kime konu bilgi
sent get via with mobile from date to cc bcc subject reply reply-to importance begin on original forwarded
confidentiality legal privacy privileged disclaimer confidential important this the virus-free virus von
gesendet diese dieses holen laden der datum an kopie betreff antwort priorität anfang vertraulichkeitshinweis
haftungsausschluss virenfrei outlook de expéditeur envoyé à objet répondre d'envoi télécharger téléchargez
obtenez provenance ce cet le avis début sans enviado enviada fecha data para asunto assunto obtener obter
obtenha obtém este el presente esta o a aviso libre livre inicio início da inviato inviata oggetto scarica
ottieni questo il questa la inizio privo van verzonden aan onderwerp verstuurd download dit deze virusvrij från
skickat skickades till ämne hämta skaffa detta det denna vidarebefordrat virusfri od wysłano wysłane wysłana
wysłany wysłan do dw temat pobierz ta niniejsza treść początek wolny bez yahoo mail email e-mail
"""
OPENERS = frozenset(_FIRST_WORDS.split())
"""The first words of everything below: a line that opens with another Latin word is not looked at any closer."""
HOLDS = ("Outlook", "gönderildi", "küldve", "送信", "---", "＿")

SIGNATURE = re.compile(
    r"\s*(?:"
    r"[-–—―=]{2,40}\s?|—|__{1,18}"
    r"|Sendt (?:fra|med|via) .*|Hent Outlook .*|Få Outlook .*|Outlook til (?:iOS|Android)\b.*"  # Danish
    r"|Sent from (?:my|Mail|Outlook|Yahoo|Proton|AOL|Spark|Samsung|Nine|BlueMail|myMail|the|a|Gmail|Superhuman)\b.*"
    r"|Get (?:Outlook|BlueMail) for .*|Sent (?:via|with|using) .*|(?:via|with) (?:Spark|Newton Mail)\b.*"
    r"|Mobile, please excuse .*"
    r"|Von meine[mr] .{1,60} gesendet\.?.*|Gesendet (?:von|mit|über|aus) .*"
    r"|Diese Nachricht wurde von meinem .* gesendet.*"
    r"|(?:\S+ ){0,4}Outlook (?:for|für|pour|para|per|voor|för|dla(?: systemu)?|til) (?:iOS|Android)\b.{0,80}"
    r"|Holen Sie sich Outlook .*|Outlook für (?:iOS|Android) .*|Laden Sie Outlook .*"
    r"|Envoyé (?:de|depuis|avec|à partir de|via) .*|Télécharge[rz] Outlook .*|Obtenez Outlook .*"
    r"|Provenance : Courrier .*"
    r"|Enviado (?:desde|do|de|a partir d[eo]|com|con|via) .*|Enviada do .*|Obtener Outlook .*"
    r"|Obter (?:o )?Outlook .*|Obtenha o Outlook .*|Obtém o Outlook .*"
    r"|Inviato (?:da|dal|con|tramite) .*|Scarica Outlook .*|Ottieni Outlook .*"
    r"|Verzonden (?:vanaf|vanuit|met|via|van) .*|Verstuurd (?:vanaf|met|via) .*|Outlook voor (?:iOS|Android) .*"
    r"|Download Outlook .*|Outlook downloaden .*"
    r"|Skickat (?:från|med|via) .*|Hämta Outlook .*|Skaffa Outlook .*"
    r"|Wysłan[eoya]* (?:z|ze|za pomocą|przy użyciu|przez) .*|Pobierz (?:program |aplikację )?Outlook .*"
    r"|.{1,30}から送信|.{0,30}(?:Outlook for (?:iOS|Android)).{0,40}(?:入手|取得).*|Yahoo! ?メール.*から送信"
    r"|Mail で送信.*|\S{2,20}(?:['’]\w+)? gönderildi|Lähetetty \w+(?:sta|stä)\b.*|Odesláno z\w* .*"
    r"|\S{2,20}-(?:ról|ről|ból|ből) küldve|Trimis de pe .*|Στάλθηκε από .*|Отправлено (?:с|из) .*|Надіслано (?:з|із) .*"
    r")\s*",
    re.IGNORECASE,
)

DISCLAIMER = re.compile(
    r"[\s*_\[(]*(?:"
    r"(?:CONFIDENTIALITY|LEGAL|PRIVACY|PRIVILEGED)\b.{0,30}\b(?:NOTICE|DISCLAIMER)"
    r"|DISCLAIMER\b|CONFIDENTIAL(?:ITY)?\s*[:\-–]|IMPORTANT NOTICE\s*[:\-–]"
    r"|(?:This|The information (?:contained )?in this|The contents of this) (?:e-?mail|message|communication"
    r"|transmission)\b.{0,80}"
    r"\b(?:confidential|intended|privileged|attachment|attachments|transmitted)"
    r"|(?:Diese|Der Inhalt dieser) (?:E-?Mail|Nachricht)\b.{0,80}\b(?:vertraulich|rechtlich geschützt|bestimmt)"
    r"|Vertraulichkeitshinweis|Haftungsausschluss"
    r"|(?:Ce|Cet|Le présent) (?:message|courriel|e-?mail|courrier)\b.{0,80}\b(?:confidentiel|destiné|réservé"
    r"|confidentielles)|Avis de confidentialité"
    r"|(?:Este|El presente|Esta|O presente|A presente) (?:mensaje|correo|e-?mail|mensagem|comunicación"
    r"|correio)\b.{0,90}\b(?:confidencial|confidenciales|confidenciais|dirigido|destinad[oa]|exclusiv)"
    r"|AVISO (?:LEGAL|DE CONFIDENCIALIDAD|DE CONFIDENCIALIDADE)"
    r"|(?:Questo|Il presente|Questa|La presente|Le informazioni contenute) .{0,60}(?:messaggio|e-?mail"
    r"|comunicazione)\b.{0,80}\b(?:riservat|confidenzial|destinat)|(?:Questo messaggio"
    r"|Questa e-?mail)\b.{0,80}\b(?:riservat|confidenzial|destinat)"
    r"|(?:Dit|Deze|De informatie in (?:dit|deze)) (?:e-?mail|bericht|e-?mailbericht)\b.{0,80}\b(?:vertrouwelijk"
    r"|bestemd)"
    r"|(?:Detta|Det här|Denna) (?:e-?post|meddelande|e-?postmeddelande|mejl|mail)\b.{0,80}\b(?:konfidentiell"
    r"|sekretess|avsett|avsedd)"
    r"|(?:Ta|Niniejsza|Treść tej) (?:wiadomość|wiadomości|korespondencja|e-?mail)\b.{0,80}\b(?:poufn|przeznaczon)"
    r"|(?:この|本)(?:電子)?(?:メール|電子メール|メッセージ).{0,60}(?:機密|秘密|宛|限り)"
    r").*",
    re.IGNORECASE,
)
ADDS = re.compile(
    r"[,.;:!?–]\s+(?!.*(?:excuse|brevity|typos|Kürze|bri[èe]vet|brevit|brevedad|brevidade|beknopt|fåordig|zwięzł))\w",
    re.IGNORECASE,
)
"""A line that looks like a program's footer and goes on, other than to excuse itself."""
AMOUNT = re.compile(r"\s*[>＞|]\s{0,2}[$€£]?\d")
""" "> 100 EUR only": more than that, or a quote of one line."""

FOOTER = re.compile(
    r"\s*(?:Virus-?free\.|Virenfrei\.|Sans virus\.|Libre de virus\.|Privo di virus\.|Livre de vírus\.|Virusvrij\."
    r"|Virusfri\.|Wolny od wirusów\.|Bez wirusów\.|ウイルスフリー"
    r"|Please consider the environment\b|Think before you print|Bitte denken Sie an die Umwelt"
    r"|Pensez à l['’]environnement"
    r"|This email has been (?:checked|scanned) .*|Diese E-?Mail wurde von .* geprüft.*|_{3,}\s*$).*",
    re.IGNORECASE,
)
"""Lines of virus scanners under a mail."""

STUB = re.compile(
    r"\W*(?:(?:this|your)\b.{0,80}\b(?:html|mime|multi-?part)\b|(?:please )?view (?:this|it|the) .{0,40}(?:html"
    r"|browser)"
    r"|(?:diese|dieses|ihre?)\b.{0,60}\bhtml\b|(?:ce|votre)\b.{0,60}\bhtml\b|(?:este|seu|su)\b.{0,60}\bhtml\b"
    r"|\[?cid:|\[image\b|HTML\W*\Z)",
    re.IGNORECASE,
)
"""Stands in a plain part that holds nothing: the words are in the HTML."""

# --- HTML ---------------------------------------------------------------------------------------------------------

QUOTE_CLASSES = frozenset(
    {"gmail_quote", "gmail_quote_container", "gmail_extra", "gmail_attr", "moz-cite-prefix"}
    | {"moz-forward-container", "yahoo_quoted", "protonmail_quote", "protonmail_original_message", "tutanota_quote"}
    | {"zmail_extra", "front-blockquote", "ms-outlook-mobile-reference-message", "OutlookMessageHeader"}
    | {"k9mail-quote", "iosymantec", "replaced-blockquote"}
)
QUOTE_NAMES = frozenset({"messageReplySection", "quote"})  # Spark; GMX and web.de
QUOTE_MARKERS = frozenset({"__QUOTED_TEXT__"})  # Zimbra, in data-marker
SIGNATURE_MARKERS = frozenset({"__SIG_PRE__", "__SIG_POST__"})
REST_IDS = frozenset(
    {
        "divRplyFwdMsg",  # Outlook on the web
        "appendonsend",
        "mail-editor-reference-message-container",  # the new Outlook
        "ms-outlook-mobile-body-separator-line",
        "OLK_SRC_BODY_SECTION",  # Outlook for Mac
        "reply-intro",  # Roundcube
        "replyheader",
        "quoted_header",
        "composer_signature_quote",
        "isForwardContent",
        "isReplyContent",
        "zwchr",
    }
)
"""Everything from such an element on is the quoted mail."""
REST_STYLE = re.compile(
    r"border(?:-top)?\s*:\s*(?:none\s*;\s*border-top\s*:\s*)?solid\s+#(?:E1E1E1|B5C4DF)", re.IGNORECASE
)
"""Outlook for Windows draws this line above the head of the quoted mail, and nowhere else."""
SIGNATURE_CLASSES = frozenset(
    {"gmail_signature", "gmail_signature_prefix", "moz-signature", "protonmail_signature_block"}
    | {"k9mail-signature", "tutanota_signature"}
)
SIGNATURE_IDS = frozenset(
    {
        "Signature",
        "ms-outlook-mobile-signature",
        "AppleMailSignature",
        "composer_signature",  # Samsung
        "_rc_sig",  # Roundcube
        "mobile-signature",
    }
)
STRUCK = frozenset({"s", "strike", "del"})
"""Crossed out: said and taken back."""
