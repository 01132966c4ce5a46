"""The studio's server: games on boards, their searches, and every wrong request."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE
from running import TrainedRun

pytest.importorskip("starlette", reason="the extra studio is not installed")

from starlette.websockets import WebSocketDisconnect
from studio import PERSON, client_of, make_studio, opened, player, read_until, stream
from waiting import wait_for

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.kernels import compiling
from azero.players import Move, Thought, make_player
from azero.players.flat_monte_carlo import FlatMonteCarloPlayer
from azero.studio import pool, state, tables
from azero.studio import table as table_module
from azero.studio.pool import NO_NETWORK
from azero.studio.pool import play as play_with

OWN = Path(DOUBLE_MOVE)


def played(client: Any, table: dict[str, Any], *moves: str) -> dict[str, Any]:
    """Play a person's moves; return the table after the last."""
    for move in moves:
        answer = client.post(f"/api/tables/{table['id']}/move", json={"move": move})
        assert answer.status_code == 200, answer.text
        table = answer.json()
    return table


def test_two_people_play_to_the_end(tmp_path: Path) -> None:
    # X O X
    # O X O     X wins by 0 4 8
    # . . X
    with client_of(make_studio(tmp_path)) as client:
        table = played(client, opened(client, game="tictactoe"), "0", "1", "2", "3", "4", "5", "8")
        assert table["position"]["marks"] == [1, 2, 1, 2, 1, 2, 0, 0, 1]
        assert table["position"]["over"] and table["position"]["outcome"] == 1.0
        assert table["state"] == "over" and table["message"] == "X wins." and table["position"]["last"] == 8
        assert table["nodes"][-1]["value"] == 1.0  # the rules know it
        answer = client.post(f"/api/tables/{table['id']}/move", json={"move": "6"})
        assert answer.status_code == 409 and answer.json() == {"error": "The game is over."}
        for verb in ("hint", "resign", "step"):
            assert client.post(f"/api/tables/{table['id']}/{verb}", json={}).status_code == 409


def test_a_machine_answers_and_what_it_thinks_is_streamed(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="connect_four", sides=[PERSON, player("uct", num_simulations=2000)])
        with stream(client, table) as socket:
            assert socket.receive_json()["table"]["state"] == "your move"
            assert played(client, table, "4")["state"] == "thinking"
            thought = read_until(socket, lambda message: message["type"] == "analysis")
            assert thought["by"] == "uct num_simulations=2000" and thought["node"] == 1
            assert sum(move["visits"] for move in thought["moves"]) == thought["simulations"]
            after = read_until(
                socket, lambda message: message["type"] == "table" and message["table"]["node"] == 2
            )
        assert after["table"]["state"] == "your move" and after["table"]["position"]["to_play"] == 0
        assert client.get(f"/api/tables/{table['id']}").json() == after["table"]


def test_a_person_cannot_move_for_a_machine(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="tictactoe", sides=[player("uct", seconds=20), PERSON])
        answer = client.post(f"/api/tables/{table['id']}/move", json={"move": "4"})
        assert answer.status_code == 409 and answer.json()["error"] == "It is the turn of uct seconds=20."
        answer = client.post(f"/api/tables/{table['id']}/resign", json={})
        assert answer.json()["error"] == "It is the turn of uct seconds=20, which does not resign."
        client.post(f"/api/tables/{table['id']}/play", json={"paused": True})
        assert played(client, table, "4")["position"]["marks"][4] == 1  # paused, both sides may be tried


def test_a_search_ends_when_the_position_changes(tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = opened(client, game="connect_four", sides=[player("uct", seconds=60), PERSON])
        with stream(client, table) as socket:
            read_until(socket, lambda message: message["type"] == "analysis")
            client.post(f"/api/tables/{table['id']}/sides", json={"sides": [PERSON, player("random")]})
            played(client, table, "1")
            read_until(socket, lambda message: message["type"] == "table" and message["table"]["node"] == 2)


def wait_for_node(client: Any, address: str, least: int) -> None:
    """Wait until a table's board shows that node or a later one."""
    wait_for(lambda: client.get(address).json()["node"] >= least)


def test_a_search_to_a_great_depth_ends_when_the_position_changes(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="connect_four", sides=[player("negamax", depth=30), PERSON])
        address = f"/api/tables/{table['id']}"
        time.sleep(0.3)
        client.post(f"{address}/sides", json={"sides": [player("random"), PERSON]})
        wait_for_node(client, address, 1)
        again = opened(client, game="connect_four", sides=[PERSON, player("negamax", depth=30)])
        assert again["state"] == "your move"  # and the player is free again


def test_a_great_depth_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_SECONDS", 0.05)
    game = make_game("connect_four")
    deep = make_player("alpha_beta", game, depth=42)
    action = play_with(deep, GameInProgress(game), lambda: False, lambda _: None)
    assert action in range(7)


def test_a_table_goes_on_without_a_player_that_does_not_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def choose(*_: object) -> np.ndarray:
        begun.set()
        may_end.wait(60)
        return np.array([8])

    monkeypatch.setattr(FlatMonteCarloPlayer, "choose", choose)
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, sides=[player("flat_monte_carlo"), PERSON])
        address = f"/api/tables/{table['id']}"
        assert begun.wait(60)
        sides = [player("random"), PERSON]
        client.post(f"{address}/sides", json={"sides": sides})
        wait_for_node(client, address, 1)
        before = client.get(address).json()
        may_end.set()
        time.sleep(0.2)
        assert client.get(address).json() == before  # its move comes too late


def test_a_pause_between_two_moves_ends_when_something_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "LONGEST_DELAY", 1e6)
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="connect_four", sides=[player("random"), player("random")], moves=["1"])
        address = f"/api/tables/{table['id']}"
        client.post(f"{address}/play", json={"delay": 1e5, "paused": False})
        client.post(f"{address}/play", json={"paused": True})
        node = client.get(address).json()["node"]
        client.post(f"{address}/step", json={})
        wait_for_node(client, address, node + 1)


def test_a_step_is_not_made_somewhere_else(tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = opened(client, sides=[PERSON, player("random")], moves=["4"])
        address = f"/api/tables/{table['id']}"
        client.post(f"{address}/go", json={"node": 0, "actions": [0]})

        def step_and_go() -> None:
            studio.tables.tables[table["id"]].step()
            studio.tables.tables[table["id"]].go(1)

        assert client.portal
        client.portal.call(step_and_go)
        wait_for(lambda: studio.tables.tables[table["id"]].work.done())  # type: ignore[union-attr]
        assert client.get(address).json()["node"] == 1  # a machine waits where a person went


def test_deleting_a_move_takes_a_resignation_back(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        address = f"/api/tables/{opened(client, moves=['4', '0'])['id']}"
        assert client.post(f"{address}/resign", json={}).json()["state"] == "over"
        assert client.post(f"{address}/delete", json={"node": 2}).json()["state"] == "your move"


def test_a_page_that_reads_slowly_is_sent_away_to_connect_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "WAITING_MESSAGES", 3)
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = opened(client)

        def flood() -> None:
            for number in range(20):
                studio.tables.tables[table["id"]].send({"number": number})

        with stream(client, table) as socket:
            socket.receive_json()
            assert client.portal
            client.portal.call(flood)
            with pytest.raises(WebSocketDisconnect) as closed:
                read_until(socket, lambda message: False)
        assert closed.value.code == 4408
        with stream(client, table) as socket:
            assert socket.receive_json()["type"] == "table"


def test_what_a_page_sends_into_a_stream_is_ignored(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client)
        with stream(client, table) as socket:
            socket.receive_json()
            socket.send_bytes(b"\xff")
            socket.send_text("[" * 1000)
            played(client, table, "4")
            assert socket.receive_json()["table"]["node"] == 1


def test_too_many_questions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_QUESTIONS", 0)
    with client_of(make_studio(tmp_path)) as client:
        address = f"/api/tables/{opened(client)['id']}"
        answers = [
            client.post(f"{address}/hint", json={}), client.get(f"{address}/exact"), client.get("/api/trace"),
        ]  # fmt: skip
        assert [answer.status_code for answer in answers] == [429] * 3


def test_a_game_file_that_is_being_changed_leaves_the_list_of_games(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def make_game(:")
    with client_of(make_studio(tmp_path, own_games={"mine": mine})) as client:
        games = client.get("/api/games").json()["games"]
        assert [game["options"] for game in games if game["own"]] == [{}]


def test_machines_play_are_paused_and_stepped(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        sides = [player("random"), player("random")]
        table = opened(client, game="connect_four", sides=sides)
        address = f"/api/tables/{table['id']}"
        with stream(client, table) as socket:
            client.post(f"{address}/play", json={"delay": 0.05})
            read_until(socket, lambda message: message["type"] == "table" and message["table"]["node"] >= 3)
            client.post(f"{address}/play", json={"paused": True})
            before = client.get(address).json()
            time.sleep(0.3)
            assert client.get(address).json()["node"] == before["node"] and before["state"] == "paused"
            client.post(f"{address}/step", json={})
            after = read_until(
                socket,
                lambda message: message["type"] == "table" and message["table"]["node"] > before["node"],
            )
            assert after["table"]["node"] == before["node"] + 1 and after["table"]["state"] == "paused"
            client.post(f"{address}/play", json={"paused": False, "delay": 0})
            end = read_until(
                socket, lambda message: message["type"] == "table" and message["table"]["state"] == "over"
            )
        assert end["table"]["message"] in ("The first player wins.", "The second player wins.", "A draw.")


def test_variations_are_kept_and_deleted(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = played(client, opened(client, game="tictactoe"), "0", "4")
        address = f"/api/tables/{table['id']}"
        client.post(f"{address}/go", json={"node": 1})
        table = played(client, table, "8")
        assert [(node["id"], node["parent"], node["move"]) for node in table["nodes"]] == [
            (0, None, None), (1, 0, "0"), (2, 1, "4"), (3, 1, "8"),
        ]  # fmt: skip
        assert table["line"] == [0, 1, 3] and table["node"] == 3
        again = client.post(f"{address}/go", json={"node": 1}).json()
        assert again["line"] == [0, 1, 2]  # the main continuation
        assert played(client, table, "4")["node"] == 2  # the same move is the same variation
        table = client.post(f"{address}/delete", json={"node": 2}).json()
        assert table["node"] == 1 and [node["id"] for node in table["nodes"]] == [0, 1, 3]
        assert client.post(f"{address}/go", json={"node": 2}).status_code == 400
        assert client.post(f"{address}/delete", json={"node": 0}).status_code == 409
        table = client.post(f"{address}/undo", json={}).json()
        assert table["node"] == 0
        assert client.post(f"{address}/undo", json={}).json()["error"] == "There is nothing to take back."


def test_taking_back_returns_to_the_person(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="tictactoe", sides=[PERSON, player("random")])
        with stream(client, table) as socket:
            played(client, table, "4")
            read_until(socket, lambda message: message["type"] == "table" and message["table"]["node"] == 2)
        assert client.post(f"/api/tables/{table['id']}/undo", json={}).json()["node"] == 0


def test_resigning(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="tictactoe", sides=[PERSON, player("random")])
        table = client.post(f"/api/tables/{table['id']}/resign", json={}).json()
        assert (
            table["message"] == "You lose: random wins by resignation."
            and table["position"]["outcome"] == -1.0
        )
        assert client.post(f"/api/tables/{table['id']}/go", json={"node": 0}).json()["state"] == "your move"


def test_an_analysis_is_streamed_stopped_continued_and_read_below_the_root(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client, game="connect_four", moves=["4", "4"])
        address = f"/api/tables/{table['id']}"
        with stream(client, table) as socket:
            asked = {"player": "uct", "simulations": 200_000}
            assert client.post(f"{address}/analyse", json=asked).json()["analysis"]["on"]
            first = read_until(socket, lambda message: message["type"] == "analysis")
            client.post(f"{address}/analyse", json={"on": False})
            read_until(
                socket, lambda message: message["type"] == "table" and not message["table"]["analysis"]["on"]
            )
            client.post(f"{address}/analyse", json=asked)
            last = read_until(
                socket, lambda message: message["type"] == "analysis" and message["simulations"] == 200_000
            )
        assert first["simulations"] <= last["simulations"] and last["by"] == NO_NETWORK
        with stream(client, table) as socket:  # a page that is loaded anew sees what was found
            assert (
                read_until(socket, lambda message: message["type"] == "analysis", 2)["moves"] == last["moves"]
            )
        visits = [move["visits"] for move in last["moves"]]
        assert visits == sorted(visits, reverse=True) and sum(visits) == 200_000
        best = last["moves"][0]
        assert best["action"] == last["best"] and -1 <= best["value"] <= 1 and best["prior"] is None
        assert best["line"][0] == best["move"] and best["line_cells"][0] == best["cell"]
        below = client.get(f"{address}/search?path={best['action']}").json()["moves"]
        assert abs(sum(move["visits"] for move in below) - best["visits"]) <= 1
        assert below[0]["move"] == best["line"][1]
        assert client.get(f"{address}/search?path=0,0,0,0,0,0,0").json() == {"moves": []}
        assert client.get(f"{address}/search?path=x").status_code == 400
        node, tried = (
            client.get(address).json()["nodes"][2],
            [move for move in last["moves"] if move["visits"]],
        )
        mean = sum(move["visits"] * move["value"] for move in tried) / sum(move["visits"] for move in tried)
        assert node["value"] == pytest.approx(mean, abs=1e-3)  # X is to move, so for the first player
        assert last["value"] == pytest.approx(mean, abs=1e-3)


def test_exact_values_where_they_are_known(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        # X 1 O
        # 3 X 5     X must answer 5; any other move lets O win there
        # 6 7 O
        table = opened(client, game="tictactoe", moves=["4", "8", "0", "2"])
        known = client.get(f"/api/tables/{table['id']}/exact").json()
        assert known == {"known": True, "values": {"1": -1, "3": -1, "5": 0, "6": -1, "7": -1}}
        table = opened(client, game="tictactoe", moves=["0", "3", "1", "6"])  # X wins by 2, or forks by 4
        known = client.get(f"/api/tables/{table['id']}/exact").json()
        assert known["values"]["2"] == 1 and known["values"]["4"] == 1
        # . . . . k     Black, to move, mates with the rook, unless White's king takes it
        # . . . . .
        # . . r . .
        # . K . . .
        # . . . . .
        asked = {"variant": "gardner", "start": "4k/5/2r2/5/1K3 w - - 0 1"}
        chess = opened(client, game="chess", options=asked, moves=["b1b2"])
        known = client.get(f"/api/tables/{chess['id']}/exact").json()
        played = {move["move"]: known["values"][str(move["action"])] for move in chess["position"]["moves"]}
        assert played["c3c4"] == 1 and played["c3c2"] == played["e5e4"] == 0
        go = opened(client, game="go", options={"size": 9})
        unknown = client.get(f"/api/tables/{go['id']}/exact").json()
        assert unknown["known"] is False and unknown["why"].endswith(".")


def test_the_move_that_a_search_plays_comes_first_whatever_its_visits(tmp_path: Path) -> None:
    """A proof may make a move the best that has fewer visits than another."""
    studio = make_studio(tmp_path)
    table = table_module.GameTable(
        studio.tables.searches, studio.make_game("tictactoe"), (pool.PERSON, pool.PERSON)
    )
    moves = [Move(4, 1204, 0.0, 0.5, (4,), -1, 1), Move(0, 502, 0.0, 0.5, (0,), 0, 1)]
    found = table.analysis_json(table.tree.current, Thought(0, 1706, 0.0, moves), "a champion", 1.0)
    assert found["best"] == 0 and [move["action"] for move in found["moves"]] == [0, 4]


def test_a_search_that_outlives_the_studio_disturbs_no_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a search may have to compile, its board hears of all compilations in the process."""
    monkeypatch.setattr(compiling, "NOTICE_SECONDS", 0.0)
    studio = make_studio(tmp_path)
    table = table_module.GameTable(
        studio.tables.searches, studio.make_game("tictactoe"), (pool.PERSON, pool.PERSON)
    )
    begun, end = threading.Event(), threading.Event()

    def search() -> None:
        begun.set()
        assert end.wait(60)

    async def ended_early() -> None:
        searching = asyncio.ensure_future(table.in_thread(search))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        searching.cancel()

    asyncio.run(ended_early())
    try:
        assert numba.njit(lambda number: number + 1)(41) == 42
    finally:
        end.set()


def test_a_champion_s_board_is_shown_before_its_network_is_loaded(
    trained_run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, loaded, failing = pool.Pool.make, threading.Event(), [False]

    def slow(*asked: Any) -> Any:
        assert loaded.wait(60)
        if failing[0]:
            raise UserError("The file is damaged.")
        return make(*asked)

    monkeypatch.setattr(pool.Pool, "make", slow)
    trained_run.copy_to(tmp_path)
    with client_of(make_studio(tmp_path)) as client:
        champion = player("pv_mcts", run="trained", num_simulations=30)
        table = opened(client, game="tictactoe", sides=[PERSON, champion])
        assert table["state"] == "your move" and played(client, table, "4")["state"] == "thinking"
        loaded.set()
        with stream(client, table) as socket:
            read_until(socket, lambda message: message["type"] == "table" and message["table"]["node"] == 2)
        # One that cannot be loaded says so at its board
        failing[0] = True
        table = opened(client, game="tictactoe", sides=[PERSON, player("pv_mcts", run="trained")])
        with stream(client, table) as socket:
            told = read_until(
                socket, lambda message: message["type"] == "table" and message["table"]["message"]
            )
        assert told["table"]["message"] == "The file is damaged." and told["table"]["paused"]


def test_a_champion_plays_and_analyses(tmp_path: Path, trained_run: TrainedRun) -> None:
    trained_run.copy_to(tmp_path)
    with client_of(make_studio(tmp_path)) as client:
        found = client.get("/api/players?game=tictactoe").json()
        assert found["champions"][0]["run"] == "trained" and found["champions"][0]["cycle"] == 5
        champion = {"kind": "player", "name": "pv_mcts", "options": {"run": "trained", "num_simulations": 30}}
        table = opened(client, game="tictactoe", sides=[PERSON, champion])
        assert table["sides"][1]["title"] == "champion of trained, cycle 5"
        with stream(client, table) as socket:
            played(client, table, "4")
            thought = read_until(socket, lambda message: message["type"] == "analysis")
            assert all(0 <= move["prior"] <= 1 for move in thought["moves"])
            read_until(socket, lambda message: message["type"] == "table" and message["table"]["node"] == 2)
        hint = client.post(f"/api/tables/{table['id']}/hint", json={}).json()
        assert hint["by"].startswith("champion of trained") and hint["visits"] > 0
        asked = f"/api/tables/{table['id']}/analyse"
        found_run = client.post(asked, json={}).json()["analysis"]
        assert (found_run["run"], found_run["cycle"]) == ("trained", 5)  # the champion at the table
        other = client.post(asked, json={"run": "other"}).json()["analysis"]
        assert other["run"] == "other" and "cycle" not in other  # its newest, not that of cycle 5
        older = {**champion, "options": {"run": "trained", "cycle": found["champions"][0]["cycles"][0]}}
        opened(client, game="tictactoe", sides=[older, PERSON])
        wrong = {**champion, "options": {"run": "trained", "cycle": 99}}
        answer = client.post("/api/tables", json={"sides": [wrong, PERSON]})
        assert (
            answer.status_code == 400 and "does not keep the champion of cycle 99" in answer.json()["error"]
        )
        answer = client.post("/api/tables", json={"game": "hex5", "sides": [champion, PERSON]})
        assert answer.status_code == 400  # a champion of another game


def test_forms_are_made_from_the_records_of_the_options(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def make_game(size: int = 7, fast=True): ...\n")  # read, not run
    with client_of(make_studio(tmp_path, own_games={"mine": mine})) as client:
        games = {each["name"]: each["fields"] for each in client.get("/api/games").json()["games"]}
        answer = client.get("/api/players?game=tictactoe").json()
        players = answer["players"]
        assert answer["rival"] == "uct"
        assert client.get("/api/players?game=chess").json()["rival"] == "iterative_deepening"
    size = {"name": "size", "kind": "int", "default": 8, "about": "Rows and columns."}
    assert games["othello"] == [{**size, "choices": [4, 6, 8], "between": None}]
    assert [(each["name"], each["kind"]) for each in games["mine"]] == [("size", "int"), ("fast", "bool")]
    uct = {each["name"]: each for player in players if player["name"] == "uct" for each in player["options"]}
    needs = {each["name"]: each["network"] for each in players}  # a page hides those that must have one
    assert (needs["uct"], needs["alpha_beta"], needs["pv_mcts"]) == ("", "may", "must")
    assert uct["num_simulations"]["between"] == [1, 200_000] and uct["seconds"]["between"] == [0, 60]
    assert uct["reward_for"]["choices"] == ["mover", "root"] and uct["exploration"]["kind"] == "float"


def test_every_game_has_a_board(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path, own_games={"double_move": OWN})) as client:
        games = {each["name"]: each for each in client.get("/api/games").json()["games"]}
        assert games["connect_four"]["options"] == {"rows": 6, "columns": 7, "connect": 4}
        assert games["othello"]["options"] == {"size": 8} and games["double_move"]["own"]
        kinds = {"hex5": "hexagons", "go5": "crossings", "othello6": "squares", "tictactoe": "squares"}
        for name, kind in kinds.items():
            table = opened(client, game=name)
            board, position = table["game"]["board"], table["position"]
            assert board["kind"] == kind and not board["by_column"]
            assert len(position["marks"]) == len(board["rows"]) * len(board["columns"])
            assert {move["move"] for move in position["moves"]}
        assert opened(client, game="connect_four")["game"]["board"]["by_column"]
        own = opened(client, game="double_move")
        assert own["position"]["moves"]


def test_a_ko_is_not_taken_back_at_once(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        # black takes the ko at c3 by b3, white must not take back at once
        moves = ["c4", "b4", "d3", "a3", "c2", "b2", "e5", "c3", "b3"]
        table = opened(client, game="go", options={"size": 5, "komi": 0.5}, moves=moves)
        answer = client.post(f"/api/tables/{table['id']}/move", json={"move": "c3"})
        assert answer.status_code == 409 and answer.json()["error"].startswith("c3 is not legal: ")
        assert "c3" not in [move["move"] for move in table["position"]["moves"]]


WRONG = [
    ("/api/tables", {"game": "tictactoe", "options": {"size": 3}}, "unknown setting 'size'"),
    ("/api/tables", {"game": "hex", "options": {"size": 99}}, "must be a whole number from 1 to 19"),
    ("/api/tables", {"game": "hex", "options": []}, "options must be an object"),
    ("/api/tables", {"sides": [PERSON]}, "A game has two sides."),
    ("/api/tables", {"sides": "x"}, "must be lists"),
    ("/api/tables", {"sides": [PERSON, {"kind": "dog"}]}, "A side must be"),
    ("/api/tables", {"sides": [PERSON, player("alfa_beta")]}, "did you mean alpha_beta?"),
    (
        "/api/tables",
        {"sides": [PERSON, player("uct", simulations=3)]},
        "unknown setting 'simulations'; did you mean num_simulations?",
    ),
    ("/api/tables", {"sides": [PERSON, player("uct", num_simulations="x")]}, "must be a whole number"),
    (
        "/api/tables",
        {"sides": [PERSON, player("uct", num_simulations=10**9)]},
        "number from 1 to 200,000, not",
    ),
    ("/api/tables", {"sides": [PERSON, player("uct", seconds=1e9)]}, "a number from 0 to 60, not"),
    (
        "/api/tables",
        {"sides": [PERSON, player("uct", rollouts=10**7)]},
        "whole number from 1 to 1,000,000, not",
    ),
    (
        "/api/tables",
        {"sides": [PERSON, player("perfect", table=5 * 10**7)]},
        "number from 0 to 8,388,608, not",
    ),
    ("/api/tables", {"options": {"name": 1}}, "No game has an option name."),
    ("/api/tables", {"sides": [PERSON, player("\ud800")]}, "is not JSON"),
    ("/analyse", {"run": "\ud800"}, "is not JSON"),
    ("/api/tables", {"sides": [PERSON, player("pv_mcts")]}, "No run has a champion of this game yet"),
    ("/api/tables", {"sides": [PERSON, player("pv_mcts", run="../x")]}, "run=../x cannot name a folder"),
    ("/api/tables", {"sides": [PERSON, player("pv_mcts", run="none")]}, "none"),
    ("/api/tables", {"moves": ["9"]}, "is not a move of tictactoe"),
    ("/api/tables", {"moves": ["4"] * 10}, "at most 9 moves"),
    ("/api/tables", {"moves": ["4", "4"]}, "4 is not legal: a piece is there."),
    ("/move", {"move": "z"}, "is not a move of tictactoe"),
    ("/move", {"action": 9}, "is not a move"),
    ("/move", {"action": True}, "is not a move"),
    ("/go", {"node": 7}, "no position"),
    ("/go", {"node": "x"}, "no position"),
    ("/sides", {"sides": [PERSON]}, "must be a list of two"),
    ("/play", {"delay": -1}, "delay must be"),
    ("/play", {"paused": 3}, "paused must be"),
    ("/analyse", {"seconds": 1e9}, "seconds must be"),
    ("/dance", {}, "cannot 'dance'"),
]


@pytest.mark.parametrize(("path", "body", "sentence"), WRONG, ids=str)
def test_wrong_requests_get_a_sentence(
    tmp_path: Path, path: str, body: dict[str, Any], sentence: str
) -> None:
    with client_of(make_studio(tmp_path)) as client:
        if not path.startswith("/api"):
            path = f"/api/tables/{opened(client)['id']}{path}"
        answer = client.post(path, content=json.dumps(body))
        assert answer.status_code in (400, 404, 409), answer.text
        assert sentence in answer.json()["error"]


def test_a_wrong_analysis_is_told_on_the_board(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client)
        with stream(client, table) as socket:
            for asked in ({"player": "random"}, {"simulations": 10**9}, {"player": "pv_mcts"}):
                client.post(f"/api/tables/{table['id']}/analyse", json=asked)
                told = read_until(
                    socket, lambda message: message["type"] == "table" and message["table"]["message"]
                )
                assert told["table"]["message"].endswith(".") and not told["table"]["analysis"]["on"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "game",
        "options",
        "sides",
        "moves",
        "move",
        "action",
        "node",
        "paused",
        "delay",
        "on",
        "player",
        "seconds",
        "simulations",
        "kind",
        "run",
        "cycle",
    ]
)


@given(
    verb=st.sampled_from(
        ["", "move", "go", "undo", "delete", "resign", "play", "step", "analyse", "sides", "review", "hint"]
    ),
    body=st.dictionaries(KEYS, json_values, max_size=4),
)
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_request_brings_the_server_down(client: Any, verb: str, body: dict[str, Any]) -> None:
    path = f"/api/tables/{opened(client)['id']}/{verb}" if verb else "/api/tables"
    answer = client.post(path, content=json.dumps(body))
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert isinstance(answer.json()["error"], str) and answer.json()["error"]


@given(st.binary(max_size=200))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_bring_the_server_down(client: Any, body: bytes) -> None:
    assert client.post("/api/tables", content=body).status_code in (201, 400)


@pytest.mark.long
def test_a_thousand_games_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_TABLES", 50)
    with client_of(make_studio(tmp_path)) as client:
        answers = [client.post("/api/tables", json={}) for _ in range(1000)]
        assert [answer.status_code for answer in answers] == [201] * 50 + [429] * 950
        assert answers[-1].json()["error"].startswith("50 games are open")
        first = answers[0].json()["id"]
        monkeypatch.setattr(tables, "IDLE_SECONDS", 0.0)
        opened(client)  # takes the place of the one that was idle longest
        assert client.get(f"/api/tables/{first}").status_code == 404


def test_a_hundred_sessions_at_once(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        sides = [PERSON, player("uct", num_simulations=50)]
        games = [opened(client, game="tictactoe", sides=sides) for _ in range(100)]
        for table in games:
            played(client, table, "4")
        for table in games:
            wait_for_node(client, f"/api/tables/{table['id']}", 2)
        marks = [client.get(f"/api/tables/{table['id']}").json()["position"]["marks"] for table in games]
        assert all(sorted(each) == [0] * 7 + [1, 2] for each in marks)


def test_too_many_pages_of_one_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "MOST_WATCHERS", 1)
    with client_of(make_studio(tmp_path)) as client:
        table = opened(client)
        with stream(client, table) as socket:
            socket.receive_json()
            with stream(client, table) as second:
                assert second.receive_json()["status"] == 429
        with stream(client, {"id": "gone"}) as socket:
            assert socket.receive_json()["status"] == 404


@pytest.mark.parametrize("kind", ["uct", "puct", "gumbel"])
def test_a_search_is_recorded_for_the_page_learn(tmp_path: Path, kind: str) -> None:
    with client_of(make_studio(tmp_path)) as client:
        found = client.get(f"/api/trace?moves=0.4.8.2.6.3&kind={kind}&simulations=12").json()
        assert len(found["simulations"]) >= 3 and found["board"]["kind"] == "squares"
        for wrong in (
            "kind=x",
            "simulations=0",
            "simulations=999",
            "simulations=00000100000",
            "moves=0.0",
            "game=x.py",
            "moves=0.1.3.4.6",
        ):
            answer = client.get(f"/api/trace?{wrong}")
            assert answer.status_code == 400 and answer.json()["error"].endswith(".")
        assert client.get("/static/trace/trace.js").status_code == 200
