"""Vendors: what each way to reach people is to the rest, in one description.

Read ``bot.config.sections`` first: what the configuration knows of a vendor. ``description`` adds what runs.
``slack``, ``email``, ``pagerduty`` and ``inbox`` are ours; ``slack_accounts`` finds Slack accounts by e-mail. Others
are found by an entry point group. ``installed`` is the list. The composition root, the directory and doctor go through
that list, and know no vendor by its name.

What must never be: a vendor that knows another one, or a vendor's name anywhere but in its own packages
(``tests/test_vendor_names.py``).

Source: docs/decisions/0105, 0112.
"""
