"""Propagation: what the move of an intent does to others, in the same transaction (RFC-0026 §2).

The rules are ``core.openintent.domain.propagation``, and pure. ``consequences`` is the one entry: code that changes an
intent's status calls it before the intent is stored. ``dependents`` holds or frees its dependents, as its coordinators
want; ``tasks`` moves its tasks, and checks what a workflow's phase owes.

No container is ever written here: what a parent, a portfolio, a plan or a workflow shows is computed when it is read.
An intent without links costs one comparison.
"""
