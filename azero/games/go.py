"""Go: chains without liberties are captured, and the larger area wins.

Letters: W words of a board of cells, S state words.

Scoring is area scoring by Tromp and Taylor, without suicide. Two passes end the game. Player 0 is black.
A board of cells has W words (`games/kit/grid.py`). Action c plays on cell c; the last action passes.

state words: [0] ply, [1] passes in a row, [2] the cell that the ko forbids (size² if there is none), then
             three boards: black's stones, white's stones, and all stones in atari

A chain is in atari if it has exactly one liberty. That board follows from the stones; keeping it makes the
rules fast. A move is legal if it has beside it an empty cell, a chain of its own colour not in atari, or a
chain of the other colour in atari. So one look at every cell's neighbours gives all legal moves.

The simple ko is exact everywhere: a single stone that has just taken one stone cannot be retaken at once.
Positional superko forbids any earlier position of the board, which needs the game's history
(`games/game.py`). Self-play and matches never play such a repeat. A search does not know the history beyond
the position on the board: it may misjudge a line with a repeat, but every line ends, because no game is
longer than `max_plies`.

A game that reaches `max_plies` is scored as it is. Planes and key do not show how near that is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.schema import setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.board import (
    FIRST,
    NO_CELL,
    Board,
    letters,
    marks_of_words,
    numbers,
    square_symmetries,
    with_pass,
    words_of_marks,
)
from azero.games.kit.ends import Area
from azero.games.kit.grid import (
    any_cell,
    chain_in_atari,
    chains_in_atari,
    common,
    count,
    first_cell,
    flood,
    make_grid,
    neighbours,
    only_cell,
    push,
    union,
    without,
)
from azero.games.kit.options import GameOptions

LARGEST = 19  # size
MOST_KOMI = LARGEST * LARGEST
MOST_PLIES = 10_000

PLY, PASSES, KO, BOARDS = 0, 1, 2, 3  # places in a state
PLAYERS = ("Black", "White")
ALL_ALIVE = "All stones on the board count as alive: capture those that are dead before you pass."
BLACK, WHITE, ATARI = 0, 1, 2  # its boards
PLANES = 6

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)


@njit(cache=True)
def read(state, which, grid):
    """Return one of the three boards of a state."""
    board = grid.cells
    first = BOARDS + which * len(board)
    for word in range(len(board)):
        board = push(board, state[first + word])
    return board


@njit(cache=True)
def write(board, which, state):
    first = BOARDS + which * len(board)
    for word in range(len(board)):
        state[first + word] = board[word]


@njit(cache=True)
def legal_cells(state, grid):
    """Return the board of legal moves, ignoring the ko."""
    mover = np.int64(state[PLY] & ONE)
    own, other, atari = read(state, mover, grid), read(state, 1 - mover, grid), read(state, ATARI, grid)
    empty = without(grid.cells, union(own, other))
    helpful = union(empty, union(without(own, atari), common(other, atari)))
    return common(empty, neighbours(helpful, grid))


@njit(cache=True)
def write_mask(state, mask, grid):
    legal, cells = legal_cells(state, grid), int(np.int64(grid.size * grid.size))
    for word in range(len(legal)):
        bits = legal[word]
        for bit in range(min(64, cells - 64 * word)):
            mask[64 * word + bit] = (bits >> np.uint64(bit)) & ONE != ZERO
    mask[np.int64(state[KO])] = False  # without a ko this is the pass, which the next line allows again
    mask[cells] = True


@njit(cache=True)
def play_pass(state, successor, grid):
    successor[PLY] = state[PLY] + ONE
    successor[PASSES] = state[PASSES] + ONE
    successor[KO] = grid.size * grid.size
    for word in range(BOARDS, BOARDS + 3 * len(grid.cells)):
        successor[word] = state[word]


@njit(cache=True)
def play_stone(state, cell, successor, grid):
    mover = np.int64(state[PLY] & ONE)
    own, other, atari = read(state, mover, grid), read(state, 1 - mover, grid), read(state, ATARI, grid)
    stone = only_cell(cell, grid)
    beside = neighbours(stone, grid)
    alone = not any_cell(common(beside, own))

    captured = common(beside, common(other, atari))
    freed = common(beside, common(own, atari))  # chains connected by the stone
    if any_cell(captured):
        captured = flood(captured, common(other, atari), grid)
        other, atari = without(other, captured), without(atari, captured)
        # Own chains beside the cells that are empty now
        freed = union(freed, common(neighbours(captured, grid), common(own, atari)))
    if any_cell(freed):
        atari = without(atari, flood(freed, common(own, atari), grid))

    own = union(own, stone)
    empty = without(grid.cells, union(own, other))
    chain = chain_in_atari(stone, own, empty, grid)
    atari = union(atari, union(chain, chains_in_atari(common(beside, other), other, empty, grid)))

    # A ko: a single stone whose only liberty is the one stone that it took
    is_ko = alone and any_cell(chain) and count(captured) == 1
    successor[PLY] = state[PLY] + ONE
    successor[PASSES] = ZERO
    successor[KO] = np.uint64(first_cell(captured)) if is_ko else grid.size * grid.size
    write(own, mover, successor)
    write(other, 1 - mover, successor)
    write(atari, ATARI, successor)


@njit(cache=True)
def place_stones(state, black, white, grid):
    """Write all stones of a position into a state; return whether every chain has a liberty."""
    empty, atari, alive = (
        without(grid.cells, union(black, white)),
        without(black, black),
        without(black, black),
    )
    for stones in (black, white):
        alive = union(alive, flood(common(neighbours(empty, grid), stones), stones, grid))
        atari = union(atari, chains_in_atari(stones, stones, empty, grid))
    write(black, BLACK, state)
    write(white, WHITE, state)
    write(atari, ATARI, state)
    return not any_cell(without(union(black, white), alive))


@njit(cache=True)
def black_lead(state, grid):
    """Return black's area minus white's, without komi.

    Area: stones, and empty cells from which only stones of that colour are reached.
    """
    black, white = read(state, BLACK, grid), read(state, WHITE, grid)
    empty = without(grid.cells, union(black, white))
    return count(flood(black, empty, grid)) - count(flood(white, empty, grid))


@njit(cache=True)
def write_planes(state, out, grid):
    """Write six planes: own stones, the opponent's, stones in atari, ko, black to play, last move a pass."""
    size, words = np.int64(grid.size), len(grid.cells)
    mover, passed, ko = np.int64(state[PLY] & ONE), state[PASSES] != ZERO, np.int64(state[KO])
    for cell in range(size * size):
        row, column, word, bit = cell // size, cell % size, BOARDS + (cell >> 6), np.uint64(cell & 63)
        out[0, row, column] = np.float32((state[word + mover * words] >> bit) & ONE)
        out[1, row, column] = np.float32((state[word + (1 - mover) * words] >> bit) & ONE)
        out[2, row, column] = np.float32((state[word + ATARI * words] >> bit) & ONE)
        out[3, row, column] = np.float32(cell == ko)
        out[4, row, column] = np.float32(1 - mover)
        out[5, row, column] = np.float32(passed)


def make_rules(size: int, komi: float, max_plies: int, superko: str) -> Rules:
    """Return the rules for one size of board."""
    grid = make_grid(size)
    cells, stones_words = size * size, 2 * len(grid.cells)

    @interface.rule(interface.INITIAL)
    def initial(state):
        for word in range(len(state)):
            state[word] = ZERO
        state[KO] = np.uint64(cells)

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        if action == cells:
            play_pass(state, successor, grid)
        else:
            play_stone(state, action, successor, grid)

    @interface.rule(interface.LEGAL_MASK)
    def legal_mask(state, mask):
        write_mask(state, mask, grid)

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return state[PASSES] == TWO or state[PLY] >= np.uint64(max_plies)

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        lead = black_lead(state, grid) - komi
        if state[PLY] & ONE:
            lead = -lead
        return 1.0 if lead > 0.0 else -1.0 if lead < 0.0 else 0.0

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64(state[PLY] & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        write_planes(state, out, grid)

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        for word in range(stones_words):  # they determine what is in atari
            key[word] = state[BOARDS + word]
        key[stones_words] = state[KO] * np.uint64(4) + state[PASSES] * TWO + (state[PLY] & ONE)

    @interface.rule(interface.REPETITION_KEY)
    def repetition_key(state, key):
        for word in range(stones_words):
            key[word] = state[BOARDS + word]

    rules = Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)
    return rules._replace(repetition_key=repetition_key) if superko == "positional" else rules


# The game as people see it


def make_format(board: Board, komi: float, rules: Rules) -> Callable[[np.ndarray], str]:
    """Return the function that formats a state: board, player to move, ko, pass, or the final lead."""
    size = len(board.rows)
    grid = make_grid(size)

    def below(state: np.ndarray) -> str:
        if rules.is_terminal(state):
            lead = black_lead(state, grid) - komi
            leader = "X" if lead > 0 else "O"
            return f"over; {leader} leads by {abs(lead):g} with komi {komi:g}" if lead else "over; a draw"
        mover, other = "XO" if rules.to_play(state) == 0 else "OX"
        ko = f"; the ko forbids {board.cell_name(int(state[KO]))}" if state[KO] < size * size else ""
        passed = f"; {other} has passed" if state[PASSES] else ""
        return f"{mover} to play{ko}{passed}"

    return lambda state: f"{board.text(state)}\n{below(state)}"


def make_set_up(size: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return `Game.set_up`: nobody has passed, and no ko forbids anything."""
    grid = make_grid(size)

    def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
        state = np.zeros(BOARDS + 3 * len(grid.cells), np.uint64)
        state[PLY], state[KO] = to_play, size * size
        black, white = (tuple(words_of_marks(marks, FIRST + colour)) for colour in (BLACK, WHITE))
        if not place_stones(state, black, white, grid):
            raise ValueError("a chain has no liberty")
        return state

    return set_up


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Go."""

    size: int = setting(9, "Rows and columns of the board.", between=(2, LARGEST))
    komi: float = setting(
        7.5,
        "Points for White, who plays second. A whole number makes draws possible.",
        between=(-MOST_KOMI, MOST_KOMI),
    )
    superko: str = setting(
        "positional",
        "positional: no earlier position of the board; simple: a ko may not be retaken at once.",
        choices=("positional", "simple"),
    )
    max_plies: int = setting(
        0, "Plies after which the game is scored; 0: two for each cell.", between=(0, MOST_PLIES)
    )


def make_game(options: Options = Options()) -> Game:
    """Return Go."""
    size, komi = options.size, options.komi
    cells, words = size * size, len(make_grid(size).cells)
    limit = options.max_plies or 2 * cells
    rules = make_rules(size, float(komi), limit, options.superko)

    def action_name(action: int) -> str:
        return "pass" if action == cells else board.cell_name(action)

    marks = marks_of_words(size, size, BOARDS)
    area = Area(marks, float(komi), rules.is_terminal)

    def note(state: np.ndarray) -> str:
        if rules.is_terminal(state):
            black, white = area.areas(state)
            return f"Area: Black {black}, White {white} and {komi:g} komi. {ALL_ALIVE}"
        mover = PLAYERS[int(state[PLY]) % 2]
        return f"{mover} can end the game by a pass, too. {ALL_ALIVE}" if state[PASSES] else ""

    def why_not(state: np.ndarray, action: int) -> str:
        if action == int(state[KO]):
            return "a ko, so play elsewhere first"
        return "" if action == cells or marks(state).ravel()[action] else "it would have no liberty: suicide"

    board = Board(
        *("crossings", letters(size, skip="i"), numbers(size)[::-1], marks),
        cell_of=lambda _state, action: NO_CELL if action == cells else action,
        players=PLAYERS,
        score_text=area,
        territory=area.territory,
        note=note,
        why_not=why_not,
        captures=True,
    )
    symmetries = square_symmetries(size)
    return Game(
        name="go",
        num_actions=cells + 1,
        planes_shape=(PLANES, size, size),
        state_words=BOARDS + 3 * words,
        key_words=2 * words + 1,
        max_plies=limit,
        rules=rules,
        action_symmetries=with_pass(symmetries),
        cell_symmetries=symmetries,
        format_state=make_format(board, komi, rules),
        action_name=action_name,
        set_up=make_set_up(size),
        options=options.values(),
        board=board,
        repetition_words=2 * words if options.superko == "positional" else 0,
    )
