"""The application: it wires core and the channels into a process with an API, pages and a command line.

Read in this order:

1. ``cli`` and ``commands``: what ``handraise`` does. ``server`` runs one process, ``app`` is its ASGI application.
2. ``wiring``: the composition root, the only place that knows everyone.
3. ``web``: what HTTP brings. ``api`` is for agents, ``pages`` for people, ``hooks`` for vendors.
4. ``inbound``: what Slack, mail and PagerDuty bring, one package each.
5. ``vendors``: what each way to reach people is to the rest, in one description.
6. ``callbacks`` (to the agent), ``people`` (the directory), ``config``, ``keys``, ``observability``.

``sandbox`` is a pretend Slack, mail server and PagerDuty on loopback; ``demo`` plays a story in it. Tests use the
sandbox, the product never does.

What must never be: a decision about a question (that is core's), or a secret, a question, an answer or an address in
the log.
"""
