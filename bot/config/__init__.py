"""Configuration: typed settings from ``handraise.yaml`` (else ``openintent.yaml``) and the environment.

Read ``settings`` first: every setting with its default; ``people_and_keys`` and ``rules`` are sections of it, and so is
what each vendor says of itself (``bot.vendors``). ``values`` is what one value may be, ``fitting`` what must hold
between several, ``known`` which keys there are. ``loading`` reads file and environment, and puts them together.
``published`` is which secrets are none. ``changes`` and ``losses`` are about reading it again. ``problems`` is what is
wrong with them.

What must never be: an unknown key that is ignored, an error that repeats a secret, or one that hides another.

Source: API.md §8.
"""

from bot.config.loading import find_file, load
from bot.config.settings import Settings

__all__ = ["Settings", "find_file", "load"]
