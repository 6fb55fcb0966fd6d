"""A pretend Slack: ``world`` is its state, ``app`` serves it, with its people's actions and their way to the service.

``web_api`` and ``methods`` are its Web API, ``views`` its modals, ``socket`` Socket Mode; ``faults`` are on its page.
"""
