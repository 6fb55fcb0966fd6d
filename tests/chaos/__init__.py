"""A storm over the whole service."""
