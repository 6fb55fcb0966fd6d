"""Slack: messages with buttons, modals, the App Home, the command, and what people do with them.

Out: ``channel`` posts, finds again and edits. ``conversations`` and ``people`` say where somebody is reached,
``render`` (with ``mrkdwn``, ``forms``, ``modals``, ``home``, ``notes``) what is shown, ``limits`` what fits,
``rate_limits`` how fast. ``errors`` says what a refusal means.

In: ``interactions`` reads buttons and modals, ``events`` what Slack reports by itself, ``command`` what was typed;
``payloads`` is what our buttons carry. ``socket`` is one connection of Socket Mode, ``client`` the Web API and its
signatures, ``manifest`` the app.

What must never be: a choice's value or a ``suspension_id`` in a payload, an agent's words that mention or link, or a
repeated post whose first one may have arrived.
"""
