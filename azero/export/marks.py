"""What stands on the board, read from a state without Python.

`Board.marks` and `Board.cell_of` are Python, which a page does not run. But games keep pieces as bits:
whether a cell has a mark is one bit of the state, or the exclusive or of two, such as those of all stones and
of the mover's. Which ones may depend on who is to play. `find_mark_bits` finds them in the positions of
random games and checks them in others.

Where an action's cell is the same in all positions, as in most games, it is read from a table. So a move may
take pieces away, or only choose one. Other cells, as of a column of Connect Four, are those of the piece that
a move puts.

Letters: N positions, S state words, H rows, W columns, A actions.
"""

from __future__ import annotations

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.kit.board import EMPTY, FIRST, NO_CELL, SECOND, Board
from azero.kernels.compiled import kernel

GAMES = 100  # random games in which each player puts a piece on nearly every cell that can have one
POSITIONS = 20_000  # of them at most in which the bits are sought
CELL_POSITIONS = 500  # and in which the cells of actions are compared
BY_PIECE = -2  # in a table of cells: the cell depends on the position
CHECKED_GAMES, CHECKED = 20, 200  # other games, and positions of them that must be right


@kernel
def bit_of(state, bit):
    """Return a bit of a state [S] as 0 or 1; 0 beyond its end."""
    if bit >= 64 * state.shape[0]:
        return 0
    return np.int64(state[bit >> 6] >> np.uint64(bit & 63)) & 1


@kernel
def write_marks(state, to_play, mark_bits, marks):
    """Write the marks of a state into marks [H * W] int8, see `Board.marks`."""
    for cell in range(marks.shape[0]):
        bits = mark_bits[to_play, cell]
        first = bit_of(state, bits[0, 0]) ^ bit_of(state, bits[0, 1])
        second = bit_of(state, bits[1, 0]) ^ bit_of(state, bits[1, 1])
        marks[cell] = FIRST * first + SECOND * second


@kernel
def cell_of(action, cells, before, after, mark):
    """Return the cell of a move; `cells` [A] as from `find_cells`, the rest as for `placed_cell`."""
    return cells[action] if cells[action] != BY_PIECE else placed_cell(before, after, mark)


@kernel
def placed_cell(before, after, mark):
    """Return the cell on which a move put its piece, by the marks [H * W] before and after it.

    It has become `mark` and was empty. If there is none, it is a cell that was the opponent's, as in a
    capture or Hex's swap. NO_CELL without either.
    """
    placed = NO_CELL
    for cell in range(before.shape[0]):
        if after[cell] == mark and before[cell] != mark:
            if before[cell] == EMPTY:
                return cell
            placed = cell
    return placed


def find_mark_bits(game: Game) -> np.ndarray:
    """Return the two bits of a state whose exclusive or says whether a cell has a mark.

    [2 (who is to play), H * W, 2 (FIRST, SECOND), 2] int16. Bit b is bit b % 64 of word b // 64, and bit
    64 * S is always 0.

    Raises:
        UserError: the game has no board, or its marks are not such bits.
    """
    if game.board is None:
        raise UserError(f"{game.name} cannot be exported: its Game has no board for a page to draw.")
    states, marks = sample(game, game.board, GAMES, POSITIONS, seed=1)
    to_play = np.array([game.to_play(state) for state in states])
    mark_bits = np.full((2, marks.shape[1], 2, 2), 64 * game.state_words, np.int16)
    for player in (0, 1):
        rows = to_play == player
        columns = columns_of(states[rows])
        known = {column.tobytes(): bit for bit, column in reversed(list(enumerate(columns)))}
        for cell in range(marks.shape[1]):
            for place, mark in enumerate((FIRST, SECOND)):
                wanted = np.packbits(marks[rows, cell] == mark)
                mark_bits[player, cell, place] = bits_of(game, wanted, columns, known)
    return mark_bits


def find_cells(game: Game, mark_bits: np.ndarray) -> np.ndarray:
    """Return the cell of each action, [A] int32: NO_CELL, or BY_PIECE where it depends on the position.

    Raises:
        UserError: marks or cells would be wrong on a page, or a click on a cell would be several moves.
    """
    assert game.board is not None
    seen: list[set[int]] = [set() for _ in range(game.num_actions)]
    for state in sample(game, game.board, GAMES, CELL_POSITIONS, seed=1)[0]:
        for action in [] if game.is_terminal(state) else game.legal_actions(state):
            seen[action].add(int(game.board.cell_of(state, action)))
    cells = np.array([each.pop() if len(each) == 1 else BY_PIECE for each in seen], np.int32)
    check(game, game.board, mark_bits, cells)
    return cells


def columns_of(states: np.ndarray) -> np.ndarray:
    """Return each bit of states [N, S] in all positions, [64 * S + 1, ceil(N / 8)] uint8; the last is 0."""
    bits = np.unpackbits(states.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.packbits(np.pad(bits, ((0, 0), (0, 1))).T, axis=1)


def bits_of(game: Game, wanted: np.ndarray, columns: np.ndarray, known: dict[bytes, int]) -> tuple[int, int]:
    """Return two bits whose exclusive or is `wanted` [ceil(N / 8)]; one of them is the zero if possible."""
    zero = len(columns) - 1
    if not wanted.any():
        return zero, zero
    for bit in (zero, *range(zero)):
        other = known.get((columns[bit] ^ wanted).tobytes())
        if other is not None:
            return other, bit
    raise UserError(
        f"{game.name} cannot be exported: a page reads a piece as one bit of the state, or the exclusive or "
        "of two, and there is a cell where none fit; keep the pieces of each side as bits of the state."
    )


def check(game: Game, board: Board, mark_bits: np.ndarray, cells: np.ndarray) -> None:
    """Check marks and cells of moves in positions of other games.

    Raises:
        UserError: one differs from the board's, or several legal moves share a cell that names none of them.
    """
    states, marks = sample(game, board, CHECKED_GAMES, CHECKED, seed=2)
    before, after = np.zeros_like(marks[0]), np.zeros_like(marks[0])
    for state, right in zip(states, marks, strict=True):
        player, taken = game.to_play(state), dict[int, list[str]]()
        write_marks(state, player, mark_bits, before)
        if (before != right).any():
            raise UserError(
                f"{game.name} cannot be exported: a page would show pieces otherwise than its board."
            )
        for action in [] if game.is_terminal(state) else game.legal_actions(state):
            successor, cell = game.step(state, action), int(board.cell_of(state, action))
            write_marks(successor, game.to_play(successor), mark_bits, after)
            if cell_of(action, cells, before, after, (FIRST, SECOND)[player]) != cell:
                raise UserError(
                    f"{game.name} cannot be exported: the cell of {game.action_name(action)} depends on the "
                    "position, and a page finds it only where the move puts a piece of its player; let "
                    "cell_of return the same cell for an action always."
                )
            if cell != NO_CELL:
                taken.setdefault(cell, []).append(game.action_name(action))
        for cell, names in taken.items():
            if len(names) > 1 and board.cell_name(cell) not in names:
                raise UserError(
                    f"{game.name} cannot be exported: {names[0]} and {names[1]} are moves to one cell, and "
                    "on a page a click on a cell is one move; make such a move two actions, as "
                    "docs/your_own_game.md shows."
                )


def sample(game: Game, board: Board, games: int, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of random games, [N, S] with N at most `most`, and their marks, [N, H * W] int8."""
    rng, states = np.random.default_rng(seed), list[np.ndarray]()
    for _ in range(games):
        states.append(game.initial_state())
        while not game.is_terminal(states[-1]):
            states.append(game.step(states[-1], int(rng.choice(game.legal_actions(states[-1])))))
    chosen = np.stack(states)[rng.permutation(len(states))[:most]]
    return chosen, np.stack([board.marks(state).ravel() for state in chosen]).astype(np.int8)
