"""The Slack app's manifest: its scopes, events and commands, and how Slack reaches us.

Source: https://docs.slack.dev/reference/app-manifest; facts on channels §A5.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

EVENTS_PATH = "/slack/events"

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 (YAML, with no text of a stranger's)
)


def manifest(public_url: str | None = None) -> str:
    """YAML for Socket Mode, or for HTTP mode with a service at ``public_url``.

    Raises ``ValueError`` if Slack could not reach ``public_url``: Slack requires HTTPS.
    """
    template = _templates.get_template("manifest.yml.j2")
    return template.render(url=None if public_url is None else _events_url(public_url))


def _events_url(public_url: str) -> str:
    try:
        parts = urlsplit(public_url)
        good = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that don't close
        good = False
    plain = public_url.isascii() and public_url.isprintable() and not set(public_url) & set(" \"'`<>{}#?")
    if not good or not plain:
        raise ValueError("must look like https://host")
    return public_url.rstrip("/").removesuffix(EVENTS_PATH) + EVENTS_PATH
