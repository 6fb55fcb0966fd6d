"""The demo's pretend vendors with all that only tests do to them: faults on order, and people's rarer habits."""
