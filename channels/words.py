"""What people write in a reply, by language. A further language is one more entry of ``LOCALES`` and nothing else.

Everything is lower case. An entry may be a phrase; apostrophes are written ``'``. The grammar reads all languages at
once, since nobody says in which one they answer: a word that means yes in one and no in another belongs in neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """One language. Separated by commas, so that a native speaker can read and mend a line.

    ``claim``: "I'm on it". ``doubt``: negations, conditions, deferrals and mere acknowledgements: beside a choice they
    make it no answer. ``harmless``: phrases that hold such a word and mean none. ``lead_in``: may stand before a
    choice. ``filler``: may stand right behind it. ``because``: opens a reason. ``greeting``: opens a letter.
    ``decided``: how a decision is reported, and the choice it means ("approved approve"): verbs of deciding only,
    since "refunded" tells what was done and does not choose "refund". ``true``/``false``: what a yes-or-no field of a
    form takes beside yes and no.
    """

    yes: str
    no: str
    claim: str
    doubt: str
    harmless: str = ""
    lead_in: str = ""
    filler: str = ""
    because: str = ""
    greeting: str = ""
    decided: str = ""
    true: str = ""
    false: str = ""


LOCALES: Mapping[str, Words] = {
    "en": Words(
        yes="yes, y, yep, yeah, yup, sure, ok, okay, go ahead, do it, approve, approved, confirm, confirmed, agreed, "
        "agree, absolutely, of course, sounds good, looks good, lgtm, affirmative, fine with me, fine by me",
        no="no, n, nope, nah, deny, denied, reject, rejected, decline, declined, refuse, refused, disagree, negative",
        claim="on it, i'm on it, im on it, i am on it, we're on it, ack, acknowledged, acknowledge, looking, "
        "looking into it, looking into this, looking at it, looking at this, i'm looking, i am looking, "
        "i'm looking into it, i am looking into it, i'll look into it, i will look into it, i'll take it, "
        "i'll take this, i'll take this one, i've got this, i got this, taking it, taking this, taking a look, "
        "let me look, let me take a look, will look, will take a look, mine, checking, i'm checking, let me check, "
        "having a look, give me a minute, give me a moment",
        doubt="not, cannot, dont, doesnt, wont, cant, isnt, never, neither, nor, no, none, without, but, unless, "
        "until, till, if, whether, when, wait, hold, hang on, pause, stop, maybe, perhaps, possibly, probably, "
        "unsure, uncertain, although, though, however, except, only, instead, rather, either, or, otherwise, yet, "
        "first, before, after, once, later, soon, tomorrow, tonight, next week, monday, provided, providing, "
        "assuming, as long as, depends, depending, could, would, should, might, may, think, guess, suppose, wonder, "
        "will, i'll, we'll, he'll, she'll, they'll, i'd, we'd, let me, look, looking, check, checking, see, discuss, "
        "talk, ask, ask me, get back, come back, someone else, somebody else, scratch that, ignore, correction, "
        "actually, undo, cancel, mistake, wrong, noted, understood, got it, saw, seen, received, read, "
        "ok thanks, ok thank you, ok thx, okay thanks, okay thank you, no idea, no clue, no answer",
        harmless="no problem, no problems, no worries, no objection, no objections, no issue, no issues, "
        "no concerns, no concern, not a problem, why not, why wait, read through, checked",
        lead_in="i, we, please, pls, ok, okay, well, so, let's, lets, let us, go with, i'd go with, i would go with, "
        "i'll go with, i choose, i pick, i vote, i vote for, i say, i'd say, option, number, choice, nr, answer, "
        "my answer, my answer is, the answer is, answer is, my choice, my choice is, my decision, my decision is, "
        "decision, definitely, absolutely, happy to",
        filler="please, pls, thanks, thank you, thx, cheers, it, this, that, this one, that one, one, the, now, all, "
        "for now, for me, team, everyone, asap, immediately, way, indeed, regards, again, from me, is my answer, "
        "is my choice",
        because="because, since, as, due to",
        greeting="hi, hello, hey, dear, good morning, good afternoon, good evening, greetings",
        decided="approved approve, denied deny, rejected reject, declined decline, confirmed confirm, accepted accept, "
        "authorized authorize, authorised authorise, vetoed veto, allowed allow, refused refuse, granted grant",
        true="true, on, checked",
        false="false, off, unchecked",
    ),
    "de": Words(
        yes="ja, jawohl, jep, klar, gerne, einverstanden, genehmigt, bestätigt, freigegeben, zugestimmt, "
        "in ordnung, geht klar, passt, mach das, machen, nur zu",
        no="nein, nö, nee, abgelehnt, ablehnen, verweigert, keinesfalls",
        claim="bin dran, ich bin dran, ich kümmere mich, ich kümmere mich darum, kümmere mich, ich schaue es mir an, "
        "ich schau's mir an, schaue ich mir an, schau ich mir an, ich übernehme, übernehme ich",
        doubt="nicht, kein, keine, keinen, keiner, nie, niemals, aber, jedoch, wenn, falls, sofern, solange, außer, "
        "ausser, ohne, bis, warte, warten, moment, stopp, erst, zuerst, noch, vielleicht, eventuell, möglicherweise, "
        "wahrscheinlich, oder, entweder, weder, bevor, nachdem, morgen, später, demnächst, könnte, würde, sollte, "
        "glaube, denke, frage, fragen, prüfe, prüfen, schaue, schauen, klären, besprechen, melde mich, doch, "
        "sondern, stattdessen, allerdings, nein, gelesen, verstanden, zur kenntnis",
        harmless="kein problem, keine einwände, kein einwand, warum nicht",
        lead_in="ich, wir, bitte, also, gut, ich nehme, ich wähle, nummer, antwort, meine antwort, meine antwort ist",
        filler="bitte, danke, vielen dank, das, es, jetzt, gerne, so, von mir, grüße, gruß, mfg, lg",
        because="weil, da",
        greeting="hallo, guten tag, guten morgen, guten abend, liebe, lieber, sehr geehrte, moin, servus",
        decided="genehmigt genehmigen, abgelehnt ablehnen, bestätigt bestätigen, freigegeben freigeben",
        true="wahr",
        false="falsch",
    ),
}

QUESTION_MARKS = frozenset("?¿؟？⸮")
