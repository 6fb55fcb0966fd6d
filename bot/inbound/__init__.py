"""Inbound adapters: Slack, mail and PagerDuty, one package each. No package knows another.

Each has the same roles: an entry (``slack.app``, ``mail.inbox``, ``pagerduty.webhook``), ``identity`` (the person, by
the directory), ``answers`` (the effect on the question) and the texts of replies (``mail.echoes``: to a reply that
decided nothing). ``connection`` keeps long-lived connections: the mailbox and the sockets.

What must never be: an answer that does not go through :meth:`Engine.respond`, an acknowledgement before the commit, or
an identity taken from a name that the vendor shows.
"""
