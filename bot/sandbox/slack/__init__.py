"""A pretend Slack: ``world`` is its state, ``app`` serves it. ``methods`` lists its Web API; ``blocks`` and ``views``
refuse what Slack refuses; ``user_actions`` is what its people do, ``delivery`` and ``socket`` how that reaches the
service.
"""
