"""Audit: export and verify the event log, and move ended questions out of the database.

Read ``check`` first: every log of the database against its chain. ``export`` writes the trail as JSON Lines; ``verify``
checks such a file. ``retention`` moves old, ended questions into files of the same form. The chain itself (MACs, heads,
starts) is in ``core.store``.

What must never be: a line removed from the database before its file is on disk, or a check that holds a whole log in
memory.

Source: docs/reference/audit.md.
"""
