"""Swedish. "Jo" contradicts and "nja" wavers: doubts."""

from channels.words.language import Words

WORDS = Words(
    yes="ja, japp, jajamän, jajamensan, javisst, ja visst, okej, absolut, självklart, givetvis, visst, kör, "
    "kör på, kör på det, kör hårt, gör det, varsågod, det är ok, det går bra, det är okej, ja tack, ja gärna, "
    "gärna, jag håller med, håller med, överens, klartecken, klart att köra",
    no="nej, nä, nej tack, absolut inte, självklart inte, inte ok, gör det inte, gör inte det, verkligen "
    "inte, håller inte med, jag håller inte med, kör inte",
    approve="godkänn, godkänd, godkänt, godkänner, godkänna, godkänns, jag godkänner, är godkänt, är godkänd, "
    "godkännes, godkänd av mig, beviljas, beviljat, beviljad, bevilja",
    accept="acceptera, accepteras, accepterat, accepterad, accepterar, jag accepterar",
    confirm="bekräfta, bekräftas, bekräftat, bekräftad, bekräftar, jag bekräftar",
    allow="tillåt, tillåts, tillåten, tillåtet, tillåter",
    deny="avslå, avslås, avslag, avslår, jag avslår, avslaget, avslagen, neka, nekas, nekad, nekat, nekar, "
    "jag nekar, avvisa, avvisas, avvisat, avvisad, avvisar, jag avvisar, avböj, avböjer, avböjs, inte "
    "godkänt, inte godkänd, ej godkänt, ej godkänd, godkänner inte, jag godkänner inte, godkänns inte, "
    "godkänns ej, underkänt, underkänd",
    claim="jag är på det, är på det, jag tar det, jag tar den, tar det, tar den, jag tar hand om det, tar "
    "hand om det, jag kollar, kollar, jag kollar på det, kollar på det, jag tittar på det, tittar på det, jag "
    "tittar, jag fixar det, fixar det, jag kikar på det, kikar på det, jag undersöker, jag håller på",
    doubt="så snart, så fort, så länge, med förbehåll, inte, ej, icke, ingen, inget, inga, aldrig, utan, men, "
    "dock, om, såvida, ifall, förutom, tills, till dess, vänta, väntar, avvakta, avvaktar, stopp, stanna, "
    "först, innan, efter, när, sedan, i morgon, imorgon, senare, snart, måndag, tisdag, onsdag, torsdag, "
    "fredag, nästa vecka, kanske, möjligen, eventuellt, troligen, nog, antingen, eller, förutsatt, på "
    "villkor, under förutsättning, fast om, även om, skulle, borde, kunde vi, kan vi, tror, antar, undrar, "
    "fråga, frågar, frågor, kolla, kontrollera, kontrollerar, se, titta, diskutera, återkommer, hör av mig, "
    "mottaget, läst, uppfattat, noterat, förstått, delvis, hälften, bara, endast, hellre, istället, i "
    "stället, avbryt, ångra, fel, glöm, strunt, egentligen, beror, varför, vem, vad, vet inte, någon annan, "
    "jo, klar, nja, tja, jaså, ännu, nej",
    later="i morgon, imorgon, senare, måndag, tisdag, onsdag, torsdag, fredag, nästa vecka, hellre",
    negation="inte, ej, ingen, inget, inga, aldrig, utan, icke",
    harmless="så snabbt som möjligt, så snart som möjligt, så fort som möjligt, så snart ni kan, har väntat, "
    "inga problem, inget problem, inga invändningar, varför inte, inga frågor, om det är ok",
    refrain="inte nu, inte idag, inte i dag, inte än, inte ikväll, inte i kväll, gör det inte, gör inte det, "
    "kör inte, deploya inte, driftsätt inte, återbetala inte, inte godkänt, betala inte, släpp inte, absolut "
    "inte, godkänn inte, rulla inte ut",
    lead_in="jag, vi, vänligen, snälla, jag väljer, väljer, välj, jag tar, ta, alternativ, val, nummer, nr, "
    "svar, mitt svar, mitt svar är, mitt val, mitt val är, beslut, mitt beslut, alltså, hej, ok, okej, jag "
    "röstar på, vi kör på, vi tar, vi väljer, vi kör, kör på, kör, region, tack",
    subject="återbetalning, återbetalningen, begäran, beställningen, betalningen, driftsättningen, release, releasen",
    filler="det, den, detta, denna, nu, allt, direkt, genast, återbetalningen, återbetalning, begäran, "
    "beställningen, betalningen, releasen, driftsätt, driftsätt nu, deploya, från mig, från min sida, för "
    "mig, för min del, idag, i dag, återbetala, betala ut",
    polite="tack, tack tack, tack så mycket, stort tack, tackar, snälla, mvh, hälsningar, tack på förhand",
    because="eftersom, för att, på grund av, då det",
    greeting="hej, hejsan, god morgon, god dag, god kväll, bästa, tjena, hallå, hej hej",
    farewell="mvh, hälsningar, med vänliga hälsningar, vänliga hälsningar, bästa hälsningar, vänligen, tack, "
    "tack på förhand, tack så mycket, hälsar, med vänlig hälsning, vänlig hälsning, tack och hej, ha det bra, "
    "/",
    true="sant, på",
    false="falskt, av",
)
