"""A pretend Slack: ``world`` is its state, ``app`` serves it, with what its people do and how that reaches the service.

``web_api`` and ``methods`` are its Web API, ``views`` its modals, ``socket`` Socket Mode; ``faults`` are on its page.
"""
