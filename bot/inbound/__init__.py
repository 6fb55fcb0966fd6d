"""Inbound: what Slack, mail and PagerDuty bring, one package each. No package knows another.

Each has the same roles: an entry (``slack.app``, ``mail.inbox``, ``pagerduty.webhook``), ``identity`` (who this is,
by the directory), ``answers`` (what it does to the question) and the texts that are written back (``mail.echoes``: to
a reply that decided nothing). ``connection`` keeps what stays connected: the mailbox and the sockets.

What must never be: an answer that does not go through :meth:`Engine.respond`, an acknowledgement before the commit, or
an identity taken from a name that the vendor shows.
"""
