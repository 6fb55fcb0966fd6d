"""Copies of records with other values in some fields.

A question's way makes about twenty of them, of records with up to thirty fields. So records that are copied on it have
no slots: what an object keeps in a dictionary is copied at once, and takes an eighth of the time of
``dataclasses.replace``, which gives each field by itself to a frozen record.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414 (under its own name mypy looks at the fields)
else:

    def replace(record: Any, /, **changes: Any) -> Any:
        """As :func:`dataclasses.replace`, but that ``__post_init__`` is not run for a record without slots."""
        fields = getattr(record, "__dict__", None)
        if fields is None:
            return dataclasses.replace(record, **changes)
        copy = object.__new__(type(record))
        copy.__dict__.update(fields, **changes)
        return copy
