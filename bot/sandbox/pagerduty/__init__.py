"""A pretend PagerDuty: ``world`` is its state, ``app`` serves it, with faults to switch on.

``events`` and ``rest`` (with ``rest_calls``) are its two APIs, ``webhooks`` and ``subscription`` what it sends,
``user_actions`` what its people do.
"""
