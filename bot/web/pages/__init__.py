"""The pages that people see in a browser: one question, the inbox, and signing in.

``router`` has the routes. ``answer`` shows a question and takes the answer, by a personal link (``/a``) or signed in
(``/q``). ``view`` has a page's values (pure): its text (``markdown``), its ``context``, who is asked
(``notice_timeline``), its end (``ended_record``) and people's names (``person_names``). ``forms`` has its inputs and
how they are read, ``rendering`` the templates. ``inbox`` lists waiting questions; ``insights`` has figures, and
``charts`` their drawings. ``signin`` and ``cookies`` say who is there; ``urls`` are the pages' addresses.

What must never be: a GET that answers or signs in (mail scanners open links), a page that tells a stranger whether a
question exists, a tag or an attribute that an agent wrote, or a page that needs JavaScript.

Source: API.md §6.
"""
