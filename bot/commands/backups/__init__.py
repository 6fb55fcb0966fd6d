"""Backups: made while the service runs, and restored where no database is.

Read ``manifest`` first: what a backup's folder holds. ``creation`` makes one, ``restoration`` puts it back; ``dumps``
runs PostgreSQL's own programs for them, and ``trail`` verifies the audit trail.

What must never be: a folder with a backup's name that is not whole and verified, or a file that is written over.

Source: API.md §9; docs/decisions/0072.
"""
