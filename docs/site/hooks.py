"""Hooks of mkdocs: what a page links to outside ``docs/`` becomes part of the site, under ``project/``. For language
models ``llms.txt`` lists the pages, and ``llms-full.txt`` holds them.

The pages are written for who reads them in the repository, so a link may lead to ``../README.md``. Where GitHub and
Python-Markdown read a list differently, a warning says so: below a paragraph without an empty line, and inside another
list with fewer than four spaces.
Source: https://www.mkdocs.org/user-guide/configuration/#hooks, https://www.mkdocs.org/dev-guide/plugins/#events,
https://llmstxt.org.
"""

from __future__ import annotations

import logging
import os.path
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks")

ROOT = Path(__file__).parents[2]
PROJECT = "project/"
"""The folder of the site for files that stand outside ``docs/``."""
ALWAYS = ("README.md", "CHANGELOG.md")
"""What the navigation names, though no page may link to it."""
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=(?:#[^)\s]*)?\))")
FENCED = re.compile(r"(?ms)^( {4,}|)```.*?^\1```$")
SQUEEZED = re.compile(r"(?m)^(?![-*] |[|#>]|\d+\. | ).*\S\n(?=(?:[-*]|1\.) \S)")
SHALLOW = re.compile(r"(?m)^ {1,3}(?:[-*] |\d+\. |```).*$")
MERMAID = "site/mermaid.tiny.js"
SCRIPT = re.compile(r'(?=<script src="[^"]*assets/javascripts/bundle)')


WRITTEN: dict[str, str] = {}
"""Each page of the site as it was written, by its address."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is linked from the pages, what is linked from that, and so on."""
    WRITTEN.clear()
    known = set(ALWAYS)
    waiting = [ROOT / "docs" / file.src_uri for file in files.documentation_pages()] + [ROOT / name for name in ALWAYS]
    for name in ALWAYS:
        _add(files, config, name)
    while waiting:
        page = waiting.pop()
        for target in _targets(page.read_text(), page.parent.relative_to(ROOT).as_posix()):
            if target in known or target.startswith("docs/") or not (ROOT / target).is_file():
                continue
            known.add(target)
            _add(files, config, target)
            if target.endswith(".md"):
                waiting.append(ROOT / target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links as the site has them. Warns of lists that would not be shown as such."""
    if not page.file.src_uri.startswith("decisions/0"):
        WRITTEN[page.url] = markdown
    prose = FENCED.sub("", markdown)
    for squeezed in SQUEEZED.finditer(prose):
        log.warning("%s: a list needs an empty line above it: %r", page.file.src_uri, squeezed[0].strip()[:60])
    for shallow in SHALLOW.finditer(prose):
        log.warning("%s: what belongs to a list is indented by four spaces: %r", page.file.src_uri, shallow[0][:60])
    folder = _folder(page.file.src_uri)
    here = PurePosixPath(page.file.src_uri).parent.as_posix()

    def link(found: re.Match[str]) -> str:
        target = _target(found[1], folder)
        return found[1] if target is None else os.path.relpath(_uri(target), here)

    return LINK.sub(link, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The script that draws diagrams, on pages that have one, so that the theme does not fetch its own from a CDN."""
    if 'class="mermaid"' not in output:
        return output
    path = os.path.relpath(MERMAID, PurePosixPath(page.url).parent)
    return SCRIPT.sub(f'<script src="{path}"></script>', output, count=1)


def on_post_build(config: MkDocsConfig) -> None:
    """``llms.txt`` and ``llms-full.txt``, in the order of the navigation's addresses. Decisions are in neither."""
    folder, pages = Path(config.site_dir), sorted(WRITTEN.items())
    listed = [f"- [{_title(text)}]({address or './'}): {_lead(text)}".removesuffix(": ") for address, text in pages]
    head = f"# {config.site_name}\n\n> {config.site_description}\n"
    (folder / "llms.txt").write_text("\n".join([head, "## Pages", "", *listed, ""]))
    (folder / "llms-full.txt").write_text(
        "\n".join([head, *(f"<!-- {at or './'} -->\n\n{text}" for at, text in pages)])
    )


def _title(markdown: str) -> str:
    return next((line[2:].strip() for line in markdown.splitlines() if line.startswith("# ")), "Handraise")


def _lead(markdown: str) -> str:
    """The first paragraph of prose, in one line."""
    parts = FENCED.sub("", markdown).split("\n\n")
    prose = (" ".join(part.split()) for part in parts if re.match(r"[A-Z\"`]", part.strip()))
    return next(prose, "")


def _add(files: Files, config: MkDocsConfig, target: str) -> None:
    files.append(File.generated(config, _uri(target), abs_src_path=str(ROOT / target)))


def _targets(markdown: str, folder: str) -> set[str]:
    return {target for link in LINK.findall(markdown) if (target := _target(link, folder)) is not None}


def _target(link: str, folder: str) -> str | None:
    """The path in the repository that a link of a page in that folder means, or None for one that leads elsewhere."""
    if ":" in link or link.startswith(("/", "..") if folder == "." else "/"):
        return None
    return os.path.normpath(PurePosixPath(folder, link))


def _folder(uri: str) -> str:
    """Where a page of the site stands in the repository."""
    inside = uri.removeprefix(PROJECT) if uri.startswith(PROJECT) else f"docs/{uri}"
    return PurePosixPath(inside).parent.as_posix()


def _uri(target: str) -> str:
    """Where a file of the repository stands in the site."""
    return target.removeprefix("docs/") if target.startswith("docs/") else PROJECT + target
