"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with what its people do.

``events`` and ``rest`` are its two APIs, ``webhooks`` what it sends.
"""
