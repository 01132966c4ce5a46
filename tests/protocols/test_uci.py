"""UCI: sessions in memory, whatever a client may send, python-chess's client, and clocks."""

from __future__ import annotations

import io
import itertools
import math
import os
import random
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from typing import Any

import against_uci
import numpy as np
import pytest
import uci_games
from forks import azero_command
from hypothesis import given, settings
from hypothesis import strategies as st
from searching import FakeInference
from waiting import wait_for

from azero.cli.player_spec import PlayerSpec, make_from_spec
from azero.config.schema import Config, SearchConfig, UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.players import Move, Thought, make_player
from azero.players.pv_mcts import PvMcts
from azero.process.background import in_background
from azero.protocols import thinking
from azero.protocols.lines import Lines
from azero.protocols.uci import Narrowed, Uci, check_moves
from azero.protocols.uci_go import Go, read_go
from azero.protocols.uci_info import info_lines
from azero.records.signs import centipawns
from azero.search.tree import LOSS, WIN

CHESS, GARDNER = make_game("chess"), make_game("chess", variant="gardner")
UCT = PlayerSpec("player", "uct", {"num_simulations": 100})
RANDOM = PlayerSpec("player", "random", {})
BACK_RANK = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"  # Rd8 mates
NUMBERS = r"nodes \d+ nps \d+ time \d+"
INFO = r"info depth \d+ multipv \d+ score (cp|mate) -?\d+ " + NUMBERS + r" pv( [a-e][1-5][a-e][1-5]q?)+"


def session(*commands: str | bytes, spec: PlayerSpec = UCT, game: Any = GARDNER) -> list[str]:
    """Return what the engine answers to some commands."""
    answers: list[str] = []
    data = b"".join((each.encode() if isinstance(each, str) else each) + b"\n" for each in commands)
    lines = Lines(io.BytesIO(data), end=lambda: None)
    Uci(game, spec, Config(), lines, answers.append).serve()
    lines.finish()
    return answers


def bestmoves(answers: list[str]) -> list[str]:
    """Return the moves that were answered."""
    return [answer.split()[1] for answer in answers if answer.startswith("bestmove ")]


def test_an_engine_introduces_itself_and_answers_with_a_legal_move() -> None:
    answers = session("uci", "isready", "position startpos", "go nodes 60")
    assert answers[0].startswith("id name azero") and answers[1].startswith("id author")
    assert "option name Simulations type spin default 100 min 0 max 100000000" in answers
    assert "option name UCI_Variant type combo default gardner var chess var gardner var losalamos" in answers
    assert answers.index("uciok") < answers.index("readyok")
    start = GARDNER.initial_state()
    (move,) = bestmoves(answers)
    assert move in {GARDNER.action_name(start, action) for action in GARDNER.legal_actions(start)}
    lines = [answer for answer in answers if answer.startswith("info depth")]
    assert lines and all(re.fullmatch(INFO, line) for line in lines)
    assert " nodes 60 " in lines[-1] and lines[-1].split(" pv ")[1].split()[0] == move


def test_simulations_are_counted_and_can_be_set() -> None:
    answers = session("setoption name Simulations value 37", "go")
    assert " nodes 37 " in answers[-2]
    assert " nodes 100 " in session("go")[-2] and " nodes 37 " in session("go nodes 37")[-2]
    assert " nodes 12 " in session("setoption name simulations value 37", "go nodes 12")[-2]


def test_as_many_lines_as_asked_for_come_with_falling_visits() -> None:
    answers = session("setoption name MultiPV value 3", "go nodes 200")
    assert [line.split()[4] for line in answers[:3]] == ["1", "2", "3"]
    assert len({line.split(" pv ")[1].split()[0] for line in answers[:3]}) == 3


def test_a_mate_is_reported_as_one() -> None:
    answers = session(f"position fen {BACK_RANK}", "go nodes 400", game=CHESS)
    assert answers[-1].startswith("bestmove d1d8") and " score mate 1 " in answers[-2]
    deep = PlayerSpec("player", "alpha_beta", {"depth": 2})
    assert session(f"position fen {BACK_RANK}", "go depth 1", game=CHESS, spec=deep)[-2].startswith(
        "info depth 1 multipv 1 score mate 1 "
    )


def test_a_proven_line_to_the_end_is_a_mate_and_others_are_centipawns() -> None:
    state = CHESS.position("7k/8/5K2/8/8/8/6Q1/8 w - - 0 1")
    ways = [CHESS.parse_action(state, "g2g1")]
    after = CHESS.step(state, ways[0])
    ways.append(CHESS.parse_action(after, "h8h7"))
    ways.append(CHESS.parse_action(CHESS.step(after, ways[1]), "g1g7"))
    proven = Move(ways[0], 9, 0.9, math.nan, tuple(ways), WIN, WIN)
    open_ = proven._replace(lower=LOSS)
    for move, score in ((proven, "mate 2"), (open_, f"cp {centipawns(0.9)}")):  # g1 h7 g7: two moves of white
        (line,) = info_lines(CHESS, state, Thought(ways[0], 9, 0.9, [move], nodes=9), 1, 0.5)
        assert line == f"info depth 3 multipv 1 score {score} nodes 9 nps 18 time 500 pv g2g1 h8h7 g1g7"


def test_values_become_centipawns_by_the_formula_of_lc0() -> None:
    # 90 * tan(1.5637541897 * 0.5) = 90 * 0.99298 = 89.4
    assert [centipawns(value) for value in (0.0, 0.5, -0.5, 1.0, -1.0)] == [0, 89, -89, 12780, -12780]


def test_a_position_goes_on_and_an_illegal_move_is_one_sentence() -> None:
    moves = "b2b3 a4b3"
    first = session(f"position startpos moves {moves}", "go nodes 50")
    again = session("position startpos moves b2b3", f"position startpos moves {moves}", "go nodes 50")
    assert bestmoves(first) == bestmoves(again)
    answers = session("position startpos moves b2b3 b2b3 a4b3", "go nodes 30")
    assert answers[0] == "info string illegal move b2b3" and bestmoves(answers)
    for wrong in ("position", "position fen 1 2 3", "position fen rnbqk/5/5/5/RNBQK w - - 0 x", "position x"):
        answers = session(wrong, "go nodes 5")
        assert answers[0].startswith("info string ") and len(bestmoves(answers)) == 1


def test_a_game_that_is_over_has_no_move() -> None:
    assert session("position fen 7k/6Q1/5K2/8/8/8/8/8 b - - 0 1", "go", game=CHESS) == ["bestmove (none)"]


def test_after_a_refused_position_there_is_no_move_until_a_good_one() -> None:
    answers = session("position fen 8/8 w - - 0 1", "go nodes 5", "position startpos", "go nodes 5")
    moves = bestmoves(answers)
    assert answers[0].startswith("info string ") and moves[0] == "(none)" and moves[1] != "(none)"
    answers = session(
        "position startpos moves b2b4", "go nodes 5", "position startpos moves b2b3", "go nodes 5"
    )
    assert [move == "(none)" for move in bestmoves(answers)] == [True, False]


ROUNDS = "g1f3 g8f6 f3g1 f6g8 "


@pytest.mark.parametrize(
    "place",
    [
        f"startpos moves {ROUNDS * 2}",  # the third time
        f"startpos moves {ROUNDS * 130}",  # 520 plies
        "fen 4k3/8/8/8/8/8/8/R3K3 w - - 100 90",
        "fen 4k3/8/8/8/8/8/8/R3K3 b - - 99 90 moves e8d7",
        "fen 8/8/4k3/8/8/8/8/4K3 w - - 0 1",  # kings alone
        "fen 8/8/4k3/8/8/8/8/4K3 w - - 0 1 moves e1e2 e6e5",
        "fen 4k3/8/8/8/8/8/8/R3K3 w - - 0 5000",
        "fen 4k3/8/8/8/8/8/8/R3K3 b - - 0 257 moves e8d7 a1a2",
    ],
)
def test_a_game_that_azero_calls_drawn_goes_on(place: str) -> None:
    answers = session(f"position {place}", "go nodes 5", game=CHESS)
    (move,) = bestmoves(answers)
    assert not any(answer.startswith("info string") for answer in answers)
    start, _, played = place.partition(" moves ")
    fen = start.removeprefix("fen ").split()
    state = CHESS.initial_state() if start == "startpos" else CHESS.position(" ".join([*fen[:4], "0", "1"]))
    for name in [] if start == "startpos" else played.split():  # the rounds lead back to the start
        legal = {CHESS.action_name(state, action): action for action in CHESS.legal_actions(state)}
        state = CHESS.step(state, legal[name])
    assert move in {CHESS.action_name(state, action) for action in CHESS.legal_actions(state)}


def test_a_draw_by_a_capture_is_played_on() -> None:
    bare = "fen 8/8/4k3/8/8/8/3r4/4K3 w - - 0 1 moves e1d2"
    (move,) = bestmoves(session(f"position {bare}", "go", game=CHESS))
    assert move[:2] == "e6"
    assert bestmoves(session(f"position {bare} e6e4", "go", game=CHESS)) == ["(none)"]  # two steps


def test_mate_and_stalemate_have_no_move() -> None:
    for fen in ("7k/6Q1/5K2/8/8/8/8/8 b - - 100 1", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 400"):
        assert session(f"position fen {fen}", "go", game=CHESS) == ["bestmove (none)"]


MATE_IN_2 = "7k/8/5K2/8/8/8/6Q1/8 w - - 0 1"  # Kf7 or Qg1 first


def test_alpha_beta_reports_a_mate_only_where_its_distance_is_known() -> None:
    spec = PlayerSpec("player", "alpha_beta", {"depth": 5})
    line = session(f"position fen {MATE_IN_2}", "go", game=CHESS, spec=spec)[-2]
    assert " score cp 12780 " in line or " score mate 1 " in line
    lost = "4k3/R7/8/8/8/8/8/1R4K1 b - - 0 1"  # Kd8 or Kf8, and Rb8 mates
    assert " score cp -12780 " in session(f"position fen {lost}", "go", game=CHESS, spec=spec)[-2]


def test_a_forced_move_shows_no_line_of_an_earlier_search() -> None:
    spec = PlayerSpec("player", "alpha_beta", {"depth": 2})
    forced = "position fen k7/8/1K6/8/8/8/8/7R b - - 0 1"
    answers = session("go movetime 200", forced, "go movetime 200", game=CHESS, spec=spec)
    assert answers[-2].startswith("bestmove") and answers[-1] == "bestmove a8b8"


@pytest.mark.parametrize("name", ["alpha_beta", "negamax", "iterative_deepening"])
def test_a_players_own_depth_and_seconds_do_not_bind_a_client(name: str) -> None:
    end = "position fen 8/8/4k3/4p3/4P3/4K3/8/8 w - - 0 1"  # few moves
    spec = PlayerSpec("player", name, {})
    first, bound = (
        session(end, f"go {go}", game=CHESS, spec=spec)[-2]
        for go in ("movetime 1200", "depth 3 movetime 9000")
    )
    (took,) = re.findall(r" time (\d+) ", first)
    assert int(first.split()[2]) > 4 or int(took) > 500  # not 4 plies, nor 0.1 s
    assert bound.split()[2] == "3"
    typed = PlayerSpec("player", name, {"depth": 2})
    assert session(end, "go movetime 5000", game=CHESS, spec=typed)[-2].split()[2] == "2"


def test_alpha_beta_mates_when_it_has_announced_a_win() -> None:
    """King and rook mate in 2 by Kb3 Kb1 Rh1: each `go` knows only its own position."""
    spec, moves = PlayerSpec("player", "alpha_beta", {"depth": 5}), list[str]()
    at = GameInProgress(CHESS, state=CHESS.position("8/8/8/8/8/2k5/7r/K7 b - - 0 1"))
    while not at.is_over and len(moves) < 8:
        if at.to_play == 1:
            place = f"position fen {CHESS.text(at.states[0])} moves {' '.join(moves)}"
            moves += bestmoves(session(place, "go", game=CHESS, spec=spec))
        else:
            moves.append(CHESS.action_name(at.state, at.legal_actions()[-1]))
        at.play_moves(moves[-1:])
    print(CHESS.format_state(at.state), moves)
    assert at.outcome == -1.0 and len(moves) == 3


def test_an_analysis_of_a_forced_move_has_a_line() -> None:
    forced = "position fen k7/8/1K6/8/8/8/8/7R b - - 0 1"
    for spec in (UCT, PlayerSpec("player", "alpha_beta", {"depth": 3})):
        for go in ("go depth 2", "go infinite"):
            answers = session(forced, go, "stop", game=CHESS, spec=spec)
            assert answers[-1].startswith("bestmove a8b8") and " pv a8b8" in answers[-2]


def test_stop_gives_the_move_of_the_last_finished_depth() -> None:
    client = Client(PlayerSpec("player", "negamax", {}), CHESS)
    try:
        client.send(f"position fen {BACK_RANK}")
        client.send("go depth 40")
        time.sleep(1.0)
        client.send("stop")
        client.wait_for("bestmove")
        line = client.answers[-2].split()
        assert line[:2] == ["info", "depth"] and 1 <= int(line[2]) < 40
        assert client.answers[-1] == "bestmove d1d8"
    finally:
        client.close()


def test_a_default_number_of_simulations_does_not_bind_a_client() -> None:
    for defaults, most in ((("num_simulations",), 10**8), ((), 20)):
        spec = PlayerSpec("player", "uct", {"num_simulations": 20}, defaults)
        (nodes,) = re.findall(r" nodes (\d+) ", session("go movetime 300", spec=spec)[-2])
        assert 20 <= int(nodes) <= most and (int(nodes) > 20) == bool(defaults)
    assert " nodes 100 " in session("go nodes 400")[-2]  # what was typed binds


@pytest.mark.parametrize("name, limits", [
    ("uct", ("nodes 30", "nodes 31", "nodes 1000000 movetime 40")),
    ("flat_monte_carlo", ("nodes 50", "nodes 1000000 movetime 40")),
    ("alpha_beta", ("depth 2", "depth 1", "depth 60 movetime 40")),
    ("iterative_deepening", ("depth 2", "depth 1", "mate 40 movetime 40")),
])  # fmt: skip
def test_a_limit_of_go_makes_no_player(
    name: str, limits: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A player takes memory and time; `stop` and the clock could not end its making."""
    made = list[PlayerSpec]()

    def make(spec: PlayerSpec, *rest: Any, **options: Any) -> Any:
        made.append(spec)
        return make_from_spec(spec, *rest, **options)

    monkeypatch.setattr(thinking, "make_from_spec", make)
    spec = PlayerSpec("player", name, {})
    session("isready", "go movetime 1", spec=spec)
    usual = len(made)
    answers = session("isready", *(f"go {limit}" for limit in limits), spec=spec)
    assert len(made) == 2 * usual and len(bestmoves(answers)) == len(limits)


def test_a_thought_takes_at_most_so_many_simulations_or_plies() -> None:
    """Without the banned moves the root is expanded first; that is no simulation. Then all are left again."""
    at = GameInProgress(GARDNER)
    config = SearchConfig(num_simulations=16, tree_reuse=False)
    search = PvMcts(GARDNER, FakeInference(GARDNER), config, seconds=60.0)
    uct = make_player("uct", GARDNER, num_simulations=16)
    for player in (search, uct):
        player.new_games(np.zeros(1, np.uint64))
        assert [player.think(at, most=most).visits for most in (5, 16, 40, 0)] == [5, 16, 16, 16]
    narrowed = Narrowed.along(at.game, at.actions, at.states)
    narrowed.left_out = np.arange(GARDNER.num_actions) == at.legal_actions()[0]
    assert search.think(narrowed, most=7).visits == 7 and search.think(narrowed).visits == 16
    alpha_beta = make_player("alpha_beta", GARDNER, depth=3)
    assert [alpha_beta.think(at, most=most).depth for most in (1, 2, 9, 0)] == [1, 2, 3, 3]


def test_a_player_that_keeps_no_time_searches_as_many_as_asked_for() -> None:
    spec = PlayerSpec("player", "pure_mcts", {})
    assert len(bestmoves(session("go nodes 60", "go nodes 61", spec=spec))) == 2


def test_a_player_that_cannot_be_made_ends_the_engine() -> None:
    spec = PlayerSpec("player", "perfect", {})
    for command in ("isready", "go"):
        with pytest.raises(UserError, match="player perfect cannot solve chess"):
            session("uci", command, spec=spec, game=CHESS)


def test_no_line_comes_twice() -> None:
    lines = [line for line in session("go nodes 100") + session("go nodes 90") if " pv " in line]
    plain = [re.sub(r" (nps|time) \d+", "", line) for line in lines]
    assert plain and all(one != other for one, other in itertools.pairwise(plain))


def test_only_new_simulations_count_for_the_speed() -> None:
    move = Move(3, 90, 0.5, math.nan, (3,), LOSS, WIN)
    state = GARDNER.initial_state()
    action = GARDNER.legal_actions(state)[0]
    move = move._replace(action=action, line=(action,))
    (line,) = info_lines(GARDNER, state, Thought(action, 90, 0.5, [move], nodes=20), 1, 0.5)
    assert " nodes 90 nps 40 time 500 " in line  # 20 / 0.5 s
    player = PvMcts(GARDNER, FakeInference(GARDNER), SearchConfig(num_simulations=16), seconds=60.0)
    player.keep_trees()
    player.new_games(np.zeros(1, np.uint64))
    at = GameInProgress(GARDNER)
    player.think(at)
    thought = player.think(at)
    assert thought.visits > 16 and thought.nodes == 16


def test_only_named_moves_are_searched() -> None:
    answers = session("go nodes 40 searchmoves c2c3 d2d3", "go nodes 40 searchmoves e5e4")
    assert answers[-1] != "bestmove e5e4" and bestmoves(answers)[0] in ("c2c3", "d2d3")
    shown = {answer.split(" pv ")[1].split()[0] for answer in answers if " pv " in answer}
    assert shown & {"c2c3", "d2d3"}


def test_moves_that_were_left_out_are_searched_again(box: None) -> None:
    spec = PlayerSpec("player", "pv_mcts", {"run": "shipped/gardner", "num_simulations": 100})
    lines = "setoption name MultiPV value 9"
    answers = session(lines, "go searchmoves a2a3 c2c3 nodes 40", "go nodes 60", spec=spec)
    second = answers[next(i for i, line in enumerate(answers) if line.startswith("bestmove")) + 1 :]
    assert len({line.split(" pv ")[1].split()[0] for line in second if " pv " in line}) > 2


def test_the_variant_of_chess_can_be_chosen() -> None:
    name = "setoption name UCI_Variant value"
    answers = session(f"{name} LosAlamos", "go nodes 30", f"{name} atomic")
    game = make_game("chess", variant="losalamos")
    start = game.initial_state()
    assert bestmoves(answers)[0] in {game.action_name(start, each) for each in game.legal_actions(start)}
    assert answers[-1].startswith("info string there is no variant atomic; known are chess, gardner")


def test_other_games_from_cell_to_cell_are_played_and_others_refused() -> None:
    game = make_game("breakthrough")
    answers = session("uci", "position startpos moves a2a3", "go nodes 30", game=game)
    assert "option name UCI_Variant type combo default breakthrough var breakthrough" in answers
    assert re.fullmatch("[a-h][78][a-h][76]", bestmoves(answers)[0])
    with pytest.raises(UserError, match="UCI writes moves from cell to cell, such as e2e4; othello has"):
        check_moves(make_game("othello"))


def test_what_go_asks_for() -> None:
    words = "wtime 1000 btime x binc 5 movestogo -3 searchmoves e2e4 e7e8q depth 3 ponder z 4"
    asked = read_go(words.split())
    assert asked == Go(wtime=1000, binc=5, depth=3, ponder=True, searchmoves=["e2e4", "e7e8q"])
    assert read_go(["nodes", "9" * 5000]).nodes == 0 and read_go([]) == Go()
    assert Go(mate=3).limit == ("depth", 5) and Go(nodes=7, depth=2).limit == ("num_simulations", 7)


def test_seconds_of_a_move() -> None:
    """A fifth of the time is a reserve, at most 0.5 s, and 0.02 s of each of 30 moves are delays."""
    assert Go(movetime=500).seconds(0, 40, 0.03) == pytest.approx(0.47)
    assert Go().seconds(0, 40, 0.03) == 0.0
    # 60.03 - 0.03 = 60; 60 - 0.5 = 59.5; (59.5 - 30 * 0.02) / 30 = 1.96333, and 0.1 - 0.03 more
    go = Go(wtime=60_030, btime=1_030, winc=100)
    assert go.seconds(0, 200, 0.03) == pytest.approx(58.9 / 30 + 0.07)
    # 1 - 0.2 = 0.8; (0.8 - 0.6) / 30
    assert go.seconds(1, 200, 0.03) == pytest.approx(0.2 / 30)
    # 10 moves: (10 - 0.5) / 10
    assert Go(wtime=10_000, movestogo=10).seconds(0, 200, 0.0) == pytest.approx(0.95)
    assert Go(wtime=10, winc=1000).seconds(0, 200, 0.03) == 0.001  # never more than what is left


WORDS = """uci|isready|position startpos|position startpos moves b2b3|go|go infinite|go nodes 3 depth -1|stop
ponderhit|setoption name MultiPV value|ucinewgame|moves|go ponder wtime 100|position fen|setoption name
setoption name Move Overhead value 9"""
KNOWN = st.sampled_from([words.encode() for words in WORDS.replace("\n", "|").split("|")])
LINE = st.lists(KNOWN | st.binary(max_size=12), max_size=4).map(lambda parts: b" ".join(parts))


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINE, max_size=8))
def test_any_bytes_are_survived(lines: list[bytes]) -> None:
    """Every `go` has one answer, and the engine still answers at the end."""
    answers = session(*lines, b"stop", b"isready", spec=RANDOM)
    assert answers[-1] == "readyok"
    assert all(answer.isprintable() for answer in answers)


def test_a_long_line_is_refused_and_the_next_one_read() -> None:
    answers = session(b"position startpos moves " + b"a" * 2**20, b"\xff\xfe go\0", b"isready")
    assert answers[0] == "info string the line is too long" and answers[-1] == "readyok"


# While it searches


class Client:
    """An engine in a thread, to which lines are sent one by one."""

    def __init__(self, spec: PlayerSpec, game: Any = GARDNER) -> None:
        end, writing = os.pipe()
        self.stream, self.answers = os.fdopen(writing, "wb", buffering=0), list[str]()
        self.reading = os.fdopen(end, "rb")
        self.lines = Lines(self.reading, end=lambda: None)
        self.uci = Uci(game, spec, Config(), self.lines, self.answers.append)
        self.uci.player()
        self.serving = in_background(self.uci.serve)

    def send(self, line: str) -> None:
        self.stream.write(line.encode() + b"\n")

    def wait_for(self, text: str) -> None:
        """Wait for an answer."""
        wait_for(lambda: any(answer.startswith(text) for answer in list(self.answers)))

    def close(self) -> None:
        self.send("quit")
        self.serving.result(120.0)
        self.lines.finish()
        self.stream.close()
        while self.lines.read(120.0) is not None:
            pass
        self.reading.close()


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client(UCT)
    yield client
    client.close()


def test_an_infinite_search_answers_questions_and_ends_at_stop(client: Client) -> None:
    client.send("go infinite")
    client.wait_for("info depth")
    client.send("isready")
    client.wait_for("readyok")
    assert not bestmoves(client.answers)
    client.send("stop")
    client.wait_for("bestmove")
    assert len(bestmoves(client.answers)) == 1


def test_pondering_goes_on_until_the_move_is_played(client: Client) -> None:
    client.send("position startpos moves b2b3 a4b3")
    client.send("go ponder wtime 3000 btime 3000")
    time.sleep(0.6)  # longer than the move may take: (3 - 0.03 - 0.5 - 0.6) / 30 = 0.06 s
    assert not bestmoves(client.answers)
    client.send("ponderhit")
    client.wait_for("bestmove")
    client.send("position startpos moves b2b3 b4b3")
    client.send("go ponder wtime 3000 btime 3000")
    client.send("stop")
    client.send("isready")
    client.wait_for("readyok")
    assert len(bestmoves(client.answers)) == 2


def test_a_network_plays_with_its_own_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(spec: PlayerSpec, game: Any, config: Config, one_game: bool = False) -> PvMcts:
        search = SearchConfig(num_simulations=spec.options.get("num_simulations", 25))
        return PvMcts(game, FakeInference(game), search, seconds=spec.options.get("seconds", 0.0))

    monkeypatch.setattr(thinking, "make_from_spec", make)
    monkeypatch.setattr("azero.protocols.uci.needs_network", lambda spec: True)
    spec = PlayerSpec("player", "pv_mcts", {})
    answers = session("uci", "go", "go nodes 11", spec=spec)
    assert "option name UCI_Variant type combo default gardner var gardner" in answers
    infos = [line for line in answers if line.startswith("info depth")]
    assert any(" nodes 25 " in line for line in infos) and " nodes 11 " in infos[-1]


# Other people's programs


def engine_command(*arguments: str) -> list[str]:
    """Return the command of an engine with UCT."""
    return [*azero_command("uci"), "game=chess", "player=uct", *arguments]


def test_python_chess_plays_analyses_and_ponders() -> None:
    pytest.importorskip("chess", reason="python-chess is not installed")
    import chess.engine

    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(
        engine_command("player.num_simulations=300"), timeout=240
    ) as engine:
        assert engine.id["name"].startswith("azero") and "Simulations" in engine.options
        played = engine.play(board, chess.engine.Limit(nodes=80), info=chess.engine.INFO_ALL)
        assert played.move and played.move in board.legal_moves and played.info["nodes"] == 80
        board.push(played.move)
        for limit in (chess.engine.Limit(time=0.2), chess.engine.Limit(white_clock=3, black_clock=3)):
            played = engine.play(board, limit, ponder=True)
            assert played.move and played.move in board.legal_moves
            board.push(played.move)
            if played.ponder:
                board.push(played.ponder)
        engine.configure({"Move Overhead": 10, "Simulations": 150})
        found = engine.analyse(board, chess.engine.Limit(nodes=150), multipv=3)
        assert len(found) == 3 and found[0]["pv"][0] in board.legal_moves
        with engine.analysis(board) as analysis:
            analysis.get()
            analysis.stop()
            best = analysis.wait().move
            assert best and best in board.legal_moves
        mate = engine.analyse(chess.Board(BACK_RANK), chess.engine.Limit(mate=1))
        assert mate["score"].relative == chess.engine.Mate(1)


def fairy() -> str:
    """Return the path of Fairy-Stockfish."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/games"
    found = shutil.which("fairy-stockfish", path=path)
    if found is None:
        pytest.skip("Fairy-Stockfish is not installed")
    return found


def test_a_whole_game_against_fairy_stockfish_under_a_clock() -> None:
    azero = shlex.join([*azero_command("uci"), "player=uct", "player.num_simulations=50"])
    engines = [uci_games.Engine(command, "gardner") for command in (azero, fairy())]
    try:
        clocks = uci_games.Clocks([8.0, 8.0], 0.1)
        end, plies = uci_games.play(GARDNER, engines, clocks, random.Random(3))
    finally:
        for engine in engines:
            engine.close()
    assert end == "" and plies > 4
    assert min(clocks.left) > 0 and clocks.worst < 8.0


# Scripts


FAKE = """while read -r line; do case "$line" in
uci) echo uciok;; isready) echo readyok;; go*) echo bestmove;; quit) exit;; esac; done"""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gmes=3"], "unknown setting 'gmes'; did you mean games?"),
        (["games=x"], "games=x must be a whole number"),
        (["first=no-such-engine", "second=x"], "the engine 'no-such-engine' cannot be started"),
        (["first=true", "second=true"], "the engine 'true' ends, or does not speak UCI."),
        ([], "name both engines: first=COMMAND is missing."),
    ],
)
def test_uci_games_refuses_in_one_sentence(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["uci_games.py", *words])
    with pytest.raises(UserError, match=re.escape(sentence)):
        uci_games.main()


def test_an_engine_without_a_move_is_refused_by_a_match() -> None:
    engine = uci_games.Engine(shlex.join(["bash", "-c", FAKE]), "gardner")
    try:
        with pytest.raises(UserError, match="answers bestmove without a move"):
            against_uci.play(GARDNER, make_player("random", GARDNER), engine, "depth 1", 1, ())
    finally:
        engine.close()
