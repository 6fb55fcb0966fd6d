"""Dutch. "Of" (or) is left out, for it is English too; two choices beside each other are seen without it."""

from channels.words.language import Words

WORDS = Words(
    yes="ja, jazeker, jawel hoor, jep, akkoord, ga akkoord, ik ga akkoord, mee eens, ik ben het ermee eens, "
    "doe maar, ga je gang, ga maar door, ga uw gang, is prima, is goed, dat is goed, dat is prima, zeker, "
    "natuurlijk, uiteraard, graag, ja graag, ja hoor, vooruit maar, toestemming, uitvoeren maar",
    no="nee, neen, neuh, niet akkoord, ik ga niet akkoord, ga niet akkoord, zeker niet, absoluut niet, geen "
    "sprake van, natuurlijk niet, niet doen, doe maar niet, nee bedankt, nee dank je, nee hoor",
    approve="goedgekeurd, goedkeuren, ik keur goed, keur goed, ik keur het goed, keur het goed, goedkeuring, "
    "wordt goedgekeurd, is goedgekeurd",
    accept="geaccepteerd, accepteren, accepteer, ik accepteer, aanvaard, aanvaarden",
    confirm="bevestigd, bevestigen, bevestig, ik bevestig",
    allow="toegestaan, toestaan, sta toe",
    deny="afgewezen, afwijzen, wijs af, ik wijs af, ik wijs het af, wijs het af, afgekeurd, afkeuren, ik keur "
    "af, ik keur het af, keur het af, geweigerd, weigeren, weiger, ik weiger, niet goedgekeurd, niet "
    "goedkeuren, wordt afgewezen",
    claim="ik ben ermee bezig, ben ermee bezig, ik kijk ernaar, ik kijk er naar, ik kijk ernaar nu, ik ga "
    "ernaar kijken, ik pak het op, ik pak dit op, pak ik op, ik regel het, ik neem het op me, ik ben bezig, "
    "ben bezig, ik zoek het uit, ik zit erop, ben ermee aan de slag, ik ga ermee aan de slag",
    doubt="zolang, na akkoord, na goedkeuring, na overleg, na controle, na bevestiging, na de, na het, pas "
    "na, niet, geen, nooit, niemand, niets, zonder, maar, echter, als, indien, mits, tenzij, behalve, tot, "
    "totdat, wacht, wachten, even wachten, momentje, stop, eerst, voordat, nadat, zodra, morgen, straks, "
    "later, binnenkort, maandag, maandagochtend, dinsdag, woensdag, donderdag, vrijdag, volgende week, "
    "misschien, mogelijk, waarschijnlijk, wellicht, of niet, of toch, ofwel, wanneer, op voorwaarde, onder "
    "voorbehoud, hoewel, zou, zouden, moet, moeten, kunnen, denk, geloof, vermoed, twijfel, vraag, vragen, "
    "nakijken, checken, overleggen, bespreken, kijken, bekijken, ik kom erop terug, kom erop terug, gezien, "
    "gelezen, ontvangen, begrepen, genoteerd, ter kennisgeving, deels, gedeeltelijk, helft, alleen, slechts, "
    "liever, beter, annuleer, annuleren, fout, vergissing, negeer, vergeet, eigenlijk, hangt ervan af, "
    "waarom, wie, wat, weet, geen idee, nog, nog niet, iemand anders, toch, nou, mwah, nee",
    later="morgen, straks, later, maandag, dinsdag, woensdag, donderdag, vrijdag, maandagochtend, volgende "
    "week, liever, beter, tot",
    negation="niet, geen, nooit, niemand, niets, zonder, nog niet",
    harmless="zo snel mogelijk, zo spoedig mogelijk, zodra mogelijk, zodra het kan, ga maar live, toe "
    "maar, kom maar, wacht al, wachten al, geen probleem, geen bezwaar, geen "
    "bezwaren, waarom niet, wat mij betreft, voor mij, geen enkel probleem, prima voor mij",
    refrain="niet nu, nu niet, nu even niet, even niet, vandaag niet, niet vandaag, nog niet, vanavond niet, "
    "niet doen, niet deployen, niet uitrollen, niet terugbetalen, niet goedkeuren, niet goedgekeurd, niet "
    "akkoord, niet uitvoeren, zeker niet, absoluut niet, niet live zetten",
    lead_in="ik, wij, we, graag, alsjeblieft, aub, ik kies, kies, ik kies voor, ik neem, optie, nummer, nr, "
    "keuze, mijn keuze, mijn keuze is, antwoord, mijn antwoord, mijn antwoord is, besluit, mijn besluit, dus, "
    "hoi, ok, okay, oké, doe, neem, laten we, ik ga voor, we gaan voor, doe maar, regio, bedankt, dank je, "
    "dank",
    subject="terugbetaling, de terugbetaling, verzoek, het verzoek, bestelling, de bestelling, betaling, de "
    "betaling, release, de release, uitrol, de uitrol",
    filler="het, dit, dat, die, de, nu, maar doen, alles, meteen, direct, hoor, deze, terugbetaling, de "
    "terugbetaling, het verzoek, de bestelling, de betaling, de release, deployen, uitrollen, vandaag, "
    "terugbetalen, betaal terug, van mij, wat mij betreft, voor mij, naar productie",
    polite="alsjeblieft, alstublieft, aub, svp, graag, bedankt, dank, dank je, dank je wel, dank u, dank u "
    "wel, hartelijk dank, alvast bedankt, groet, groeten, mvg",
    because="omdat, want, aangezien, wegens, vanwege",
    greeting="hallo, hoi, goedemorgen, goedemiddag, goedenavond, beste, geachte, dag, hoi allemaal",
    farewell="groet, groeten, groetjes, mvg, met vriendelijke groet, met vriendelijke groeten, vriendelijke "
    "groet, vriendelijke groeten, hartelijke groet, bedankt, dank, alvast bedankt, dank je wel, gr, bedankt "
    "en groet",
    true="waar, aan",
    false="onwaar, uit",
)
