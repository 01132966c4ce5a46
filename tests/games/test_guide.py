"""The game of docs/your_own_game.md: its printed code keeps every law, and the guide's commands train it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import PROJECT
from running import RunProgram

from azero.check_game import main, report
from azero.classic.deepening import Searcher
from azero.games import make_game
from azero.games.game import Game
from azero.games.laws.check import check_game

GUIDE = (PROJECT / "docs" / "your_own_game.md").read_text()
TOY = (
    "network.blocks=1", "network.channels=4", "search.num_simulations=4", "selfplay.games=16",
    "train.batch_size=16", "train.epochs=1", "evaluate.games=4", "device=cpu",
)  # fmt: skip


def blocks(language: str) -> list[str]:
    """Return the guide's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the reader's file."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "squava.py").write_text("\n".join(blocks("python")))
    return folder


@pytest.fixture(scope="module")
def game(folder: Path) -> Game:
    return make_game(str(folder / "squava.py"))


def state_after(game: Game, moves: str) -> np.ndarray:
    """Return the position after moves such as "c3 d3"."""
    state = game.initial_state()
    for move in moves.split():
        assert not game.is_terminal(state)
        state = game.step(state, game.parse_action(state, move))
    return state


def test_the_game_has_at_most_a_hundred_lines(folder: Path) -> None:
    assert len((folder / "squava.py").read_text().splitlines()) <= 100


@pytest.fixture(scope="module")
def hexapawn(folder: Path) -> Game:
    (code,) = re.findall(r'^```python title="hexapawn.py"\n(.*?)^```', GUIDE, re.MULTILINE | re.DOTALL)
    (folder / "hexapawn.py").write_text(code)
    return make_game(str(folder / "hexapawn.py"))


def test_nothing_is_found_in_the_game_of_pieces_that_move(hexapawn: Game) -> None:
    check = check_game(hexapawn, games=50, seed=3)
    assert not check.findings, report(check)


def test_the_second_player_wins_hexapawn(hexapawn: Game) -> None:
    searcher = Searcher(hexapawn)
    assert searcher.search(hexapawn.initial_state()).value == -1.0
    # 3 . p p    b1b2 was taken, and either pawn may take back
    # 2 . p .
    # 1 P . P
    state = state_after(hexapawn, "b1b2 a3b2")
    names = {hexapawn.action_name(state, action) for action in hexapawn.legal_actions(state)}
    assert names == {"a1a2", "a1b2", "c1b2", "c1c2"}


def test_check_game_says_what_the_guide_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder / "squava.py")]) == 0
    assert f"```\n{capsys.readouterr().out}```" in GUIDE


def test_three_in_a_row_lose_and_the_board_is_drawn_as_in_the_guide(game: Game) -> None:
    state = state_after(game, "b3 b2 d3 d2 c3")
    assert game.is_terminal(state) and game.to_play(state) == 1 and game.outcome(state) == 1.0
    assert f"```\n{game.format_state(state)}\n```" in GUIDE


@pytest.mark.parametrize(
    "moves", ["a1 b5 b1 e3 d1 c5 c1", "a1 b5 a2 e3 a4 c4 a3", "a1 b5 b2 e3 d4 c5 c3", "e1 b5 d2 e3 b4 c5 c3"]
)
def test_four_in_a_row_win(game: Game, moves: str) -> None:
    state = state_after(game, moves)
    assert game.is_terminal(state) and game.to_play(state) == 1 and game.outcome(state) == -1.0


def test_no_row_runs_on_into_the_next(game: Game) -> None:
    assert not game.is_terminal(state_after(game, "d1 a4 e1 c4 a2 e4"))


@pytest.mark.slow
def test_the_guides_command_trains_it_and_its_python_plays(
    folder: Path, run_program: RunProgram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = [block.strip() for block in blocks("bash") if "squava.py cycles" in block]
    arguments = command.removeprefix("azero loop ").replace("cycles=6", "cycles=1").split()
    done = run_program("loop", *arguments, *TOY, folder=folder)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    monkeypatch.chdir(folder)
    (block,) = blocks("py")
    names: dict[str, Any] = {}
    exec(compile(block.replace("np.arange(100", "np.arange(4"), "your_own_game.md", "exec"), names)
    assert names["match"].wins + names["match"].draws + names["match"].losses == 4
    assert "player wins" in capsys.readouterr().out


# a mistake in the game: the code as it should be, and as it is
MISTAKES = {
    "step changed the state it was given": (
        "    successor[1] = set_bit(state[0], place(action))\n",
        "    state[0] = set_bit(state[0], place(action))\n    successor[1] = state[0]\n",
    ),
    "legal_mask leaves elements unwritten": (
        "        mask[cell] = not has_bit(state[0] | state[1], place(cell))\n",
        "        if not has_bit(state[0] | state[1], place(cell)):\n            mask[cell] = True\n",
    ),
    "outcome is -2.0": ("return -1.0\n", "return -2.0\n"),
    "outcome seems to be the first player's value, not the mover's": (
        "    if has_row(state[1], 4):\n        return -1.0\n    return 1.0 if",
        "    last = 1.0 if popcount(state[0] | state[1]) & 1 else -1.0\n"
        "    if has_row(state[1], 4):\n        return last\n    return -last if",
    ),
    "planes do not switch with the player to move": (
        "np.float32(has_bit(state[side],",
        "np.float32(has_bit(state[side ^ (popcount(state[0] | state[1]) & 1)],",
    ),
    "board.marks returns an array of shape": (
        "return np.array(cells).reshape(SIZE, SIZE)",
        "return np.array(cells)",
    ),
    "board.cell_of names a cell that the move leaves as it is": (
        "lambda state, action: action)",
        "lambda state, action: CELLS - 1 - action)",
    ),
}


@pytest.mark.parametrize("finding", MISTAKES)
def test_a_mistake_is_found_as_the_guide_says(
    finding: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = MISTAKES[finding]
    code = (folder / "squava.py").read_text()
    assert f"`{finding}`" in GUIDE and code.count(right) == 1
    (tmp_path / "mistaken.py").write_text(code.replace(right, wrong))
    games = 30 if "outcome seems" in finding else 10  # it shows in many games only
    assert main([str(tmp_path / "mistaken.py"), f"games={games}"]) == 1
    assert finding in capsys.readouterr().out
