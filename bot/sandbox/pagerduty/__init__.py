"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with its people's actions.

``app`` has its Events API, ``rest`` the other one; ``webhooks`` are those that it sends.
"""
