"""Delivery: what leaves. A row of the outbox is leased, looked at again, sent, and settled.

Read ``relay`` first: a row's way from the lease to its outcome; then ``tries``: how it is sent. Rows wait in ``lanes``
(memory) and ``backlog`` (the database beyond it); ``turns`` says whose turn it is. ``leases`` says whether a row is
still ours to send. ``links`` and ``on_call`` complete a row as it is sent. ``pause`` holds new notices back.
``confirmation`` looks afterwards: did it arrive, and was anything left open? ``lost_withdrawals`` looks whether what
was withdrawn is gone. ``alerts`` tells the operators.

An *attempt* asks a person again and is the engine's business. A *try* repeats a send and is ours.

What must never be: a send inside a transaction, a doubtful send that is blindly repeated, a notice of an ended
question, or one slow receiver that delays the others.
"""
