"""The documentation as a site: no dead link or anchor, no page that the navigation forgets, nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lxml.html
import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as ``make docs`` does: a dead link or anchor, or a page that is not in the navigation, fails it. Not with
    ``--quiet``, which drops the warnings before ``--strict`` counts them."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_site_is_whole(site: Path) -> None:
    pages = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"}
    assert written <= pages


def test_language_models_find_every_page(site: Path) -> None:
    listed, whole = (site / "llms.txt").read_text(), (site / "llms-full.txt").read_text()
    for page in ("how-to/agents", "how-to/frameworks/langgraph", "reference/errors"):
        assert f"]({page}/" in listed or f"]({page}.html" in listed
        assert (ROOT / f"docs/{page}.md").read_text() in whole


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loaded = {
        (str(path.relative_to(site)), address)
        for path in site.rglob("*.html")
        for address in lxml.html.parse(path).xpath("//script/@src | //link/@href | //img/@src | //iframe/@src")
        if "://" in address or address.startswith("//")
    }
    assert loaded == set()


def test_a_page_with_a_diagram_brings_what_draws_it(site: Path) -> None:
    """Without it the theme fetches its own from a CDN."""
    pages = [(path, lxml.html.parse(path)) for path in site.rglob("*.html")]
    drawn = [(path, page) for path, page in pages if page.xpath('//pre[@class="mermaid"]')]
    assert {path.parent.name for path, _ in drawn} >= {"project", "internals"}
    for path, page in drawn:
        [script] = page.xpath('//script[contains(@src, "mermaid")]/@src')
        assert (path.parent / script).is_file()
