"""What follows for others when an intent moves, in the transaction in which it moves (RFC-0026 §2).

The rules are ``core.openintent.domain.propagation``, and pure. ``consequences`` is the one entry: whoever changes an
intent's status calls it before the intent is kept. ``dependents`` holds those who depend on it, ``mirror`` moves its
tasks along, ``phases`` knows what one of a workflow owes, and ``coordinating`` does what those who look after it want.

No container is ever written here: what a parent, a portfolio, a plan or a workflow shows is worked out when it is read.
An intent without links costs one comparison.
"""
