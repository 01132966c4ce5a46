"""The studio's review: what it says of moves, who judges, when it runs and ends, and a story in a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import PATIENCE, opener, wait_for_stones
from running import TrainedRun

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import client_of, make_studio, opened, read_until, stream
from waiting import wait_for

from azero.games import make_game
from azero.players import Move, Thought, never
from azero.studio import review as review_module
from azero.studio import table as table_module
from azero.studio.game_tree import GameTree
from azero.studio.losses import accuracy_of, size_of
from azero.studio.review import Opinion, Review, Reviewer, report_of, value_of
from azero.studio.table import GameTable
from azero.truth.exact import ExactValues
from azero.truth.solvers import SearchOracle

GOMOKU = "h8.h9.g8.i8.g9.g7.i9.f8"  # random games say 74, 28, 71, 31 % and call every move a blunder
# 8 lets X win by 2:   0 1 .
#                      . 4 .
#                      . . 8
BLUNDER = ["0", "4", "1", "8", "2"]


def ask(client: Any, table: Any, verb: str, **body: Any) -> Any:
    """Return a table after something was asked of it."""
    answer = client.post(f"/api/tables/{table['id']}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def reviewed(client: Any, table: Any) -> Any:
    """Return a table after its review."""
    ask(client, table, "review")
    with stream(client, table) as socket:
        return read_until(
            socket,
            lambda message: (
                message["type"] == "table"
                and message["table"]["review"] is not None
                and not message["table"]["review"]["on"]
            ),
        )["table"]


class Thinker:
    """A search that knows the value of a tic-tac-toe position by its state, and finds its moves so."""

    def __init__(self, values: dict[bytes, Thought]) -> None:
        self.values, self.searched = values, list[bytes]()

    def begin(self, state: np.ndarray, banned: object = None) -> None:
        self.searched.append(state.tobytes())

    def grow(self, seconds: float) -> bool:
        return False

    def read(self, path: object = ()) -> Thought | None:
        return self.values[self.searched[-1]]


class Nothing:
    """Knows no exact value."""

    def value(self, *_: object) -> None:
        return None


def judged(tree: GameTree, judge: Reviewer) -> Review:
    """Return the review of a tree's line by a judge."""
    found = Review(tree, tree.line(), {})
    found.begin(judge)
    while (job := found.next_job(never)) is not None and (opinion := job()) is not None:
        found.note(opinion)
    return found


def line_of(name: str, *moves: str, **options: Any) -> GameTree:
    """Return the tree of a game after some moves."""
    tree = GameTree(make_game(name, **options))
    for move in moves:
        tree.play(tree.action_of(move))
    return tree


def test_sizes_and_accuracy_of_losses() -> None:
    losses = [None, 0.0, 0.049, 0.05, 0.2, 0.5, 2.0]
    assert [size_of(loss) for loss in losses] == [
        None, "good", "good", "slip", "mistake", "blunder", "blunder",
    ]  # fmt: skip
    # 10 points: 103.1668 * exp(-0.4354) - 3.1669 = 103.1668 * 0.64701 - 3.1669
    assert accuracy_of(0.2) == pytest.approx(63.58, abs=0.01)
    assert accuracy_of(0.0) == pytest.approx(100.0, abs=0.001) and accuracy_of(2.0) == 0.0


def test_a_position_is_worth_the_mean_of_its_search_and_a_move_what_it_leads_to() -> None:
    tree = line_of("tictactoe", "0", "4")
    start, corner, last = tree.line()

    def thought(best: int, value: float, **visits: float) -> Thought:
        moves = [Move(int(name[1:]), 9, worth, 0.1, (), -1.0, 1.0) for name, worth in visits.items()]
        return Thought(best, 18, value, moves)

    search = Thinker({
        start.state.tobytes(): thought(4, 0.1, _4=0.5, _0=-0.9),  # what it says of a bad move does not count
        corner.state.tobytes(): thought(4, -0.25, _4=-0.2, _1=-0.6),  # for the second player
        last.state.tobytes(): thought(8, 0.3, _8=0.3),
    })  # fmt: skip
    found = judged(tree, Reviewer(Nothing(), search, "champion"))  # type: ignore[arg-type]
    assert (start.value, corner.value, last.value) == (0.1, 0.25, 0.3)  # for the first player
    assert corner.loss == pytest.approx(0.5 - 0.25)  # 4 is worth 0.5
    assert last.loss == 0.0  # the best move
    assert (found.done, found.why) == (2, "") and start.loss is None
    report = report_of(tree, tree.line())
    assert report is not None
    first, second = report["sides"]
    assert first == {
        "moves": 1, "judged": 1, "accuracy": round(accuracy_of(0.25), 1),
        "sizes": {"slip": 0, "mistake": 1, "blunder": 0}, "worst": [1],
    }  # fmt: skip
    assert second["accuracy"] == 100.0 and second["worst"] == []
    assert [node["size"] for node in tree.nodes_json()] == [None, "mistake", "good"]


def test_a_mistake_is_judged_anew_by_longer_searches() -> None:
    """0.5 - 0.25 is a mistake by the short search. By the longer one the move gave away 0.5 - 0.49."""
    tree = line_of("tictactoe", "0", "1")
    start, corner, last = tree.line()

    def thinker(best: float, after: float) -> Thinker:
        found = [(start, 4, best, 0.1), (corner, 1, 0.2, -after), (last, 8, 0.3, 0.3)]
        return Thinker({
            node.state.tobytes(): Thought(move, 18, value, [Move(move, 9, worth, 0.1, (), -1.0, 1.0)])
            for node, move, worth, value in found
        })  # fmt: skip

    long = thinker(0.5, 0.49)
    judged(tree, Reviewer(Nothing(), thinker(0.5, 0.25), "one", long))  # type: ignore[arg-type]
    assert corner.loss == pytest.approx(0.01) and (corner.value, last.loss) == (0.49, 0.0)
    assert long.searched == [corner.state.tobytes(), start.state.tobytes()]
    worse = thinker(0.6, 0.2)
    judged(tree, Reviewer(Nothing(), thinker(0.5, 0.25), "two", worse))  # type: ignore[arg-type]
    assert corner.loss == pytest.approx(0.4) and corner.value == 0.2
    judged(tree, Reviewer(Nothing(), thinker(0.5, 0.25), "three"))  # type: ignore[arg-type]
    assert corner.loss == pytest.approx(0.25) and corner.value == 0.25


def test_a_move_that_ends_the_game_is_worth_its_outcome() -> None:
    """O takes 3 where 2 wins for X, who plays it: no longer search looks at a finished game."""
    tree = line_of("tictactoe", "0", "3", "1", "4", "2")
    before = tree.line()[-2]
    thought = Thought(8, 9, -0.9, [Move(8, 9, -0.9, 0.1, (), -1.0, 1.0)])
    search = Thinker({node.state.tobytes(): thought for node in tree.line()})
    longer = Thinker(search.values)
    found = Reviewer(Nothing(), search, "champion", longer)  # type: ignore[arg-type]
    opinion = found.judge(tree.at(before), 2, -1.0, never)  # as if the end were a loss
    assert opinion and opinion.loss == pytest.approx(0.1) and longer.searched == []
    opinion = found.judge(tree.at(before), 2, -1.2, never)
    assert opinion and opinion.after == -1.2 and longer.searched == [before.state.tobytes()]


def test_proven_bounds_limit_a_value() -> None:
    lost, open_move = Move(0, 5, 0.4, 0.1, (), -1.0, -1.0), Move(1, 5, 0.4, 0.1, (), -1.0, 0.0)
    assert value_of(lost) == -1.0 and value_of(Thought(1, 10, 0.4, [lost, open_move])) == 0.0
    assert value_of(Thought(-1, 10, 0.4)) == 0.4


def test_a_solver_judges_connect_four_as_scores_of_all_moves_do() -> None:
    game, rng, moves = make_game("connect_four"), np.random.default_rng(5), 0
    oracle, judge = SearchOracle(game), Reviewer(ExactValues(game, 1.0), None, "")
    while moves < 30:
        tree = GameTree(game)
        while not tree.is_over():
            tree.play(int(rng.choice(np.flatnonzero(tree.legal()))))
        line = tree.line()[28:]  # late positions are fast
        found = Review(tree, line, {})
        found.begin(judge)
        while (job := found.next_job(never)) is not None:
            opinion = job()
            assert opinion is not None
            found.note(opinion)
        for before, node in pairwise(line):
            scores = np.sign(oracle.score_moves(before.state))
            assert node.loss == scores[game.legal_actions(before.state)].max() - scores[node.action]
            moves += 1


@pytest.mark.parametrize(
    ("position", "value"),
    [
        ("4k/5/5/5/RK3 w - - 0 1", 1.0),
        ("4k/5/5/5/RK3 b - - 0 1", -1.0),
        ("rn2k/5/5/5/RK3 w - - 0 1", None),
        ("4k/5/5/5/RK3 w - - 98 80", None),
    ],
)
def test_a_table_knows_endings_of_chess(position: str, value: float | None) -> None:
    game = make_game("chess", variant="gardner")
    assert ExactValues(game, 0.0).value(game.position(position)) == value


def test_nobody_judges_gomoku_by_random_games(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="gomoku", moves=GOMOKU.split("."))
        with stream(client, table) as socket:
            ask(client, table, "analyse", player="uct", simulations=200)
            read_until(socket, lambda message: message["type"] == "analysis")
        after = reviewed(client, table)
        assert after["review"]["why"] == (
            "This game cannot be judged: no run has a champion of this game (Gomoku, 15 × 15, 5 in a "
            "row) yet, and no solver knows its positions."
        )
        assert after["report"] is None and all(node["size"] is None for node in after["nodes"])


def test_a_solver_finds_the_blunder_and_the_better_move(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="tictactoe", moves=BLUNDER)
        after = reviewed(client, table)
        assert [node["value"] for node in after["nodes"]] == [0, 0, 0, 0, 1, 1]
        assert [node["loss"] for node in after["nodes"]] == [None, 0, 0, 0, 1, 0]
        assert [node["better"] for node in after["nodes"]] == [None, None, None, None, "2", None]
        assert after["review"] == {"on": False, "done": 5, "of": 5, "by": "a solver", "why": ""}
        first, second = after["report"]["sides"]
        assert (first["accuracy"], first["worst"]) == (100.0, [])
        assert (second["moves"], second["sizes"]["blunder"], second["worst"]) == (2, 1, [4])
        assert second["accuracy"] == round((100 + accuracy_of(1.0)) / 2, 1)
        with stream(client, table) as socket:
            ask(client, table, "go", node=3)
            ask(client, table, "move", move="2")  # judged at once, as another move was judged there
            tried = read_until(
                socket,
                lambda message: (
                    message["type"] == "table"
                    and [node["loss"] for node in message["table"]["nodes"] if node["id"] == 6] == [0]
                ),
            )["table"]
        assert tried["nodes"][-1]["move"] == "2" and tried["nodes"][4]["loss"] == 1
        assert tried["report"] == after["report"]  # it is still about the game


def test_only_the_end_is_judged_where_the_solver_knows_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = ExactValues.value

    def late(self: ExactValues, state: np.ndarray, *rest: Any) -> float | None:
        return (
            value(self, state, *rest) if int(state.sum()) and self.game.legal_mask(state).sum() <= 6 else None
        )

    monkeypatch.setattr(ExactValues, "value", late)
    with client_of(make_studio(tmp_path)) as client:
        after = reviewed(client, opened(client, game="tictactoe", moves=BLUNDER))
        assert [node["loss"] for node in after["nodes"]] == [None, None, None, None, 1, 0]
        assert after["review"]["why"].startswith(
            "Only the last 2 moves are judged: no run has a champion of "
        )
        assert [side["judged"] for side in after["report"]["sides"]] == [1, 1]


def test_a_champion_judges_where_no_solver_does(
    tmp_path: Path, trained_run: TrainedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_run.copy_to(tmp_path)
    monkeypatch.setattr(ExactValues, "value", Nothing.value)
    with client_of(make_studio(tmp_path)) as client:
        after = reviewed(client, opened(client, game="tictactoe", moves=BLUNDER))
        assert (
            after["review"]["by"]
            == f"champion of trained, cycle 5, {review_module.SIMULATIONS:,} simulations"
        )
        assert after["nodes"][4]["size"] == "blunder" and after["nodes"][5]["loss"] == 0
        assert after["review"]["why"] == ""


class SlowJudge:
    """Judges a few positions, and the next one never."""

    title, solves = "slow", True

    def __init__(self, most: int) -> None:
        self.most, self.asked = most, 0
        self.note: Callable[[], None] = lambda: None

    def judge(self, at: Any, played: Any, after: Any, stopped: Callable[[], bool]) -> Opinion | None:
        self.asked += 1
        self.note()
        while self.asked > self.most and not stopped():
            time.sleep(0.01)
        return None if stopped() else Opinion(0.1, self.title, 0.0)


def judge_of(monkeypatch: pytest.MonkeyPatch, judge: SlowJudge) -> SlowJudge:
    """Let a judge take part in all reviews."""
    monkeypatch.setattr(table_module, "make_judge", lambda *_: judge)
    return judge


def test_a_review_counts_its_moves_and_is_stopped_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judge_of(monkeypatch, SlowJudge(3))
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = opened(client, game="tictactoe", moves=["0", "4", "1", "8"])
        with stream(client, table) as socket:
            assert ask(client, table, "review")["review"]["done"] == 0
            seen = read_until(
                socket,
                lambda message: (
                    message["type"] == "table" and (message["table"]["review"] or {}).get("done") == 2
                ),
            )["table"]
            assert seen["review"]["of"] == 4 and seen["review"]["on"]
            played = ask(client, table, "go", node=2)  # a look at another position does not end it
            assert played["review"]["on"]
            stopped = ask(client, table, "review", on=False)
            assert (stopped["review"]["on"], stopped["review"]["done"]) == (False, 2)
            wait_for(lambda: studio.tables.tables[table["id"]].work.done())  # type: ignore[union-attr]
            assert studio.tables.searches.reviews == []
            judge.most, before = 100, judge.asked
            ask(client, table, "go", node=4)
        assert reviewed(client, table)["review"]["done"] == 4
        assert judge.asked - before == 2  # what was judged is kept


def test_the_analysis_of_the_board_goes_before_the_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, studio = judge_of(monkeypatch, SlowJudge(100)), make_studio(tmp_path)
    done = list[bool]()
    with client_of(studio) as client:
        table = opened(client, game="connect_four", moves=["4", "4", "3"])
        opened_table = studio.tables.tables[table["id"]]

        def note() -> None:
            assert opened_table.analysis is not None
            done.append(opened_table.analysis.done)

        judge.note = note
        with stream(client, table) as socket:
            ask(client, table, "analyse", player="uct", simulations=200_000)
            ask(client, table, "review")
            read_until(socket, lambda message: message["type"] == "analysis")
            ask(
                client, table, "analyse", player="uct", simulations=50_000
            )  # another one, which also goes first
            read_until(
                socket,
                lambda message: (
                    message["type"] == "table"
                    and message["table"]["review"] is not None
                    and not message["table"]["review"]["on"]
                ),
            )
    assert done == [True] * 4


def test_what_nobody_watches_any_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "UNWATCHED_SECONDS", 0.3)
    judge_of(monkeypatch, SlowJudge(0))
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        for verb, body in (("review", {}), ("analyse", {"player": "uct", "simulations": 200_000})):
            table = opened(client, game="go9", moves=["e5"])
            shown: GameTable = studio.tables.tables[table["id"]]
            with stream(client, table) as socket:
                ask(client, table, verb, **body)
                time.sleep(0.6)  # longer than it may be unwatched
                assert socket.receive_json()["type"] == "table"
                assert shown.work is not None and not shown.work.done()
                monkeypatch.setattr(table_module, "UNWATCHED_SECONDS", 600)
            with stream(client, table):  # a page that is loaded anew
                assert not shown.work.done()
            monkeypatch.setattr(table_module, "UNWATCHED_SECONDS", 0.3)
            wait_for(shown.work.done)
            assert not shown.reviewing or not shown.reviewing.on
            assert not shown.analysis or not shown.analysis.on
        assert studio.tables.searches.reviews == []


def test_a_fourth_review_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_of(monkeypatch, SlowJudge(0))
    with client_of(make_studio(tmp_path)) as client:
        tables = [opened(client, game="tictactoe", moves=["4"]) for _ in range(4)]
        for table in tables[:3]:
            ask(client, table, "review")
        answer = client.post(f"/api/tables/{tables[3]['id']}/review", json={})
        assert answer.status_code == 429
        assert answer.json()["error"] == "3 games are being reviewed; try again in a moment."
        ask(client, tables[0], "review", on=False)
        assert ask(client, tables[3], "review")["review"]["on"]


@pytest.mark.browser
def test_mistakes_are_found_and_tried_again(browser: Any, address: str) -> None:
    from playwright.sync_api import expect

    with opener(browser) as open_address:
        page = open_address(f"{address}#/play?game=tictactoe&moves={'.'.join(BLUNDER)}")
        wait_for_stones(page, 5)
        page.get_by_role("button", name="Review").click()
        # a search at low priority, compiled by it, beside another test
        expect(page.locator(".move", has_text="8").locator(".blunder")).to_be_visible(timeout=4 * PATIENCE)
        expect(page.locator(".badge.blunder")).to_have_count(1)
        expect(page.locator(".value-graph .value-dot").first).to_be_visible()
        expect(page.locator(".review")).to_contain_text("Judged by a solver.")
        assert page.locator(".report th[scope=col]").all_inner_texts() == [" X", " O"]
        rows = page.locator(".report tbody tr").evaluate_all("rows => rows.map(row => row.innerText)")
        assert [re.split(r"\s+", row.strip()) for row in rows[:5]] == [
            ["Accuracy", "100", "%", "54", "%"], ["Moves", "judged", "3", "2"],
            ["Slips", "0", "0"], ["Mistakes", "0", "0"], ["Blunders", "0", "1"],
        ]  # fmt: skip
        page.locator("[data-do=next-mistake]").click()
        expect(page.locator(".move[aria-current]")).to_contain_text("8")
        expect(page.locator(".again")).to_contain_text("Move 4: 8 gave away 50 %; 2 was best.")
        expect(page.locator(".badge.better")).to_have_count(1)  # on cell 2
        graph = page.locator(".value-graph").bounding_box()
        assert graph is not None
        for share, said in ((0.0, "move 0 · 50 %"), (1.0, "move 5 · 100 %")):  # along its width
            page.mouse.move(graph["x"] + 4 + share * (graph["width"] - 8), graph["y"] + 20)
            expect(page.locator(".value-graph .tip text")).to_have_text(said)
        page.mouse.move(0, 0)
        expect(page.locator(".value-graph .tip")).to_have_count(0)
        page.get_by_role("button", name="Try again before move 4, 8, which gave away 50 %").click()
        wait_for_stones(page, 3)
        expect(page.locator(".again")).to_contain_text("Move 4: 8 gave away 50 %. Find a better one.")
        page.locator("[role=gridcell]").nth(5).click()
        expect(page.locator(".again")).to_contain_text("Move 4: 5 gives away 50 %, 8 gave away 50 %.")
        page.get_by_role("button", name="Try again", exact=True).click()
        wait_for_stones(page, 3)
        page.locator("[role=gridcell]").nth(2).click()
        expect(page.locator(".again")).to_contain_text("Move 4: 2 is good.")
        expect(page.locator(".report tbody tr").first).to_contain_text("54 %")  # still about the game


@pytest.mark.browser
def test_a_page_says_that_nobody_can_judge(browser: Any, address: str) -> None:
    from playwright.sync_api import expect

    with opener(browser) as open_address:
        page = open_address(f"{address}#/play?game=gomoku&moves={GOMOKU}")
        wait_for_stones(page, 8)
        page.locator("[data-do=review]").click()
        sentence = page.locator(".review")
        expect(sentence).to_contain_text("This game cannot be judged", timeout=4 * PATIENCE)
        expect(page.locator(".badge, .report:visible")).to_have_count(0)
        expect(page.locator("[data-do=next-mistake]")).to_be_hidden()
