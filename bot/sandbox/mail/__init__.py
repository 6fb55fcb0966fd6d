"""A pretend mail server: ``mailbox`` takes mail, keeps it for everybody and writes people's replies."""
