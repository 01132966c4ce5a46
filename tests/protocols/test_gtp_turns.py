"""GTP: whose turn it is where a client does not keep to turns: swaps, passes nobody played, games resumed."""

from __future__ import annotations

import pytest
from gtp_session import RANDOM, UCT, ask, engine, moves_of, play_all

from azero.cli.player_spec import PlayerSpec
from azero.games.go import PASSES
from azero.protocols.gtp_engine import Engine
from azero.protocols.turning import turned as turned_to

# Othello on 4 x 4: moves after which white must pass and black has a move
OTHELLO_PASS = ["C4", "B4", "A1", "D2", "D4", "D3", "A2", "C1", "A4", "A3", "B1"]


def hex_game(*lines: str, player: PlayerSpec = RANDOM) -> Engine:
    """Return an engine of Hex on 4 x 4 with the swap; all lines must be accepted."""
    on = engine("hex", player, size=4, swap=True)
    assert all(answer.startswith("=") for answer in ask(on, *lines))
    return on


def stones(on: Engine) -> dict[str, str]:
    """Return the stones on the board: X black, O white."""
    assert on.game.board and on.moves.board
    marks = on.game.board.marks(on.at.state).ravel()
    return {on.moves.board.cell_name(cell): ".XO"[mark] for cell, mark in enumerate(marks) if mark}


# --- the swap of Hex ----------------------------------------------------------------------------------------

SWAPS = ["swap-pieces", "SWAP-PIECES", "swap-sides", "swap", "SWAP"]


@pytest.mark.parametrize("swap", SWAPS)
def test_who_moves_after_a_swap_of_hex_decides_which_kind_it_was(swap: str) -> None:
    on = hex_game("play black c1", f"play white {swap}", "play white b2")
    assert stones(on) == {"C1": "X", "B2": "O"} and on.at.to_play == 0  # the persons were exchanged
    on = hex_game("play b c1", f"play w {swap}", "play b b2")
    assert stones(on) == {"A3": "O", "B2": "X"} and on.at.to_play == 1  # the stone was


@pytest.mark.parametrize("command", ["genmove {}", "kata-genmove_analyze {}"])
def test_a_move_is_chosen_after_either_kind_of_swap(command: str) -> None:
    for side, stone in (("white", ("C1", "X")), ("black", ("A3", "O"))):
        on = hex_game("play black c1", "play white swap-pieces", command.format(side), player=UCT)
        assert len(found := stones(on)) == 2 and stone in found.items()
        assert on.at.to_play == (0 if side == "white" else 1)


def test_a_swap_is_taken_back_with_what_came_after() -> None:
    on = hex_game("play b c1", "play w swap-pieces", "play w b2", "play b d4", "undo", "undo")
    assert ask(on, "gogui-rules_legal_moves")[0].count(" ") == 15  # 15 of 16 cells are empty
    assert ask(on, "play b b2", "undo", "undo", "gogui-rules_legal_moves")[-1].endswith("D4 swap-pieces")
    assert stones(on) == {"C1": "X"}
    assert ask(on, "undo", "undo")[-1] == "? cannot undo: no move has been played"


def test_a_swap_comes_once_and_right_after_the_first_move() -> None:
    on = hex_game("play b c1", "play w swap-pieces", "play w b2")
    assert ask(on, "play b swap-pieces", "play b d1", "play w swap") == [
        *("? illegal move: swap-pieces", "=", "? illegal move: swap"),
    ]
    on = hex_game()
    assert ask(on, "play b swap-pieces", "play w swap") == [
        *("? illegal move: swap-pieces", "? illegal move: swap"),
    ]
    assert ask(engine("hex", size=4), "play b c1", "play w swap") == ["=", "? illegal move: swap"]


def test_azero_s_own_swap_is_followed_by_either_colour() -> None:
    """uct swaps the middle of a board of 3 x 3, which wins."""
    for reply in ("play w a1", "play b a1"):
        on = engine("hex", PlayerSpec("player", "uct", {"num_simulations": 3000}), size=3, swap=True)
        assert ask(on, "play b b2", "genmove w", reply) == ["=", "= swap-pieces", "="]


def test_a_whole_game_of_hex_with_the_persons_exchanged() -> None:
    on = hex_game("play b c1", "play w swap-pieces", "play w a2", "play b c2", "play w a3", "play b c3")
    assert ask(on, "play w a4", "play b c4", "final_score", "play w d4") == [
        *("=", "=", "= B+", "? illegal move: the game is over"),
    ]


@pytest.mark.parametrize("swap", [True, False])
def test_pieces_that_a_client_has_exchanged_itself_are_set_up(swap: bool) -> None:
    """HexGui after 0.10 sends the mirrored stone of white on an empty board."""
    on = engine("hex", size=4, swap=swap)
    assert ask(on, "play b c1", "clear_board", "play white a3", "play b swap-pieces")[1:] == [
        *("=", "=", "? illegal move: swap-pieces"),
    ]
    assert ask(on, "genmove black")[0].startswith("= ")
    assert stones(on)["A3"] == "O" and len(stones(on)) == 2 and on.at.to_play == 1
    assert ask(on, "undo", "undo", "undo") == ["=", "=", "? cannot undo: no move has been played"]
    ask(on, "play w d1", "play b a1")
    while not on.at.is_over:
        assert ask(on, f"genmove {'bw'[on.at.to_play]}")[0].startswith("= ")
    assert len(stones(on)) <= 16 and on.at.outcome in (-1, 1)


def test_a_side_of_hex_does_not_move_twice() -> None:
    on = hex_game("play b c1")
    assert ask(on, "play b a1", "genmove b", "play w a1", "play w b1") == [
        "? illegal move: it is the turn of white",
        "? illegal move: it is the turn of white",
        "=",
        "? illegal move: it is the turn of black",
    ]
    on = hex_game("play b c1", "play w swap-pieces", "play w b2")
    assert ask(on, "play w a1") == ["? illegal move: it is the turn of black"]
    on = hex_game(*(f"play {move}" for move in ("b a1", "w b1", "b a2", "w b2", "b a3", "w b3", "b a4")))
    assert ask(on, "play b d4", "play w d4") == ["? illegal move: the game is over"] * 2


# --- passes nobody played -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def go() -> Engine:
    """Go on 5 x 5 with uct, which passes as soon as a pass wins."""
    return engine("go", UCT, size=5, komi=0.5)


def passes(on: Engine) -> int:
    """Return how many passes count at the position."""
    return int(on.at.state[PASSES])


def test_a_side_that_plays_twice_begins_a_new_history(go: Engine) -> None:
    assert ask(go, "clear_board", "play b A1", "play b C3", "play w pass", "play b E5") == ["="] * 5
    assert stones(go) == {"A1": "X", "C3": "X", "E5": "X"} and passes(go) == 0
    assert ask(go, "undo") == ["="] and passes(go) == 1  # white's pass was played
    assert ask(go, "undo", "undo") == ["=", "="] and moves_of(go) == ["a1"]
    assert ask(go, "play b A1") == ["? illegal move: A1"] and moves_of(go) == ["a1"]
    assert ask(go, "play b pass") == ["="] and moves_of(go) == ["a1"]  # it is white's turn all the same
    assert ask(go, "undo", "undo", "undo") == ["=", "=", "? cannot undo: no move has been played"]


@pytest.mark.parametrize("choose", ["genmove", "kata-genmove_analyze", "lz-genmove_analyze"])
@pytest.mark.parametrize(
    "before, side",
    [
        (["play b C3"], "b"),  # black leads, so two passes would win
        (["play b C3", "play w pass"], "w"),
        (["play b C3", "play b pass"], "b"),
        (["play w pass"], "w"),
        (["play w C3"], "w"),
        (["play b pass"], "b"),
    ],
)
def test_a_pass_nobody_played_neither_counts_nor_ends_the_game(
    go: Engine, before: list[str], side: str, choose: str
) -> None:
    assert ask(go, "clear_board", *before) == ["="] * (1 + len(before))
    turned = turned_to(go.at, "bw".index(side))
    assert turned and turned.to_play == "bw".index(side) and turned.state[PASSES] == 0
    [answer] = ask(go, f"{choose} {side}")
    assert not go.at.is_over and passes(go) == int(answer.lower().endswith("pass"))
    assert ask(go, f"reg_genmove {side}")[0].startswith("= ")


def test_the_analysis_of_the_side_not_to_move_counts_no_pass(go: Engine) -> None:
    """After a real pass another pass would win for black; after one that nobody played it would not."""
    ask(go, "clear_board", "play b C3", "play w pass", "undo")
    before = go.place
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(go.player(), "analyse", lambda at, *_: seen.append((at.to_play, at.state[PASSES])))
        ask(go, "kata-analyze b 1", "lz-analyze b 1", "kata-analyze w 1", "kata-analyze 1")
    assert seen == [(0, 0), (0, 0), (1, 0), (1, 0)] and go.place == before


def test_handicap_stones_are_played_one_after_the_other(go: Engine) -> None:
    """As LizGoban does where `set_free_handicap` is not known."""
    assert ask(go, "clear_board", "play b B2", "play b D4", "play b B4", "genmove w")[:4] == ["="] * 4
    assert list(stones(go).values()).count("X") == 3 and not go.at.is_over
    assert ask(go, "undo", "undo", "undo", "undo") == ["="] * 4 and not stones(go)


def test_a_new_history_knows_its_own_repeats_only() -> None:
    on = engine("go", size=5)
    # a ko at c3 and d3, which white may take back when it has played elsewhere
    play_all(on, ["C4", "D4", "B3", "E3", "C2", "D2", "A1", "C3"])
    assert ask(on, "play b D3", "play w C3") == ["=", "? illegal move: C3"]
    assert ask(on, "play w A5", "play w C3", "play b D3") == ["=", "=", "? illegal move: D3"]


def test_the_komi_of_a_game_changes_after_a_new_history() -> None:
    on = engine("go", size=5, komi=7.5)
    assert ask(on, "play b A1", "play b C3", "play b E5", "komi 3", "final_score") == [
        *("=", "=", "=", "=", "= B+22"),
    ]
    assert ask(on, "undo", "undo", "undo", "undo")[-1] == "? cannot undo: no move has been played"
    assert on.at.game is on.game and on.game.options["komi"] == 3


def test_a_pass_that_the_rules_demand_is_played() -> None:
    """White has no move in Othello then, and a client that leaves passes out goes on with black."""
    on = engine("othello", size=4)
    play_all(on, OTHELLO_PASS)
    assert ask(on, "gogui-rules_legal_moves", "kata-search b")[0] == "= pass"
    assert ask(on, "genmove b")[0].startswith("= ") and moves_of(on)[-2] == "pass"
    assert ask(on, "undo", "gogui-rules_legal_moves") == ["=", "= pass"]


def test_games_without_a_pass_keep_their_turns() -> None:
    on = engine("tictactoe", UCT)
    turn = "illegal move: it is the turn of black"
    assert ask(on, "lz-genmove_analyze w", "4 kata-search_analyze w 1", "kata-analyze w 1", "genmove w") == [
        *(f"? {turn}", f"?4 {turn}", f"? {turn}", f"? {turn}"),
    ]


# --- games that go on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("third", [[], ["play b pass"], ["play b pass", "play w pass"]])
@pytest.mark.parametrize("move", ["play b E5", "play w E5", "play black d2"])
def test_a_game_of_go_goes_on_after_two_passes(go: Engine, third: list[str], move: str) -> None:
    ask(go, "clear_board", "play b C3", "play w B2")
    ended = ["play b pass", "play w pass", *third]
    assert ask(go, *ended, "genmove b", "gogui-rules_legal_moves") == ["="] * len(ended) + ["= pass", "="]
    assert go.at.is_over and ask(go, move) == ["="] and not go.at.is_over
    assert len(stones(go)) == 3 and go.at.to_play == (0 if "w" in move else 1) and passes(go) == 0
    assert ask(go, "genmove " + "bw"[go.at.to_play])[0] != "= pass" or passes(go) == 1
    assert ask(go, "undo", "undo") == ["=", "="] and go.at.is_over and passes(go) == 2


def test_a_game_of_go_that_went_on_ends_again(go: Engine) -> None:
    ask(go, "clear_board", "play b C3", "play w pass", "play b pass", "play w E5", "play b pass")
    assert ask(go, "play w pass", "final_score", "genmove b") == ["=", "= W+0.5", "= pass"]
    assert ask(go, "play b C3") == ["? illegal move: C3"] and go.at.is_over


def test_a_game_of_go_goes_on_after_its_longest() -> None:
    on = engine("go", size=3, max_plies=2)
    assert ask(on, "play b A1", "play w C3", "play b B2", "play w A3") == ["="] * 4
    assert len(stones(on)) == 4


def test_other_games_are_over_when_they_are_over() -> None:
    on = engine("connect_four")
    play_all(on, ["A1", "B1", "A2", "B2", "A3", "B3", "A4"])
    assert ask(on, "play w pass", "play w B4", "genmove w") == [
        *("=", "? illegal move: the game is over", "= pass"),
    ]
