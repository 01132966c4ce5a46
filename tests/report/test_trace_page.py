"""The record of a traced search is plain JSON, and its page works in a browser."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from auditing import faults
from contrast import faint
from gnugo import PlayedGo

from azero import trace
from azero.config.schema import SearchConfig, UserError
from azero.games import make_game
from azero.tracing.page import STATIC, STYLE, page
from azero.tracing.record import MctsSettings, UctSettings, record

TICTACTOE = make_game("tictactoe")
EXAMPLE = [0, 4, 8, 2, 6, 3]  # X 1 O / O O 5 / X 7 X: 7 wins
HOSTILE = "</script><img src=x onerror=alert(1)>"
SETTINGS: dict[str, UctSettings | MctsSettings] = {
    "uct": UctSettings(),
    "threshold": UctSettings(expansion_threshold=4),
    "puct": MctsSettings(),
    "solver": MctsSettings(SearchConfig(solver=True)),
    "gumbel": MctsSettings(SearchConfig(kind="gumbel"), temperature=1.0),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("actions", [[], EXAMPLE], ids=["start", "example"])
def test_a_record_is_plain_json_that_follows_from_itself(settings: Any, actions: list[int]) -> None:
    made = record(TICTACTOE, actions, settings, 30, seed=3)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    nodes, known = made["nodes"], {0: [0, 0.0]}
    children = {(node["parent"], node["action"]): node["id"] for node in nodes[1:]}
    for simulation in made["simulations"]:
        path, chosen = simulation["path"], [choice["chosen"] for choice in simulation["choices"]]
        assert path[0] == 0 and len(path) == len(chosen) + 1
        assert [choice["node"] for choice in simulation["choices"]] == path[:-1]
        assert [children[each] for each in zip(path, chosen, strict=False)] == path[1:]
        for choice in simulation["choices"]:
            moves = [each["action"] for each in nodes[choice["node"]]["moves"]]
            assert [each["action"] for each in choice["children"]] == moves
        for each in simulation["backup"]:
            visits, total = known.get(each["node"], [0, 0.0])
            assert each["visits"] == [visits, visits + 1] and each["sum"][0] == pytest.approx(total)
            known[each["node"]] = [each["visits"][1], each["sum"][1]]
        if simulation["added"] is not None:
            assert nodes[simulation["added"]]["added"] == simulation["number"]
        if simulation["expanded"] is not None:
            assert nodes[simulation["expanded"]]["expanded"] == simulation["number"]
    most = max(
        known[children[0, move["action"]]][0] for move in nodes[0]["moves"] if (0, move["action"]) in children
    )
    assert made["chosen"]["visits"] == most or made["chosen"]["why"] == "a proof counts more than visits"


def test_the_board_of_a_record_is_the_game_s() -> None:
    made = record(TICTACTOE, EXAMPLE, UctSettings(), 5)
    assert made["sides"] == ["X", "O"] and made["moves"] == list("048263")
    assert made["board"]["symbols"] == [".", "X", "O"] and made["board"]["kind"] == "squares"
    assert made["nodes"][0]["position"] == {"marks": [1, 0, 2, 2, 2, 0, 1, 0, 1]}
    assert made["nodes"][0]["moves"] == [
        {"action": cell, "name": str(cell), "cell": cell, "from": None} for cell in (1, 5, 7)
    ]


@pytest.mark.parametrize("settings", [UctSettings(), MctsSettings()], ids=["uct", "puct"])
def test_what_the_history_forbids_is_no_move_of_the_root(settings: UctSettings | MctsSettings) -> None:
    """On 2 x 2 points of Go, random games soon come to a position that superko takes moves from."""
    game, rng = make_game("go", size=2, komi=0.5, max_plies=40), np.random.default_rng(3)
    played, actions = PlayedGo(game), list[int]()
    while played.legal_actions() == game.legal_actions(played.state):
        actions.append(int(rng.choice(played.legal_actions())))
        played.play(actions[-1])
        if game.is_terminal(played.state):
            played, actions = PlayedGo(game), []
    made = record(game, actions, settings, 20)
    assert [move["action"] for move in made["nodes"][0]["moves"]] == played.legal_actions()
    first = [simulation["choices"][0] for simulation in made["simulations"] if simulation["choices"]]
    for choice in first:
        assert [each["action"] for each in choice["children"]] == played.legal_actions()


@pytest.mark.parametrize("actions, sentence", [([0, 0], "move 2 is not legal"), ([0, 3, 1, 4, 2], "is over")])
def test_what_cannot_be_searched_is_refused(actions: list[int], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        record(TICTACTOE, actions, UctSettings(), 5)


def test_the_cells_that_won_are_in_the_record() -> None:
    made = record(TICTACTOE, EXAMPLE, UctSettings(), 20)
    found = {tuple(each["evaluation"]["end"].get("winning", ())) for each in made["simulations"]}
    assert (6, 7, 8) in found and found <= {(), (3, 4, 5), (6, 7, 8)}


def test_a_page_needs_nothing_else_and_escapes_every_name(tmp_path: Path) -> None:
    game = replace(
        TICTACTOE, name=HOSTILE, board=None, action_name=lambda action: f"{HOSTILE}{action}",
        format_state=lambda state: HOSTILE,
    )  # fmt: skip
    plain = page(record(TICTACTOE, EXAMPLE, UctSettings(), 5))
    assert "src=" not in plain and "href=" not in plain
    text = page(record(game, EXAMPLE, UctSettings(), 5))
    assert text.count("</script>") == 2 and "<img" not in text
    kept = re.search(r'id="record">(.*?)</script>', text)
    assert kept and json.loads(kept[1])["game"] == HOSTILE


# ---- in a browser


def opened(browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> Any:
    """Open a page from disk; it may not report an error."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.on("pageerror", lambda error: pytest.fail(str(error)))
    tab.on("dialog", lambda dialog: pytest.fail("a name was run as code"))
    tab.goto(path.as_uri())
    return tab


def where(tab: Any) -> str:
    return str(tab.locator("output").inner_text())


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["tictactoe", "othello", "go", "hex"])
def test_stones_are_drawn_and_texts_can_be_read(name: str, scheme: str, browser: Any, tmp_path: Path) -> None:
    game = make_game(name, **({} if name == "tictactoe" else {"size": 4}))
    file = tmp_path / "trace.html"
    file.write_text(page(record(game, [game.legal_actions(game.initial_state())[0]], UctSettings(), 8)))
    tab = opened(browser, file, scheme=scheme)
    drawn = tab.locator("svg.board").first.locator(".stone")
    assert (drawn.count() == 0) == (name == "tictactoe")  # which has X and O
    for _ in range(2):
        assert faint(tab) == []
        tab.evaluate("scrollTo(0, 600)")
    tab.close()


@pytest.mark.browser
def test_a_reader_goes_through_the_default_example(browser: Any, tmp_path: Path) -> None:
    out = tmp_path / "trace.html"
    assert trace.main([f"out={out}"]) == 0
    tab = opened(browser, out)
    steps = tab.locator(".steps > li")
    assert where(tab) == "simulation 1 of 20" and tab.get_by_text("‹ Back").is_disabled()
    assert [each.split("\n")[0] for each in steps.all_inner_texts()] == [
        "1 Select", "2 Expand", "3 Evaluate: rollout", "4 Back up",
    ]  # fmt: skip
    assert steps.locator("svg[role=img]").count() == 8  # of each step a tree and a board
    # cells carry the names of the text, pieces are X and O
    board = steps.nth(0).locator("svg.board")
    assert board.locator("text.name").all_text_contents() == ["1", "5", "7"]
    assert (
        board.locator("path.piece.first").count() == 3 and board.locator("circle.piece.second").count() == 3
    )
    assert steps.nth(2).locator(".won").count() == (3 if "wins" in steps.nth(2).inner_text() else 0)
    # the first simulation adds one move of three; the others are drawn as not tried
    assert tab.locator(".scroll .node.untried").count() == 2
    tab.get_by_text("Next ›").click()
    assert where(tab) == "simulation 2 of 20"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowLeft")
    assert where(tab) == "simulation 3 of 20" and tab.locator(".scroll .node.untried").count() == 0
    tab.get_by_text("Next expansion").click()
    assert where(tab) == "simulation 6 of 20"
    assert "The 2 moves of 5 are listed." in steps.nth(1).inner_text()
    assert tab.locator(".scroll .node.untried").count() == 1  # one of the two
    check_arithmetic(tab.locator("tbody tr.chosen .sum").all_inner_texts())
    tab.locator("input[type=range]").fill("20")
    assert where(tab) == "the move" and tab.get_by_text("Next ›").is_disabled()
    assert tab.locator("h3").first.inner_text() == "X plays 7"
    assert "the most visits" in tab.locator(".final p").inner_text()
    tab.close()


def check_arithmetic(sums: list[str]) -> None:
    """Such as "0.50 + 1.41 · √(ln 5 / 1) = 2.294", with rounded terms."""
    shown = [
        re.fullmatch(r"(−?[\d.]+) \+ ([\d.]+) · √\(ln (\d+) / (\d+)\) = (−?[\d.]+)", each) for each in sums
    ]
    assert any(shown)
    for mean, c, total, visits, score in (each.groups() for each in shown if each):
        found = float(mean.replace("−", "-")) + float(c) * math.sqrt(math.log(int(total)) / int(visits))
        assert found == pytest.approx(float(score.replace("−", "-")), abs=0.02)


@pytest.mark.browser
def test_axe_finds_nothing_on_the_default_example_and_at_its_end(browser: Any, tmp_path: Path) -> None:
    out = tmp_path / "trace.html"
    assert trace.main([f"out={out}"]) == 0
    tab = opened(browser, out)
    assert faults(tab) == []
    tab.keyboard.press("End")
    assert where(tab) == "the move" and faults(tab) == []
    tab.close()


@pytest.mark.browser
def test_what_scrolls_is_reached_by_tab_and_keeps_its_arrow_keys(browser: Any, tmp_path: Path) -> None:
    out = tmp_path / "trace.html"
    assert trace.main([f"out={out}"]) == 0
    tab = opened(browser, out, 360)
    tab.locator(".bar input").focus()
    tab.keyboard.press("Tab")
    region = tab.get_by_role("region", name="X chooses at the root")
    assert region.evaluate("each => each === document.activeElement")
    tab.keyboard.press("ArrowRight")
    assert where(tab) == "simulation 1 of 20"
    tab.wait_for_function("document.activeElement.scrollLeft > 0")
    tab.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme, colour", [("light", "rgb(244, 245, 247)"), ("dark", "rgb(19, 22, 27)")])
def test_each_search_fits_every_width_in_light_and_dark(
    browser: Any, tmp_path: Path, width: int, scheme: str, colour: str
) -> None:
    for name, settings in SETTINGS.items():
        out = tmp_path / f"{name}.html"
        out.write_text(page(record(TICTACTOE, [4], settings, 12)), encoding="utf-8")
        tab = opened(browser, out, width, scheme)
        assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == colour
        for _ in range(14):
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            tab.keyboard.press("ArrowRight")
        assert where(tab) == "the move"
        tab.close()


@pytest.mark.browser
@pytest.mark.parametrize("name, options", [("hex", {"size": 4}), ("go", {"size": 5}), ("connect_four", {})])
def test_boards_of_every_kind_are_drawn(
    browser: Any, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    game, out = make_game(name, **options), tmp_path / "trace.html"
    out.write_text(page(record(game, [0, 1], MctsSettings(), 8)), encoding="utf-8")
    tab = opened(browser, out)
    tab.keyboard.press("End")
    board = tab.locator(".final svg.board")
    assert board.locator(".stone.first").count() == board.locator(".stone.second").count() == 1
    visits = [int(each) for each in board.locator("text.number").all_text_contents()]
    assert sum(visits) == 8
    tab.close()


@pytest.mark.browser
def test_hostile_names_are_only_text_and_another_page_can_mount_it(browser: Any) -> None:
    """A page under the policy `default-src 'self'` imports the module, mounts the trace and removes it."""
    game = replace(
        TICTACTOE, action_name=lambda action: f"{HOSTILE}{action}", format_state=lambda state: HOSTILE
    )
    made = record(replace(game, board=None), EXAMPLE, UctSettings(), 5)
    files = {
        "/": "".join(f'<link rel="stylesheet" href="{file.name}">' for file in STYLE)
        + '<div id="here"></div>'
        '<script type="module" src="main.js"></script>',
        "/main.js": 'import { mountTrace } from "./trace.js";'
        'const made = await (await fetch("record.json")).json();'
        'window.remove = mountTrace(document.getElementById("here"), made);',
        "/record.json": json.dumps(made),
        **{f"/{file.name}": file.read_text(encoding="utf-8") for file in (STATIC / "trace.js", *STYLE)},
    }
    kinds = {"js": "text/javascript", "css": "text/css", "json": "application/json"}

    def answer(route: Any) -> None:
        path = "/" + route.request.url.split("/", 3)[3]
        headers = {
            "content-security-policy": "default-src 'self'",
            "content-type": "text/html; charset=utf-8",
        }
        headers["content-type"] = kinds.get(path.rpartition(".")[2], headers["content-type"])
        route.fulfill(status=200 if path in files else 404, body=files.get(path, ""), headers=headers)

    tab, refused = browser.new_page(), list[str]()
    tab.on("dialog", lambda dialog: pytest.fail("a name was run as code"))
    tab.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    tab.route("**/*", answer)
    tab.goto("http://trace.example/")
    tab.wait_for_selector("output")
    assert HOSTILE in tab.locator("#here").inner_text() and tab.locator("#here img").count() == 0
    assert [each for each in refused if "favicon" not in each] == []
    tab.evaluate("window.remove()")
    assert tab.locator("#here").inner_html() == "" and tab.locator(".azero-trace").count() == 0
    tab.keyboard.press("ArrowRight")
    tab.close()


def test_a_page_is_titled_by_the_name_of_its_game() -> None:
    traced, _ = trace.read_record(["game=connect_four", "player.num_simulations=2"])
    assert "<title>Connect Four, 6 × 7, 4 in a row from the start: UCT</title>" in page(traced)
