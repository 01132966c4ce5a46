"""Chess, Gardner's chess and Los Alamos chess: counts of moves, other people's rules, and corners by name."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from chess_referees import (
    FAIRY,
    VARIANTS,
    OpenSpiel,
    Pyffish,
    PythonChess,
    Referee,
    compare_chess,
    count_moves,
    fairy_counts,
    name_of,
    random_positions,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.chess import read_position, write_position
from azero.games.ending import result_text
from azero.games.game import Game
from azero.games.kit.piece_moves import CHECKERS, FLAGS, PINNED
from azero.games.kit.piece_play import KEYS
from azero.games.kit.san import read_san, san

PACKAGES = {PythonChess: "chess", Pyffish: "pyffish", OpenSpiel: "pyspiel"}
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
# Published counts of sequences of 1, 2, ... moves (chessprogramming.org/Perft_Results)
COUNTS = {
    START: [20, 400, 8902, 197281, 4865609],
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -": [48, 2039, 97862, 4085603],
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -": [14, 191, 2812, 43238, 674624],
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq -": [6, 264, 9467, 422333],
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ -": [44, 1486, 62379, 2103487],
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - -": [46, 2079, 89890, 3894594],
}


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("chess")


def play(game: Game, state: np.ndarray, moves: str) -> np.ndarray:
    """The state after some moves, written by cells or as SAN."""
    for text in moves.split():
        action = read_san(game, state, text)
        assert action is not None, f"{text} is not legal in\n{game.format_state(state)}"
        state = game.step(state, action)
    return state


def names(game: Game, state: np.ndarray) -> set[str]:
    """The legal moves by cells."""
    return {name_of(game, state, action) for action in game.legal_actions(state)}


def board(rows: str, rest: str = "w - -") -> str:
    """A picture of a board as FEN."""
    lines = ["".join(row.split()) for row in rows.split("\n") if row.strip()]
    return "/".join(line.replace(".", "1") for line in lines) + " " + rest


def test_the_first_position_is_drawn_as_white_sees_it(game: Game) -> None:
    state = game.initial_state()
    assert game.format_state(state) == (
        "8 r n b q k b n r\n7 p p p p p p p p\n6 . . . . . . . .\n5 . . . . . . . .\n"
        "4 . . . . . . . .\n3 . . . . . . . .\n2 P P P P P P P P\n1 R N B Q K B N R\n  a b c d e f g h"
    )
    after = play(game, state, "e4")
    assert game.format_state(after).splitlines()[4:7] == [
        *("4 . . . . P . . .", "3 . . . . . . . .", "2 P P P P . P P P")
    ]
    assert names(game, after) == {f"{c}7{c}{r}" for c in "abcdefgh" for r in "65"} | {
        *("b8a6", "b8c6", "g8f6", "g8h6")
    }


def test_sizes_of_the_three_forms() -> None:
    sizes = {variant: make_game("chess", variant=variant) for variant in VARIANTS}
    assert {name: game.num_actions for name, game in sizes.items()} == {
        "standard": 64 * 73,  # 8 * 7 + 8 + 9 moves of a cell
        "gardner": 25 * 49,  # 8 * 4 + 8 + 9
        "losalamos": 36 * 54,  # 8 * 5 + 8 + 6
    }
    assert [game.planes_shape for game in sizes.values()] == [(20, 8, 8), (20, 5, 5), (20, 6, 6)]


@pytest.mark.parametrize("fen", COUNTS)
def test_sequences_of_moves_are_counted_as_published(game: Game, fen: str) -> None:
    published = [count for count in COUNTS[fen] if count < 500_000]
    assert count_moves(game, read_position(fen), len(published)) == published


@pytest.mark.long
@pytest.mark.parametrize("fen", COUNTS)
def test_more_sequences_of_moves_are_counted_as_published(game: Game, fen: str) -> None:
    assert count_moves(game, read_position(fen), len(COUNTS[fen])) == COUNTS[fen]


@pytest.mark.skipif(FAIRY is None, reason="Fairy-Stockfish is not installed: apt-get install fairy-stockfish")
@pytest.mark.parametrize("plies", [3, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_sequences_of_moves_are_counted_as_by_fairy_stockfish(variant: str, plies: int) -> None:
    game, positions = make_game("chess", variant=variant), random_positions(variant, count=20, seed=1)
    counts = [count_moves(game, read_position(fen, variant), plies)[-1] for fen in positions]
    assert counts == fairy_counts(variant, positions, plies)


@pytest.mark.parametrize("backwards", [0.0, 0.8])
@pytest.mark.parametrize(("referee", "variant", "games"), [
    (PythonChess, "standard", 5),
    (Pyffish, "gardner", 3),
    (Pyffish, "losalamos", 1),
    (OpenSpiel, "standard", 1),
])  # fmt: skip
def test_random_games_agree_with_others(
    referee: type[Referee], variant: str, games: int, backwards: float
) -> None:
    pytest.importorskip(PACKAGES[referee], reason="the referee is not installed; extras dev and openspiel")
    result = compare_chess(referee, games, 1, variant, backwards)
    assert not result.mismatches, result.mismatches[0]
    assert result.games == games and result.plies > 10 * games


def test_moves_are_written_as_python_chess_writes_them(game: Game) -> None:
    chess = pytest.importorskip("chess", reason="python-chess is not installed; extra dev")
    choose = random.Random(3)
    state, theirs, checks = game.initial_state(), chess.Board(), 0
    # Knights and rooks that reach the same cell, promotions with a capture and mate are in these positions
    fens = [
        *COUNTS,
        "k7/8/2N1N3/8/2N5/8/8/K7 w - -",
        "1k6/8/8/Q6Q/8/8/8/Q6K w - -",
        "1n5k/P6P/8/8/8/8/8/K7 w - -",
    ]
    for fen in fens:
        state, theirs = read_position(fen), chess.Board(f"{fen} 0 1" if len(fen.split()) == 4 else fen)
        for _ in range(12):
            if game.is_terminal(state):
                break
            legal = game.legal_actions(state)
            for action in legal:
                text = theirs.san(chess.Move.from_uci(name_of(game, state, action)))
                assert san(game, state, action) == text
                assert read_san(game, state, text) == action
                checks += text[-1] in "+#"
            action = choose.choice(legal)
            theirs.push_uci(name_of(game, state, action))
            state = game.step(state, action)
    assert checks > 50


@pytest.mark.parametrize(("text", "name"), [
    ("Nf3", "g1f3"), ("Ngf3", "g1f3"),  # more of the first cell than needed is no fault
    ("Nbf3", None), ("Ng1f3", "g1f3"), ("Ng1-f3", "g1f3"), ("nf3", None), ("e4", "e2e4"),
    ("E2E4", "e2e4"), (" e2e4 ", "e2e4"), ("e4!?", "e2e4"), ("O-O", None), ("e5", None), ("", None),
    ("Nd2", None),     ("e2-e4", "e2e4"), ("exd5", None), ("e8=Q", None), ("é4", None),
])  # fmt: skip
def test_first_moves_as_people_write_them(game: Game, text: str, name: str | None) -> None:
    state = game.initial_state()
    action = read_san(game, state, text)
    assert (None if action is None else name_of(game, state, action)) == name


def test_promotions_and_castling_as_people_write_them(game: Game) -> None:
    state = read_position(board("""
        . n . . k . . r
        P . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        R . . . K . . R""", "w KQk -"))  # fmt: skip
    written = {
        "a8=Q": "a7a8q",
        "a8Q": "a7a8q",
        "axb8=N": "a7b8n",
        "A7B8R": "a7b8r",
        "O-O": "e1g1",
        "0-0-0": "e1c1",
    }
    for text, name in written.items():
        action = read_san(game, state, text)
        assert action is not None and name_of(game, state, action) == name
    for text in ("a8q", "a8=q", "a8(Q)", "a8/Q", "a8Q+"):
        assert read_san(game, state, text) == read_san(game, state, "a8=Q"), text
    assert {name for name in names(game, state) if name[0] == "a" and len(name) == 5} == {
        f"a7{to}{piece}" for to in ("a8", "b8") for piece in "qrbn"
    }


def test_small_forms_have_no_long_steps_and_promote_to_their_own_pieces() -> None:
    gardner = make_game("chess", variant="gardner")
    assert names(gardner, gardner.initial_state()) == {
        *("a2a3", "b2b3", "c2c3", "d2d3", "e2e3", "b1a3", "b1c3")
    }
    state = read_position("4k/P4/5/5/K4 w - - 0 1", "gardner")
    assert {name[4:] for name in names(gardner, state)} == {*"qrbn", ""}
    assert (
        play(gardner, state, "a5=B").tolist() == read_position("B3k/5/5/5/K4 b - - 0 1", "gardner").tolist()
    )
    alamos = make_game("chess", variant="losalamos")
    state = read_position("5k/P5/6/6/6/K5 w - - 0 1", "losalamos")
    assert {name[4:] for name in names(alamos, state)} == {*"qrn", ""}


def test_a_pawn_is_taken_in_passing_at_once_or_never(game: Game) -> None:
    state = play(game, game.initial_state(), "e4 a6 e5 d5")
    assert write_position(state).split()[3] == "d6"
    taken = play(game, state, "exd6")
    assert game.format_state(taken).splitlines()[2:4] == ["6 p . . P . . . .", "5 . . . . . . . ."]
    for text in ("exd6e.p.", "exd6 e.p.", "exd6ep", "exd6 e.p.+"):
        assert read_san(game, state, text) == read_san(game, state, "exd6"), text
    assert read_san(game, play(game, state, "h3 h6"), "exd6") is None


@pytest.mark.parametrize(("text", "moves"), [
    ("a8", "a8=B, a8=N, a8=Q or a8=R"), ("a7a8", "a8=B, a8=N, a8=Q or a8=R"),
    ("axb8", "axb8=B, axb8=N, axb8=Q or axb8=R"), ("ab8+", "axb8=B, axb8=N, axb8=Q or axb8=R"),
])  # fmt: skip
def test_a_promotion_names_its_piece(game: Game, text: str, moves: str) -> None:
    state = read_position("1n4k1/P7/8/8/8/8/8/R3K2R w KQ - 0 1")
    with pytest.raises(ValueError, match=f"^.{re.escape(text)}. does not name the new piece: {moves}"):
        game.read_action(state, text)  # type: ignore[misc]
    assert game.parse_action(state, "a7a8n") != game.parse_action(state, "a8=Q")


def test_a_move_that_two_knights_can_make_is_called_ambiguous(game: Game) -> None:
    state = play(game, game.initial_state(), "Nf3 d5 d4 c5")
    with pytest.raises(ValueError, match=r"^'Nd2' is ambiguous: Nbd2 or Nfd2\.$"):
        game.parse_action(state, "Nd2")
    assert play(game, state, "Nbd2").tolist() == play(game, state, "b1d2").tolist()


def test_taking_in_passing_may_not_lay_the_king_open(game: Game) -> None:
    before = board("""
        . . . . . . . .
        . . p . . . . .
        . . . . . . . .
        K P . . . . . r
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . k""", "b - -")  # fmt: skip
    state = play(game, read_position(before), "c5")
    assert "b5c6" not in names(game, state)  # both pawns leave the row of king and rook
    assert write_position(state).split()[3] == "-"
    assert write_position(play(game, read_position(before.replace("r", "1")), "c5")).split()[3] == "c6"


@pytest.mark.parametrize(("rights", "taken", "castles"), [
    ("KQ", "", {"e1g1", "e1c1"}),
    ("K", "", {"e1g1"}),
    ("KQ", "f8", {"e1c1"}),  # a black rook on f8 attacks f1, over which the king would go
    ("KQ", "g8", {"e1c1"}),  # on g8 it attacks where the king would come
    ("KQ", "e8", set()),  # check
    ("KQ", "b8", {"e1g1", "e1c1"}),  # only the rook goes over b1
    ("KQ", "h8", {"e1g1", "e1c1"}),
])  # fmt: skip
def test_castling(game: Game, rights: str, taken: str, castles: set[str]) -> None:
    row = "".join("r" if f"{column}8" == taken else "1" for column in "abcdefgh")
    state = read_position(f"{row}/8/8/3k4/8/8/8/R3K2R w {rights} -")
    assert names(game, state) & {"e1g1", "e1c1"} == castles
    if "e1g1" in castles:
        assert game.format_state(play(game, state, "O-O")).splitlines()[7] == "1 R . . . . R K ."
    if "e1c1" in castles:
        assert game.format_state(play(game, state, "O-O-O")).splitlines()[7] == "1 . . K R . . . R"


def test_rights_to_castle_are_lost_by_moves_and_captures(game: Game) -> None:
    start = read_position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for moves, left in [("Ra2", "Kkq"), ("Rh2", "Qkq"), ("Ke2", "kq"), ("Rxa8+", "Kk"), ("Rxh8+ Ke7", "Q")]:
        assert write_position(play(game, start, moves)).split()[2] == left
    assert write_position(play(game, start, "Ra2 Ra7 Ra1 Ra8")).split()[2] == "Kk"


MATERIAL = "Draw by lack of material"


@pytest.mark.parametrize(("fen", "moves", "result"), [
    (START, "f3 e5 g4 Qh4#", "Black wins by checkmate"),  # the shortest mate
    ("7k/8/6K1/8/8/8/8/5Q2 w - -", "Qf7", "Draw by stalemate"),  # stalemate
    ("7k/8/6K1/8/8/8/8/5R2 w - -", "Rf8#", "White wins by checkmate"),
    ("r6k/8/8/8/8/8/8/1K6 w - - 99 80", "Kb2", "Draw by the fifty-move rule"),  # ply 100
    ("7k/8/6K1/8/8/8/8/5R2 w - - 99 80", "Rf8#", "White wins by checkmate"),  # mate goes before
    ("7k/8/8/8/8/8/6r1/7K w - -", "Kxg2", MATERIAL),  # bare kings
    ("7k/8/5K2/6p1/8/8/8/6N1 b - -", "g4 Nf3 gxf3", ""),  # a pawn is left
    ("7k/8/8/6K1/5p2/8/8/6N1 w - -", "Kxf4", MATERIAL),  # a knight alone
    ("6nk/8/8/6K1/5p2/8/8/6N1 w - -", "Kxf4", ""),  # a knight on each side could mate
    ("6bk/8/8/6K1/5p2/8/8/6B1 w - -", "Kxf4", ""),  # bishops on cells of both colours could
    ("5b1k/8/8/6K1/5p2/8/8/6B1 w - -", "Kxf4", MATERIAL),  # bishops on cells of one colour
])  # fmt: skip
def test_ends_of_a_game(game: Game, fen: str, moves: str, result: str) -> None:
    state = read_position(fen)
    for move in moves.split():
        assert not game.is_terminal(state)
        state = play(game, state, move)
    assert result_text(game, state) == result
    assert game.is_terminal(state) == bool(result)
    assert not result or game.outcome(state) == (0.0 if result.startswith("Draw") else -1.0)


def test_the_third_occurrence_of_a_position_is_a_draw(game: Game) -> None:
    state = play(game, game.initial_state(), "Nf3 Nf6 Ng1 Ng8")
    assert game.planes(state)[18].max() == 1.0  # it has been there once before
    assert not np.array_equal(game.planes(state), game.planes(game.initial_state()))
    state = play(game, state, "Nf3 Nf6 Ng1")
    assert not game.is_terminal(state)
    state = play(game, state, "Ng8")
    assert game.is_terminal(state) and game.outcome(state) == 0.0
    assert result_text(game, state) == "Draw by repetition"


def test_positions_with_other_rights_are_not_the_same(game: Game) -> None:
    start = read_position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    state = play(game, start, "Ra2 Ra7 Ra1 Ra8")  # the pieces of the first position, without two rights
    state = play(game, state, "Ra2 Ra7 Ra1 Ra8")
    assert game.planes(state)[18].max() == 1.0 and not game.is_terminal(state)
    assert game.is_terminal(play(game, state, "Ra2 Ra7 Ra1 Ra8"))


def test_a_first_position_in_which_a_pawn_can_be_taken_in_passing_does_not_come_back(game: Game) -> None:
    state = play(game, game.initial_state(), "e4 a6 e5 d5")
    for _ in range(2):
        state = play(game, state, "Nf3 Nf6 Ng1 Ng8")
        assert not game.is_terminal(state)  # twice without, once with it
    assert game.is_terminal(play(game, state, "Nf3 Nf6 Ng1 Ng8"))


def test_a_capture_or_a_move_of_a_pawn_clears_the_keys(game: Game) -> None:
    state = play(game, game.initial_state(), "Nf3 Nf6 Nc3")
    assert np.count_nonzero(state[KEYS:]) == 4  # the first position and three plies
    state = play(game, state, "d5")
    assert np.count_nonzero(state[KEYS:]) == 1


def test_a_position_after_the_longest_game_is_played_like_an_early_one() -> None:
    """Move 256 comes after 510 of 512 plies, move 257 after all."""
    game = make_game("chess")
    late, later = (game.position(START.replace("0 1", f"0 {number}")) for number in (256, 257))
    assert [game.text(state).split()[-1] for state in (late, later)] == ["256", "1"]
    assert np.array_equal(later, game.initial_state())
    black = "8/8/8/4k3/8/8/4P3/4K3 b - - 7"
    assert np.array_equal(game.position(f"{black} 9999"), game.position(f"{black} 1"))


def test_a_game_of_max_plies_is_a_draw() -> None:
    game = make_game("chess", max_plies=4)
    state = play(game, game.initial_state(), "e4 e5 Nf3")
    assert not game.is_terminal(state)
    state = play(game, state, "Nc6")
    assert game.is_terminal(state) and game.outcome(state) == 0.0
    assert result_text(game, state) == "Draw by the game's length"
    assert game.outcome(play(game, game.initial_state(), "f3 e5 g4 Qh4#")) == -1.0  # mate at the last ply


def test_equal_positions_have_equal_keys_whatever_came_before(game: Game) -> None:
    def key(moves: str) -> list[int]:
        key = np.zeros(game.key_words, np.uint64)
        game.rules.evaluation_key(play(game, game.initial_state(), moves), key)
        return key.tolist()

    assert key("Nf3 Nf6 Nc3") == key("Nc3 Nf6 Nf3")
    assert key("Nf3 Nf6 Ng1 Ng8") != key("Nf3 Nf6 Nc3 Ng8")
    assert key("Nf3 Nf6 Ng1 Ng8") != key("Nc3 Nc6")


def test_black_sees_the_board_as_white_does(game: Game) -> None:
    """Exchange the colours and turn the ranks: the same words and actions, and the other side to move."""
    for fen in random_positions("standard", count=30, seed=5):
        rows, side, rights, passing, *_ = fen.split()
        turned = "/".join(reversed(rows.swapcase().split("/")))
        rights = "".join(sorted(rights.swapcase()))
        passing = passing.translate(str.maketrans("36", "63"))
        other = read_position(f"{turned} {'b' if side == 'w' else 'w'} {rights} {passing} 0 1")
        state = read_position(fen)
        plies = np.uint64(1 << 20)
        assert other[:FLAGS].tolist() == state[:FLAGS].tolist()
        assert (other[FLAGS] ^ state[FLAGS]) & ~plies == 0
        assert other[[CHECKERS, PINNED]].tolist() == state[[CHECKERS, PINNED]].tolist()
        assert game.legal_actions(other) == game.legal_actions(state)


@pytest.mark.parametrize("variant", VARIANTS)
def test_positions_of_random_games_are_read_as_they_were_written(variant: str) -> None:
    game, choose = make_game("chess", variant=variant), random.Random(2)
    for _ in range(4):
        state = game.initial_state()
        while not game.is_terminal(state):
            fen = write_position(state, variant)
            again = read_position(fen, variant)
            assert write_position(again, variant) == fen
            assert again[:FLAGS].tolist() == state[:FLAGS].tolist()
            assert again[CHECKERS : PINNED + 1].tolist() == state[CHECKERS : PINNED + 1].tolist()
            clock = int(state[FLAGS]) >> 8 & 255
            assert again[KEYS + clock] == state[KEYS + clock]  # the key that steps have changed bit by bit
            assert game.legal_actions(again) == game.legal_actions(state)
            state = game.step(state, choose.choice(game.legal_actions(state)))


def test_a_position_of_four_fields_begins_a_game() -> None:
    assert read_position(" ".join(START.split()[:4])).tolist() == read_position(START).tolist()


def test_a_game_may_begin_elsewhere() -> None:
    game = make_game("chess", start="7k/5R2/6K1/8/8/8/8/8 w - - 3 40", max_plies=100)
    state = game.initial_state()
    assert game.to_play(state) == 0 and "f7f8" in names(game, state)
    assert write_position(play(game, state, "Ra7 Kg8")) == "6k1/R7/6K1/8/8/8/8/8 w - - 5 41"
    fen = "7k/5R2/6K1/8/8/8/8/8 w - -"
    for written, meant in ((fen, f"{fen} 0 1"), (f"{fen} 3", f"{fen} 3 1")):  # as some programs write it
        assert write_position(game.position(written)) == meant
    with pytest.raises(UserError, match=r"start=.* has Black to move; give a position with White to move"):
        make_game("chess", start="7k/8/6K1/8/8/8/8/5R2 b - - 3 40")
    with pytest.raises(UserError, match=r"start=.* is the end of a game; give a position to play from"):
        make_game("chess", start="7k/8/6K1/8/8/8/8/8 w - -")


@pytest.mark.parametrize(("fen", "why"), [
    ("", "it has 0 fields, and FEN has 4 to 6"),
    ("hello", "it has 1 field, and"),
    (f"{START} 7", "it has 7 fields"),
    (START.replace(" w ", " x "), "the side to move is 'x', not w or b"),
    (START.replace("KQkq", "KX"), "the rights to castle are 'KX'"),
    (START.replace("KQkq", "KK"), "the rights to castle are 'KK'"),
    (START.replace("- 0", "e4 0"), "'e4' is not a cell on which White takes in passing"),
    (START.replace("- 0", "e6 0"), "no pawn can have passed e6"),
    (START.replace("0 1", "x 1"), "the clock 'x' is not a number"),
    (START.replace("0 1", "0 -1"), "the move '-1' is not a number"),
    (START.replace("0 1", "0 999999"), "the move '999999' is not a number"),
    (START.replace("/8/8", "/8", 1), "it has 7 rows of 8"),
    (START.replace("/8/8", "/9/8", 1), "row '9' does not have 8 cells"),
    (START.replace("/8/8", "/7/8", 1), "row '7' does not have 8 cells"),
    (START.replace("/8/8", "/7x/8", 1), "'x' is not a piece"),
    (START.replace("/8/8", "/7²/8", 1), "'²' is not a piece"),
    (START.replace("k", "q", 1), "Black has 0 kings"),
    (START.replace("RNBQ", "RNBK"), "White has 2 kings"),
    (START.replace("/8/8", "/7P/8", 1), "White has 9 pawns and 17 pieces, more than a game begins with"),
    (START.replace("/8/8", "/7Q/8", 1), "White has 8 pawns and 17 pieces"),
    ("P6k/8/8/8/8/8/8/K7 w - -", "a pawn stands on the first or the last row"),
    ("7k/8/8/8/8/8/8/K6p b - -", "a pawn stands on the first or the last row"),
    ("7k/8/8/8/8/8/8/K6R w - -", "the side that has just moved is in check"),
    ("8/8/8/8/1kK5/8/8/7R b - -", "the kings stand side by side"),
    ("7k/8/8/8/8/8/8/K6R w K -", "the king or the rook of K is not in its place"),
    ("r3k3/8/8/8/8/8/8/R3K3 w Qk -", "the king or the rook of k is not in its place"),
])  # fmt: skip
def test_a_text_that_is_not_a_position_is_refused(fen: str, why: str) -> None:
    with pytest.raises(UserError) as refused:
        read_position(fen)
    assert why in str(refused.value) and str(refused.value).startswith(f"{fen!r} is not a position: ")
    if fen:
        with pytest.raises(UserError, match="is not a position"):
            make_game("chess", start=fen)


@pytest.mark.parametrize(("fen", "variant", "why"), [
    ("rnbqk/ppppp/5/PPPPP/RNBQK w KQkq - 0 1", "gardner", "this form of chess has no castling"),
    ("rnqknb/pppppp/6/6/PPPPPP/RNQKNR w - - 0 1", "losalamos", "this form of chess has no piece 'b'"),
    ("rnqknr/pppppp/6/6/PPPPPP/RNQKNR w - c4 0 1", "losalamos", "has no castling and no taking in passing"),
    (START, "gardner", "it has 8 rows of 5"),
])  # fmt: skip
def test_a_position_of_another_form_is_refused(fen: str, variant: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        read_position(fen, variant)


POSITIONS = [START, *COUNTS, "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(POSITIONS),
    st.lists(
        st.tuples(st.integers(0, 80), st.sampled_from("pnbrqkPNBRQK12345678/ wb-KQkqa3e36")), max_size=3
    ),
)
def test_a_changed_position_is_refused_or_played_as_others_play_it(
    fen: str, changes: list[tuple[int, str]]
) -> None:
    chess = pytest.importorskip("chess", reason="python-chess is not installed; extra dev")
    for place, sign in changes:
        fen = fen[: place % len(fen)] + sign + fen[place % len(fen) + 1 :]
    refused = ""
    try:
        state = read_position(fen)
    except UserError as error:
        refused = str(error)
    if refused:
        assert refused.startswith(f"{fen!r} is not a position: ")
        return
    game, written = make_game("chess"), write_position(state)
    assert write_position(read_position(written)) == written
    theirs = chess.Board(written)
    assert theirs.fen() == written
    if not game.is_terminal(state):
        assert names(game, state) == {move.uci() for move in theirs.legal_moves}
        for action in game.legal_actions(state):
            after = theirs.copy(stack=False)
            after.push_uci(name_of(game, state, action))
            assert write_position(game.step(state, action)) == after.fen()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match="is not a position"):
        read_position(text)
    game = make_game("chess")
    action = read_san(game, game.initial_state(), text)
    assert action is None or len(text) >= 2


def test_other_variants_are_refused() -> None:
    with pytest.raises(UserError, match="must be one of: standard, gardner, losalamos"):
        make_game("chess", variant="atomic")


def test_actions_that_leave_the_board_have_names_of_their_own(game: Game) -> None:
    """No legal name means two actions."""
    for fen in [START, *COUNTS]:
        state = read_position(fen)
        found = [name_of(game, state, action) for action in range(game.num_actions)]
        for action in game.legal_actions(state):
            assert found.count(found[action]) == 1
