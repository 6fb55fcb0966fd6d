"""Rules of intents and their containers. Pure: values in, values out; no clock, no database."""
