"""How long a test waits for what may never come."""

from __future__ import annotations

import os

PATIENCE = float(os.environ.get("TESTS_PATIENCE", "30"))
"""Seconds. Generous, since a machine may be busy; ``make mutants``, whose tests are to fail, sets less."""
