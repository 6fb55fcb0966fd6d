"""Slack: messages with buttons, modals, the App Home, the slash command, and what people do with them.

Out: ``channel`` posts, finds again and edits. ``conversations`` and ``people`` say where a person is reached.
``render`` (with ``mrkdwn``, ``forms``, ``modals``, ``home``, ``notes``) makes the blocks. ``limits`` has Slack's sizes,
``rate_limits`` its pace, and ``errors`` the meaning of a refusal.

In: ``interactions`` reads buttons and modals, ``events`` the Events API, ``command`` the slash command. ``payloads`` is
what our buttons carry. ``socket`` is one connection of Socket Mode, ``client`` the Web API and signature checks,
``manifest`` the app.

What must never be: a choice's value or a ``suspension_id`` in a payload; an agent's words that mention or link; a
repeated post whose first one may have arrived.
"""
