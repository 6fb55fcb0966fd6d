"""Italian. "Si" without its accent is no yes, and "certo" is a yes here and a "right" in Portuguese."""

from channels.words.language import Words

WORDS = Words(
    yes="sì, sì grazie, si grazie, si certo, sì certo, va bene, va benissimo, per me va bene, d'accordo, sono "
    "d'accordo, certamente, certo che sì, assolutamente sì, ovviamente, procedi, procedete, proceda, "
    "procedere, procediamo, procedi pure, procedete pure, fai pure, fate pure, vai, vai pure, avanti, andate "
    "avanti, vai avanti, si procedi, sì procedi, sì procedete, si procedete, volentieri, senz'altro",
    no="no, no grazie, assolutamente no, certo che no, non sono d'accordo, niente affatto, per niente, non "
    "farlo, non fatelo, direi di no",
    approve="approvato, approvata, approvare, approvo, si approva, io approvo, lo approvo, approva, approvate",
    accept="accettato, accettata, accettare, accetto",
    confirm="confermato, confermata, confermare, confermo, lo confermo",
    allow="autorizzato, autorizzata, autorizzare, autorizzo, consentito, permesso",
    deny="rifiutato, rifiutata, rifiutare, rifiuto, rifiutate, respinto, respinta, respingere, respingo, "
    "negato, negata, negare, nego, non approvato, non approvata, non approvo, non autorizzo, non autorizzato",
    claim="ci penso io, me ne occupo, me ne occupo io, ci sto lavorando, ci sto guardando, sto guardando io, "
    "ci guardo, ci guardo io, lo guardo io, do un'occhiata, sto guardando, sto verificando, sto controllando, "
    "verifico io, lo prendo io, lo prendo in carico, prendo in carico, me ne sto occupando, ci do un'occhiata",
    doubt="appena, non appena, una volta, sempre che, previa, previo, non, mai, nessun, nessuno, nessuna, "
    "niente, nulla, senza, ma, però, se, salvo, tranne, eccetto, a meno, finché, fino, aspetta, aspettate, "
    "aspettare, aspettiamo, attendere, attendi, attendete, attendiamo, un attimo, un momento, fermo, fermi, "
    "prima, dopo, poi, domani, più tardi, presto, lunedì, martedì, mercoledì, giovedì, venerdì, prossima "
    "settimana, forse, magari, probabilmente, eventualmente, oppure, o forse, o meglio, quando, purché, a "
    "condizione, a patto, tuttavia, invece, piuttosto, potrebbe, potremmo, dovrebbe, dovremmo, credo, penso, "
    "suppongo, direi, dubbio, dubbi, domanda, chiedere, chiedi, chiedo, verificare, verifico, controllare, "
    "controllo, vedere, vediamo, guardare, letto, ricevuto, capito, ho capito, preso nota, annotato, in "
    "parte, metà, solo, soltanto, meglio, annulla, annullare, errore, ignora, in realtà, dipende, chi, cosa, "
    "si, ancora, qualcun altro, boh, non so, non ora, non adesso, non subito, non ancora, non più",
    later="domani, più tardi, lunedì, martedì, mercoledì, giovedì, venerdì, prossima settimana, meglio, "
    "piuttosto, aspettiamo, attendiamo, fino",
    negation="non, mai, nessun, nessuno, nessuna, niente, nulla, senza, né",
    harmless="il prima possibile, prima possibile, appena possibile, non appena possibile, appena puoi, "
    "appena potete, ho appena, ha appena, abbiamo appena, hanno appena, sta aspettando, aspetta da, nessun "
    "problema, nessuna obiezione, senza problemi, perché no, non c'è problema, non ci sono problemi",
    refrain="non ora, non adesso, non oggi, non ancora, non stasera, non farlo, non fatelo, non procedere, "
    "non procedete, non approvo, non approvare, non rimborsare, non distribuire, non rilasciare, non "
    "rilasciate, non fare il deploy, non autorizzo, non sono d'accordo",
    lead_in="io, per favore, scelgo, preferisco, voto per, opzione, l'opzione, la, numero, il numero, "
    "risposta, la mia risposta, la mia risposta è, la mia scelta, la mia scelta è, scelta, decisione, allora, "
    "ok, okay, ciao, facciamo, andiamo con, prendiamo, prendo, regione, grazie, io scelgo",
    subject="rimborso, il rimborso, richiesta, la richiesta, ordine, l'ordine, pagamento, il pagamento, "
    "rilascio, il rilascio, deploy, il deploy",
    filler="lo, la, il, questo, quello, adesso, ora, subito, tutto, pure, il rimborso, rimborso, la "
    "richiesta, l'ordine, il pagamento, il rilascio, il deploy, da parte mia, per me, immediatamente, oggi, "
    "in produzione, distribuisci, rilasciate, rilascia, rimborsare, rimborsa, rimborsate",
    polite="per favore, per cortesia, grazie, grazie mille, molte grazie, saluti, cordiali saluti, un saluto, "
    "buona giornata",
    because="perché, poiché, siccome, dato che, visto che",
    greeting="ciao, buongiorno, buonasera, salve, gentile, egregio, caro, cara, buon giorno",
    farewell="saluti, cordiali saluti, distinti saluti, un saluto, un caro saluto, grazie, grazie mille, "
    "molte grazie, grazie e saluti, a presto, buona giornata, cordialmente, grazie e buona giornata",
    true="vero",
    false="falso",
)
