"""The shape of one language's words. Plain lists, so that a native speaker can read and mend a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """One language. Lower case, separated by commas; an entry may be a phrase; apostrophes are written ``'``.

    Where a language is written without spaces, an entry is all that stands between two marks of punctuation.
    """

    yes: str
    """Answer a yes-or-no question."""
    no: str
    approve: str
    """Name the choice that is called approve; the next four alike. Verbs of deciding only: "refunded" tells what was
    done and does not choose "refund". To a yes-or-no question they say yes, and ``deny`` says no."""
    accept: str
    confirm: str
    allow: str
    deny: str
    claim: str
    """ "I'm on it"."""
    doubt: str
    """Negations, conditions, deferrals, and mere acknowledgements: beside a choice they make it no answer."""
    later: str = ""
    """Another time: a doubt behind a yes, and none behind a no, which it leaves a no: "no, rather on Monday"."""
    negation: str = ""
    """Doubts too, but not in the reason for a refusal: "denied, he never sent it back"."""
    harmless: str = ""
    """Phrases that hold a doubt or a choice's word and mean none: "no problem"."""
    refrain: str = ""
    """Say a no once more: "don't do it". Beside a no they are no doubt."""
    lead_in: str = ""
    """May stand before a choice."""
    subject: str = ""
    """What is decided on: may stand before a verb of deciding, and behind it."""
    filler: str = ""
    """May stand right behind a choice."""
    polite: str = ""
    """May stand behind anything."""
    because: str = ""
    """Opens a reason."""
    greeting: str = ""
    """Opens a letter."""
    farewell: str = ""
    """Ends a letter, on a line of its own."""
    true: str = ""
    """What a yes-or-no field of a form takes beside yes; ``false`` beside no."""
    false: str = ""
    parts: str = ""
    """Of a language without spaces: what casts a doubt wherever it stands inside other words."""
