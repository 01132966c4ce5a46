"""How a game has ended: the cells that won, counts in words, and the same on an exported page."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import PROJECT
from playing import play

from azero.games import make_game
from azero.games.ending import captured, end_json, result_text, score_text
from azero.games.game import Game
from azero.games.laws.check import check_game
from azero.games.titles import game_heading
from azero.records.pictures import png_of, svg_of

STATIC = PROJECT / "azero" / "export" / "static"
GO: dict[str, Any] = {"size": 5, "komi": 0.5}
COUNTED = ".X.O./XXXOO/..XO./XXXOO/.X.O. X"  # c5 and c1 touch both
SIZES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {"rows": 4, "columns": 5},
    "gomoku": {"rows": 5, "columns": 7, "connect": 4},
    "hex": {"size": 5, "swap": True},
    "othello": {"size": 6},
    "go": {"size": 5, "komi": 2.0},
    "breakthrough": {"rows": 5, "columns": 4},
    "chess": {"variant": "gardner"},
}


def winning(game: Game, moves: str) -> list[str]:
    """Return the names of the cells that have won after some moves."""
    assert game.board
    return [game.board.cell_name(cell) for cell in end_json(game, play(game, moves))["winning"]]


@pytest.mark.parametrize(("name", "options", "moves", "cells"), [
    ("tictactoe", {}, "4 0 2 6 3 5 1 8 7", "21 22 23"),
    ("tictactoe", {}, "0 3 1 4 8 5", "12 22 32"),
    ("connect_four", {}, "4 4 5 5 6 6 7", "41 51 61 71"),
    ("connect_four", {}, "1 2 2 3 3 4 3 4 4 6 4", "44 33 22 11"),
    ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "a1 a2 b1 b2 d1 d2 e1 e2 c1", "a1 b1 c1 d1 e1"),
    ("hex", {"size": 3}, "a2 c3 b1 c2 a3", "b1 a2 a3"),
    ("hex", {"size": 4, "swap": True}, "a1 swap d4 b1 d3 c1 d2 d1", "a1 b1 c1 d1"),
    ("breakthrough", {"rows": 5, "columns": 4}, "a2a3 a4b3 a3a4 b3a2 a4b5", "b5"),
    ("othello", {}, "d3 c3", ""),
])  # fmt: skip
def test_the_cells_that_won(name: str, options: dict[str, Any], moves: str, cells: str) -> None:
    assert winning(make_game(name, **options), moves) == cells.split()


def test_a_position_that_goes_on_has_no_winner() -> None:
    game = make_game("connect_four")
    nothing = {"score": "", "result": "", "note": "", "winning": [], "territory": []}
    assert end_json(game, play(game, "4 4")) == nothing


def test_the_score_of_a_counted_board_of_go() -> None:
    """Black has 9 stones and 4 points, White 7 and 3: 13 against 10 and the komi."""
    game = make_game("go", **GO)
    state = game.position(COUNTED)
    assert score_text(game, state) == result_text(game, state) == ""
    for _ in range(2):
        state = game.step(state, game.num_actions - 1)
    assert result_text(game, state) == "Black wins by 2.5 points"
    assert end_json(game, state)["territory"] == [
        *(1, 0, 0, 0, 2),
        *(0, 0, 0, 0, 0),
        *(1, 1, 0, 0, 2),
        *(0, 0, 0, 0, 0),
        *(1, 0, 0, 0, 2),
    ]
    for komi, said in ((2, "Black wins by 1 point"), (3, "Draw"), (7.5, "White wins by 4.5 points")):
        assert result_text(make_game("go", size=5, komi=komi), state) == said


def test_the_area_agrees_with_the_rules() -> None:
    game, rng = make_game("go", **GO), np.random.default_rng(1)
    for _ in range(20):
        state = random_end(game, rng)
        winner = "Black" if game.first_outcome(state) > 0 else "White"
        lead = game.format_state(state).rpartition("leads by ")[2].split()[0]
        assert result_text(game, state) == f"{winner} wins by {lead} point{'' if lead == '1' else 's'}"


def test_captured_stones_are_counted_for_who_took_them() -> None:
    game = make_game("go", **GO)
    assert game.board
    states = [play(game, "c3 c4 d4 b3 b4 d3 c5"[: 3 * count]) for count in range(1, 8)]
    assert captured(game.board, states)[-2:] == [[0, 0], [1, 0]]


def test_the_count_of_discs() -> None:
    game = make_game("othello", size=4)
    state = random_end(game, np.random.default_rng(2))
    assert game.board
    marks = game.board.marks(state)
    count = f"{(marks == 1).sum()} : {(marks == 2).sum()}"
    assert score_text(game, state) == count and result_text(game, state).endswith(count)
    assert score_text(game, game.initial_state()) == "2 : 2"


def random_states(game: Game, rng: np.random.Generator) -> list[np.ndarray]:
    """Return all states of a random game."""
    states = [game.initial_state()]
    while not game.is_terminal(states[-1]):
        states.append(game.step(states[-1], int(rng.choice(game.legal_actions(states[-1])))))
    return states


def random_end(game: Game, rng: np.random.Generator) -> np.ndarray:
    """Return the end of a random game."""
    return random_states(game, rng)[-1]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_an_exported_page_shows_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for file in ("ends.js", "chess.js"):
        shutil.copy(STATIC / file, tmp_path)
    asked, right = [], []
    for name, options in SIZES.items():
        game, rng = make_game(name, **options), np.random.default_rng(3)
        assert game.board
        for _ in range(10):
            states = random_states(game, rng)
            history = [",".join(map(str, game.board.marks(state).ravel())) for state in states]
            for state in (states[-1], states[0]):
                over = game.is_terminal(state)
                marks = game.board.marks(state).ravel().tolist()
                outcome = game.first_outcome(state) if over else 0
                chess = name == "chess" and {"first": game.text(states[0]), "maxPlies": game.max_plies}
                asked.append([game.board.described(), marks, over, outcome, history, chess])
                shown = end_json(game, state)
                mated = game.alert(state) if over and outcome else None
                right.append([set(shown["winning"]), shown["territory"], shown["score"], mated])
    script = (
        'import { readFileSync } from "node:fs"; import { endOf } from "./ends.js";'
        'console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((each) => endOf(...each))));'
    )
    (tmp_path / "main.js").write_text(script)
    command = ["node", str(tmp_path / "main.js")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [
        [set(each["winning"]), each["territory"], each["score"], each["alert"]] for each in found
    ] == right


@pytest.mark.parametrize(("rule", "sentence"), [
    ({"winning_cells": lambda _state: [9]}, "board.winning_cells returns neither a cell from 0 to 8"),
    ({"winning_cells": lambda _state: [1, 1]}, "board.winning_cells must return cells, each once"),
    ({"winning_cells": lambda _state: 1 / 0}, "board.winning_cells raised ZeroDivisionError"),
    ({"score_text": lambda _state: 3}, "board.score_text returns 3, not a text"),
    ({"territory": lambda _state: np.zeros(9, np.int8)}, "board.territory must return an array"),
    ({"players": ("Black",)}, "board.players must be two texts"),
    ({"stones": "green"}, "board.stones is 'green'"),
])  # fmt: skip
def test_check_game_calls_them(rule: dict[str, Any], sentence: str) -> None:
    game = make_game("tictactoe")
    assert game.board
    broken = replace(game, board=replace(game.board, **rule))
    found = check_game(broken, games=5).findings.first
    assert any(text.startswith(sentence) for text in found), list(found)


def test_a_saved_picture_says_who_won() -> None:
    game = make_game("go", **GO)
    state = game.position(COUNTED)
    assert "wins" not in svg_of(game, state)
    for _ in range(2):
        before, state = state, game.step(state, game.num_actions - 1)
    picture = svg_of(game, state, before, game.num_actions - 1)
    assert ">Black wins by 2.5 points</text>" in picture and picture.count('width="12"') == 7
    assert png_of(picture).startswith(b"\x89PNG")
    four = make_game("connect_four")
    assert svg_of(four, play(four, "4 4 5 5 6 6 7")).count('stroke="#ffc933"') == 4


@pytest.mark.parametrize(("name", "options", "heading"), [
    ("tictactoe", {}, "Tic-tac-toe"),
    ("go", {"size": 5, "komi": 7.5}, "Go, 5 × 5, komi 7.5"),
    ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "Gomoku, 5 × 7, 4 in a row"),
    ("chess", {"variant": "gardner"}, "Gardner's chess"),
])  # fmt: skip
def test_the_heading_of_a_page(name: str, options: dict[str, Any], heading: str) -> None:
    assert game_heading(make_game(name, **options)) == heading
