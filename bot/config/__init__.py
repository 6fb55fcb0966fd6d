"""Typed settings from ``handraise.yaml`` (else ``openintent.yaml``) and the environment. Source: API.md §8."""

from bot.config.loading import find_file, load
from bot.config.settings import Settings

__all__ = ["Settings", "find_file", "load"]
