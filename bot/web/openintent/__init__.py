"""The routes of OpenIntent's wing: intents, their members, leases, tasks and retries, and what intents stand in.

``intents`` first, then ``members``, ``intent_leases``, ``tasks``, ``retries`` and ``subscriptions``; ``graph``,
``portfolios``, ``plans``, ``workflows`` and ``coordinators`` are the containers. ``…_bodies`` are what requests and
replies look like; ``client_records`` reads the record that the published client writes.

What must never be: a decision about a question, or a rule of the wing; those stand in ``core.openintent``.

Source: API.md §5.
"""
