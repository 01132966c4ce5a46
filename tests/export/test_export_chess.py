"""What an exported page knows of chess: static/chess.js beside its Python twins."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import PROJECT
from playing import play

from azero.games import make_game
from azero.games.ending import score_text
from azero.games.game import Game
from azero.games.kit.san import AmbiguousMove, read_san, san

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
CHESS_JS = PROJECT / "azero" / "export" / "static" / "chess.js"
POSITIONS = [
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",  # castling on both sides
    "7k/P7/8/8/8/8/1p6/K7 w - - 0 1",  # a7a8 is a promotion
    "4k3/8/8/2pP4/8/8/8/4K3 w - c6 0 1",  # taking in passing
    "1k6/8/8/8/R6R/8/8/R3K3 w - - 0 1",  # three rooks: Rd4, R4a2, Ra1b1
    "7k/8/1B6/2p5/1P6/8/8/K7 w - - 0 1",  # bxc5 is the pawn's, Bxc5 the bishop's
]
OTHERS = ["0-0", "o-o-o", "O-O+", "a8", "a8q", "a8=N", "a8(R)", "dxc6 e.p.", "Rd4", "Rb4", "R-d4", "Rab1",
          "bxc5", "Bxc5+", "E1E2", "e4!?", "Nf3", "Kz9", "pass", ""]  # fmt: skip
SHUFFLE = "b1c3 b8c6 c3b1 c6b8 "


def called(tmp_path: Path, name: str, cases: list[list[Any]]) -> list[Any]:
    """Return what a function of chess.js answers for each list of arguments."""
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(CHESS_JS, tmp_path)
    script = (
        f'import {{ readFileSync }} from "node:fs"; import {{ {name} }} from "./chess.js";'
        f'console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((each) => {name}(...each))));'
    )
    (tmp_path / "main.js").write_text(script)
    done = subprocess.run(
        ["node", str(tmp_path / "main.js")],
        input=json.dumps(cases), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def position_of(game: Game, state: np.ndarray) -> dict[str, Any]:
    """Return what the worker of a page says of a state, as far as a typed move needs it."""
    assert game.board and game.board.from_of
    legal = game.legal_actions(state)
    return {
        "legal": legal,
        "marks": game.board.marks(state).ravel().tolist(),
        "names": {action: game.action_name(state, action) for action in legal},
        "starts": {action: int(game.board.from_of(state, action)) for action in legal},
    }


def test_a_typed_move_is_read_as_in_python(tmp_path: Path) -> None:
    cases, right = list[Any](), list[Any]()
    for fen in POSITIONS:
        game = make_game("chess", start=fen)
        assert game.board
        state = game.initial_state()
        for text in [*(san(game, state, action) for action in game.legal_actions(state)), *OTHERS]:
            cases.append([game.board.described(), position_of(game, state), text, True])
            try:
                action = read_san(game, state, text)
                right.append([] if action is None else [action])
            except AmbiguousMove:
                right.append("several")
    found = [each if len(each) < 2 else "several" for each in called(tmp_path, "readMove", cases)]
    assert found == right
    assert {type(each) for each in right} == {list, str}
    assert sum(each == [] for each in right) > 20


def test_another_game_knows_the_names_only(tmp_path: Path) -> None:
    game = make_game("breakthrough", rows=5, columns=4)
    assert game.board
    position = position_of(game, game.initial_state())
    found = called(
        tmp_path,
        "readMove",
        [[game.board.described(), position, each, False] for each in ("A2A3", "Na3", "a3")],
    )
    assert [[position["names"][action] for action in each] for each in found] == [["a2a3"], [], []]


@pytest.mark.parametrize(("reason", "fen", "moves", "options"), [
    ("by stalemate", "7k/8/4Q3/8/8/8/8/K7 w - - 0 1", "e6g6", {}),
    ("by repetition", "", SHUFFLE * 2, {}),
    ("by the fifty-move rule", "7k/8/8/8/8/8/8/K1R5 w - - 0 1", "", {}),
    ("by the fifty-move rule", "7k/8/8/8/8/8/8/K1R5 w - - 98 90", "c1d1 h8h7", {}),
    ("by the game's length", "", "e2e4 e7e5 g1f3", {"max_plies": 3}),
    ("by the game's length", "7k/8/8/8/8/8/8/K1R5 w - - 0 51", "c1d1 h8h7", {"max_plies": 102}),
    ("by lack of material", "7k/8/8/8/8/8/p7/K7 w - - 0 1", "a1a2", {}),
])  # fmt: skip
def test_a_draw_has_the_reason_that_the_rules_give(
    tmp_path: Path, reason: str, fen: str, moves: str, options: dict[str, Any]
) -> None:
    game = make_game("chess", start=fen, **options)
    board = game.board
    assert board
    names = moves.split()
    states = [play(game, " ".join(names[:count])) for count in range(len(names) + 1)]
    if not moves:
        states = quiet_game(game)
    history = [",".join(map(str, board.marks(state).ravel())) for state in states]
    assert score_text(game, states[-1]) == reason
    chess = {"first": game.text(states[0]), "maxPlies": game.max_plies}
    assert called(tmp_path, "drawOf", [[board.described(), history, chess]]) == [reason]


def quiet_game(game: Game) -> list[np.ndarray]:
    """Return the states of a game in which nothing is taken, no pawn moves and no position comes thrice."""
    rng = np.random.default_rng(5)
    states = [game.initial_state()]
    while not game.is_terminal(states[-1]):
        after = [game.step(states[-1], action) for action in game.legal_actions(states[-1])]
        assert game.board
        pieces = (game.board.marks(states[-1]) > 0).sum()
        quiet = [
            state
            for state in after
            if (game.board.marks(state) > 0).sum() == pieces
            and (not game.is_terminal(state) or len(states) == 100)
        ]
        states.append(quiet[int(rng.integers(len(quiet)))])
    return states
