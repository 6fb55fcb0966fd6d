"""English."""

from channels.words.language import Words

WORDS = Words(
    yes="yes, y, yep, yeah, yup, sure, ok, okay, go ahead, please go ahead, go for it, do it, please proceed, "
    "proceed, absolutely, of course, sounds good, looks good, lgtm, affirmative, fine with me, fine by me, "
    "agreed, agree, yes please, yes go ahead, definitely",
    no="no, n, nope, nah, no way, negative, disagree, absolutely not, definitely not, of course not, don't do "
    "it, do not do it, please don't",
    approve="approve, approved, approving, approval granted, i approve, you have my approval",
    accept="accept, accepted",
    confirm="confirm, confirmed",
    allow="allow, allowed, authorize, authorized, authorise, authorised, permit, permitted, grant, granted",
    deny="deny, denied, denying, reject, rejected, decline, declined, refuse, refused, veto, vetoed, not "
    "approved, approval denied",
    claim="on it, i'm on it, im on it, i am on it, we're on it, we are on it, ack, acknowledged, acknowledge, "
    "looking, looking into it, looking into this, looking at it, looking at this, i'm looking, i am looking, "
    "i'm looking into it, i am looking into it, i'm looking into this, i'm looking at it, i'm looking at "
    "this, i'll look into it, i will look into it, i'll look into this, i'll have a look, i'll take a look, "
    "i'll take it, i'll take this, i'll take this one, i'll handle it, i'll handle this, i've got this, i got "
    "this, i've got it, taking it, taking this, taking a look, let me look, let me take a look, let me look "
    "into it, will look, will take a look, will look into it, mine, checking, i'm checking, i'll check, let "
    "me check, having a look, give me a minute, give me a moment, give me a few minutes",
    doubt="as soon as, the moment, whenever, in case, on condition, pending, upon, not, cannot, dont, doesnt, "
    "wont, cant, isnt, never, neither, nor, no, none, without, but, unless, until, till, if, whether, when, "
    "wait, waiting, let's wait, wait until, wait till, hold, hang on, pause, stop, maybe, perhaps, possibly, "
    "probably, unsure, uncertain, not sure, although, though, however, except, only, instead, rather, either, "
    "or, otherwise, yet, first, before, after, once, later, soon, tomorrow, tonight, next week, monday, "
    "tuesday, wednesday, thursday, friday, provided, providing, assuming, as long as, subject to, depends, "
    "depending, could, would, should, might, may, think, guess, suppose, wonder, will, i'll, we'll, he'll, "
    "she'll, they'll, i'd, we'd, let me, look, looking, check, checking, see, discuss, talk, ask, ask me, get "
    "back, come back, someone else, somebody else, scratch that, ignore, disregard, correction, actually, on "
    "second thought, on second thoughts, changed my mind, undo, cancel, mistake, wrong, noted, understood, "
    "got it, saw, seen, received, read, half, partial, partially, partly, ok thanks, ok thank you, ok thx, "
    "okay thanks, okay thank you, no idea, no clue, no answer, no comment, no one, no longer, no rush, no "
    "need, no sooner, no doubt, no matter, no more, no less, no later, just kidding, kidding, lol, haha, "
    "whatever, why",
    later="later, tomorrow, tonight, next week, monday, tuesday, wednesday, thursday, friday, let's wait, "
    "wait until, wait till, rather, until, till",
    negation="not, no, never, none, neither, nor, without, cannot, dont, doesnt, wont, cant, isnt",
    harmless="as soon as possible, as soon as you can, is waiting, are waiting, has been waiting, have been "
    "waiting, no problem, no problems, no worries, no objection, no objections, no issue, no issues, no "
    "concerns, no concern, not a problem, why not, why wait, read through, checked, no questions, no further "
    "questions",
    refrain="not now, not today, not tonight, not yet, not this week, not at this time, don't do it, do not "
    "do it, don't deploy, do not deploy, don't refund, do not refund, don't approve, do not approve, don't go "
    "ahead, do not go ahead, don't proceed, do not proceed, don't release, do not release, don't pay, do not "
    "pay, don't ship it, not approved, not ok, not okay, absolutely not, definitely not",
    lead_in="i, we, please, pls, ok, okay, well, so, let's, lets, let us, go with, i'd go with, i would go "
    "with, i'll go with, i'd go for, i would go for, i'll go for, go for, go ahead and, please go ahead and, "
    "you can, you may, i choose, i pick, i vote, i vote for, i say, i'd say, option, number, choice, nr, "
    "answer, region, my answer, my answer is, the answer is, answer is, my choice, my choice is, my decision, "
    "my decision is, decision, definitely, absolutely, happy to, it's a, that's a, choose, pick, use, take, i "
    "prefer, thanks, thank you, my vote, from me",
    subject="refund, the refund, this refund, request, the request, this request, order, payment, the "
    "payment, release, the release, deployment, the deployment, deploy, the deploy",
    filler="it, this, that, this one, that one, one, the, now, all, for now, for me, way, indeed, again, is "
    "my answer, is my choice, deploy, deploy it, deploy now, ship it, go, go ahead, proceed, request, the "
    "request, refund, the refund, order, payment, release, in full, right away, today, it is, refund it, "
    "refund him, pay, is fine, is good, works for me, and approve, and approve it, and deploy, and refund",
    polite="please, pls, thanks, thank you, thx, cheers, many thanks, thanks a lot, thank you very much, "
    "regards, best regards, best, kind regards, team, everyone, asap, immediately, from me, sir, mate",
    because="because, since, as, due to",
    greeting="hi, hello, hey, dear, good morning, good afternoon, good evening, greetings",
    farewell="best, regards, best regards, kind regards, many thanks, thanks, thank you, cheers, sincerely, "
    "yours sincerely, yours faithfully, best wishes, warm regards, thx, rgds, br, kr, all the best, thanks "
    "and regards, thanks in advance, with kind regards",
    true="true, on, checked",
    false="false, off, unchecked",
)
