"""A champion's module in Node: its rules, its search and its board are azero's own, bit for bit.

The network is a hash of the planes without any rounding, so both searches get the same evaluations.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import HashedInference, hashed_code
from numpy.testing import assert_allclose

from azero.config.schema import SearchConfig
from azero.export.kernels import write_considered_visits
from azero.export.module import Module, make_module
from azero.games import make_game
from azero.games.game import Game
from azero.players.pv_mcts import make
from azero.search.gumbel import make_gumbel, visit_sequence
from azero.search.repetition import History

TESTS = Path(__file__).resolve().parent
ENGINE = TESTS.parent / "azero" / "export" / "static" / "engine.js"
ONLY_GAME = np.zeros(1, np.int64)

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
PUCT = SearchConfig(solver=True, fpu_mode="parent", fpu=0.2)
KATAGO = SearchConfig(c_puct_deviation=0.85, forced_simulations=2.0, fpu_mode="explored", fpu=0.2)
GUMBEL = SearchConfig(kind="gumbel", tree_reuse=False, solver=True, max_considered_actions=8)
DEFAULTS = ("tictactoe", "connect_four", "othello", "go", "gomoku", "hex")
SMALL: dict[str, dict[str, Any]] = {
    "connect_four": {"rows": 4, "columns": 5},
    "othello": {"size": 4},
    "go": {"size": 3},
    "gomoku": {"rows": 5, "columns": 6, "connect": 4},
    "hex": {"size": 4},
}

made: dict[str, Module] = {}


def module_of(name: str, options: dict[str, Any], search: SearchConfig = PUCT) -> Module:
    """Return a module; compiling takes a quarter of a minute, so it is kept."""
    text = f"{name} {options} {search}"
    if text not in made:
        made[text] = make_module(name, options, search, hashed_code(make_game(name, **options)))
    return made[text]


def run_in_node(folder: Path, module: Module, **job: Any) -> list[Any]:
    """Return what tests/wasm_runner.mjs answers."""
    shutil.copy(ENGINE, folder / "engine.mjs")
    (folder / "module.wasm").write_bytes(module.wasm)
    (folder / "layout.json").write_text(json.dumps(module.layout))
    command = ["node", str(TESTS / "wasm_runner.mjs"), str(folder)]
    text = json.dumps(job | {"weights": [4.0]})
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def random_actions(game: Game, rng: np.random.Generator) -> list[int]:
    """Return the actions of a random game, by rules and history."""
    state, past, actions = game.initial_state(), History(game, 1), list[int]()
    while not game.is_terminal(state):
        actions.append(int(rng.choice(np.flatnonzero(past.legal_mask(0, state)))))
        past.add(ONLY_GAME, state[None])
        state = game.step(state, actions[-1])
    return actions


def digests(game: Game, actions: list[int]) -> list[str]:
    """Return what tests/wasm_runner.mjs should find in each position of a game."""
    assert game.board is not None
    past, found, state = History(game, 1), list[str](), game.initial_state()
    for action in [*actions, None]:
        key, repetition_key = (
            np.zeros(words, np.uint64) for words in (game.key_words, game.repetition_words)
        )
        game.rules.evaluation_key(state, key)
        game.rules.repetition_key(state, repetition_key)
        over = game.is_terminal(state)
        legal = [] if over else np.flatnonzero(past.legal_mask(0, state)).tolist()
        outcome = game.first_outcome(state) if over else 0
        cells = [game.board.cell_of(state, each) for each in legal]
        marks = game.board.marks(state).astype(np.int8)
        told = [game.to_play(state), over, int(outcome) if outcome == int(outcome) else outcome, legal, cells]
        digest = hashlib.sha256()
        for array in (state, key, repetition_key, game.planes(state), marks):
            digest.update(array.tobytes())
        digest.update(json.dumps(told, separators=(",", ":")).encode())
        found.append(digest.hexdigest())
        if action is not None:
            past.add(ONLY_GAME, state[None])
            state = game.step(state, action)
    return found


def check_rules(folder: Path, name: str, options: dict[str, Any], games: int, search: SearchConfig) -> None:
    """Check that states, keys, planes, masks, ends, outcomes, marks and cells of random games are equal."""
    game, rng = make_game(name, **options), np.random.default_rng(1)
    played = [random_actions(game, rng) for _ in range(games)]
    answers = run_in_node(folder, module_of(name, options, search), games=played)
    for actions, answer in zip(played, answers, strict=True):
        assert answer == digests(game, actions), actions


def check_search(
    folder: Path,
    name: str,
    options: dict[str, Any],
    search: SearchConfig,
    positions: int,
    simulations: int = 200,
) -> None:
    """Check that searches equal the native ones, from positions of random games with their histories."""
    game, rng = make_game(name, **options), np.random.default_rng(2)
    module = module_of(name, options, search)
    begun = list[list[int]]()
    while len(begun) < positions:
        actions = random_actions(game, rng)
        begun.append(actions[: int(rng.integers(len(actions)))])
    for kind in module.layout["algorithms"]:
        job = {"algorithm": kind, "simulations": simulations, "games": begun}
        answers = run_in_node(folder, module, **job, slice=7)
        player = make(game, HashedInference(game), search=search, kind=kind, num_simulations=simulations)
        for actions, answer in zip(begun, answers, strict=True):
            state, past = game.initial_state(), History(game, 1)
            for action in actions:
                past.add(ONLY_GAME, state[None])
                state = game.step(state, action)
            banned = past.banned(ONLY_GAME, state[None])
            advice = player.advise(state, None if banned is None else banned[0])
            assert answer["visits"] == advice.visits.tolist(), (kind, actions)
            assert answer["best"] == advice.best, (kind, actions)
            assert_allclose(np.array(answer["values"], float), advice.values, rtol=1e-5)
            assert_allclose(answer["value"], player.root_values(ONLY_GAME)[0], rtol=1e-5, atol=1e-7)


@needs_node
@pytest.mark.slow
def test_tictactoe_in_the_page_is_the_same(tmp_path: Path) -> None:
    check_rules(tmp_path, "tictactoe", {}, 50, PUCT)
    check_search(tmp_path, "tictactoe", {}, PUCT, 20)


def test_sequential_halving_is_the_same() -> None:
    gumbel = make_gumbel(SearchConfig(kind="gumbel", num_simulations=300, max_considered_actions=20), 1, 30)
    for simulations in (1, 2, 7, 50, 300):
        gumbel.considered_visits[:] = -1
        write_considered_visits.py_func(gumbel, simulations)
        for considered in range(21):
            expected = visit_sequence(considered, simulations)
            assert gumbel.considered_visits[0, considered, :simulations].tolist() == expected
