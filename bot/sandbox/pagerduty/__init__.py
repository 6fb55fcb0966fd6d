"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with what its people do and faults to switch on.

``events`` and ``rest`` are its two APIs, ``webhooks`` what it sends.
"""
