"""The pages Train, Runs and Matches in a real browser."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from forks import azero_command
from running import TrainedRun

from azero.run.folder import present_holder

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("uvicorn", reason="the extra studio is not installed")

pytestmark = pytest.mark.browser
NUMBERS = itertools.count(1)
LONG = 120_000  # milliseconds that a run may take beside other programs


@pytest.fixture(scope="module")
def address(trained_run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio that has two runs, "trained" and "second", and one of each width to delete."""
    folder = tmp_path_factory.mktemp("studio")
    for part in ("checkpoints", "data"):
        for name in ("trained", "second", "unwanted-1280", "unwanted-360"):
            shutil.copytree(trained_run.folder / part / "trained", folder / part / name)
    command = azero_command("studio", "open=false", "port=0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()
        for run in (folder / "checkpoints").iterdir():
            if holder := present_holder(run):
                os.kill(holder.pid, 9)


@pytest.fixture(params=["1280 light", "360 dark"])
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    """A page of that width and those colours, which must not fail or be wider than the window."""
    width, scheme = request.param.split()
    height = {"1280": 800, "360": 640}[width]
    context = browser.new_context(
        viewport={"width": int(width), "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, errors = context.new_page(), list[str]()
    page.set_default_timeout(LONG)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= int(width)
    assert errors == []
    context.close()


def open_page(page: Any, place: str) -> None:
    """Open a page of the studio by its address."""
    page.goto(f"{page.url.partition('#')[0]}#/{place}")


def test_a_run_is_trained_by_one_click_and_played_against(page: Any) -> None:
    open_page(page, "train")
    page.get_by_label("What to train").select_option("smoke")
    name = f"mine-{next(NUMBERS)}"  # a second try must not find the first one's run
    page.get_by_label("Name of the run").fill(name)
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("heading", name=name).wait_for()
    page.locator(".chip.finished").wait_for()
    playwright.expect(page.locator(".live-boards svg")).to_have_count(16)
    page.locator(".charts svg.chart-svg").nth(1).wait_for()  # drawn once the page knows its width
    assert page.locator("pre").count() == 0  # no terminal
    page.get_by_role("link", name="Play against it").click()
    page.locator(".board .stone, .board [role=gridcell]").first.wait_for(state="attached")
    playwright.expect(page.locator("main")).to_contain_text(f"champion of {name}", ignore_case=True)


def test_a_first_game_and_a_new_one_are_against_the_newest_champion(page: Any) -> None:
    page.get_by_role("button", name="New game").click()
    second = page.get_by_role("group", name="Plays second").get_by_label("player")
    game = page.get_by_role("dialog").get_by_label("game")
    for name, player in (
        ("Tic-tac-toe", "Champion of"),
        ("Connect Four", "uct"),
        ("Tic-tac-toe", "Champion of"),
    ):
        game.select_option(label=name)
        chosen = second.locator("option:checked").filter(has_text=player)
        chosen.wait_for(state="attached")
    page.get_by_role("button", name="Cancel").click()
    assert "champion of" in page.locator(".match").inner_text()
    assert "No champion yet" not in page.locator(".match").inner_text()


def test_what_may_not_be_is_said_in_a_sentence(page: Any) -> None:
    open_page(page, "train")
    page.get_by_label("Name of the run").fill("trained")
    page.get_by_role("button", name="Start training").click()
    page.get_by_role("alert").get_by_text("There is a run trained already").wait_for()


def test_two_runs_are_compared_and_a_game_is_replayed(page: Any) -> None:
    open_page(page, "runs")
    for name in ("trained", "second"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare 2").click()
    page.get_by_role("heading", name="2 runs").wait_for()
    chart = page.locator(".chart", has_text="Loss: all")
    chart.locator(".chart-svg").wait_for()  # drawn once the page knows its width
    assert chart.locator(".chart-svg g.series").count() == 2
    chart.locator("svg.chart-svg").focus()
    page.keyboard.press("Home")
    chart.get_by_text("cycle 1").wait_for()
    page.get_by_role("link", name="second").click()
    page.get_by_role("heading", name="Cycles").wait_for()
    page.locator("button.game").first.click()
    page.locator(".replay svg.board").wait_for()
    stones = page.locator(".replay .stone").count()
    assert f"move {stones} of {stones}" in page.locator(".replay output").inner_text()
    page.locator(".replay .value-graph").focus()
    page.keyboard.press("Home")
    assert page.locator(".replay .stone").count() == 0
    page.get_by_role("button", name="Forward").click()
    assert page.locator(".replay .stone").count() == 1


def test_a_run_is_deleted_after_a_question(page: Any, address: str) -> None:
    name = f"unwanted-{page.viewport_size['width']}"
    open_page(page, f"runs?run={name}")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    assert f"data/{name}" in dialog.inner_text()
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Runs").wait_for()
    page.get_by_role("link", name="trained").wait_for()
    assert page.get_by_role("link", name=name).count() == 0


def test_a_match_is_started_and_fills_its_table(page: Any) -> None:
    open_page(page, "matches")
    page.get_by_label("Games of each pair").fill("4")
    page.get_by_label("Num simulations").first.fill("4")
    page.get_by_role("button", name="Start match").click()
    page.wait_for_url("**/*id=*")
    match = page.locator(".watched", has_text=f"match {int(page.url.rpartition('=')[2])}")
    match.locator(".chip.finished").wait_for()
    match.locator(".pairing").get_by_text("95 % interval").wait_for()
    page.locator("button.game").nth(3).wait_for()
    assert page.locator("button.game").count() == 4
    page.locator("button.game").first.click()
    page.locator(".replay svg.board").wait_for()
