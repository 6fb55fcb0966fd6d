"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with what its people do.

``app`` has its Events API, ``rest`` the other one; ``webhooks`` are what it sends.
"""
