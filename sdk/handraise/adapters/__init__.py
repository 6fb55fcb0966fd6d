"""Adapters: the pause of an agent framework as a question to a person.

Read :mod:`handraise.adapters.approvals` first: every adapter turns its framework's pending calls into
:class:`PendingCall`, asks by :class:`Approvals`, and turns the decisions into what its framework goes on with. Each
module imports its framework, and needs its extra: ``pip install "handraise[langgraph]"``. Nothing else of the SDK
imports them.

What must never be: a tool that runs on an approval of other arguments, or twice on one; silence told as a denial.
"""
