"""People: the directory, and vendors' facts about the people in it.

``directory`` says who people are, and where they are reached. ``allow_list`` says whom this service may ask, if one is
set. ``on_call`` asks PagerDuty who is on call, and keeps the reply for a minute.

What must never be: a network call while a question is opened or an answer is checked, or an address that the allow-list
does not allow.
"""
