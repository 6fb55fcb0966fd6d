"""The pages that people see in a browser: one question, the inbox, and signing in.

``router`` has the routes. ``answer`` shows a question and takes what is sent, by a personal link (``/a``) or signed in
(``/q``). ``view`` is what a page shows (pure), ``forms`` its inputs and how they are read, ``rendering`` the templates.
``inbox`` lists what waits. ``signin`` and ``cookies`` say who is there; ``urls`` where a page is.

What must never be: a GET that answers or signs in (mail scanners open links), a page that tells a stranger whether a
question exists, an agent's text that becomes markup, or a page that needs JavaScript.

Source: API.md §6.
"""
