"""The sandbox: a pretend Slack, mail server and PagerDuty on loopback, for the demo and, with more faults, the tests.

Each vendor has state without HTTP (``world``, ``mailbox``), the vendor's own protocol around it, and the refusals of
the real one (scopes, sizes, signatures). ``page`` is the page on which one person uses all three; ``world``
puts them together. ``vendor`` has their common parts.

What must never be: a shortcut into the service. Every action here reaches it as a signed payload, a signed mail or a
signed webhook. The product never imports this package.
"""
