"""KataGo's JSON analysis: its answers are the player's own search, alone and beside other positions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forks import azero_command
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import play
from searching import FakeInference, thought_of

from azero.analysis import main
from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.players.policy import PolicyPlayer
from azero.players.pv_mcts import PvMcts
from azero.protocols import analysis as module
from azero.protocols.analysis import Analysis
from azero.protocols.lines import MOST_BYTES, TooLong
from azero.protocols.positions import Position, SideBySide

Json = dict[str, Any]
GO = {"boardXSize": 5, "boardYSize": 5, "rules": "tromp-taylor", "komi": 7.5}


def player_of(game: Game, simulations: int = 50, **search: Any) -> PvMcts:
    """Return pv_mcts with a network that answers by a hash of the position."""
    return PvMcts(game, FakeInference(game), SearchConfig(num_simulations=simulations, **search))


class Session:
    """An analysis and what it has written."""

    def __init__(self, game: Game, simulations: int = 50, **search: Any) -> None:
        self.written: list[Json] = []
        self.game, self.player = game, player_of(game, simulations, **search)
        self.analysis = Analysis(self.player, self.written.append)

    def send(self, **query: Any) -> None:
        """Send a query whose id is "q" unless it has another."""
        self.analysis.receive(json.dumps({"id": "q", **query}))

    def finish(self) -> list[Json]:
        """Search all to the end; return what was written since the last call."""
        while self.analysis.busy:
            self.analysis.step()
        written, self.written[:] = list(self.written), []
        for answer in written:
            json.dumps(answer, allow_nan=False)
        return written

    def ask(self, **query: Any) -> Json:
        """Send a query with one answer and return that."""
        self.send(**query)
        (answer,) = self.finish()
        return answer


def visits_of(answer: Json) -> dict[str, int]:
    """Return the visits of an answer by move."""
    return {info["move"]: info["visits"] for info in answer["moveInfos"]}


def own_visits(game: Game, moves: str, simulations: int, **search: Any) -> dict[str, int]:
    """Return the visits of a player's own search after some moves, by move."""
    found = thought_of(player_of(game, simulations, **search), play(game, moves))
    return {
        game.action_name(game.initial_state(), move.action): move.visits
        for move in found.moves
        if move.visits
    }


@pytest.mark.parametrize("search", [{}, {"solver": True}, {"kind": "gumbel"}], ids=str)
@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "othello"])
def test_every_turn_of_a_game_has_the_visits_of_the_players_own_search(
    name: str, search: dict[str, Any]
) -> None:
    game = make_game(name, **({"size": 6} if name == "othello" else {}))
    state, moves = game.initial_state(), list[str]()
    rng = np.random.default_rng(3)
    for _ in range(5):
        moves.append(game.action_name(state, int(rng.choice(game.legal_actions(state)))))
        state = play(game, " ".join(moves))
    session = Session(game, 60, **search)
    session.send(moves=moves, analyzeTurns=[0, 1, 2, 3, 4, 5])
    answers = session.finish()
    assert sorted(answer["turnNumber"] for answer in answers) == [0, 1, 2, 3, 4, 5]
    for answer in answers:
        before = " ".join(moves[: answer["turnNumber"]])
        assert visits_of(answer) == own_visits(game, before, 60, **search)
        assert answer["rootInfo"]["visits"] == sum(visits_of(answer).values())


def test_positions_with_different_visits_are_searched_together_and_alone_alike() -> None:
    game = make_game("connect_four")
    session = Session(game)
    queries = [(f"{number}", ["4"] * (number % 5), 10 * number + 1) for number in range(16)]
    for query, moves, visits in queries:
        session.send(id=query, moves=moves, maxVisits=visits)
    together = {answer["id"]: answer for answer in session.finish()}
    calls = session.player.inference.calls  # type: ignore[attr-defined]
    for query, moves, visits in queries:
        alone = Session(game).ask(id=query, moves=moves, maxVisits=visits)
        assert alone == together[query] and alone["rootInfo"]["visits"] == visits
    evaluations = session.analysis.side_by_side.stats.evaluations
    assert evaluations > 4 * calls  # batches of eight rows are more than half full


def test_a_batch_is_full_with_few_positions_and_with_many() -> None:
    game = make_game("connect_four")
    for count in (1, 3, 8, 20):
        player = player_of(game, 200)
        side_by_side = SideBySide(player, 64)
        positions = [
            Position(player, play(game, f"{1 + n % 7} {1 + n % 3}"), None, 200) for n in range(count)
        ]
        for _ in range(20):
            side_by_side.wave(positions)
        stats = side_by_side.stats
        assert stats.batch_fill > 0.6, (count, stats.batch_fill)


def test_values_have_the_perspective_that_is_asked_for() -> None:
    session = Session(make_game("connect_four"))
    seen = {}
    for perspective in ("BLACK", "WHITE", "SIDETOMOVE"):
        answer = session.ask(moves=["4"], overrideSettings={"reportAnalysisWinratesAs": perspective})
        assert answer["rootInfo"]["currentPlayer"] == "W"
        for known in (answer["rootInfo"], *answer["moveInfos"]):
            assert known["winrate"] == (1 + known["utility"]) / 2
        seen[perspective] = [answer["rootInfo"]["utility"], answer["moveInfos"][0]["utility"]]
    assert seen["WHITE"] == seen["SIDETOMOVE"] == [-value for value in seen["BLACK"]]
    default = session.ask(moves=["4"])
    assert default["rootInfo"]["utility"] == seen["SIDETOMOVE"][0]


def test_the_policy_is_the_networks_and_minus_one_where_illegal() -> None:
    game = make_game("connect_four")
    moves = "1 1 1 1 1 1"
    expected = PolicyPlayer(game, FakeInference(game)).ask(play(game, moves)[None])[0][0]
    expected[0] = -1.0  # the first column is full
    session = Session(game)
    answer = session.ask(moves=moves.split(), includePolicy=True)
    np.testing.assert_allclose(answer["policy"], expected, atol=1e-6)
    avoid = [{"player": "B", "moves": ["4", "5"], "untilDepth": 1}]
    avoiding = session.ask(moves=moves.split(), includePolicy=True, avoidMoves=avoid)
    np.testing.assert_allclose(avoiding["policy"], expected, atol=1e-6)
    assert {"4", "5"}.isdisjoint(visits_of(avoiding)) and {"4", "5"} <= visits_of(answer).keys()


def test_avoided_and_allowed_moves_hold_for_their_player_at_the_root() -> None:
    session = Session(make_game("connect_four"))
    restriction = {"player": "W", "moves": ["1", "7"], "untilDepth": 1}
    session.send(moves=["4"], analyzeTurns=[0, 1], allowMoves=[restriction])
    black, white = sorted(session.finish(), key=lambda answer: answer["turnNumber"])
    assert len(visits_of(black)) > 2 and visits_of(white).keys() == {"1", "7"}
    session.send(moves=["4"], avoidMoves=[{**restriction, "untilDepth": 3}])
    warning, answer = session.finish()
    assert warning["field"] == "avoidMoves" and {"1", "7"}.isdisjoint(visits_of(answer))
    banned = np.zeros(7, np.bool_)
    banned[[0, 6]] = True
    found = thought_of(player_of(session.game), play(session.game, "4"), banned)
    assert visits_of(answer) == {str(1 + move.action): move.visits for move in found.moves if move.visits}


def test_principal_variations_and_their_visits() -> None:
    answer = Session(make_game("connect_four"), 200).ask(moves=[], includePVVisits=True)
    best = answer["moveInfos"][0]
    assert [info["order"] for info in answer["moveInfos"]] == list(range(len(answer["moveInfos"])))
    assert best["visits"] == max(visits_of(answer).values()) == best["pvVisits"][0]
    assert len(best["pv"]) == len(best["pvVisits"]) > 1
    assert best["pvVisits"] == sorted(best["pvVisits"], reverse=True)
    assert {"scoreLead", "lcb", "ownership"}.isdisjoint(best)  # azero knows none of them


def test_a_finished_game_has_its_result_and_no_moves() -> None:
    # X X X     X has won, and O would be to play
    # O O .
    answer = Session(make_game("tictactoe")).ask(moves=["0", "3", "1", "4", "2"], includePolicy=True)
    assert answer["moveInfos"] == [] and answer["policy"] == [-1.0] * 9
    assert answer["rootInfo"] == {"currentPlayer": "W", "visits": 0, "utility": -1.0, "winrate": 0.0}


@pytest.mark.parametrize(
    "query, field, error",
    [
        ({}, "moves", module.PAIRS),
        ({"moves": "4"}, "moves", module.PAIRS),
        ({"moves": [["B", "4", "x"]]}, "moves", module.PAIRS),
        ({"moves": [["X", "4"]]}, "moves", 'Must be "B" or "W"'),
        ({"moves": [["B", "8"]]}, "moves", "Could not parse board location: 8"),
        ({"moves": [["W", "4"]]}, "moves", "Illegal move 0: 4, it is B's turn"),
        ({"moves": ["1"] * 7}, "moves", "Illegal move 6: 1"),
        ({"moves": [], "boardXSize": 19}, "boardXSize", "Must be 7: this engine knows no other board"),
        ({"moves": [], "game": "go"}, "game", "This engine plays connect_four"),
        ({"moves": [], "analyzeTurns": [1]}, "analyzeTurns", "Invalid turn number: 1"),
        ({"moves": [], "analyzeTurns": []}, "analyzeTurns", "Must name at least one turn"),
        ({"moves": [], "analyzeTurns": [0.5]}, "analyzeTurns", "Must be an array of integers"),
        ({"moves": [], "maxVisits": 0}, "maxVisits", f"Must be an integer from 1 to {2**50}"),
        ({"moves": [], "maxVisits": True}, "maxVisits", f"Must be an integer from 1 to {2**50}"),
        ({"moves": [], "includePolicy": 1}, "includePolicy", "Must be a boolean"),
        ({"moves": [], "priorities": [1, 2]}, "priorities", "Must be of the same length as analyzeTurns"),
        ({"moves": [], "overrideSettings": []}, "overrideSettings", "Must be an object"),
        (
            {"moves": [], "overrideSettings": {"maxTime": -1}},
            "overrideSettings",
            "maxTime: Must be a number from 0 to 1e+09",
        ),
        ({"moves": [], "avoidMoves": [{"player": "B"}]}, "avoidMoves", module.RESTRICTIONS),
        (
            {"moves": [], "allowMoves": [{"player": "B", "moves": [], "untilDepth": 1}]},
            "allowMoves",
            "No move is left at turn 0",
        ),
        ({"moves": [], "initialPlayer": "W"}, "initialPlayer", 'Must be "B": the first player begins'),
        (
            {"moves": [], "initialStones": [["B", "4"]]},
            "initialStones",
            "azero cannot set up stones in connect_four",
        ),
        (
            {"action": "dance"},
            "action",
            "'action' field must be one of: query_version, clear_cache, terminate, terminate_all",
        ),
        (
            {"action": "terminate"},
            "terminateId",
            "Requests for a terminate action must have a string terminateId",
        ),
    ],
)
def test_a_wrong_query_is_answered_by_its_field_and_nothing_is_searched(
    query: Json, field: str, error: str
) -> None:
    session = Session(make_game("connect_four"))
    session.send(**query)
    assert not session.analysis.busy
    assert session.finish() == [{"error": error, "field": field, "id": "q"}]


@pytest.mark.parametrize(
    "line", ["nonsense", "[1]", "{}", '{"id": 1}', '{"id": "a", "komi": NaN}', "[" * 100_000, '{"id": 1e999}']
)
def test_a_line_that_is_no_query_is_answered_by_an_error(line: str) -> None:
    session = Session(make_game("tictactoe"))
    session.analysis.receive(line)
    (answer,) = session.finish()
    assert answer.keys() == {"error"}
    session.analysis.receive("  ")
    session.analysis.receive(TooLong("x"))
    (answer,) = session.finish()
    assert f"{MOST_BYTES:,} bytes" in answer["error"]


def test_what_azero_lacks_is_a_warning_and_the_query_goes_on() -> None:
    session = Session(make_game("go", size=5))
    session.send(
        moves=[],
        **{**GO, "rules": "japanese", "komi": 6.5},
        includeOwnership=True,
        overrideSettings={"wideRootNoise": 0.04, "playoutDoublingAdvantage": 0},
        maxVisit=3,
    )
    *warnings, answer = session.finish()
    fields = ["includeOwnership", "komi", "maxVisit", "overrideSettings", "rules"]
    assert sorted(warning["field"] for warning in warnings) == fields
    assert all(warning.keys() == {"warning", "field", "id"} for warning in warnings)
    assert next(each for each in warnings if each["field"] == "maxVisit")["warning"] == (
        "Unexpected or unused field; did you mean maxVisits?"
    )
    assert answer["rootInfo"]["visits"] == 50


# Terminate, priorities, reports and time


def test_a_terminated_query_answers_with_what_it_has() -> None:
    session = Session(make_game("connect_four"))
    session.send(id="long", moves=[], maxVisits=100_000)
    session.send(id="other", moves=["4"], maxVisits=20)
    for _ in range(5):
        session.analysis.step()
    session.send(id="end", action="terminate", terminateId="long")
    answers = {answer["id"]: answer for answer in session.finish()}
    assert answers["end"] == {"id": "end", "action": "terminate", "terminateId": "long"}
    assert 0 < answers["long"]["rootInfo"]["visits"] < 1000 and not answers["long"]["isDuringSearch"]
    assert answers["other"]["rootInfo"]["visits"] == 20


def test_a_turn_that_has_not_begun_is_terminated_without_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POSITIONS", 1)
    session = Session(make_game("connect_four"))
    session.send(moves=["4", "4"], analyzeTurns=[0, 1, 2], maxVisits=30)
    session.analysis.step()
    session.send(id="end", action="terminate", terminateId="q", turnNumbers=[1])
    assert session.written[-1] == {"id": "q", "isDuringSearch": False, "noResults": True, "turnNumber": 1}
    assert [answer["turnNumber"] for answer in session.finish()[2:]] == [0, 2]
    session.send(moves=["4"], analyzeTurns=[0, 1])
    session.send(id="all", action="terminate_all")
    assert [answer.get("noResults") for answer in session.finish()] == [None, True, True]


def test_higher_priorities_are_searched_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POSITIONS", 1)
    session = Session(make_game("connect_four"), 5)
    session.send(id="low", moves=[], priority=-1)
    session.send(id="first", moves=[])
    session.send(id="second", moves=[])
    session.send(id="game", moves=["4"] * 3, analyzeTurns=[1, 2, 3], priorities=[0, 7, 9])
    order = [(answer["id"], answer["turnNumber"]) for answer in session.finish()]
    assert order == [("game", 3), ("game", 2), ("first", 0), ("second", 0), ("game", 1), ("low", 0)]


def test_reports_during_the_search_grow_and_the_last_one_is_final() -> None:
    session = Session(make_game("connect_four"))
    session.send(moves=[], maxVisits=1500, reportDuringSearchEvery=0.01)
    *during, last = session.finish()
    visits = [answer["rootInfo"]["visits"] for answer in (*during, last)]
    assert during and all(answer["isDuringSearch"] for answer in during) and not last["isDuringSearch"]
    assert visits == sorted(visits) and visits[-1] == 1500


def test_the_time_of_a_search_is_kept_and_it_has_a_move_at_least() -> None:
    session = Session(make_game("connect_four"))
    answer = session.ask(moves=[], maxVisits=100_000, overrideSettings={"maxTime": 0})
    assert 0 < answer["rootInfo"]["visits"] < 100
    answer = session.ask(moves=[], overrideSettings={"maxVisits": 7})
    assert answer["rootInfo"]["visits"] == 7


def test_two_queries_with_one_id_are_both_answered() -> None:
    session = Session(make_game("tictactoe"))
    session.send(moves=[], maxVisits=200)
    session.send(moves=[], maxVisits=10)
    assert [answer["rootInfo"]["visits"] for answer in session.finish()] == [10, 200]


def test_searches_that_do_not_fit_into_memory_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(make_game("connect_four"))
    size = session.analysis.side_by_side.tree_bytes(50)
    monkeypatch.setattr(module, "LARGEST_TREE", 2 * size)
    session.send(moves=["4"] * 4, analyzeTurns=[0, 1, 2, 3, 4])
    session.analysis.step()
    assert len(session.analysis.active) == 2
    assert len(session.finish()) == 5
    session.send(moves=[], maxVisits=51)  # the trees of another size
    assert len(session.finish()) == 1


def test_a_network_that_fails_is_an_error_of_the_queries_under_way() -> None:
    session = Session(make_game("tictactoe"))
    session.player.inference.answer = lambda _: (np.zeros(9, np.float32), np.float32(2.0))  # type: ignore
    session.send(moves=[])
    (answer,) = session.finish()
    assert answer["id"] == "q" and "a value beyond 1" in answer["error"]


# Go as KaTrain asks


def katrain_query(number: int, moves: list[list[str]], **more: Any) -> Json:
    """Return a query as KaTrain's engine.py writes it."""
    return {
        "rules": "japanese",
        "priority": 1,
        "analyzeTurns": [len(moves)],
        "maxVisits": 40,
        "komi": 7.5,
        "boardXSize": 5,
        "boardYSize": 5,
        "includeOwnership": True,
        "includeMovesOwnership": True,
        "includePolicy": True,
        "initialStones": [],
        "initialPlayer": "B",
        "moves": moves,
        "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 8.0, "wideRootNoise": 0.04},
        "id": f"QUERY:{number}",
        **more,
    }


def test_a_session_of_katrain() -> None:
    session = Session(make_game("go", size=5))
    moves = [["B", "C3"], ["W", "D3"], ["B", "pass"]]
    for number in range(4):
        session.send(**katrain_query(number, moves[:number], reportDuringSearchEvery=1.0))
    session.send(**katrain_query(4, [["B", "C3"], ["W", "C3"]], includePolicy=False))
    session.send(id="QUERY:5", action="terminate", terminateId="QUERY:99")
    written = session.finish()
    errors = [answer for answer in written if "error" in answer]
    assert errors == [{"error": "Illegal move 1: C3", "field": "moves", "id": "QUERY:4"}]
    answers = [answer for answer in written if "moveInfos" in answer and not answer["isDuringSearch"]]
    assert {answer["id"] for answer in answers} == {f"QUERY:{number}" for number in range(4)}
    for answer in answers:
        best = answer["moveInfos"][0]
        assert len(answer["policy"]) == 26 and best["move"] == best["pv"][0]
        assert best["move"] == "pass" or best["move"][0] in "ABCDE"
        assert answer["rootInfo"]["visits"] == 40
        names = " ".join(move.lower() for _, move in moves[: answer["turnNumber"]])
        own = own_visits(session.game, names, 40)
        assert {move.lower(): n for move, n in visits_of(answer).items()} == own


@pytest.mark.parametrize("region", [True, False])
def test_katrain_s_moves_to_leave_out_may_be_taken(region: bool) -> None:
    """With a region KaTrain lists all points outside, for both sides; for alternatives the moves it knows."""
    session = Session(make_game("go", size=5))
    outside = [f"{column}{row}" for column in "ABCDE" for row in range(1, 6) if column not in "BC"]
    known = ["C3", "B2", "pass"]
    avoid = [
        {"moves": outside if region else known, "player": player, "untilDepth": 1}
        for player in ("BW" if region else "W")
    ]
    session.send(**katrain_query(0, [["B", "C3"], ["W", "D3"], ["B", "E3"]], avoidMoves=avoid))
    [answer] = [answer for answer in session.finish() if "moveInfos" in answer]
    found = set(visits_of(answer))
    assert found and not found & set(outside if region else known)


@pytest.mark.parametrize("with_players", [True, False])
@pytest.mark.parametrize("passes", [2, 3, 4])
def test_a_game_of_go_goes_on_after_two_passes_and_more(passes: int, with_players: bool) -> None:
    session = Session(make_game("go", size=5))
    names = ["C3", "D3", *["pass"] * passes, "E5"]
    moves = [["BW"[n % 2], name] if with_players else name for n, name in enumerate(names)]
    turns = list(range(len(moves) + 1))
    session.send(moves=moves, analyzeTurns=turns, **GO)
    answers = {answer["turnNumber"]: answer for answer in session.finish()}
    assert sorted(answers) == turns
    players = [answers[turn]["rootInfo"]["currentPlayer"] for turn in turns]
    assert "".join(players) == "BWBWBWBWBW"[: len(turns)]
    over = [turn for turn in turns if not answers[turn]["moveInfos"]]
    assert over == list(range(4, passes + 3))  # the result, from two passes on up to the next stone
    for turn in over:  # white wins by komi
        value = answers[turn]["rootInfo"]["utility"]
        assert value == (-1 if players[turn] == "B" else 1)
    last = answers[turns[-1]]
    assert len(visits_of(last)) > 1 and not {"C3", "D3", "E5"} & set(visits_of(last))


def test_a_game_of_go_goes_on_with_either_player() -> None:
    session = Session(make_game("go", size=5))
    before = [["B", "C3"], ["W", "pass"], ["B", "pass"]]
    for player, other in ("BW", "WB"):
        answer = session.ask(moves=[*before, [player, "B2"]], **GO)
        assert answer["rootInfo"]["currentPlayer"] == other
    session.send(moves=[*before, ["W", "C3"]], **GO)
    assert session.finish()[0]["error"] == "Illegal move 3: C3"


def test_stones_are_set_up_and_either_player_may_begin() -> None:
    # 3 X X X     the same position by play: white passes between black's stones
    # 2 . . .
    # 1 . . O
    game = make_game("go", size=5)
    session = Session(game)
    stones = [["B", "A3"], ["B", "B3"], ["B", "C3"], ["W", "C1"]]
    answer = session.ask(moves=[], initialStones=stones, initialPlayer="B", **GO)
    assert {m.lower(): n for m, n in visits_of(answer).items()} == own_visits(
        game, "a3 pass b3 pass c3 c1", 50
    )
    white = session.ask(moves=[], initialStones=stones, initialPlayer="W", **GO)
    assert white["rootInfo"]["currentPlayer"] == "W"
    handicap = session.ask(moves=[["W", "D4"]], initialStones=stones[:2], initialPlayer="B", **GO)
    assert handicap["rootInfo"]["currentPlayer"] == "B"
    session.send(moves=[], initialStones=[["B", "A1"], ["W", "A2"], ["W", "B1"]], **GO)
    assert session.finish()[0]["field"] == "initialStones"
    session.send(moves=[], initialStones=[["B", "A1"], ["W", "A1"]], **GO)
    assert session.finish()[0]["error"] == "A1 is taken"


def test_a_query_may_begin_at_a_position_of_any_game() -> None:
    game = make_game("connect_four")
    session = Session(game)
    after = game.text(play(game, "4 4 3"))
    answer = session.ask(moves=["3"], position=after)
    assert visits_of(answer) == own_visits(game, "4 4 3 3", 50)
    refused = session.ask(moves=[], position="X")
    assert refused["field"] == "position" and "is not a position of connect_four" in refused["error"]
    both = session.ask(moves=[], position=after, initialPlayer="B")
    assert both["error"] == "Must be a string, without initialStones and initialPlayer"


def test_a_move_that_the_history_forbids_is_not_searched_and_not_legal() -> None:
    game = make_game("go", size=5)
    rng = np.random.default_rng(2)
    for _ in range(20):  # random games that fill the board until a repeat is possible
        session, moves, state = Session(game, 20), list[str](), game.initial_state()
        while not game.is_terminal(state) and len(moves) < 48:
            turns = session.analysis.read_turns({"id": "q", "moves": moves})
            last = turns[-1]
            assert last.forbidden is not None
            if last.forbidden.any():
                move = game.action_name(game.initial_state(), int(last.forbidden.argmax()))
                answer = session.ask(moves=moves, includePolicy=True, **GO)
                assert move.upper() not in visits_of(answer) and answer["policy"][last.forbidden.argmax()] < 0
                session.send(moves=[*moves, move], **GO)
                assert "Illegal move" in session.finish()[0]["error"]
                return
            legal = [action for action in game.legal_actions(state) if action < 25] or [25]
            moves.append(game.action_name(state, int(rng.choice(legal))))
            state = game.step(state, game.parse_action(state, moves[-1]))
    pytest.fail("no game came to a repeat")


# Anything that a client may send

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["B", "4"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FUZZED = Session(make_game("connect_four"), 2)


@given(
    st.dictionaries(st.sampled_from([*module.KNOWN, "action", "terminateId", "turnNumbers"]), ANYTHING),
    st.booleans(),
)
@settings(max_examples=60)
def test_any_query_is_answered(query: Json, is_likely: bool) -> None:
    query["id"] = "q"
    if is_likely:
        query["moves"] = ["4"]
        query.pop("action", None)
    FUZZED.analysis.receive(json.dumps(query))
    FUZZED.send(id="end", action="terminate_all")
    written = FUZZED.finish()
    assert any(answer.get("id") == "q" or "error" in answer for answer in written)


@given(st.text())
def test_any_text_is_answered_unless_it_is_empty(line: str) -> None:
    FUZZED.analysis.receive(line)
    assert bool(FUZZED.finish()) == bool(line.strip())


# The program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run_program: Any) -> Path:
    """Return a folder with a run of Connect Four that has not learned."""
    path = tmp_path_factory.mktemp("analysis")
    network = ("network.blocks=1", "network.channels=8")
    done = run_program("initialize", "game=connect_four", "run=four", *network, folder=path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def engine(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Return the program, which reads and writes pipes."""
    command = azero_command("analysis", "run=four")
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=folder) as process:
        yield process
        process.kill()


@pytest.mark.long
def test_the_program_answers_on_its_output_and_finishes_what_was_asked(folder: Path) -> None:
    queries = [{"id": str(n), "moves": ["4"] * n, "maxVisits": 30} for n in range(4)]
    lines = "".join(json.dumps(query) + "\n" for query in queries) + "\x00\n"
    command = azero_command("analysis", "run=four")
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=folder, timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and "ready to analyse connect_four" in done.stderr
    assert {each["id"]: each["rootInfo"]["visits"] for each in answers if "id" in each} == dict.fromkeys(
        "0123", 30
    )


def test_help_lists_the_only_player_that_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    _, players = capsys.readouterr().out.split("Players, with their options and defaults:\n")
    assert players.startswith("  pv_mcts ") and "  uct " not in players


def begin_long_search(engine: subprocess.Popen[bytes]) -> None:
    """Let the engine search for minutes, and return when it has begun."""
    assert engine.stdin and engine.stdout
    query = {"id": "a", "moves": [], "maxVisits": 10**6, "reportDuringSearchEvery": 0.01}
    engine.stdin.write(json.dumps(query).encode() + b"\n")
    engine.stdin.flush()
    while b'"isDuringSearch":true' not in engine.stdout.readline():
        pass


def test_a_client_that_dies_leaves_no_process(engine: subprocess.Popen[bytes]) -> None:
    begin_long_search(engine)
    assert engine.stdin and engine.stdout
    engine.stdin.close()
    engine.stdout.close()
    assert engine.wait(timeout=120) in (0, 141)


def test_without_wait_the_end_of_the_input_ends_the_searches(folder: Path) -> None:
    command = azero_command("analysis", "run=four", "wait=false")
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=folder) as engine:
        begin_long_search(engine)
        assert engine.stdin and engine.stdout
        engine.stdin.close()
        last = engine.stdout.read().splitlines()[-1]
        assert engine.wait() == 0 and json.loads(last)["rootInfo"]["visits"] > 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run=fuor"], "fuor"),
        (["player=random"], "player random cannot analyse"),
        (["wiat=true"], "unknown setting 'wiat'; did you mean wait?"),
    ],
)
def test_wrong_arguments_are_one_sentence(
    arguments: list[str], message: str, folder: Path, run_program: Any
) -> None:
    done = run_program("analysis", *arguments, folder=folder)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.long
def test_ten_thousand_lines_of_any_bytes_are_answered(engine: subprocess.Popen[bytes]) -> None:
    rng = np.random.default_rng(1)
    lines = [rng.integers(0, 256, int(rng.integers(1, 80))).astype(np.uint8).tobytes() for _ in range(10_000)]
    lines = [line.replace(b"\n", b"x").replace(b"\r", b"x") for line in lines]
    lines[5000] = b"x" * (2**20 + 5)
    answers, _ = engine.communicate(b"\n".join(lines) + b"\n", timeout=250)
    expected = sum(bool(line.decode(errors="replace").strip()) for line in lines)
    assert engine.returncode == 0 and answers.count(b"\n") == expected
    assert all(json.loads(line).keys() == {"error"} for line in answers.splitlines())
