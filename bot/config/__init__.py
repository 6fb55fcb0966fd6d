"""Configuration: typed settings from ``handraise.yaml`` (else ``openintent.yaml``) and the environment.

Read ``settings`` first: every setting with its default; ``people_and_keys``, ``rules`` and each vendor's own are
sections of it. ``sections`` has what a vendor says of its own, ``catalogue`` the list of vendors. ``values`` are
the kinds of single values, ``fitting`` the conditions between several, ``known`` the known keys. ``loading`` reads file
and environment, and merges them. ``published`` are secrets that everybody knows. ``changes`` and ``losses`` are for a
reload. ``problems`` are the errors.

What must never be: an unknown key that is ignored, an error that repeats a secret, or one that hides another.

Source: API.md §8.
"""
