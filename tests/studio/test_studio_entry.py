"""Who opens an address that leads nowhere, or has not shown the token, reads a page and gets on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import TOKEN, client_of, make_client, make_studio

from azero.studio import safety

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_without_a_token_a_person_gets_a_page(tmp_path: Path) -> None:
    with make_client(make_studio(tmp_path)) as client:
        for place in ("/", "/?token=wrong", "/nowhere", "/nowhere?token=wrong"):
            answer = client.get(place, headers=BROWSER)
            assert answer.status_code == 403 and answer.headers["content-type"].startswith("text/html")
            assert safety.NO_TOKEN in answer.text and 'name="token"' in answer.text
            assert answer.headers["content-security-policy"] == safety.HEADERS["content-security-policy"]
        assert client.get("/api/games", headers=BROWSER).json() == {"error": safety.NO_TOKEN}
        assert client.get("/nowhere").json() == {"error": safety.NO_TOKEN}  # a program


def test_where_nothing_is_a_person_gets_a_page(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        answer = client.get("/nowhere<b>", headers=BROWSER)
        assert answer.status_code == 404 and answer.headers["content-type"].startswith("text/html")
        assert "There is nothing at this address." in answer.text and 'href="/"' in answer.text
        assert "<b>" not in answer.text
        for place, headers in (("/api/nowhere", BROWSER), ("/static/nowhere", BROWSER), ("/nowhere", {})):
            answer = client.get(place, headers=headers)
            assert answer.status_code == 404
            assert answer.json() == {"error": "There is nothing at this address."}


def test_all_pages_have_the_colours_and_the_look_of_the_first() -> None:
    files = [safety.NO_ENTRY, safety.NOTHING_HERE, safety.NO_ENTRY.with_name("index.html")]
    sheets = {tuple(re.findall(r'rel="stylesheet" href="([^"]+)"', file.read_text())) for file in files}
    assert len(sheets) == 1 and len(sheets.pop()) == 3


@pytest.mark.parametrize("place", ["/", "/nowhere", "//evil.example", "/\\evil.example", "/%2f/evil.example"])
def test_the_token_leads_to_the_studio_wherever_it_was_shown(tmp_path: Path, place: str) -> None:
    with make_client(make_studio(tmp_path)) as client:
        base = str(client.base_url).rstrip("/")
        answer = client.get(f"{base}{place}?token={TOKEN}", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        assert client.get(f"/api/games?token={TOKEN}", follow_redirects=False).status_code == 200  # no entry


@pytest.mark.browser
@pytest.mark.parametrize("place", ["", "?token=wrong", "nowhere"])
def test_a_shared_address_is_opened_after_the_token_is_pasted(browser: Any, address: str, place: str) -> None:
    from playwright.sync_api import expect

    base, token = address.split("?token=")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{base}{place}#/play?game=connect_four&moves=4.4.2")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    expect(page.locator(".stones .stone")).to_have_count(3)
    assert page.url.startswith(f"{base}#/play?game=connect_four&moves=4.4.2")
    context.close()
