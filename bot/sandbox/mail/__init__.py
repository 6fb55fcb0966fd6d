"""A pretend mail server: ``smtp`` takes mail, ``mailbox`` keeps it for everybody and writes what comes back."""
