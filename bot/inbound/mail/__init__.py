"""Inbound mail: three ways in, one inbox.

``imap`` fetches, ``lmtp`` listens, ``webhook`` takes posted mail. All hand raw mail to ``inbox``, which reads it with
``channels.email.inbound`` and sends it on: a reply to ``answers``, a bounce or an automatic mail to ``bounces``.
``identity`` says whose reply it is, ``texts`` are the replies to it.

What must never be: a mail that is marked or acknowledged before the commit, a reply to a machine, or an answer from
another person than the token was made for.
"""
