"""The grammar: which option, if any, a few written lines mean. Used for mail and for PagerDuty's notes. Pure.

Read ``reader`` first: a text decides only if all of it is one option, said politely, in one language. ``names`` has the
names of one question's options. ``phrases`` turns lines into tokens and finds lists of phrases in them; the lists are
``languages/*.toml``, one file a language. ``signatures`` finds where a text ends, which lines below a name may be about
the answer, and the names in a greeting or below a farewell. ``contact_details`` finds numbers there that are not an
option's. ``forms`` reads ``key: value`` lines.

What must never be: a guess that is recorded, an answer from quoted or signed words, or a pattern whose time grows
faster than the text.

Source: API.md §6 ("What a reply means"); docs/decisions/0035, 0098; docs/reference/mail-replies.md.
"""
