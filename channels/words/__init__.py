"""What people write in a reply, by language. A further language is one more file beside this and a line below.

The grammar reads all languages at once, since nobody says in which one they answer: a word that means yes in one and
something else in another belongs to neither (Spanish "si", Portuguese "certo"). A test proves the tables free of that.
"""

from __future__ import annotations

from collections.abc import Mapping

from channels.words import de, en, es, fr, it, ja, nl, pl, pt, sv
from channels.words.language import Words

LOCALES: Mapping[str, Words] = {
    "en": en.WORDS,
    "de": de.WORDS,
    "fr": fr.WORDS,
    "es": es.WORDS,
    "it": it.WORDS,
    "pt": pt.WORDS,
    "nl": nl.WORDS,
    "sv": sv.WORDS,
    "pl": pl.WORDS,
    "ja": ja.WORDS,
}

QUESTION_MARKS = frozenset("?¿؟？⸮")
AGAINST = frozenset("👎❌✖🚫⛔🙅")
"""Signs that go with a no and with nothing else. No sign is an answer by itself."""
IN_FAVOUR = frozenset("👍✅✔🆗👌🙆")
IN_DOUBT = frozenset("🤔😂🤣😜😅🙃😉😬🤷🛑✋⏸⏳🙄😕")

__all__ = ["AGAINST", "IN_DOUBT", "IN_FAVOUR", "LOCALES", "QUESTION_MARKS", "Words"]
