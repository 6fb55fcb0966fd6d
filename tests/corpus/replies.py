"""Our half of the corpus: what people write, in which program and language, and what it means.

A line is: question, language, program, the person's own words, what they mean (``=`` and a value for an answer), and
why where it is not plain. ``clear`` ones must be understood; of all others nothing may be recorded.
"""

from __future__ import annotations

from typing import NamedTuple


class Reply(NamedTuple):
    question: str
    language: str
    client: str
    own: str
    means: str
    why: str = "said plainly"
    charset: str = "utf-8"


_R = Reply

PLAIN = [
    _R("deploy", "en", "gmail", "Yes, go ahead", "=yes"),
    _R("deploy", "en", "iphone", "yes please", "=yes"),
    _R("deploy", "en", "outlook", "No, not this week's release.", "unclear", "a negation beside the no"),
    _R("deploy", "en", "outlook-ios", "No, thanks.", "=no"),
    _R("refund", "en", "outlook-web", "Approved.\n\nBest regards,\nAlice Doe\nHead of Finance", "=approve"),
    _R("refund", "en", "mutt", "2", "=deny"),
    _R("refund", "en", "proton", "Denied, he already got a voucher.", "=deny"),
    _R("region", "en", "apple-mail", "Frankfurt please", "=eu-central-1"),
    _R("region", "en", "yahoo", "Option 3, thanks", "=eu-north-1"),
    _R("deploy", "en", "spark", "On it, give me ten minutes", "claim"),
    _R("deploy", "de", "gmail", "Ja, bitte.", "=yes"),
    _R("deploy", "de", "outlook", "Nein, danke.\n\nMit freundlichen Grüßen\nAlice Doe", "=no"),
    _R("refund", "de", "gmx", "Genehmigt.\n\nViele Grüße\nAlice", "=approve"),
    _R("refund", "de", "k9", "Abgelehnt, der Betrag ist zu hoch.", "=deny"),
    _R("region", "de", "thunderbird", "Ich nehme Frankfurt, danke", "=eu-central-1"),
    _R("refund", "de", "outlook-ios", "Ich kümmere mich darum", "claim"),
    _R("deploy", "de", "iphone", "Ja, aber erst morgen", "unclear", "a condition of time"),
    _R("deploy", "fr", "gmail", "Oui, allez-y", "=yes"),
    _R("deploy", "fr", "outlook", "Non merci", "=no", charset="windows-1252"),
    _R("refund", "fr", "thunderbird", "J’approuve.\n\nCordialement,\nAlice", "=approve"),
    _R("refund", "fr", "apple-mail", "Refusé, le montant est trop élevé.", "=deny"),
    _R("region", "fr", "zimbra", "Le numéro 4, merci", "=eu-west-3"),
    _R("region", "fr", "samsung", "Je m’en occupe", "claim"),
    _R("deploy", "fr", "iphone", "D’accord, mais pas avant lundi", "unclear", "a condition"),
    _R("deploy", "es", "gmail", "Sí, adelante", "=yes"),
    _R("deploy", "es", "outlook-web", "No, gracias", "=no"),
    _R("refund", "es", "iphone", "Aprobado. Gracias", "=approve"),
    _R("refund", "es", "yahoo", "Rechazado, ya se le pagó.", "=deny"),
    _R("region", "es", "apple-mail", "Opción 2, por favor", "=eu-west-1"),
    _R("deploy", "es", "samsung", "Me encargo yo", "claim"),
    _R("deploy", "es", "gmail", "Sí, si el cliente confirma", "unclear", "an if"),
    _R("deploy", "it", "gmail", "Sì, procedete pure", "=yes"),
    _R("deploy", "it", "outlook", "No, grazie", "=no"),
    _R("refund", "it", "roundcube", "Approvo.\n\nCordiali saluti\nAlice", "=approve"),
    _R("refund", "it", "apple-mail", "Respinto", "=deny"),
    _R("region", "it", "outlook-mac", "Scelgo Stockholm, grazie", "=eu-north-1"),
    _R("deploy", "it", "iphone", "Ci penso io", "claim"),
    _R("deploy", "it", "thunderbird", "Sì, se Marco è d’accordo", "unclear", "an if"),
    _R("deploy", "pt-BR", "gmail", "Sim, pode seguir", "=yes"),
    _R("deploy", "pt-BR", "outlook", "Não, obrigado", "=no"),
    _R("refund", "pt-PT", "gmail", "Aprovo o reembolso.\n\nCumprimentos,\nAlice", "=approve"),
    _R("refund", "pt-PT", "outlook-html", "Recusado", "=deny", charset="iso-8859-1"),
    _R("region", "pt-BR", "samsung", "Opção 1", "=eu-central-1"),
    _R("deploy", "pt-BR", "iphone", "Deixa comigo", "claim"),
    _R("deploy", "pt-PT", "apple-mail", "Pois não", "unclear", "yes in Brazil's shops, no elsewhere"),
    _R("deploy", "nl", "gmail", "Ja, ga je gang", "=yes"),
    _R("deploy", "nl", "outlook-new", "Nee, bedankt", "=no"),
    _R("refund", "nl", "apple-mail", "Goedgekeurd.\n\nMet vriendelijke groet,\nAlice", "=approve"),
    _R("refund", "nl", "thunderbird", "Afgewezen, hij heeft al een bon.", "=deny"),
    _R("region", "nl", "outlook", "Ik kies voor Ireland", "=eu-west-1"),
    _R("refund", "nl", "iphone", "Ik pak het op", "claim"),
    _R("refund", "nl", "gmail", "Akkoord, mits Bob het ermee eens is", "unclear", "a condition"),
    _R("deploy", "sv", "gmail", "Ja, kör på!", "=yes"),
    _R("deploy", "sv", "outlook", "Nej tack", "=no"),
    _R("refund", "sv", "iphone", "Godkänt", "=approve"),
    _R("refund", "sv", "thunderbird", "Avslås, beloppet är för högt.", "=deny"),
    _R("region", "sv", "outlook-ios", "Jag väljer Stockholm", "=eu-north-1"),
    _R("deploy", "sv", "apple-mail", "Jag tar det", "claim"),
    _R("deploy", "sv", "gmail", "Ja, men vänta till måndag", "unclear", "a deferral"),
    _R("deploy", "pl", "gmail", "Tak, proszę", "=yes"),
    _R("deploy", "pl", "outlook", "Nie, dziękuję", "=no", charset="windows-1250"),
    _R("refund", "pl", "thunderbird", "Zatwierdzam.\n\nPozdrawiam\nAlice", "=approve", charset="iso-8859-2"),
    _R("refund", "pl", "roundcube", "Odrzucam, kwota jest za wysoka.", "=deny"),
    _R("region", "pl", "samsung", "Wybieram Paris", "=eu-west-3"),
    _R("deploy", "pl", "iphone", "Zajmę się tym", "claim"),
    _R("deploy", "pl", "gmail", "No tak, ale jeszcze nie teraz", "unclear", "a drawled yes and a not yet"),
    _R("deploy", "ja", "gmail", "はい、お願いします。", "=yes"),
    _R("deploy", "ja", "outlook", "いいえ", "=no", charset="iso-2022-jp"),
    _R("refund", "ja", "thunderbird", "承認します。\n\nよろしくお願いします。\nアリス", "=approve"),
    _R("refund", "ja", "iphone", "却下します。金額が高すぎます。", "=deny"),
    _R("region", "ja", "apple-mail", "３番でお願いします", "=eu-north-1"),
    _R("region", "ja", "outlook-web", "「２」", "=eu-west-1"),
    _R("refund", "ja", "gmail", "確認します", "claim"),
    _R("deploy", "ja", "thunderbird", "結構です", "unclear", "fine, or no thanks", charset="shift_jis"),
]
"""Every language in the programs that are usual there."""

NASTY = [
    _R("deploy", "en", "gmail", "Yes and no", "unclear", "both"),
    _R("deploy", "en", "gmail", "Yes?", "unclear", "a question"),
    _R("deploy", "en", "iphone", "👍", "=yes"),
    _R("deploy", "en", "outlook", "Yes 👎", "unclear", "the sign contradicts"),
    _R("deploy", "en", "outlook", "ok thanks", "=yes"),
    _R("deploy", "en", "gmail", "No problem, go ahead", "unclear", "opens with no and means yes"),
    _R("deploy", "en", "gmail", "Yes.\n\nBest,\nAlice\n\nPS: wait until Bob is back.", "unclear", "taken back"),
    _R("deploy", "en", "bottom-posted", "Yes", "unclear", "below the quote is not read"),
    _R("refund", "en", "gmail", "I would approve it if he returned the goods", "unclear", "an if"),
    _R("refund", "en", "mutt", "approve rates are low", "unclear", "about something else"),
    _R("refund", "en", "outlook", "Approve half of it", "unclear", "not the choice that was offered"),
    _R("refund", "en", "gmail", "Bob will approve this", "unclear", "somebody else's decision"),
    _R("region", "en", "gmail", "Frankfurt or Paris", "unclear", "two choices"),
    _R("region", "en", "gmail", "Anything but Paris", "unclear", "an exclusion"),
    _R("region", "en", "gmail", "2 people asked me the same", "unclear", "a number of something else"),
    _R("region", "en", "gmail", "7", "unclear", "no such number"),
    _R("refund", "en", "gmail", "", "nothing", "no words"),
    _R("refund", "de", "outlook", "", "nothing", "no words"),
    _R("refund", "en", "mutt", "-- \nAlice Doe\nApprove of our new tariffs!", "nothing", "a signature alone"),
    _R("deploy", "en", "stub", "Yes, go ahead", "=yes", "the plain part is a stub"),
    _R("deploy", "de", "gmail", "Doch", "unclear", "contradicts, by the tone alone"),
    _R("deploy", "de", "gmail", "Passt schon", "unclear", "leave it, or fine"),
    _R("deploy", "de", "gmx", "Zur Kenntnis genommen", "unclear", "says that it was read"),
    _R("deploy", "es", "gmail", "Si", "=yes"),
    _R("deploy", "es", "iphone", "No hay problema", "unclear", "opens with no and means yes"),
    _R("deploy", "fr", "gmail", "C’est bon", "unclear", "fine, or no thanks"),
    _R("deploy", "it", "gmail", "Non ora", "unclear", "not now"),
    _R("deploy", "pl", "gmail", "No dobra", "unclear", "a drawled yes in Polish"),
    _R("deploy", "sv", "gmail", "Jo", "unclear", "contradicts"),
    _R("deploy", "nl", "gmail", "Nou, eigenlijk liever niet", "unclear", "rather not"),
    _R("refund", "ja", "gmail", "はい、承認しません。", "unclear", "the negation comes last"),
    _R("refund", "ja", "gmail", "承認できるか確認中です", "unclear", "the verb is inside another one"),
    _R("deploy", "ja", "gmail", "大丈夫です", "unclear", "fine, or no thanks"),
    _R("deploy", "ja", "iphone", "了解しました", "unclear", "says that it was read"),
    _R("region", "ja", "outlook", "①", "=eu-central-1", "a number in a circle"),
    _R("note", "en", "gmail", "Tell them it ships on Monday.\n\nBest,\nAlice", "=Tell them it ships on Monday."),
    _R("note", "de", "outlook", "Die Ware kommt am Montag.\nWir bitten um Entschuldigung.\n\nViele Grüße\nAlice Doe",
       "=Die Ware kommt am Montag.\nWir bitten um Entschuldigung."),
    _R("note", "en", "gmail", "I'm on it", "claim"),
    _R("note", "en", "mutt", "", "nothing", "no words"),
    _R("form", "en", "gmail", "iban_country: DE\nnet_days: 30\nurgent: yes", "={DE,30,true}"),
    _R("form", "de", "outlook", "iban_country: AT\nnet_days: 14\nurgent: nein\n\nGruß\nAlice", "={AT,14,false}"),
    _R("form", "ja", "thunderbird", "iban_country：JP\nnet_days：３０\nurgent：はい", "={JP,30,true}"),
    _R("form", "en", "gmail", "iban_country: DE\nnet_days: soon\nurgent: yes", "unclear", "no number"),
    _R("form", "en", "gmail", "All as last year", "unclear", "no field"),
]  # fmt: skip
"""What looks like an answer and is none, and what hardly looks like one and is one."""
