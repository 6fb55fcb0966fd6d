"""The store: what is kept, as functions over tables. SQLite and PostgreSQL alike.

Read ``tables`` first. ``schema`` and ``migrations`` bring a database up to date. How a statement gets there is
``core.database``.

Then one module for each thing that is kept: ``suspensions`` (with ``inbox`` and ``suspension_lists``), ``intents``,
``outbox``, ``event_log`` with ``chain`` (its MACs, checked), ``event_log_pages`` and ``event_log_records``,
``incidents``, ``quarantine``, ``tokens``, ``api_keys``, ``sessions``, ``idempotency``, ``pauses``, ``outages``,
``workers``, ``jobs``, ``archive``, ``installation`` and ``markers`` (what was noted once).

What must never be: a decision about a question, a network call but to the database, an await inside a transaction, or
a query on the hot path whose cost grows with what has ended.
"""
