"""German. "Doch" and "passt schon" say yes or the contrary, by the tone alone: doubts."""

from channels.words.language import Words

WORDS = Words(
    yes="ja, jawohl, jep, jo klar, jupp, na klar, ja klar, gerne, ja gerne, einverstanden, bin einverstanden, "
    "ich bin einverstanden, in ordnung, ist in ordnung, geht klar, passt, passt für mich, mach das, machen, "
    "bitte machen, nur zu, los geht's, ja bitte, natürlich, selbstverständlich, auf jeden fall, zugestimmt, "
    "ich stimme zu, stimme zu, zustimmung, go",
    no="nein, nö, nee, keinesfalls, auf keinen fall, nicht einverstanden, bin nicht einverstanden, ich bin "
    "dagegen, dagegen, natürlich nicht, lieber nicht, bitte nicht",
    approve="genehmigt, genehmigen, genehmige, ich genehmige, freigegeben, freigeben, freigabe, freigabe "
    "erteilt, genehmigung erteilt, wird genehmigt, ist genehmigt, bewilligt, bewilligen",
    accept="angenommen, annehmen, akzeptiert, akzeptieren, akzeptiere, ich akzeptiere",
    confirm="bestätigt, bestätigen, bestätige, ich bestätige, hiermit bestätigt",
    allow="erlaubt, erlauben, erlaube, ich erlaube, zulassen, zugelassen, gestattet",
    deny="abgelehnt, ablehnen, ablehnung, lehne ab, ich lehne ab, ich lehne das ab, lehne das ab, wird "
    "abgelehnt, ist abgelehnt, verweigert, verweigern, zurückgewiesen, zurückweisen, nicht genehmigt, nicht "
    "freigegeben, nicht genehmigen, nicht freigeben, genehmige ich nicht, wird nicht genehmigt",
    claim="bin dran, ich bin dran, ich kümmere mich, ich kümmere mich darum, ich kümmere mich drum, kümmere "
    "mich, kümmere mich darum, kümmere mich drum, ich schaue es mir an, ich schau's mir an, schaue ich mir "
    "an, schau ich mir an, ich schaue mir das an, ich schau mir das an, schaue es mir an, schaue mir das an, "
    "schau's mir an, sehe ich mir an, ich sehe mir das an, ich prüfe das, ich prüfe es, ich übernehme, ich "
    "übernehme das, übernehme ich, mache ich, ich mach das, wird geprüft, bin schon dran, ich bin schon dran",
    doubt="nach freigabe, nach rücksprache, nach absprache, nach prüfung, nach genehmigung, nach bestätigung, "
    "nach erhalt, nach eingang, nach abschluss, nach dem, nach der, nicht, kein, keine, keinen, keiner, nie, "
    "niemals, aber, jedoch, wenn, falls, sofern, solange, außer, ausser, ohne, bis, warte, warten, warten "
    "wir, abwarten, moment, stopp, halt, erst, zuerst, noch, vielleicht, eventuell, evtl, möglicherweise, "
    "wahrscheinlich, vermutlich, oder, entweder, weder, bevor, nachdem, sobald, morgen, übermorgen, später, "
    "nachher, demnächst, nächste woche, montag, dienstag, mittwoch, donnerstag, freitag, könnte, könnten, "
    "würde, sollte, sollten, müsste, glaube, denke, meine ich, frage, fragen, rückfrage, prüfe, prüfen, "
    "schaue, schauen, klären, kläre, besprechen, melde mich, doch, passt schon, ja schon, schon gut, schon "
    "ok, schon okay, eigentlich schon, denke schon, wird schon, sondern, stattdessen, allerdings, nein, "
    "gelesen, verstanden, zur kenntnis, zur kenntnis genommen, alles klar, erhalten, unter der bedingung, "
    "vorausgesetzt, vorbehaltlich, teilweise, nur, unsicher, keine ahnung, jein, naja, na ja, mal sehen, "
    "korrektur, irrtum, versehen, vergiss, vergessen, widerrufe, doch nicht, lieber, besser, eher, warum, "
    "wieso, ob, weiß, jemand anders, kollege, scherz",
    later="erst, morgen, übermorgen, später, nächste woche, montag, dienstag, mittwoch, donnerstag, freitag, "
    "lieber, besser, warten wir, bis",
    negation="nicht, kein, keine, keinen, keiner, keinem, nie, niemals, ohne, noch nicht, weder, nichts",
    harmless="so schnell wie möglich, möglichst bald, sobald wie möglich, so bald wie möglich, sobald ihr "
    "könnt, sobald du kannst, wartet schon, wartet seit, warten schon, warten seit, kein problem, keine "
    "einwände, kein einwand, länger als, mehr als, höher als, weniger als, älter als, größer als, teurer als, "
    "warum nicht, keine bedenken, gar kein problem, keine fragen, keine rückfragen",
    refrain="nicht jetzt, jetzt nicht, nicht heute, heute nicht, noch nicht, nicht heute abend, heute abend "
    "nicht, nicht deployen, bitte nicht deployen, nicht machen, nicht ausrollen, nicht freigeben, nicht "
    "genehmigen, nicht erstatten, auf keinen fall, lieber nicht, nicht genehmigt, nicht einverstanden, nicht "
    "veröffentlichen, nicht auszahlen, nicht zahlen, nicht durchführen, nicht ausführen",
    lead_in="ich, wir, bitte, also, gut, ich nehme, nehme, ich wähle, wähle, nummer, nr, antwort, antwort "
    "ist, meine antwort, meine antwort ist, meine wahl, meine wahl ist, option, variante, auswahl, "
    "entscheidung, meine entscheidung, ich bin für, bin für, wir nehmen, nimm, nehmen wir, hiermit, danke, "
    "vielen dank, region, ok, okay",
    subject="erstattung, die erstattung, rückerstattung, die rückerstattung, antrag, den antrag, der antrag, "
    "anfrage, die anfrage, bestellung, die bestellung, zahlung, die zahlung, deployment, das deployment, "
    "release, das release, freigabe",
    filler="das, es, dies, diese, den, die, jetzt, gerne, so, von mir, mit, durchführen, ausführen, deployen, "
    "bitte deployen, ausrollen, los, die erstattung, erstattung, rückerstattung, die rückerstattung, den "
    "antrag, die anfrage, die bestellung, die zahlung, ist meine antwort, ist meine wahl, nehmen, sofort, "
    "heute, hiermit, mich, erstatten, auszahlen, mach, bitte erstatten, bitte freigeben, ab, frei",
    polite="bitte, danke, danke schön, dankeschön, vielen dank, besten dank, danke dir, danke ihnen, grüße, "
    "gruß, mfg, lg, viele grüße, liebe grüße, vg",
    because="weil, da, denn, wegen",
    greeting="hallo, guten tag, guten morgen, guten abend, liebe, lieber, sehr geehrte, sehr geehrter, moin, "
    "servus, grüß gott, grüezi, hallo zusammen",
    farewell="grüße, gruß, mfg, lg, vg, viele grüße, viele grüsse, liebe grüße, beste grüße, schöne grüße, "
    "mit freundlichen grüßen, mit freundlichen grüssen, mit freundlichem gruß, freundliche grüße, freundliche "
    "grüsse, herzliche grüße, danke, vielen dank, besten dank, danke und gruß, danke und viele grüße, vielen "
    "dank und gruß",
    true="wahr, an",
    false="falsch, aus",
)
