"""The HTTP API for agents and clients.

``suspensions`` first: ask, follow, wait, cancel, claim, hand over. ``answers`` takes answers and signals;
``sessions``, ``audit`` and ``admin`` are the other routes; ``streams`` are server-sent events. Intents are
``bot.web.openintent``. ``auth`` says who calls and hands routes what they work with. ``requests`` and
``suspension_replies`` are the bodies about questions, ``timeline`` the longest of them, and ``replies`` is what every
response has. ``paging`` has cursors and idempotency, ``openapi`` the document.

What must never be: a wire name that is not the contract's, a field that is accepted and ignored, or a decision about a
question.

Source: API.md.
"""
