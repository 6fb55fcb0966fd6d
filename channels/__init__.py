"""Channels: Slack, e-mail and PagerDuty. Each translates between core's values and one vendor.

Every vendor's package has the same roles. ``channel`` is the only I/O on the way out. ``render`` writes what people
see. A parser reads what comes in (``slack.interactions`` and ``events``, ``email.inbound``, ``pagerduty.webhooks``).
Errors say what a failed send means. Read ``core/ports.py`` first, then one ``channel``.

``grammar`` is what a person's written words mean; mail and PagerDuty's notes share it. ``http`` says what a status or
a lost connection means for a message, for every channel that speaks HTTP.

What must never be: a channel that knows another one, the engine or the store; a decision about a question; or a send
that reports an uncertain outcome as delivered, or as surely not sent.
"""
