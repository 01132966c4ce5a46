"""A champion for Kaggle's ConnectX: its network, its rules and its search, and games by Kaggle's program."""

from __future__ import annotations

import json
import runpy
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from answering import KINDS, lived_in, positions
from places import PROJECT, SCRIPTS

from azero.config.schema import NetworkConfig
from azero.export import connectx
from azero.export.__main__ import main
from azero.export.connectx import (
    BOARD,
    PortableNetwork,
    PortableNode,
    PortableSearch,
    column_of,
    completing,
    planes_of,
    playable,
    position_of,
    safe_moves,
    single_bits,
)
from azero.export.network_code import network_code
from azero.export.submission import shape_of
from azero.export.weights import encode_weights
from azero.games import make_game
from azero.games.game import Game
from azero.initialize import main as initialize
from azero.network.folded import FoldedNetwork

KAGGLE = PROJECT / "build" / "kaggle"
STANDARD = {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 0.4}
Agent = Callable[[dict[str, Any], dict[str, Any]], int]


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("connect_four")


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a champion that has learned nothing."""
    folder = tmp_path_factory.mktemp("connectx")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small = ("network.blocks=1", "network.channels=8", "device=cpu")
        assert initialize(["game=connect_four", "run=four", *small]) == 0
        assert main(["run=four", "out=submission.py", "weights=int8"]) == 0
    return folder / "submission.py"


@pytest.fixture(scope="module")
def agent(submission: Path) -> Agent:
    """The last function of the file, which Kaggle calls."""
    names = runpy.run_path(str(submission))
    assert [name for name, value in names.items() if callable(value)][-1] == "agent"
    return names["agent"]


def board_after(columns: str) -> list[int]:
    """Return Kaggle's board after moves, columns from 0, of which mark 1 makes the first."""
    board = [0] * 42
    for ply, column in enumerate(map(int, columns)):
        board[max(cell for cell in range(column, 42, 7) if not board[cell])] = 1 + ply % 2
    return board


def asked(columns: str, reserve: float = 60) -> dict[str, Any]:
    """Return what Kaggle shows to the player to move."""
    return {"board": board_after(columns), "mark": 1 + len(columns) % 2, "remainingOverageTime": reserve}


def portable(network: Any) -> PortableNetwork:
    """Return a network as a file computes it."""
    return PortableNetwork(*encode_weights(network_code(network), "fp32"), shape_of(FoldedNetwork(network)))


@pytest.mark.parametrize("config", [kind for kind in KINDS if kind.head != "spatial"], ids=str)
def test_the_network_answers_like_torch(game: Game, config: NetworkConfig) -> None:
    network, planes = lived_in(config, game), positions(game)[-5:]
    with torch.no_grad():
        logits, values = (part.numpy() for part in FoldedNetwork(network)(torch.from_numpy(planes)))
    own_logits, own_values = portable(network).infer(planes)
    np.testing.assert_allclose(np.exp(own_logits), np.exp(logits), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(own_values, values, atol=1e-4)


def wins(game: Game, state: np.ndarray) -> list[int]:
    """Return the moves that win at once, by azero's rules."""
    after = {action: game.step(state, action) for action in game.legal_actions(state)}
    return [action for action, there in after.items() if game.is_terminal(there) and game.outcome(there) < 0]


def test_the_rules_are_azero_s_in_random_games(game: Game) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        state = game.initial_state()
        while not game.is_terminal(state):
            own, taken = int(state[0]), int(state[0] | state[1])
            assert np.array_equal(planes_of([PortableNode(own, taken)])[0], game.planes(state))
            open_cells = single_bits(playable(taken))
            assert [column_of(cell) for cell in open_cells] == list(game.legal_actions(state))
            found = [column_of(cell) for cell in single_bits(completing(own, taken) & playable(taken))]
            assert found == wins(game, state)
            if not found:  # the opponent must have no win behind a safe move
                replies = {action: game.step(state, action) for action in game.legal_actions(state)}
                safe = [action for action, there in replies.items() if not wins(game, there)]
                assert [column_of(cell) for cell in single_bits(safe_moves(own, taken))] == safe
            state = game.step(state, int(rng.choice(game.legal_actions(state))))


def test_a_board_of_kaggle_s_is_read(game: Game) -> None:
    state = game.initial_state()
    for column in map(int, "3342506"):
        state = game.step(state, column)
    own, taken = position_of(board_after("3342506"), 2)
    assert [own, taken ^ own] == state.tolist()


@pytest.mark.parametrize(
    "columns, best",
    [
        ("001122", {3}),  # a win
        ("0515252", {5}),  # a win before a block
        ("00112", {3}),  # the only block
        ("303132", {3}),  # up a column
        ("2233", {1, 4}),  # two open ends win in three plies
    ],
)
def test_it_misses_no_short_win_and_no_block(agent: Agent, columns: str, best: set[int]) -> None:
    assert agent(asked(columns), STANDARD | {"actTimeout": 60}) in best  # it ends when that is proved


def test_a_lost_position_gets_a_legal_move(agent: Agent) -> None:
    assert agent(asked("22334"), STANDARD) in {1, 5}  # it blocks one of two lines
    full = "0101010" + "1010101"[:5]
    assert agent(asked(full), STANDARD) not in {0, 1}


def test_the_search_proves_what_is_decided(game: Game) -> None:
    network = portable(lived_in(KINDS[0], game))
    root = PortableNode(*position_of(board_after("2233"), 1))
    PortableSearch(network, {}).run(root, 60)
    assert root.value == 1 and column_of(root.moves[root.best()]) in (1, 4)
    for node in (PortableNode(0, BOARD), PortableNode(*position_of(board_after("22334"), 2))):
        assert (node.value, node.moves) == (0 if node.taken == BOARD else -1, [])


def test_the_search_ends_before_its_time_by_its_own_clock(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count()
    monkeypatch.setattr(connectx, "time", SimpleNamespace(perf_counter=lambda: next(ticks) * 0.125))
    done = PortableSearch(portable(lived_in(KINDS[0], game)), {}).run(PortableNode(0, 0), 4)
    assert done > 0 and next(ticks) * 0.125 < 4.25


def test_another_board_is_refused_in_one_sentence(agent: Agent) -> None:
    with pytest.raises(
        ValueError, match=r"^this champion plays ConnectX with 6 rows, 7 columns and 4 in a row"
    ):
        agent(asked(""), STANDARD | {"inarow": 5})


def test_another_game_is_no_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("network.blocks=0", "network.channels=4", "device=cpu")
    assert initialize(["game=tictactoe", "run=other", *small]) == 0
    assert main(["run=other", "out=submission.py"]) == 2
    assert capsys.readouterr().err.endswith(
        "azero: A file for Kaggle's ConnectX needs a champion of Connect Four with 6 rows, 7 columns and 4 "
        "in a row; run=other plays Tic-tac-toe.\n"
    )
    assert not (tmp_path / "submission.py").exists()


@pytest.mark.skipif(
    not (KAGGLE / "works").exists(),
    reason="kaggle-environments is not installed; .ci/programs does it",
)
@pytest.mark.parametrize("opponent", ["random", "negamax"])
def test_games_by_kaggle_s_program(submission: Path, opponent: str) -> None:
    words = [str(SCRIPTS / "connectx_games.py"), str(submission), "--games", "2", "--opponent", opponent]
    command = [str(KAGGLE / "bin" / "python"), *words, "--act-timeout", "0.2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "0 errors" in done.stdout
    if opponent == "random":
        assert done.stdout.startswith("2 wins")


def test_the_file_says_whose_champion_it_is(submission: Path) -> None:
    about = json.loads(runpy.run_path(str(submission))["ABOUT"])
    assert about["facts"]["Run"] == "four, cycle 0"
    assert submission.stat().st_size < 100_000
