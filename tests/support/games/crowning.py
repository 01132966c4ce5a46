"""Pawns on 3 x 4 that become rooks or knights on the last row, so names of moves depend on who is to play.

The board is seen from the mover, whose pawns move one cell up and take slanting. Rooks move one cell
straight, knights one cell slanting. Who has no piece or no move has lost; after 40 plies it is a draw.
State words: [0] the mover's pieces, [1] the opponent's, [2] pawns, [3] knights, [4] rooks, [5] plies.
Action = cell * 11 + move: one of eight directions, or three that make a pawn a knight, not a rook.
"""

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.kit.bits import bit, has_bit
from azero.games.kit.board import NO_CELL, Board, letters, numbers

ROWS, COLUMNS, CELLS = 4, 3, 12
OWN, OTHER, PAWNS, KNIGHTS, ROOKS, PLIES = range(6)
STEPS = np.array(
    [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1), (-1, -1), (-1, 0), (-1, 1)]
)
MOVES, CROWNING, END = len(STEPS), 8, 40


@njit
def turned(cells):
    row, seen = np.uint64(0b111), np.uint64(0)
    for number in range(ROWS):
        seen |= ((cells >> np.uint64(COLUMNS * number)) & row) << np.uint64(COLUMNS * (ROWS - 1 - number))
    return seen


@njit
def goal_of(cell, move):
    row, column = cell // COLUMNS + STEPS[move, 0], cell % COLUMNS + STEPS[move, 1]
    return row * COLUMNS + column if 0 <= row < ROWS and 0 <= column < COLUMNS else -1


@njit
def can_move(state, cell, move):
    goal = goal_of(cell, move)
    if goal < 0 or not has_bit(state[OWN], cell) or has_bit(state[OWN], goal):
        return False
    slants = STEPS[move, 0] != 0 and STEPS[move, 1] != 0
    if has_bit(state[PAWNS], cell):
        ahead = STEPS[move, 0] < 0 and slants == has_bit(state[OTHER], goal)
        return ahead and (move < CROWNING or goal < COLUMNS)
    return move < CROWNING and slants == has_bit(state[KNIGHTS], cell)


@njit
def list_moves(state, actions):
    count = 0
    for action in range(CELLS * MOVES):
        if can_move(state, action // MOVES, action % MOVES):
            actions[count] = action
            count += 1
    return count


@njit
def is_stuck(state):
    stuck = True
    for action in range(CELLS * MOVES):
        stuck = stuck and not can_move(state, action // MOVES, action % MOVES)
    return stuck


@interface.rule(interface.INITIAL)
def initial(state):
    state[:] = np.uint64(0)
    state[OWN], state[OTHER] = np.uint64(0b111 << 9), np.uint64(0b111)
    state[PAWNS] = state[OWN] | state[OTHER]


@interface.rule(interface.STEP)
def step(state, action, successor):
    cell, move = action // MOVES, action % MOVES
    goal = goal_of(cell, move)
    left, entered = ~bit(cell), bit(goal)
    crowned = has_bit(state[PAWNS], cell) and goal < COLUMNS
    for kind in (PAWNS, KNIGHTS, ROOKS):
        is_goal = has_bit(state[kind], cell) and not crowned
        is_goal = is_goal or (crowned and kind == (KNIGHTS if move >= CROWNING else ROOKS))
        rest = state[kind] & left & ~entered
        successor[kind] = turned(rest | entered if is_goal else rest)
    successor[OTHER] = turned((state[OWN] & left) | entered)
    successor[OWN] = turned(state[OTHER] & ~entered)
    successor[PLIES] = state[PLIES] + np.uint64(1)


@interface.rule(interface.LEGAL_ACTIONS)
def legal_actions(state, actions):
    return list_moves(state, actions)


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return state[PLIES] >= END or is_stuck(state)


@interface.rule(interface.OUTCOME)
def outcome(state):
    return -1.0 if is_stuck(state) else 0.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return np.int64(state[PLIES] & np.uint64(1))


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    for cell in range(CELLS):
        for side in (OWN, OTHER):
            for kind in range(3):
                here = has_bit(state[side], cell) and has_bit(state[PAWNS + kind], cell)
                out[3 * side + kind, cell // COLUMNS, cell % COLUMNS] = np.float32(here)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    for word in range(PLIES):
        key[word] = state[word]


def as_drawn(state, cell):
    row, column = divmod(cell, COLUMNS)
    return (ROWS - 1 - row) * COLUMNS + column if int(state[PLIES]) % 2 else cell


def marks(state):
    shown = np.zeros(CELLS, np.int8)
    for cell in range(CELLS):
        for side in (OWN, OTHER):
            for kind in range(3):
                if has_bit(state[side], cell) and has_bit(state[PAWNS + kind], cell):
                    shown[as_drawn(state, cell)] = 1 + 2 * kind + (side + int(state[PLIES])) % 2
    return shown.reshape(ROWS, COLUMNS)


def cell_of(state, action):
    goal = goal_of(action // MOVES, action % MOVES)
    return NO_CELL if goal < 0 else as_drawn(state, goal)


def from_of(state, action):
    return as_drawn(state, action // MOVES)


def alert(state):
    """Return the cell of an opponent's pawn before its last row."""
    near = int(state[OTHER] & state[PAWNS]) >> 2 * COLUMNS & 0b111
    return as_drawn(state, 2 * COLUMNS + near.bit_length() - 1) if near else NO_CELL


def make_game():
    board = Board(
        "squares",
        letters(COLUMNS),
        tuple(reversed(numbers(ROWS))),
        marks,
        cell_of,
        symbols=tuple(".PpNnRr"),
        from_of=from_of,
        figures=("pawn", "knight", "rook"),
        alert=alert,
    )

    def action_name(state, action):
        cell, move = divmod(action, MOVES)
        goal = cell_of(state, action)
        name = board.cell_name(from_of(state, action)) + (
            str(move) if goal == NO_CELL else board.cell_name(goal)
        )
        crowned = has_bit(state[PAWNS], cell) and 0 <= goal_of(cell, move) < COLUMNS
        return name + ("n" if move >= CROWNING else "r") if crowned else name

    rules = interface.Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        legal_actions=legal_actions,
    )
    return interface.Game(
        name="crowning",
        num_actions=CELLS * MOVES,
        planes_shape=(6, ROWS, COLUMNS),
        state_words=6,
        key_words=5,
        max_plies=END,
        rules=rules,
        action_symmetries=np.arange(CELLS * MOVES)[None],
        cell_symmetries=np.arange(CELLS)[None],
        format_state=board.text,
        action_name=action_name,
        board=board,
    )
