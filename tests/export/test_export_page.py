"""Stories of exported pages in a real browser, opened from disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from auditing import faults
from contrast import faint
from pages import PATIENCE, cell, drag, middle, stones, wait_for_stones, wait_until
from places import CROWNING, PROJECT
from running import RunProgram, TrainedRun

import azero
from azero.games import SHIPPED, make_game
from azero.games.kit.board import figure_of

DOCS = PROJECT / "docs"
GUIDE = (DOCS / "your_own_game.md").read_text()
SMALL = ("network.blocks=1", "network.channels=4")
FIGURES: dict[str, dict[str, Any]] = {
    "breakthrough": {"rows": 5, "columns": 4},
    "chess": {"variant": "gardner"},
}
UNTRAINED = {
    "connect_four": ("connect_four",),  # of full size: it takes its time
    "hex": ("game=hex5", "game.options.size=3", "game.options.swap=true", *SMALL),
    "go": ("game=go5", "game.options.size=3", *SMALL),
    "squava": ("game=squava.py", *SMALL),
    "crowning": (f"game={CROWNING}", *SMALL),
    **{
        name: (f"game={name}", *(f"game.options.{key}={value}" for key, value in options.items()), *SMALL)
        for name, options in FIGURES.items()
    },
}
OVER = r"(You win|azero wins|A draw)( by [a-z' -]+)?\."

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def exported(
    tmp_path_factory: pytest.TempPathFactory, trained_run: TrainedRun, run_program: RunProgram
) -> Callable[[str], Path]:
    """Make the page of a game's champion when it is first asked for; only tic-tac-toe's has learned."""
    folder = tmp_path_factory.mktemp("exported")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    (folder / "squava.py").write_text("\n".join(blocks))

    def make(name: str) -> Path:
        file = folder / f"{name}.html"
        if file.exists():
            return file
        words = [f"run={name}"]
        if name == "tictactoe":
            words = [f"run={trained_run.name}", f"checkpoints={trained_run.checkpoints}", f"out={file.name}"]
        else:
            made = run_program("initialize", *UNTRAINED[name], f"run={name}", "device=cpu", folder=folder)
            assert made.returncode == 0, made.stderr
        done = run_program("export", *words, folder=folder, timeout=400)
        assert done.returncode == 0, done.stderr
        assert file.as_uri() in done.stdout
        return file

    return make


@pytest.fixture
def open_page(browser: Any, exported: Callable[[str], Path]) -> Iterator[Open]:
    """Open a page from disk, by default at 1280 × 800, with a script that runs before it.

    At the end no page may have had an error of its own, or have asked for anything but itself.
    """
    contexts, failures, requests = [], list[str](), set[str]()

    def open_one(name: str | Path, place: str = "", before: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("request", lambda request: requests.add(request.url))
        page.add_init_script(before)
        page.goto((exported(name) if isinstance(name, str) else name).as_uri() + place)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not failures
    assert all(each.startswith(("file:", "blob:null", "data:")) for each in requests), requests


def wait_for_turn(page: Any, over: str = OVER) -> str:
    """Wait until a person may move or the game is over; return what the page says."""
    expect(page.locator(".message")).to_have_text(re.compile(rf"Your move\.|{over}"))
    return page.locator(".message").text_content()


def moves_shown(page: Any) -> list[str]:
    return page.locator(".moves li").all_text_contents()


def choose(page: Any, group: str, name: str) -> None:
    page.get_by_role("group", name=group).get_by_label(name.lower()).check(force=True)


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def play_to_the_end(page: Any) -> str:
    """Play the first legal cell again and again; return how the game ends."""
    while wait_for_turn(page) == "Your move.":
        count = page.locator(".stones .stone").count()
        page.locator(".hit.can").first.click()
        expect(page.locator(".stones .stone").nth(count)).to_be_attached()
    assert len(stones(page)) == len(moves_shown(page)) >= 5
    return page.locator(".message").text_content()


@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
def test_the_ready_pages_play(name: str, open_page: Open) -> None:
    assert play_to_the_end(open_page(DOCS / "pages" / f"{name}.html")) == "azero wins."


@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "squava"])
def test_a_game_to_its_end_by_clicks(name: str, open_page: Open) -> None:
    """squava is the guide's game: its board, rules and search come from that file alone."""
    page = open_page(name)
    said = play_to_the_end(page)
    assert name != "tictactoe" or said != "You win."  # that champion has learned
    marked = page.locator(".ends .won:not(.under)").count()
    assert marked >= (3 if name == "tictactoe" else 4) if "win" in said and name != "squava" else marked == 0
    page.locator("[role=gridcell]").first.click()
    expect(page.locator(".toasts")).to_contain_text("The game is over.")
    press(page, "New game")
    wait_for_stones(page, 0)
    assert wait_for_turn(page) == "Your move." and page.url.endswith(".html")


def test_a_click_anywhere_in_a_column_plays_there(open_page: Open) -> None:
    page = open_page("connect_four", "#you=both")
    cell(page, "36").click()
    wait_for_stones(page, 1)
    page.locator('rect[data-cell="4"]').click()  # above the board
    wait_for_stones(page, 2)
    assert moves_shown(page) == ["3", "5"] and sorted(stones(page)) == ["31, X", "51, O"]


def test_pieces_are_moved_and_become_others(open_page: Open) -> None:
    page = open_page("crowning", "#moves=a1a2.a4a3.b1b2.a3b2.c1c2&you=second&strength=1")
    assert wait_for_turn(page) == "Your move."
    assert middle(page, "a1")[1] < middle(page, "a4")[1]  # seen from the second player's side
    expect(page.locator(".spots .was")).to_have_count(2)
    cell(page, "a1").click()
    expect(page.locator(".toasts")).to_contain_text("Choose one of your pieces that can move")
    drag(page, "b2", "b1")
    expect(page.get_by_role("menuitem")).to_have_count(2)
    page.get_by_role("menuitem", name="knight").click()
    expect(page.locator(".moves li").nth(5)).to_have_text("b2b1n")
    wait_for_turn(page)
    shown = moves_shown(page)
    assert len(shown) == 7 and f"moves={'.'.join(shown)}" in page.url
    choose(page, "Show", "Search")
    expect(page.locator(".arrows .best")).to_have_count(1)
    again = open_page("crowning", page.url.partition(".html")[2])
    wait_for_turn(again)
    assert moves_shown(again) == shown and stones(again) == stones(page)
    press(again, "Turn the board")
    expect(again.locator(".labels text").first).to_have_text("4")
    expect(again.locator(".stones .stone").first).to_be_visible()
    assert middle(again, "a1")[1] > middle(again, "a4")[1]


def test_a_move_is_typed(open_page: Open) -> None:
    page = open_page("crowning", "#moves=a1a2.a4a3.b1b2.a3b2.c1c2&you=both")
    field = page.get_by_label("Type a move")
    wait_for_stones(page, 5)
    for text in ("b2b1", "b2b1q"):  # the pawn becomes r or n
        field.fill(text)
        field.press("Enter")
        expect(page.locator(".toasts")).to_contain_text(f"{text} is not a legal move here.")
    field.fill(" B2B1N ")
    field.press("Enter")
    expect(page.locator(".moves li").nth(5)).to_have_text("b2b1n")
    expect(field).to_have_value("")
    assert "b1, black knight" in stones(page)
    expect(open_page("tictactoe").get_by_label("Type a move")).to_be_hidden()


def test_chess_is_typed_as_people_write_it_and_a_draw_has_its_reason(open_page: Open) -> None:
    page = open_page("chess", "#moves=b1a3.b5c3.a3b1.c3b5.b1a3.b5c3.a3b1&you=both")
    field = page.get_by_label("Type a move")
    expect(page.locator(".moves li")).to_have_count(7)
    for text, said in (("Nb4", "not a legal move"), ("xb2", "not a legal move"), ("Nb5+", "")):
        field.fill(text)
        field.press("Enter")
        if said:
            expect(page.locator(".toasts")).to_contain_text(f"{text} is {said}")
    expect(page.locator(".moves li").nth(7)).to_have_text("c3b5")
    expect(page.locator(".message")).to_have_text("A draw by repetition.")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FIGURES))
def test_games_with_figures_play_to_the_end(name: str, open_page: Open) -> None:
    if name not in SHIPPED:
        pytest.skip(f"{name} is not among azero's games")
    page = open_page(name, "#strength=1")
    for count in range(0, 40, 2):
        if wait_for_turn(page) != "Your move.":
            break
        page.locator(".hit.movable").first.click()
        page.locator(".hit.can").first.click()
        menu = page.get_by_role("menuitem")
        if menu.count():
            menu.first.click()
        expect(page.locator(".moves li").nth(count)).to_be_attached()
    shown = moves_shown(page)
    game = make_game(name, **FIGURES[name])
    state = game.initial_state()
    for move in shown:  # the page's names are the game's
        state = game.step(state, game.parse_action(state, move))
    assert game.board is not None and len(shown) > 4
    marks = [int(mark) for mark in game.board.marks(state).ravel() if mark]
    names = [f"{('white', 'black')[1 - mark % 2]} {game.board.figures[figure_of(mark)]}" for mark in marks]
    assert sorted(label.split(", ")[1] for label in stones(page)) == sorted(names)


def test_a_hint_is_shown_and_a_move_taken_back(open_page: Open) -> None:
    page = open_page("tictactoe", "#moves=0.4.8.3")  # X . . / O O . / . . X: only 5 does not lose
    assert wait_for_turn(page) == "Your move."
    press(page, "Hint")
    expect(page.locator(".toasts")).to_contain_text(re.compile(r"Hint: 5, \d+ % for you\."))
    expect(page.locator(".ghosts .stone")).to_have_count(1)
    cell(page, "32").click()
    wait_for_stones(page, 6)
    assert wait_for_turn(page) == "Your move." and moves_shown(page)[4] == "5"
    for count in (4, 2, 0):
        press(page, "Take back")
        wait_for_stones(page, count)
    expect(page.get_by_role("button", name="Take back")).to_be_disabled()


def test_the_address_holds_the_game(open_page: Open) -> None:
    page = open_page("tictactoe", "#you=second&strength=30&show=network")
    wait_for_stones(page, 1)
    wait_for_turn(page)
    page.locator(".hit.can").first.click()
    wait_for_stones(page, 3)
    wait_for_turn(page)
    place = page.url.partition("#")[2]
    assert place == f"moves={'.'.join(moves_shown(page))}&you=second&strength=30&show=network"
    other = open_page("tictactoe", f"#{place}")
    page.reload()
    for each in (page, other):
        wait_for_stones(each, 3)
        wait_for_turn(each)
        assert each.url == page.url and stones(each) == stones(page)
        expect(each.get_by_label("second")).to_be_checked()
        expect(each.locator(".slider output")).to_have_text("30 simulations")
    page.goto(page.url.partition("#")[0] + "#moves=4.0.4.8&you=both")  # 4 is taken: the game ends before it
    wait_for_stones(page, 2)
    assert moves_shown(page) == ["4", "0"]


def test_the_network_s_opinion_is_pytorch_s(open_page: Open, trained_run: TrainedRun) -> None:
    champion = azero.load_champion(trained_run.name, str(trained_run.checkpoints), "cpu")
    state = champion.position("4 0")
    page = open_page("tictactoe", "#moves=4.0")
    wait_for_turn(page)
    assert page.locator(".heat > *").count() == 0
    choose(page, "Show", "Network")
    expect(page.locator(".heat > *").first).to_be_attached()
    policy = [100 * share for share in champion.policy(state) if share >= 0.01]
    shown = [int(text.removesuffix(" %")) for text in page.locator(".numbers .major").all_text_contents()]
    assert shown == pytest.approx(policy, abs=0.6)
    value = int(re.findall(r"\d+", page.locator(".opinion").text_content())[0])
    assert value == pytest.approx(50 + 50 * champion.value(state), abs=0.6)
    choose(page, "Show", "Search")
    expect(page.locator(".opinion")).to_contain_text(re.compile(r"Search: \d+ % for you after [\d,]+ sim"))
    expect(page.locator(".numbers .minor").first).to_have_text(re.compile(r"\d"))
    choose(page, "Show", "Nothing")
    expect(page.locator(".heat > *")).to_have_count(0)


def test_the_page_answers_while_azero_thinks(open_page: Open) -> None:
    page = open_page("connect_four", "#strength=10s&show=search")
    wait_for_turn(page)
    cell(page, "41").click()
    expect(page.locator(".message")).to_have_text("azero is thinking …")
    expect(page.locator(".heat > *").first).to_be_attached()  # its visits so far
    cell(page, "31").click()
    expect(page.locator(".toasts")).to_contain_text("It is azero's turn.")
    press(page, "New game")  # does not wait for the ten seconds
    expect(page.locator(".message")).to_have_text("Your move.", timeout=5000)
    wait_for_stones(page, 0)
    page.goto(page.url.partition("#")[0] + "#strength=1s")
    wait_for_turn(page)
    cell(page, "41").click()
    wait_for_stones(page, 2)


def test_moves_without_a_cell_are_buttons(open_page: Open) -> None:
    page = open_page("hex", "#you=both")
    cell(page, "a2").click()
    wait_for_stones(page, 1)
    press(page, "Swap: take Black's stone")
    expect(cell(page, "b1")).to_have_attribute("aria-label", re.compile("b1, O"))
    assert page.locator(".who small").first.text_content() == "connect top and bottom"
    page = open_page("go", "#you=both&moves=b2")
    press(page, "Pass")
    expect(page.locator(".moves li")).to_have_count(2)
    press(page, "Pass")
    expect(page.locator(".message")).to_have_text(re.compile(r"Black wins by \d"))
    expect(page.locator(".ends .owned")).to_have_count(8)
    assert page.locator("h1").text_content() == "Go, 3 × 3, komi 7.5"
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".moves li")).to_have_count(2)
    page = open_page("go", "#you=both&show=network&moves=b2")
    expect(page.locator(".numbers text").first).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert (scheme, faint(page)) == (scheme, [])


def test_a_game_by_keyboard_only(open_page: Open) -> None:
    page = open_page("tictactoe", "#you=both")
    expect(page.locator(".hit.can")).to_have_count(9)  # ready for a move
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    page.keyboard.press("Enter")
    wait_for_stones(page, 1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    wait_for_stones(page, 2)
    assert stones(page) == ["12, O", "22, X"]
    page.keyboard.press("Escape")  # out of the board: the arrows go through the game
    page.keyboard.press("ArrowLeft")
    wait_for_stones(page, 1)


def test_keys_go_through_a_game_and_keep_what_was_taken_back(open_page: Open) -> None:
    page = open_page("tictactoe", "#moves=0.4.8.3&strength=1")  # you are X, and azero has just played
    wait_for_turn(page)
    forward = page.get_by_role("button", name="Forward")
    expect(forward).to_be_disabled()
    for key, count in (("ArrowLeft", 2), ("Home", 0), ("ArrowRight", 2), ("End", 4), ("Home", 0)):
        page.keyboard.press(key)
        wait_for_stones(page, count)
    press(page, "Forward")
    wait_for_stones(page, 2)
    cell(page, "32").click()  # another move: what was taken back is gone
    wait_for_stones(page, 4)
    assert wait_for_turn(page) == "Your move." and moves_shown(page)[:3] == ["0", "4", "5"]
    expect(forward).to_be_disabled()
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    expect(page.locator(".toasts")).to_contain_text("Hint: ")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("take back")
    page.keyboard.press("n")  # nothing fires below a dialog
    page.keyboard.press("Escape")
    expect(page.locator("body")).to_be_focused()
    wait_for_stones(page, 4)
    page.keyboard.press("n")
    wait_for_stones(page, 0)
    expect(forward).to_be_disabled()


def test_a_typed_move_is_not_taken_for_keys(open_page: Open) -> None:
    page = open_page("crowning", "#moves=a1a2.a4a3.b1b2.a3b2.c1c2&you=both")
    wait_for_stones(page, 5)
    page.keyboard.type("b2b1n")
    expect(page.get_by_label("Type a move")).to_have_value("b2b1n")
    page.keyboard.press("Enter")
    expect(page.locator(".moves li").nth(5)).to_have_text("b2b1n")


def test_azero_s_move_is_announced(open_page: Open) -> None:
    page = open_page("tictactoe", "#strength=30")
    wait_for_turn(page)
    spoken = page.locator(".spoken")
    cell(page, "11").click()
    wait_for_stones(page, 2)
    expect(spoken).to_have_text(re.compile(r"^azero plays \d\. Your move\.$"))
    press(page, "Take back")
    expect(spoken).to_have_text("At the start. Your move.")
    press(page, "Forward")
    expect(spoken).to_have_text(re.compile(r"^At azero's move \d\. Your move\.$"))


@pytest.mark.parametrize("name", ["tictactoe", "hex", "go"])
def test_axe_finds_nothing_and_texts_can_be_read(name: str, open_page: Open) -> None:
    page = open_page(name, "#show=network")
    wait_for_turn(page)
    assert faults(page) == []


def test_axe_finds_nothing_in_the_list_of_keys(open_page: Open) -> None:
    page = open_page("tictactoe")
    wait_for_turn(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert faults(page) == []


def test_it_says_what_it_is(open_page: Open, trained_run: TrainedRun) -> None:
    page = open_page("tictactoe")
    page.get_by_text("About this player").click()
    about = page.locator("dl").inner_text()
    for wanted in (
        "trained, cycle 5",
        "mistakes with search",
        "fp16",
        f"azero {azero.__version__}",
        "20 sim",
    ):
        assert wanted in about
    assert page.title() == "Tic-tac-toe against azero"


def test_the_page_cannot_send_anything(open_page: Open) -> None:
    page = open_page("tictactoe")
    wait_for_turn(page)
    sent = "fetch('https://example.org').then(() => 'sent', () => 'refused')"
    assert page.evaluate(sent) == "refused"


@pytest.mark.parametrize("lost", ["delete window.Worker", "WebAssembly.validate = () => false"])
def test_an_old_browser_gets_a_sentence(lost: str, open_page: Open) -> None:
    page = open_page("tictactoe", before=lost)
    expect(page.locator("main")).to_have_text(re.compile("^This browser cannot run the page."))


def test_a_damaged_file_says_so(open_page: Open, exported: Callable[[str], Path], tmp_path: Path) -> None:
    text = exported("tictactoe").read_text()
    (tmp_path / "cut.html").write_text(re.sub(r'(id="wasm">.{80})[^<]*', r"\1", text))
    page, logged = open_page("tictactoe"), list[str]()
    page.on("console", lambda message: logged.append(message.type))
    page.goto((tmp_path / "cut.html").as_uri())
    sentence = "The player could not start; the file may be damaged."
    expect(page.locator(".message")).to_have_text(sentence)
    expect(page.locator(".spoken")).to_have_text(sentence)
    assert "error" in logged  # what went wrong is for those who look for it


def test_dark_and_phone(open_page: Open) -> None:
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    page = open_page("connect_four", color_scheme="dark")
    wait_for_turn(page)
    assert max(page.evaluate(brightness)) < 50
    phone = open_page("connect_four", viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    wait_for_turn(phone)
    assert min(phone.evaluate(brightness)) > 200
    assert phone.evaluate("document.documentElement.scrollWidth") == 360  # nothing is wider
    board = wait_until(phone, phone.locator(".holder svg").bounding_box)
    assert board["width"] > 300 and board["y"] + board["height"] < 740
    phone.locator(".hit.can").first.tap()
    wait_for_stones(phone, 2)
