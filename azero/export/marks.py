"""What stands on the board, read from a state without Python.

`Board.marks`, `Board.cell_of` and `Board.from_of` are Python, which a page does not run. But games keep
pieces as bits: whether a cell has a mark is one bit of the state, or the exclusive or of two, such as those
of all stones and of the mover's, or both of two, such as those of the mover's pieces and of all pawns. Which
ones may depend on who is to play. `find_mark_bits` finds them in the positions of random games and checks
them in others.

Where the cells of an action are the same in all positions of a mover, as in most games, they are read from a
table. So a move may take pieces away, or only choose one. Other cells, as of a column of Connect Four, are
those of the piece that a move puts.

Letters: N positions, S state words, H rows, W columns, A actions, M marks without EMPTY.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.kit.board import EMPTY, FIRST, NO_CELL, SECOND, Board
from azero.games.playing import random_game
from azero.kernels.compiled import kernel

GAMES = 100  # random games in which each player puts a piece on nearly every cell that can have one
POSITIONS = 20_000  # of them at most in which the bits are sought
CELL_POSITIONS = 500  # and in which the cells of actions are compared
ASKED = 10  # positions of each mover in which the cells of an action that was never legal are asked for
ENOUGH, COMPARED = (
    8,
    64,
)  # positions with a mark that are needed to look for its bits, and that are compared first
XOR, AND = 0, 1  # how two bits say whether a cell has a mark
BY_PIECE = -2  # in a table of cells: the cell depends on the position
CHECKED_GAMES, CHECKED = 20, 200  # other games, and positions of them that must be right


@kernel
def bit_of(state, bit):
    """Return a bit of a state [S] as 0 or 1; 0 beyond its end."""
    if bit >= 64 * state.shape[0]:
        return 0
    return np.int64(state[bit >> 6] >> np.uint64(bit & 63)) & 1


class ActionCells(NamedTuple):
    """The cells of actions by who is to play.

    Attributes:
        goals: where an action puts its piece, [2, A] int32; BY_PIECE where that depends on the position.
        starts: which cell the piece leaves, [2, A] int32.
    """

    goals: np.ndarray
    starts: np.ndarray


@kernel
def mark_of(state, to_play, mark_bits, cell):
    """Return the mark of a cell; `mark_bits` as from `find_mark_bits`."""
    for place in range(mark_bits.shape[2]):
        bits = mark_bits[to_play, cell, place]
        one, other = bit_of(state, bits[0]), bit_of(state, bits[1])
        if (one & other if bits[2] == AND else one ^ other) == 1:
            return place + 1
    return EMPTY


@kernel
def write_marks(state, to_play, mark_bits, marks):
    """Write the marks of a state into marks [H * W] int8, see `Board.marks`."""
    for cell in range(marks.shape[0]):
        marks[cell] = mark_of(state, to_play, mark_bits, cell)


@kernel
def cell_of(action, goals, before, after, owner):
    """Return the cell of a move; `goals` [A] of its mover, the rest as for `placed_cell`."""
    return goals[action] if goals[action] != BY_PIECE else placed_cell(before, after, owner)


@kernel
def placed_cell(before, after, owner):
    """Return the cell on which a move put its piece, by the marks [H * W] before and after it.

    It has a piece of `owner`, FIRST or SECOND, and was empty. If there is none, it is a cell that was the
    opponent's, as in a capture or Hex's swap. NO_CELL without either.
    """
    placed = NO_CELL
    for cell in range(before.shape[0]):
        if is_of(after[cell], owner) and not is_of(before[cell], owner):
            if before[cell] == EMPTY:
                return cell
            placed = cell
    return placed


@kernel
def is_of(mark, owner):
    """Return whether a mark is a piece of FIRST or of SECOND."""
    return mark != EMPTY and (mark - owner) % 2 == 0


def find_mark_bits(game: Game) -> np.ndarray:
    """Return which two bits of a state say whether a cell has a mark, and how.

    [2 (who is to play), H * W, M, 3] int16: two bits, and XOR or AND. Bit b is bit b % 64 of word b // 64,
    and bit 64 * S is always 0.

    Raises:
        UserError: the game has no board, or its marks are not such bits.
    """
    if game.board is None:
        raise UserError(f"{game.name} cannot be exported: its Game has no board for a page to draw.")
    board = game.board
    states, marks = sample(game, board, GAMES, POSITIONS, seed=1)
    to_play = np.array([game.to_play(state) for state in states])
    kinds, found = len(board.symbols) - 1, list[np.ndarray]()
    for player in (0, 1):
        seen = states[to_play == player], marks[to_play == player], kinds
        bits = pairs_of_words(*seen) if kinds > 2 or board.from_of is not None else None
        bits = pairs_of_bits(*seen) if bits is None else bits
        if bits is None:
            raise UserError(
                f"{game.name} cannot be exported: a page reads a piece as one bit of the state, as the "
                "exclusive or of two, or as both of two, and there is a cell where none fit; keep the pieces "
                "of each side as bits of the state, and those of each kind."
            )
        found.append(bits)
    return np.array(found, np.int16)


def pairs_of_bits(states: np.ndarray, marks: np.ndarray, kinds: int) -> np.ndarray | None:
    """Return for each cell and mark two bits whose exclusive or is the mark, [H * W, M, 3].

    None: there are none.

    Args:
        states: [N, S].
        marks: [N, H * W].
        kinds: M.
    """
    columns = columns_of(states)
    known = {column.tobytes(): bit for bit, column in reversed(list(enumerate(columns)))}
    found = np.full((marks.shape[1], kinds, 3), XOR, np.int16)
    for cell, place in np.ndindex(*found.shape[:2]):
        bits = bits_of(np.packbits(marks[:, cell] == place + 1), columns, known)
        if bits is None:
            return None
        found[cell, place, :2] = bits
    return found


def pairs_of_words(states: np.ndarray, marks: np.ndarray, kinds: int) -> np.ndarray | None:
    """Return what `pairs_of_bits` returns where a mark is both of two bits, at one place of two words or one.

    All cells agree on the words of a mark, and all marks on the place of a cell, by votes. So a piece is
    found also on a cell where random games hardly bring it.
    """
    columns, zero = columns_of(states), 64 * states.shape[1]
    words, places = [Counter[tuple[int, int]]() for _ in range(kinds)], [Counter[int]() for _ in marks[0]]
    for cell, place in np.ndindex(len(places), kinds):
        rows = np.flatnonzero(marks[:, cell] == place + 1)
        if len(rows) < ENOUGH:
            continue
        wanted = np.packbits(marks[:, cell] == place + 1)
        for one, other in bits_for(wanted, states[rows[:: -(-len(rows) // COMPARED)]], columns):
            words[place][one >> 6, other >> 6] += 1
            places[cell][one & 63] += 1
    if not all(places):
        return None
    found = np.full((len(places), kinds, 3), (zero, zero, XOR), np.int16)
    for cell, place in np.ndindex(len(places), kinds):
        if words[place]:
            at = places[cell].most_common(1)[0][0]
            one, other = (64 * word + at for word in words[place].most_common(1)[0][0])
            found[cell, place] = (one, other, AND)
        one, other, _ = found[cell, place]
        if ((columns[one] & columns[other]) != np.packbits(marks[:, cell] == place + 1)).any():
            return None
    return found


def bits_for(wanted: np.ndarray, with_mark: np.ndarray, columns: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs of bits at one place of two words, or of one, that are both set where `wanted` is.

    Args:
        wanted: [ceil(N / 8)].
        with_mark: some of the states in which it is set, [some, S].
        columns: all bits in all positions, as from `columns_of`.
    """
    always = np.bitwise_and.reduce(with_mark)
    bits = np.flatnonzero(np.unpackbits(always.astype("<u8").view(np.uint8), bitorder="little")).tolist()
    pairs = ((one, other) for one in bits for other in bits if one <= other and (one ^ other) & 63 == 0)
    return [pair for pair in pairs if ((columns[pair[0]] & columns[pair[1]]) == wanted).all()]


def find_cells(game: Game, mark_bits: np.ndarray) -> ActionCells:
    """Return the cells of each action by who is to play.

    Raises:
        UserError: marks, cells or names would be wrong on a page, or a click would be several moves.
    """
    board, actions = game.board, range(game.num_actions)
    assert board is not None
    states = sample(game, board, GAMES, CELL_POSITIONS, seed=1)[0]
    cells = ActionCells(*(np.full((2, game.num_actions), NO_CELL, np.int32) for _ in range(2)))
    for player in (0, 1):
        own = [state for state in states if game.to_play(state) == player]
        legal: list[list[np.ndarray]] = [[] for _ in actions]
        for state in own:
            for action in [] if game.is_terminal(state) else game.legal_actions(state):
                legal[action].append(state)
        for action in actions:
            asked = legal[action] or own[:ASKED]
            goals = {int(board.cell_of(state, action)) for state in asked}
            cells.goals[player, action] = goals.pop() if len(goals) == 1 else BY_PIECE
            if board.from_of is not None and asked:
                cells.starts[player, action] = board.from_of(asked[0], action)
    check(game, board, mark_bits, cells)
    return cells


def columns_of(states: np.ndarray) -> np.ndarray:
    """Return each bit of states [N, S] in all positions, [64 * S + 1, ceil(N / 8)] uint8; the last is 0."""
    bits = np.unpackbits(states.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.packbits(np.pad(bits, ((0, 0), (0, 1))).T, axis=1)


def bits_of(wanted: np.ndarray, columns: np.ndarray, known: dict[bytes, int]) -> tuple[int, int] | None:
    """Return two bits whose exclusive or is `wanted` [ceil(N / 8)]; one of them is the zero if possible.

    None: there are none.
    """
    zero = len(columns) - 1
    if not wanted.any():
        return zero, zero
    for bit in (zero, *range(zero)):
        other = known.get((columns[bit] ^ wanted).tobytes())
        if other is not None:
            return other, bit
    return None


def check(game: Game, board: Board, mark_bits: np.ndarray, cells: ActionCells) -> None:
    """Check marks, cells of moves and their names in positions of other games.

    Raises:
        UserError: one differs from the game's, or several legal moves share a cell that names none of them.
    """
    states, marks = sample(game, board, CHECKED_GAMES, CHECKED, seed=2)
    before = np.zeros_like(marks[0])
    for state, right in zip(states, marks, strict=True):
        write_marks(state, game.to_play(state), mark_bits, before)
        if (before != right).any():
            raise UserError(
                f"{game.name} cannot be exported: a page would show pieces otherwise than its board."
            )
        taken = dict[int, list[str]]()
        for action in [] if game.is_terminal(state) else game.legal_actions(state):
            start, cell = check_move(game, board, mark_bits, cells, state, action, before)
            if cell != NO_CELL and start == NO_CELL:
                taken.setdefault(cell, []).append(game.action_name(state, action))
        for cell, names in taken.items():
            if len(names) > 1 and board.cell_name(cell) not in names:
                raise UserError(
                    f"{game.name} cannot be exported: {names[0]} and {names[1]} are moves to one cell, and "
                    "on a page a click on it is one move; let Board.from_of say which cell a piece leaves."
                )


def check_move(
    game: Game,
    board: Board,
    mark_bits: np.ndarray,
    cells: ActionCells,
    state: np.ndarray,
    action: int,
    before: np.ndarray,
) -> tuple[int, int]:
    """Check the cells and the name of a legal action, and return its cells: which it leaves, where it goes.

    Raises:
        UserError: they would be wrong on a page.
    """
    player, successor = game.to_play(state), game.step(state, action)
    cell, name, after = (
        int(board.cell_of(state, action)),
        game.action_name(state, action),
        np.zeros_like(before),
    )
    write_marks(successor, game.to_play(successor), mark_bits, after)
    if cell_of(action, cells.goals[player], before, after, (FIRST, SECOND)[player]) != cell:
        raise UserError(
            f"{game.name} cannot be exported: the cell of {name} depends on the "
            "position, and a page finds it only where the move puts a piece of its player; let "
            "cell_of return the same cell for an action always."
        )
    start = NO_CELL if board.from_of is None else int(board.from_of(state, action))
    if start != cells.starts[player, action]:
        raise UserError(
            f"{game.name} cannot be exported: the cell that {name} leaves depends on the position; let "
            "from_of return the same cell for an action and who is to play always."
        )
    if not game.fixed_names and name != page_name(board, start, cell, before, after):
        raise UserError(
            f"{game.name} cannot be exported: the name of {name} depends on the position, and a page "
            "names such a move by its cells, as a2a3, and by the symbol of what the piece becomes, as a7a8q."
        )
    return start, cell


def page_name(board: Board, start: int, goal: int, before: np.ndarray, after: np.ndarray) -> str:
    """Return how a page names a move where names depend on the position.

    By the cells that its piece leaves and enters and, if it becomes another one there, by the symbol of that.
    `moveName` in static/engine.js is its twin.
    """
    names = [board.cell_name(cell) for cell in (start, goal) if cell != NO_CELL]
    changes = len(names) == 2 and before[start] != after[goal]
    return "".join(names) + (board.symbols[after[goal]].lower() if changes else "")


def sample(game: Game, board: Board, games: int, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of random games, [N, S] with N at most `most`, and their marks, [N, H * W] int8."""
    rng = np.random.default_rng(seed)
    states = [state for _ in range(games) for state in random_game(game, rng)]
    chosen = np.stack(states)[rng.permutation(len(states))[:most]]
    return chosen, np.stack([board.marks(state).ravel() for state in chosen]).astype(np.int8)
