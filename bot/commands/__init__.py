"""Commands of ``handraise``: one module for each family, and what they share.

``ask``, ``admin`` (pause, callbacks, sign-in links) and ``audit`` speak HTTP with an API key, through ``client``. So
does ``channels`` for quarantined mail; its previews and the Slack manifest need the configuration alone. ``keys`` (with
``making_keys``) and ``backup`` (with ``making_backups``) work on the machine of the database. ``configuration`` reads
the configuration, and nothing else.

What must never be: an import of the store or the web at the top of a module that only needs HTTP (a command starts
fast), or others' words printed other than through ``bot.observability.terminal``.
"""
