"""A hook of MkDocs: pages link to files as they lie in the checkout, and the site follows.

README.md becomes the front page, with a board to play on instead of its links to docs/pages. Each other
file outside docs/ that a page links to becomes a page of the site too: Markdown as it is, source as a block
of code, a folder as its files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
LINK_TEXT = re.compile(r"\[([^]]+)\]\(docs/pages/([^)]+)\)")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", ".js": "js"}
FIRST_PAGE = "connect_four.html"  # of docs/pages, on the front page
PLAY = re.compile(r"^\*\*Play it now\*\*: (?P<links>.*)\.\n\n.*\n\n!\[.*\n\n", re.MULTILINE)  # of README.md
# The site's name of each page to its file in the checkout, of those outside docs/
outside: dict[str, Path] = {}


def site_name(file: Path) -> str:
    """Return the name of a file's page, relative to the folder of all pages."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS).as_posix()
    name = file.relative_to(ROOT).as_posix()
    if name == "README.md":
        return "index.md"
    return name if name.endswith(".md") else f"source/{name}.md"


def linked(page: Path, text: str) -> Iterator[tuple[str, Path]]:
    """Return each relative link of a page that leads to something: as it is written, and its target."""
    for link, _ in LINK.findall(text):
        target = Path(os.path.normpath(page.parent / link))
        if "://" not in link and target.exists() and target.is_relative_to(ROOT):
            yield link, target


def as_page(file: Path) -> str:
    """Return a file outside docs/ as the Markdown of a page."""
    if file.suffix == ".md":
        return file.read_text()
    title = file.relative_to(ROOT).as_posix()
    parts = [f"---\nsearch:\n  exclude: true\n---\n\n# {title}\n"]
    for each in sorted(file.iterdir()) if file.is_dir() else [file]:
        if each.is_file():
            heading = f"## {each.name}\n\n" if file.is_dir() else ""
            parts.append(f"{heading}~~~~~~{LANGUAGES.get(each.suffix, 'text')}\n{each.read_text()}~~~~~~\n")
    return "\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/ that a page, the front page first, leads to."""
    outside.clear()
    waiting = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    known = set(waiting)
    while waiting:
        file = waiting.pop()
        if not file.is_relative_to(DOCS):
            outside[site_name(file)] = file
            files.append(File.generated(config, site_name(file), content=as_page(file)))
        targets = linked(file, file.read_text()) if file.suffix == ".md" else ()
        for _, target in targets:
            if target not in known and not target.is_relative_to(DOCS):
                known.add(target)
                waiting.append(target)
    return files


def with_board(markdown: str) -> str:
    """Return the front page with a page of docs/pages in a frame, under its heading, and links to all.

    A link opens its page in the frame, without a script.
    """
    found = PLAY.search(markdown)
    if not found:
        return markdown
    links = LINK_TEXT.sub(r'<a href="pages/\2" target="board">\1</a>', found["links"]).replace(", ", "\n")
    frame = f'<iframe name="board" src="pages/{FIRST_PAGE}" title="A game against azero"></iframe>'
    board = f'<div class="boards">\n<nav aria-label="Games">\n{links}\n</nav>\n{frame}\n</div>'
    heading, rest = PLAY.sub("", markdown).split("\n", 1)
    return f"{heading}\n\n{board}\n{rest}"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with its links as the site needs them."""
    name = page.file.src_uri
    file = outside.get(name, DOCS / name)
    if file.suffix != ".md":
        return markdown
    if name == "index.md":
        markdown = with_board(markdown)
        page.meta["hide"] = ["navigation"]  # for a wider board
    names = {link: site_name(target) for link, target in linked(file, markdown)}
    folder = os.path.dirname(name) or "."
    return LINK.sub(
        lambda match: (
            f"]({os.path.relpath(names[match[1]], folder)}{match[2] or ''})"
            if match[1] in names
            else match[0]
        ),
        markdown,
    )
