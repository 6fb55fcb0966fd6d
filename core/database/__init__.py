"""The machinery of the database: the one place that knows SQLite from PostgreSQL.

Read ``database`` first: a transaction is one plain function. ``call_deadlines`` gives every call its deadline.
``group_commit`` is SQLite's one writer, ``postgres`` and ``poolers`` the other database's connections,
``database_file`` the file. ``prepared``, ``upserts``, ``recordsets`` and ``columns`` are ways to say a statement;
``text_index`` finds rows by a part of a text; ``locks`` are those of transactions and of processes; ``visibility`` says
what is visible for good; ``read_only`` opens a database for whoever only looks; ``failures`` says what a driver's error
means.

What must never be: a table of the service, a decision, or an await inside a transaction.
"""
