"""A pretend mail server: ``mailbox`` takes mail, keeps it for everybody and writes what people answer."""
