"""Polish. "No" is a drawled yeah in Polish and a no elsewhere; with anything Polish behind it, it is a doubt."""

from channels.words.language import Words

WORDS = Words(
    yes="tak, oczywiście, jasne, no jasne że tak, dobrze, dobra, zgoda, zgadzam się, wyrażam zgodę, w "
    "porządku, proszę bardzo, śmiało, działaj, działajcie, można, proszę działać, tak jest, tak proszę, jak "
    "najbardziej, potwierdzam zgodę",
    no="nie, nie zgadzam się, nie wyrażam zgody, nie ma zgody, oczywiście że nie, absolutnie nie, nie "
    "dziękuję, w żadnym wypadku, brak zgody, nie rób tego, nie róbcie tego",
    approve="zatwierdzam, zatwierdź, zatwierdzić, zatwierdzone, zatwierdzono, zatwierdzony, zatwierdzona, "
    "zaakceptować, aprobuję",
    accept="akceptuję, akceptuje, zaakceptowane, zaakceptowano, przyjmuję, akceptacja",
    confirm="potwierdzam, potwierdź, potwierdzone, potwierdzono",
    allow="zezwalam, zezwól, zezwolono, pozwalam, dozwolone",
    deny="odrzucam, odrzuć, odrzucić, odrzucone, odrzucono, odrzucony, odmawiam, odmowa, odmów, odmówić, "
    "odmówiono, nie zatwierdzam, nie zatwierdzać, nie zatwierdzone, nie akceptuję, niezatwierdzone, nie "
    "zezwalam",
    claim="zajmę się tym, zajmuję się tym, już się tym zajmuję, ja się tym zajmę, ja się tym zajmuję, zajmę "
    "się, biorę to, biorę to na siebie, sprawdzam, sprawdzam to, już sprawdzam, sprawdzę to, patrzę na to, "
    "już patrzę, pracuję nad tym, rzucę okiem, biorę się za to",
    doubt="jak tylko, byle, nie, nigdy, żaden, żadna, nikt, nic, bez, ale, lecz, jednak, jeśli, jeżeli, gdy, "
    "gdyby, kiedy, o ile, chyba, chyba że, poza, oprócz, dopóki, aż, poczekaj, poczekajmy, czekaj, czekać, "
    "czekam, proszę czekać, wstrzymaj, chwila, chwilę, chwileczkę, stop, najpierw, przed, zanim, po, później, "
    "potem, jutro, wkrótce, poniedziałek, poniedziałku, środy, wtorek, środa, czwartek, piątek, w przyszłym "
    "tygodniu, może, być może, prawdopodobnie, ewentualnie, albo, lub, bądź, pod warunkiem, z zastrzeżeniem, "
    "chociaż, choć, mógłby, powinien, powinniśmy, myślę, sądzę, wydaje, pytanie, pytam, zapytam, zapytaj, "
    "zapytać, sprawdzę, sprawdź, sprawdzić, zobaczę, zobaczymy, omówić, odezwę się, wrócę, przeczytałem, "
    "przeczytane, otrzymałem, otrzymano, przyjąłem, zrozumiałem, rozumiem, zanotowano, częściowo, połowa, "
    "tylko, raczej, lepiej, zamiast, anuluj, pomyłka, błąd, zignoruj, zapomnij, właściwie, zależy, dlaczego, "
    "kto, czy, nie wiem, ktoś inny, jeszcze, jeszcze nie, nie teraz, no tak, no dobra, no dobrze, no jasne, "
    "no pewnie, no ok, no nie, no to, no raczej, no nie wiem",
    later="jutro, później, poniedziałek, poniedziałku, wtorek, środa, środy, czwartek, piątek, w przyszłym "
    "tygodniu, lepiej, poczekajmy",
    negation="nie, nigdy, żaden, żadna, nikt, nic, bez, ani",
    harmless="jak tylko możliwe, jak tylko będzie można, czeka już, czeka od, nie ma problemu, bez problemu, "
    "żaden problem, nie mam zastrzeżeń, brak zastrzeżeń, bez zastrzeżeń, nie mam uwag, bez uwag, dlaczego "
    "nie, po naszej stronie, po mojej stronie",
    refrain="nie teraz, nie dzisiaj, nie dziś, jeszcze nie, dzisiaj nie, dziś nie, nie rób tego, nie róbcie "
    "tego, nie wdrażać, nie wdrażaj, nie wdrażajcie, nie zwracać, nie zatwierdzam, nie zgadzam się, nie "
    "wyrażam zgody, proszę nie wdrażać, nie akceptuję, nie publikować",
    lead_in="proszę, wybieram, wybierz, wybór, mój wybór, mój wybór to, opcja, opcję, numer, nr, odpowiedź, "
    "moja odpowiedź, moja odpowiedź to, decyzja, moja decyzja, więc, cześć, ok, głosuję na, poproszę, "
    "bierzemy, wybieramy, region, dziękuję, dzięki, niech będzie",
    subject="zwrot, zwrotu, wniosek, zamówienie, płatność, wdrożenie, wdrożenia",
    filler="to, ten, tę, teraz, wszystko, od razu, natychmiast, zwrot, zwrotu, wniosek, zamówienie, płatność, "
    "wdrożenie, wdrażaj, wdrażajcie, proszę wdrażać, wdrażamy, z mojej strony, dla mnie, dzisiaj, dziś, na "
    "produkcję, zwrócić, zwróćcie, wypłacić",
    polite="proszę, dziękuję, dziękuję bardzo, dzięki, dzięki wielkie, pozdrawiam, pozdrowienia, z góry dziękuję",
    because="ponieważ, bo, gdyż, z powodu, bowiem",
    greeting="cześć, dzień dobry, witam, hej, dobry wieczór, szanowni państwo, szanowny panie, szanowna pani, "
    "drogi, witaj",
    farewell="pozdrawiam, pozdrawiam serdecznie, pozdrowienia, z poważaniem, z wyrazami szacunku, dziękuję, "
    "dzięki, serdecznie pozdrawiam, pozdr, dziękuję i pozdrawiam, z góry dziękuję, miłego dnia",
    true="prawda",
    false="fałsz",
)
