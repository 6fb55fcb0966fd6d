"""Backups: made while the service runs, and restored where there is no database.

Read ``manifest`` first: the content of a backup's folder. ``creation`` makes one, ``restoration`` puts it back;
``dumps`` runs PostgreSQL's own programs for them, and ``trail`` verifies the audit trail.

What must never be: a folder with a backup's name that is not whole and verified, or a file that is overwritten.

Source: API.md §9; docs/decisions/0072.
"""
