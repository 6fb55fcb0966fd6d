"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with faults to switch on.

``events`` and ``rest`` (with ``calls``) are its two APIs, ``webhooks`` and ``subscription`` what it sends, ``doings``
what its people do.
"""
