"""Vendors: what each way to reach people is to the rest, in one description.

Read ``description`` first: what a vendor says of itself. ``slack``, ``email`` and ``pagerduty`` are three of them.
Others are found by an entry point group. ``installed`` is the list. The composition root, the
configuration, the directory and doctor go through that list, and know no vendor by its name.

What must never be: a vendor that knows another one, or a vendor's name anywhere but in its own packages
(``tests/test_vendor_names.py``).

Source: docs/decisions/0105.
"""

import bot.config.settings  # noqa: F401 (it reads the list: whoever asks for one vendor first gets a whole one)
