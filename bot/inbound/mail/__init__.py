"""Inbound mail: three ways in, one inbox.

``imap`` fetches, ``lmtp`` listens, ``webhook`` takes what is posted. All hand raw mail to ``inbox``, which reads it
with ``channels.email.inbound`` and sends it on: a reply to ``answers``, a bounce or an automatic mail to ``bounces``.
``identity`` says whose reply it is, ``texts`` what is written back.

What must never be: a mail that is marked or acknowledged before the commit, a reply to a machine, or an answer from
somebody other than the person that the token was made for.
"""
