"""The site of docs/: it builds without a broken link, fetches nothing, and its pages stay short and true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import PROJECT, SCRIPTS

from azero.config.schema import settings
from azero.games import SHIPPED, options_of

NAV = (PROJECT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
# README.md is the site's front page; the table of results has a limit of its own
FOR_USERS = [
    PROJECT / page if (PROJECT / page).exists() else PROJECT / "docs" / page
    for page in ("README.md", *re.findall(r"[\w/]+\.md", NAV))
    if page not in ("index.md", "RESULTS.md") and not page.startswith("lab/")
]


def build(source: Path, target: Path) -> str:
    """Build the site of a checkout into a folder, as strict as `.ci/run` does. Return what goes wrong."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=200)
    return f"{done.stdout}{done.stderr}" if done.returncode else ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once."""
    pytest.importorskip("mkdocs"), pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    assert not build(PROJECT, folder)
    return folder


@pytest.mark.long
def test_every_page_and_picture_is_there_and_nothing_comes_from_another_host(site: Path) -> None:
    pages = {
        page.relative_to(site).as_posix(): page.read_text()
        for page in site.rglob("*.html")
        if page.name != "404.html"
    }
    assert {"index.html", "RESULTS.html", "lab/notebook.html", "source/azero/search/puct.py.html"} <= set(
        pages
    )
    for name, text in pages.items():
        fetched = re.findall(r'<(?:script|img|link)\b[^>]*?\b(?:src|href)="([^"]+)"', text)
        assert not [each for each in fetched if re.match(r"(https?:)?//", each)], name
        local = [(site / name).parent / each.partition("?")[0] for each in fetched if ":" not in each]
        assert all(each.exists() for each in local), name
        prose = re.sub(r"<(pre|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"\n(- |\d+\. |\|)", prose), f"{name}: a list or a table is not one on the site"


@pytest.mark.long
def test_the_first_screen_has_a_board_and_links_to_all(site: Path) -> None:
    front = (site / "index.html").read_text()
    (frame,) = re.findall(r'<iframe name="board" src="([^"]+)"', front)
    pages = {page.relative_to(PROJECT / "docs").as_posix() for page in PROJECT.glob("docs/pages/*.html")}
    assert set(re.findall(r'<a href="([^"]+)" target="board"', front)) == pages and frame in pages
    assert all((site / page).exists() for page in pages)


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_the_first_screen_plays_from_files(site: Path, browser: Any, width: int) -> None:
    from playwright.sync_api import expect

    page = browser.new_page(viewport={"width": width, "height": 740})
    page.goto((site / "index.html").as_uri())
    board = page.frame_locator("iframe[name=board]")
    expect(board.locator(".message")).to_have_text("Your move.")
    page.locator(".boards").get_by_role("link", name="Tic-tac-toe").click()
    expect(board.get_by_role("heading", level=1)).to_have_text("Tic-tac-toe")
    expect(board.locator(".message")).to_have_text("Your move.")
    board.locator("[role=gridcell]").nth(4).click()
    expect(board.locator(".moves li")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.long
def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs"), pytest.importorskip("material")
    for name in ("docs", "scripts"):
        (tmp_path / name).mkdir()
    (tmp_path / "scripts" / "docs_site.py").write_bytes((SCRIPTS / "docs_site.py").read_bytes())
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n[code](../code.py) [anchor](page.md#page)\n")
    (tmp_path / "code.py").write_text("x = 1\n")
    settings = (PROJECT / "mkdocs.yml").read_text().partition("\nnot_in_nav:")[0]
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnot_in_nav: /source/\n")
    readme = tmp_path / "README.md"
    readme.write_text("# Front\n\n[page](docs/page.md#page)\n")
    assert not build(tmp_path, tmp_path / "site")
    assert 'href="source/code.py.html"' in (tmp_path / "site" / "page.html").read_text()
    for link in ("docs/none.md", "docs/page.md#none"):
        readme.write_text(f"# Front\n\n[page]({link})\n")
        assert "none" in build(tmp_path, tmp_path / "site")


def named_in_code(page: str) -> Iterator[tuple[str, Path]]:
    """Return each link of a page whose text is a name in code and whose target is a file of Python."""
    path = PROJECT / "docs" / page
    for name, target in re.findall(r"\[`(\w+)`\]\(([^)]+\.py)\)", path.read_text()):
        yield name, (path.parent / target).resolve()


def test_each_function_of_the_algorithm_is_in_its_file() -> None:
    links = [*named_in_code("algorithm.md")]
    assert len(links) > 40
    assert not [
        f"{name} in {path}"
        for name, path in links
        if not re.search(rf"^\s*(?:def|class) {name}\b", path.read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize("page, most", [("strength.md", 1000), ("performance.md", 800)])
def test_short_pages_are_short(page: str, most: int) -> None:
    assert len((PROJECT / "docs" / page).read_text().split()) <= most


def test_the_pages_for_users_are_short() -> None:
    """Words of text and tables: not the code, not the lines between cells."""
    assert len(FOR_USERS) > 25
    texts = (re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S) for page in FOR_USERS)
    assert sum(bool(re.search(r"\w", word)) for text in texts for word in text.split()) <= 27_400


def test_every_game_has_a_page_with_its_options() -> None:
    for rules in SHIPPED:
        page = (PROJECT / "docs" / "games" / f"{rules}.md").read_text()
        assert not [option for option in settings(options_of(rules)) if f"`{option}`" not in page], rules
