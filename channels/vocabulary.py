"""The words of all languages together, as the grammar looks them up. What they are stands in ``channels/words/``."""

from __future__ import annotations

from channels.phrases import Phrase, Phrases
from channels.words import LOCALES

_ALL = tuple(LOCALES.values())

CONCEPTS = {name: Phrases.named(name, _ALL) for name in ("approve", "accept", "confirm", "allow", "deny")}
"""Verbs of deciding. A choice that is called by one of them is called by all that mean the same."""
YES = Phrases.named("yes", _ALL) | CONCEPTS["approve"] | CONCEPTS["accept"] | CONCEPTS["confirm"]
NO = Phrases.named("no", _ALL) | CONCEPTS["deny"]
PLAIN_YES = Phrases.read(words.yes.split(",")[0] for words in _ALL)
PLAIN_NO = Phrases.read(words.no.split(",")[0] for words in _ALL)
"""What the choices of a yes-or-no question are called: the first word of each language's list."""
SPOKEN_YES = Phrases.named("yes", _ALL)
SPOKEN_NO = Phrases.named("no", _ALL)
CLAIM = Phrases.named("claim", _ALL)
LATER = Phrases.named("later", _ALL)
NEGATION = Phrases.named("negation", _ALL)
DOUBT = Phrases.named("doubt", _ALL) | LATER | NEGATION | CLAIM
HARMLESS = Phrases.named("harmless", _ALL)
REFRAIN = Phrases.named("refrain", _ALL)
LEAD_IN = Phrases.named("lead_in", _ALL)
POLITE = Phrases.named("polite", _ALL)
SUBJECT = Phrases.named("subject", _ALL)
FILLER = Phrases.named("filler", _ALL) | SUBJECT | POLITE
BECAUSE = Phrases.named("because", _ALL)
GREETING = Phrases.named("greeting", _ALL)
FAREWELL = Phrases.named("farewell", _ALL)
DOUBTFUL_PARTS = tuple(part for words in _ALL for part in map(str.strip, words.parts.split(",")) if part)

_NOTS = frozenset(word for (word, *more) in (NEGATION | DOUBT).listed if not more)
NEGATING: frozenset[Phrase] = frozenset(
    phrase for phrase in SPOKEN_NO.listed - CONCEPTS["deny"].listed if not _NOTS.isdisjoint(phrase)
)
"""A no with a "not" in it, in its own language or in another: "non ora", "no this". Only politeness may follow it, for
"bitte nicht ablehnen" and "no rechazar" forbid to deny.
"""
