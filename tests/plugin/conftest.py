"""The plugin, for the tests of this folder alone."""

from handraise_testing.plugin import (  # noqa: F401 (pytest finds fixtures and hooks by their names)
    _handraise_loop,
    handraise,
    handraise_settings,
    humans,
    pytest_runtest_call,
)
