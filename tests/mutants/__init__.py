"""``make mutants``: each rule of ``docs/reference/conformance.md`` is broken in turn, and its test has to fail.

Read ``page`` (the requirements), ``mutants`` (the patches; the lists are the ``.toml`` files beside it), ``copies``
(where they are applied: never in this checkout), ``trial`` (tests, run in a fork that has everything ready),
``patching`` (how a fork takes a patch without importing everything anew), ``__main__`` (all of it, two at a time).
"""
