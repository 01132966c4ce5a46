"""A champion's module in Node: its rules, its search and its board are azero's own, bit for bit.

The network is a hash of the planes without any rounding, so both searches get the same evaluations.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from exporting import HashedInference, hashed_code
from numba import types
from numpy.testing import assert_allclose
from places import CROWNING, DOUBLE_MOVE, FROM_TO, OWN_GAMES, PROJECT, SUPPORT
from searching import columns_of, thought_of

from azero.config.schema import SearchConfig, UserError
from azero.export import module as building
from azero.export.kernels import write_considered_visits
from azero.export.marks import AND, cell_of, find_cells, find_mark_bits, write_marks
from azero.export.module import Module, compile_apart, compile_once, make_module, task_of
from azero.export.webassembly import ENTRY, STACK_TOP, Memory, build
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.games.kit.board import FIRST, NO_CELL, SECOND
from azero.games.playing import GameInProgress
from azero.players import make_player
from azero.process.kernel_cache import sources_digest
from azero.search.gumbel import make_gumbel, visit_sequence

ENGINE = PROJECT / "azero" / "export" / "static" / "engine.js"
GUIDE = PROJECT / "docs" / "your_own_game.md"
ONLY_GAME = np.zeros(1, np.int64)

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
PUCT = SearchConfig(solver=True, fpu_mode="parent", fpu=0.2)
KATAGO = SearchConfig(fpu_mode="explored", fpu=0.2)
GUMBEL = SearchConfig(kind="gumbel", tree_reuse=False, solver=True, max_considered_actions=8)
SMALL: dict[str, dict[str, Any]] = {
    "connect_four": {"rows": 4, "columns": 5},
    "othello": {"size": 4},
    "go": {"size": 3, "max_plies": 60},
    "gomoku": {"rows": 5, "columns": 7, "connect": 4},
    "hex": {"size": 4, "swap": True},
    "breakthrough": {"rows": 5, "columns": 4},
    "chess": {"variant": "gardner", "max_plies": 60},
}
WITH_BOARD = """
import sys
sys.path.insert(0, {tests!r})
from dataclasses import replace
from azero.games.kit.board import Board, marks_of_words, numbers
from games.double_move import make_game as make_bare
def make_game():
    board = Board("squares", numbers(3), numbers(3), marks_of_words(3, 3), lambda state, action: action)
    return replace(make_bare(), name="twice", board=board)
"""

made: dict[str, Module] = {}


def module_of(name: str, options: dict[str, Any], search: SearchConfig = PUCT) -> Module:
    """Return a module; compiling takes a quarter of a minute, so it is kept."""
    text = f"{name} {options} {search}"
    if text not in made:
        made[text] = make_module(name, options, search, hashed_code(make_game(name, **options)))
    return made[text]


def run_in_node(folder: Path, module: Module, **job: Any) -> list[Any]:
    """Return what tests/support/wasm_runner.mjs answers."""
    shutil.copy(ENGINE, folder / "engine.mjs")
    (folder / "module.wasm").write_bytes(module.wasm)
    (folder / "layout.json").write_text(json.dumps(module.layout))
    command = ["node", str(SUPPORT / "wasm_runner.mjs"), str(folder)]
    text = json.dumps(job | {"weights": [4.0]})
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def random_actions(game: Game, rng: np.random.Generator) -> list[int]:
    """Return the actions of a random game, by rules and history. In Go passes are rare, so games are long."""
    at = GameInProgress(game)
    while not at.is_over:
        legal = at.legal_actions()
        seldom = game.name == "go" and len(legal) > 1 and rng.random() < 0.95
        at.play(int(rng.choice(legal[:-1] if seldom else legal)))
    return at.actions


def forbidden(game: Game, actions: list[int]) -> list[int]:
    """Return the plies of a game at which its history forbids a move."""
    at, plies = GameInProgress(game), list[int]()
    for ply, action in enumerate(actions):
        if (game.legal_mask(at.state) & ~at.legal_mask()).any():
            plies.append(ply)
        at.play(action)
    return plies


def digest_of(game: Game, actions: list[int]) -> str:
    """Return what tests/support/wasm_runner.mjs should find in the positions of a game."""
    assert game.board is not None
    digest, at = hashlib.sha256(), GameInProgress(game)
    for action in [*actions, None]:
        state, over, legal = at.state, at.is_over, at.legal_actions()
        key, repetition_key = (
            np.zeros(words, np.uint64) for words in (game.key_words, game.repetition_words)
        )
        game.rules.evaluation_key(state, key)
        game.rules.repetition_key(state, repetition_key)
        outcome = game.first_outcome(state) if over else 0
        cells = [game.board.cell_of(state, each) for each in legal]
        marks = game.board.marks(state).astype(np.int8)
        starts = [NO_CELL if (cell := game.from_of(state, each)) is None else cell for each in legal]
        told: list[Any] = [
            game.to_play(state),
            over,
            int(outcome) if outcome == int(outcome) else outcome,
            legal,
            cells,
        ]
        told += [starts, [game.action_name(state, each) for each in legal]]
        for array in (state, key, repetition_key, game.planes(state), marks):
            digest.update(array.tobytes())
        digest.update(json.dumps(told, separators=(",", ":")).encode())
        if action is not None:
            at.play(action)
    return digest.hexdigest()


def check_rules(folder: Path, name: str, options: dict[str, Any], games: int, search: SearchConfig) -> None:
    """Check that states, keys, planes, masks, ends, outcomes, marks and cells of random games are equal."""
    game, rng = make_game(name, **options), np.random.default_rng(1)
    played = [random_actions(game, rng) for _ in range(games)]
    answers = run_in_node(folder, module_of(name, options, search), games=played)
    for actions, answer in zip(played, answers, strict=True):
        assert answer == digest_of(game, actions), actions


def some_positions(game: Game, count: int) -> list[list[int]]:
    """Return the actions before positions in random games."""
    rng = np.random.default_rng(2)
    played = [random_actions(game, rng) for _ in range(count)]
    return [actions[: int(rng.integers(len(actions)))] for actions in played]


def check_search(
    folder: Path, name: str, options: dict[str, Any], search: SearchConfig, begun: list[list[int]]
) -> None:
    """Check that searches of positions, given by the actions before them, equal the native ones."""
    game, module, simulations = make_game(name, **options), module_of(name, options, search), 200
    for kind in module.layout["algorithms"]:
        job = {"algorithm": kind, "simulations": simulations, "games": begun}
        answers = run_in_node(folder, module, **job, slice=7)
        player: Any = make_player(
            "pv_mcts",
            game,
            inference=HashedInference(game),
            search=search,
            kind=search.kind if kind == "own" else kind,
            num_simulations=simulations,
        )
        for actions, answer in zip(begun, answers, strict=True):
            at = GameInProgress(game, actions)
            found = thought_of(player, at.state, at.banned())
            visits, values = columns_of(found, game.num_actions)
            assert answer["visits"] == visits.tolist(), (kind, actions)
            assert answer["best"] == found.best, (kind, actions)
            assert_allclose(np.array(answer["values"], float), values, rtol=1e-5)
            assert_allclose(answer["value"], player.root_values(ONLY_GAME)[0], rtol=1e-5, atol=1e-7)


@needs_node
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.long
def test_tictactoe_is_the_same_in_a_page(tmp_path: Path) -> None:
    check_rules(tmp_path, "tictactoe", {}, 50, PUCT)
    check_search(tmp_path, "tictactoe", {}, PUCT, some_positions(make_game("tictactoe"), 20))


@needs_node
@pytest.mark.long
@pytest.mark.timeout(900)
def test_superko_and_gumbel_are_the_same_in_a_page(tmp_path: Path) -> None:
    options = {"size": 3, "max_plies": 60}
    game, rng = make_game("go", **options), np.random.default_rng(1)
    played = [random_actions(game, rng) for _ in range(20)]
    forbidding = [actions[:ply] for actions in played for ply in forbidden(game, actions)]
    assert len(forbidding) > 10
    check_rules(tmp_path, "go", options, 50, GUMBEL)
    check_search(tmp_path, "go", options, GUMBEL, forbidding + some_positions(game, 5))


@needs_node
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("size", ["default", "small"])
@pytest.mark.parametrize("name", SHIPPED)
def test_many_games_and_ten_searches_of_each_game(tmp_path: Path, name: str, size: str) -> None:
    options, search = (SMALL.get(name, {}), GUMBEL) if size == "small" else ({}, KATAGO)
    check_search(tmp_path, name, options, search, some_positions(make_game(name, **options), 10))
    check_rules(tmp_path, name, options, 20 if name == "chess" else 100, search)


@needs_node
@pytest.mark.long
@pytest.mark.timeout(900)
def test_games_of_users_are_the_same_in_a_page(tmp_path: Path) -> None:
    squava = tmp_path / "squava.py"
    squava.write_text(
        "\n".join(re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL))
    )
    twice = tmp_path / "twice.py"  # players move twice in a row
    twice.write_text(WITH_BOARD.format(tests=str(SUPPORT)))
    for name in (
        str(squava),
        str(twice),
        *(str(OWN_GAMES / f"{own}.py") for own in ("all_stones", "clobber", "from_to", "crowning")),
    ):
        check_rules(tmp_path, name, {}, 200, PUCT)
        check_search(tmp_path, name, {}, PUCT, some_positions(make_game(name), 10))


@needs_node
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_search_of_users_is_the_same_in_a_page(tmp_path: Path) -> None:
    search = SearchConfig(kind=str(SUPPORT / "toy_search.py"), tree_reuse=False, options={"exploration": 2.0})
    check_search(
        tmp_path,
        "connect_four",
        SMALL["connect_four"],
        search,
        some_positions(make_game("connect_four", **SMALL["connect_four"]), 10),
    )
    assert module_of("connect_four", SMALL["connect_four"], search).layout["algorithms"] == ["own"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_builds_give_the_same_bytes() -> None:
    """Of which the first may be one that was kept."""
    _, _, task = task_of("tictactoe", {}, PUCT, hashed_code(make_game("tictactoe")))
    wasm, described = compile_once(task)
    assert compile_apart(task) == (wasm, described | {"sources": sources_digest()})


@pytest.mark.parametrize("damage", [0, 70, -1])
def test_what_is_built_is_kept_and_what_is_damaged_is_built_again(
    damage: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte of the checksum, of the layout and of the module."""
    built: list[dict[str, Any]] = []
    sources = [sources_digest()]

    def build(task: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
        built.append(task)
        return b"module\n\0", {"bytes": len(built), "sources": sources[-1]}

    def made(name: str = "tictactoe", search: SearchConfig = PUCT) -> Module:
        return make_module(name, {}, search, hashed_code(make_game(name)))

    monkeypatch.setattr(building, "compile_apart", build)
    monkeypatch.setattr(building, "kernel_folder", lambda: str(tmp_path))
    first = made()
    assert first == made() and first.layout["bytes"] == 1
    assert made(search=GUMBEL).layout["bytes"] == 2
    own = SearchConfig(kind=str(SUPPORT / "toy_search.py"), tree_reuse=False, options={"exploration": 2.0})
    assert [made(search=own).layout["bytes"] for _ in range(2)] == [3, 4]
    assert made(CROWNING).layout["bytes"] == 5 and made(CROWNING).layout["bytes"] == 6
    sources.append("changed since")
    assert [made("hex").layout["bytes"] for _ in range(2)] == [7, 8]
    sources.pop()
    assert len(built) == 8 and len([*(tmp_path / "modules").iterdir()]) == 2
    for file in (tmp_path / "modules").iterdir():
        content = bytearray(file.read_bytes())
        content[damage] ^= 1
        file.write_bytes(content)
    assert made().layout["bytes"] == 9
    assert made().layout["bytes"] == 9
    monkeypatch.setattr(building, "kernel_folder", lambda: os.devnull)
    assert made().layout["bytes"] == 10


def test_sequential_halving_is_the_same() -> None:
    gumbel = make_gumbel(SearchConfig(kind="gumbel", num_simulations=300, max_considered_actions=20), 1, 30)
    for simulations in (1, 2, 7, 50, 300):
        gumbel.considered_visits[:] = -1
        write_considered_visits.py_func(gumbel, simulations)
        for considered in range(21):
            expected = visit_sequence(considered, simulations)
            assert gumbel.considered_visits[considered, :simulations].tolist() == expected


@pytest.mark.parametrize("name", [*SHIPPED, str(OWN_GAMES / "all_stones.py"), FROM_TO, CROWNING])
def test_marks_are_found_in_the_bits_of_states(name: str) -> None:
    game = make_game(name, **SMALL.get(name, {}))
    assert game.board is not None
    mark_bits, marks = find_mark_bits(game), np.zeros(game.board.marks(game.initial_state()).size, np.int8)
    rng = np.random.default_rng(9)
    for _ in range(20):
        state = game.initial_state()
        for action in [*random_actions(game, rng), None]:
            write_marks(state, game.to_play(state), mark_bits, marks)
            assert marks.tolist() == game.board.marks(state).ravel().tolist()
            if action is not None:
                state = game.step(state, action)


def test_a_game_that_cannot_be_exported_is_refused() -> None:
    game = make_game("tictactoe")
    code = hashed_code(game)
    with pytest.raises(UserError, match=r"^openspiel:breakthrough cannot be exported: OpenSpiel's rules"):
        make_module("openspiel:breakthrough", {}, PUCT, code)
    with pytest.raises(UserError, match=r"^double_move cannot be exported: its Game has no board"):
        make_module(DOUBLE_MOVE, {}, PUCT, code)
    assert game.board is not None
    for change, message in (
        ({"marks": lambda state: np.full((3, 3), state.sum() % 3)}, "there is a cell where none fit"),
        (
            {"cell_of": lambda state, action: (action + int(state.sum())) % 9},
            "the cell of [0-8] depends on the position",
        ),
        ({"cell_of": lambda _state, action: action // 2}, "[0-8] and [0-8] are moves to one cell"),
    ):
        changed = replace(game, board=replace(game.board, **change))
        with pytest.raises(UserError, match=message):
            find_cells(changed, find_mark_bits(changed))


def test_a_kind_of_pieces_is_found_where_random_games_hardly_bring_it() -> None:
    """A mark is both of a bit of the side's word and one of the kind's, on all cells alike."""
    game = make_game(CROWNING)
    assert game.board is not None
    bits = find_mark_bits(game)
    place, white_rook, black_knight = 6, 4, 3  # a2, seen by the second player as row 1, so bit 3
    assert bits[0, place, white_rook].tolist() == [0 * 64 + 6, 4 * 64 + 6, AND]
    assert bits[1, place, white_rook].tolist() == [1 * 64 + 3, 4 * 64 + 3, AND]
    assert bits[1, place, black_knight].tolist() == [0 * 64 + 3, 3 * 64 + 3, AND]


def test_names_that_a_page_cannot_make_are_refused() -> None:
    game = make_game(CROWNING)
    assert game.board is not None
    bits = find_mark_bits(game)
    plain = game.action_name
    find_cells(game, bits)
    shouted = replace(game, action_name=lambda state, action: plain(state, action) + "!")
    with pytest.raises(
        UserError, match=r"the name of [a-c]\d[a-c]\d[rn]?! depends on the position, and a page names"
    ):
        find_cells(shouted, bits)
    moved = replace(game.board, from_of=lambda state, action: int(state[5]) % 12)
    with pytest.raises(UserError, match=r"the cell that [a-c]\d[a-c]\d[rn]? leaves depends on the position"):
        find_cells(replace(game, board=moved), bits)


def check_cells(game: Game) -> None:
    """Check that a page finds the cells of all moves of random games."""
    assert game.board is not None
    mark_bits = find_mark_bits(game)
    cells, rng = find_cells(game, mark_bits), np.random.default_rng(9)
    before = np.zeros(mark_bits.shape[1], np.int8)
    after = np.zeros_like(before)
    for _ in range(10):
        state = game.initial_state()
        for chosen in random_actions(game, rng):
            mover = game.to_play(state)
            write_marks(state, mover, mark_bits, before)
            for action in game.legal_actions(state):
                successor = game.step(state, action)
                write_marks(successor, game.to_play(successor), mark_bits, after)
                found = cell_of(action, cells.goals[mover], before, after, (FIRST, SECOND)[mover])
                assert found == game.board.cell_of(state, action)
                if game.board.from_of is not None:
                    assert cells.starts[mover, action] == game.board.from_of(state, action)
            state = game.step(state, chosen)


@pytest.mark.parametrize("name", [*SHIPPED, str(OWN_GAMES / "clobber.py"), FROM_TO, CROWNING])
def test_the_cells_of_moves_are_found(name: str) -> None:
    check_cells(make_game(name, **SMALL.get(name, {})))


def test_a_game_of_neutral_stones_is_exported() -> None:
    """Tic-tac-toe with stones of nobody's colour: the second player's moves put no piece of its own."""
    game = make_game("tictactoe")
    assert game.board is not None
    stones = game.board.marks
    board = replace(game.board, marks=lambda state: np.where(stones(state) > 0, FIRST, 0).astype(np.int8))
    check_cells(replace(game, board=board))


def test_code_that_a_page_cannot_run_is_refused() -> None:
    start = f'define double @{ENTRY}f(double %x) "wasm-export-name"="f" {{ '
    calls = "declare double @erf(double) " + start + "%y = call double @erf(double %x) ret double %y }"
    with pytest.raises(UserError, match=r"^the rules or the search call erf, which a page does not have"):
        build([calls], Memory())
    table = "@table = global [250000 x double] zeroinitializer " + start
    reads = table + "%i = fptoui double %x to i32 %p = getelementptr double, ptr @table, i32 %i "
    with pytest.raises(UserError, match=r"^the rules have 2,000,\d+ bytes of tables"):
        build([reads + "store double %x, ptr %p %y = load double, ptr @table ret double %y }"], Memory())


def test_memory_gives_arrays_places() -> None:
    memory = Memory()
    zeros, ones = np.zeros(3), np.ones((2, 3), np.int16)
    assert memory.address(zeros) == memory.address(zeros) == STACK_TOP
    assert memory.size == STACK_TOP + 32  # 24 bytes, up to a multiple of 16
    operands = list(memory.operands(numba.typeof(ones), ones))
    assert operands[2:5] == ["i64 6", "i64 2", "ptr @data2"]
    assert operands[5:] == ["i64 2", "i64 3", "i64 6", "i64 2"]  # shape and strides
    assert memory.definitions == '@data2 = global [12 x i8] c"' + "\\01\\00" * 6 + '", align 16\n'
    assert list(memory.operands(types.float64, -2.0)) == ["double 0xC000000000000000"]
