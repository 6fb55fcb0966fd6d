"""Redaction: what a channel may show of a question. Secrets and personal data are replaced by a mark. Pure.

Read ``redaction`` first (what is shown, by channel and policy). ``finders`` walks a text or a JSON value; ``kinds``
names what can be found; ``patterns`` recognises it. Only copies for display are redacted: the record, the API and the
agent keep everything.

What must never be: a pattern whose time grows faster than its text, or an answer that is matched by a redacted label.
"""
