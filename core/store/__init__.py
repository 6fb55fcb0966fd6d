"""The store: SQL, and nothing but SQL. SQLite and PostgreSQL alike.

Read ``tables`` first, then ``database`` (a transaction is one plain function) and ``call_deadlines`` (every call has a
deadline). Behind them: ``group_commit``, ``postgres``, ``database_file``, ``prepared``, ``upserts``, ``failures``.
``schema`` and ``migrations`` bring a database up to date.

Then one module for each thing that is kept: ``suspensions`` (with ``inbox``, and ``search`` by
``search_index`` and ``trigrams``), ``intents``, ``outbox``, ``event_log`` with ``chain`` (its MACs, checked),
``event_log_pages`` and ``event_log_records``, ``incidents``, ``quarantine``, ``tokens``, ``api_keys``,
``sessions``, ``idempotency``, ``pauses``, ``outages``, ``workers``, ``jobs``, ``archive``, ``installation``,
``markers`` (what was noted once) and ``locks`` (who does it, among processes).

What must never be: a decision about a question, a network call but to the database, an await inside a transaction, or
a query on the hot path whose cost grows with what has ended.
"""
