"""Moves of chess are shown as SAN; what is typed may be SAN or e2e4. The address has e2e4."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import moves_shown, opener, served

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import begin, post, read_until, stream

from azero.games import make_game
from azero.studio.replay import replay_json

MOVES = ["e2e4", "d7d5", "e4d5", "c7c6", "d5c6", "g8f6", "c6b7", "f6d7", "b7a8q", "e7e5"]
SHOWN = ["e4", "d5", "exd5", "c6", "dxc6", "Nf6", "cxb7", "Nfd7", "bxa8=Q", "e5"]


def test_the_move_list_has_both_names(client: Any) -> None:
    table = begin(client, "chess", " ".join(MOVES))
    assert [node["shown"] for node in table["nodes"]] == ["", *SHOWN]
    assert [node["move"] for node in table["nodes"]] == [None, *MOVES]
    assert {move["move"]: move["shown"] for move in table["position"]["moves"]}["b1c3"] == "Nc3"


@pytest.mark.parametrize("typed", ["Nf3", "g1f3", "G1F3"])
def test_both_names_are_played(client: Any, typed: str) -> None:
    table = begin(client, "chess", "")
    assert post(client, f"/tables/{table['id']}/move", move=typed)["nodes"][-1]["shown"] == "Nf3"


def test_what_a_search_finds_is_written_as_people_do(client: Any) -> None:
    table = begin(client, "chess", "f2f3 e7e5 g2g4")
    assert post(client, f"/tables/{table['id']}/hint")["shown"] == "Qh4#"
    post(client, f"/tables/{table['id']}/analyse", player="uct", simulations=300)
    with stream(client, table) as socket:
        found = read_until(socket, lambda message: message["type"] == "analysis")
    mate = next(move for move in found["moves"] if move["move"] == "d8h4")
    assert (mate["shown"], mate["line"]) == ("Qh4#", ["Qh4#"])
    assert all(move["line"][0] == move["shown"] for move in found["moves"])


def test_a_replay_has_them_too() -> None:
    game = make_game("chess")
    state, actions = game.initial_state(), []
    for name in MOVES:
        actions.append(game.parse_action(state, name))
        state = game.step(state, actions[-1])
    replayed = replay_json(game, "chess", actions)
    assert (replayed["shown"], replayed["moves"]) == (SHOWN, MOVES)
    assert game.move_texts(actions, game.initial_state()) == SHOWN


def test_other_games_are_written_by_their_names() -> None:
    game = make_game("go", size=5)
    assert game.move_texts([0, 25], game.initial_state()) == game.move_names([0, 25]) == ["a5", "pass"]


@pytest.mark.browser
def test_the_page_shows_san_everywhere(browser: Any, tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    expect: Callable[..., Any] = sync_api.expect
    with served(tmp_path, "") as address, opener(browser) as open_page:
        page = open_page(f"{address}#/play?game=chess&moves={'.'.join(MOVES)}")
        expect(page.locator(".move-list > .move")).to_have_count(len(MOVES))
        assert moves_shown(page) == SHOWN
        assert page.get_by_label("Comment on e5").count() == 1
        page.get_by_label("Type a move").fill("Nc3")
        page.keyboard.press("Enter")
        expect(page.locator(".move-list > .move")).to_have_count(len(MOVES) + 1)
        expect(page.locator(".spoken")).to_contain_text("plays Nc3")
        assert "b1c3" in page.url
