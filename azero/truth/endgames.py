"""Solve endings of chess exactly: king and pieces against a bare king, by azero's own rules.

    table = solve_ending(make_game("chess"), "KRK")
    table.longest                 # plies of the longest mate, 31
    table.plies(state)            # plies until mate; None: a draw

A table knows every position with either side to move. The moves are those of the compiled rules. Positions
are solved backwards from the mates, ply by ply (retrograde analysis, Ströhlein 1970). Clocks and repetition
do not count: no position that is won needs 100 plies.

Letters: C cells, M pieces, S state words, A actions, E edges.

A position is the cells of its pieces: the strong king, the bare king, the other pieces, as the strong side
sees them if it moves first in the game. Positions that a symmetry of the board maps on each other have one
number. The symmetry brings the strong king into a corner of the board, or with pawns to its left half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.chess import FORMS, plies_of
from azero.games.game import Game, rules_at
from azero.games.kit import piece_moves as pieces
from azero.games.kit.bits import lowest_bit
from azero.games.kit.board import square_symmetries
from azero.games.kit.fen import LETTERS
from azero.games.kit.piece_moves import FLAGS, KINGS, PAWNS
from azero.games.kit.piece_play import CLOCK, CLOCK_END, PLY, STATE_WORDS, finish, turned
from azero.games.legal import list_legal, make_legal
from azero.kernels.compiled import inner, kernel
from azero.truth.positions import ILLEGAL, PositionSet

IMPOSSIBLE, DRAW = -1, 0  # values of a table; n > 0: mate after n - 1 plies
MATED = 1
STRONG, BARE = 0, 1  # sides
ONE = np.uint64(1)
LONGEST = 200  # plies of a mate, at most: beyond it a table would be wrong


class Layout(NamedTuple):
    """How the positions of an ending are numbered."""

    cells: int
    words: np.ndarray  # [M] int64, the state word of each piece
    corner: np.ndarray  # [C] int64, the number of the strong king's cell after its symmetry
    kings: np.ndarray  # [cells that the strong king has] int64, their cells
    symmetry: np.ndarray  # [C] int64, which symmetry a cell of the strong king asks for
    maps: np.ndarray  # [symmetries, C] int64, where each symmetry brings a cell

    @property
    def positions(self) -> int:
        """The number of positions with one side to move, the impossible ones included."""
        return len(self.kings) * int(self.cells ** (len(self.words) - 1))


def make_layout(size: int, material: str) -> Layout:
    """Return the layout of an ending such as KRK."""
    words = [PAWNS + LETTERS.index(letter.lower()) for letter in ("k" + material[1:-1] + "k").lower()]
    words = [words[0], words[-1], *words[1:-1]]
    turns = square_symmetries(size)
    if PAWNS in words:
        cells = np.arange(size * size).reshape(size, size)
        turns = np.stack([cells.ravel(), cells[:, ::-1].ravel()])
    images = turns.T  # [C, symmetries]
    lowest = images.min(axis=1)
    kings = np.unique(lowest)
    return Layout(
        size * size, np.array(words), np.searchsorted(kings, lowest), kings, images.argmin(axis=1), turns
    )


class Buffers(NamedTuple):
    """Buffers for one position."""

    cells: np.ndarray  # [M] int64
    here: np.ndarray  # [S]
    there: np.ndarray  # [S]


@inner
def number_of(cells, layout):
    """Return the number of a position, by the cells of its pieces."""
    turn = layout.symmetry[cells[0]]
    number = layout.corner[cells[0]]
    for place in range(1, cells.shape[0]):
        number = number * layout.cells + layout.maps[turn, cells[place]]
    return number


@inner
def read_cells(number, layout, cells):
    """Write the cells of a position into cells [M]."""
    for place in range(cells.shape[0] - 1, 0, -1):
        cells[place] = number % layout.cells
        number //= layout.cells
    cells[0] = layout.kings[number]


@inner
def put_pieces(state, cells, layout, table, mover, view):
    """Write the pieces as `view` sees them, with the side `mover` to move next."""
    for word in range(STATE_WORDS):
        state[word] = 0
    for place in range(cells.shape[0]):
        cell = cells[place] if view == STRONG else np.int64(table[cells[place], pieces.MIRROR])
        side = BARE if place == 1 else STRONG
        state[layout.words[place]] |= ONE << np.uint64(cell)
        state[pieces.OWN if side == view else pieces.OTHER] |= ONE << np.uint64(cell)
    state[FLAGS] = np.uint64(mover) << PLY


@inner
def write_state(state, cells, layout, table, shape, mover):
    """Write the state of a position; return whether it can be."""
    for place in range(cells.shape[0]):
        if layout.words[place] == PAWNS and (
            cells[place] < shape.size or cells[place] >= layout.cells - shape.size
        ):
            return False
        for other in range(place):
            if cells[other] == cells[place]:
                return False
    if (table[cells[0], pieces.KING] >> np.uint64(cells[1])) & ONE != 0:  # the kings stand side by side
        return False
    put_pieces(state, cells, layout, table, 1 - mover, 1 - mover)
    pieces.write_checkers(state, table)
    if state[pieces.CHECKERS] != 0:  # whoever has just moved stands in check
        return False
    put_pieces(state, cells, layout, table, mover, mover)
    finish(state, table, shape, state[FLAGS], np.uint64(0), 9999)
    return True


@inner
def find_cells(state, layout, size, cells):
    """Write the cells of the pieces in a state into cells [M]. Return the place of a missing one, or -1.

    Missing is a pawn that was promoted, or a piece that was taken.
    """
    view = np.int64((state[FLAGS] >> PLY) & ONE)
    own = state[pieces.OWN if view == STRONG else pieces.OTHER]
    taken, missing = np.uint64(0), -1
    for place in range(cells.shape[0]):
        strong = own if place != 1 else ~own
        here = state[layout.words[place]] & strong & ~taken
        here &= ~here + ONE
        if here == 0:
            missing = place
            continue
        taken |= here
        cells[place] = lowest_bit(here if view == STRONG else turned(here, size))
    return missing


@kernel
def find_known(addresses, layout, table, shape, values, counts, buffers, legal):
    """Write the values [2, N] that are known at once, and how many moves the other positions have.

    counts: [2, N] int16, 0 for the positions that are known, or over.
    """
    rules, cells, state = rules_at(addresses), buffers.cells, buffers.here
    for mover in range(2):
        for number in range(values.shape[1]):
            read_cells(number, layout, cells)
            counts[mover, number], values[mover, number] = 0, DRAW
            if not write_state(state, cells, layout, table, shape, mover):
                values[mover, number] = IMPOSSIBLE
            elif not rules.is_terminal(state):
                counts[mover, number] = list_legal(rules, state, legal)
            elif rules.outcome(state) < 0.0:
                values[mover, number] = MATED


@kernel
def follow_moves(addresses, layout, lower, promoted, table, shape, counts, edges, buffers, legal):
    """Write where each move of the positions with moves leads into edges [E] int32.

    That is the number of the position after it, or -1 minus its value where that is known: a draw after a
    capture, or the value of `promoted` [kinds, N] int16 after a promotion, positions as `lower` numbers them.
    """
    rules, cells, here, there = rules_at(addresses), buffers.cells, buffers.here, buffers.there
    written = 0
    for mover in range(2):
        for number in range(counts.shape[1]):
            if counts[mover, number] == 0:
                continue
            read_cells(number, layout, cells)
            write_state(here, cells, layout, table, shape, mover)
            count = list_legal(rules, here, legal)
            for place in range(count):
                rules.step(here, legal.actions[place], there)
                missing = find_cells(there, layout, shape.size, cells)
                if missing < 0:
                    edges[written] = number_of(cells, layout)
                elif mover == BARE:
                    edges[written] = -1 - DRAW
                else:
                    kind, cell = promotion_in(there, table)
                    cells[missing] = cell
                    edges[written] = -1 - promoted[kind, number_of(cells, lower)]
                written += 1


@inner
def promotion_in(state, table):
    """Return the kind and the cell of the only piece that the mover's opponent has beside its king."""
    piece = state[pieces.OTHER] & ~state[KINGS]
    cell, kind = lowest_bit(piece), 0
    for word in range(PAWNS, KINGS):
        if state[word] & piece != 0:
            kind = word - PAWNS
    view = np.int64((state[FLAGS] >> PLY) & ONE)
    return kind, cell if view == STRONG else np.int64(table[cell, pieces.MIRROR])


@kernel
def solve_backwards(counts, edges, values, most):
    """Complete values [2, N], mate by mate; `most`: the highest value of an ending after a promotion.

    A strong side takes the fastest mate; a bare king is mated when each of its moves leads to a mate.
    """
    value, idle = np.int16(MATED), 0
    while idle < 2 or value <= most + 1:
        value += np.int16(1)
        found, edge = False, np.int64(0)
        for mover in range(2):
            for number in range(counts.shape[1]):
                count = counts[mover, number]
                first, edge = edge, edge + np.int64(count)
                if count == 0 or values[mover, number] != DRAW:
                    continue
                mates = 0
                for to in edges[first:edge]:
                    after = values[1 - mover, to] if to >= 0 else np.int16(-1 - to)
                    if DRAW < after < value:
                        mates += 1
                        if mover == STRONG:
                            break
                    elif mover == BARE:
                        break
                if mates == count or (mover == STRONG and mates > 0):
                    values[mover, number] = value
                    found = True
        idle = 0 if found else idle + 1
        if value > LONGEST:
            break


@kernel
def write_position(number, mover, layout, table, shape, cells, state):
    """Write the state of a position by its number; return whether it can be."""
    read_cells(number, layout, cells)
    return write_state(state, cells, layout, table, shape, mover)


@kernel
def value_of(state, layout, values, lower, promoted, table, shape, cells):
    """Return the value of a state that is a position of an ending, or came from one by a move."""
    mover = np.int64((state[FLAGS] >> PLY) & ONE)
    missing = find_cells(state, layout, shape.size, cells)
    if missing < 0:
        return np.int64(values[mover, number_of(cells, layout)])
    if mover == STRONG:
        return DRAW  # the bare king took the last piece
    kind, cell = promotion_in(state, table)
    cells[missing] = cell
    return np.int64(promoted[kind, number_of(cells, lower)])


@dataclass(frozen=True)
class Ending:
    """All positions of one ending.

    Attributes:
        game: chess, or one of its forms.
        material: such as KRK; the first king has the pieces.
        values: [2 (the strong side to move, the bare king to move), N] int16: n > 0 mate after n - 1 plies,
            0 a draw, -1 no such position.
        promoted: [kinds, N] int16, those after a promotion, the bare king to move; `lower` numbers them.
    """

    game: Game
    material: str
    layout: Layout
    values: np.ndarray
    lower: Layout
    promoted: np.ndarray

    @property
    def shape(self) -> pieces.ChessShape:
        """The form of chess."""
        return FORMS[self.game.options["variant"]].shape

    @property
    def longest(self) -> int:
        """Plies of the longest mate, the strong side to move."""
        return int(self.values[STRONG].max()) - 1

    def plies(self, state: np.ndarray) -> int | None:
        """Return the plies until mate from a state [S] of this material; None for a draw.

        The state may also follow from such a state by one move.

        Raises:
            ValueError: it has other pieces.
        """
        own, other = (int(state[side]).bit_count() for side in (pieces.OWN, pieces.OTHER))
        if own == other == 1:
            return None
        mover = STRONG if own > 1 else BARE
        if min(own, other) != 1 or not self.has_pieces_of(state, mover):
            raise ValueError(f"this position is not of the ending {self.material}")
        state = state.copy()
        state[FLAGS] = np.uint64(mover) << PLY  # as if the strong side had made the game's first move
        cells, table = np.zeros(len(self.layout.words), np.int64), pieces.make_table(self.shape.size)
        value = value_of(
            *(state, self.layout, self.values, self.lower, self.promoted),
            *(table, self.shape, cells),
        )
        return None if value == DRAW else int(value) - MATED

    def has_pieces_of(self, state: np.ndarray, mover: int) -> bool:
        """Return whether a state has the pieces of the ending, or, the bare king to move, of a promotion."""
        kinds = [word for word in range(PAWNS, KINGS + 1) for _ in range(int(state[word]).bit_count())]
        wanted = sorted(self.layout.words.tolist())
        promotions = [
            sorted([*wanted[1:], word]) for word in (*self.shape.pieces, pieces.QUEENS) if wanted[0] == PAWNS
        ]
        return kinds == wanted or (mover == BARE and kinds in promotions)

    def sample(self, count: int, seed: int) -> PositionSet:
        """Return random unfinished positions with exact scores; either side moves, of either colour."""
        if self.longest < 0:
            raise UserError(
                f"every position of {self.material} is over at once, so there is none to ask about."
            )
        rng, game = np.random.default_rng(seed), self.game
        table, cells = pieces.make_table(self.shape.size), np.zeros(len(self.layout.words), np.int64)
        states, scores = list[np.ndarray](), list[np.ndarray]()
        while len(states) < count:
            mover, number = int(rng.integers(2)), int(rng.integers(self.values.shape[1]))
            state = np.zeros(STATE_WORDS, np.uint64)
            possible = write_position(number, mover, self.layout, table, self.shape, cells, state)
            if not possible or game.is_terminal(state):
                continue
            scores.append(self.scores(state))
            state[FLAGS] ^= np.uint64(rng.integers(2)) << PLY  # the same position with colours exchanged
            states.append(state)
        return PositionSet(self.material, [[] for _ in states], np.array(states), np.array(scores))

    def scores(self, state: np.ndarray) -> np.ndarray:
        """Return the exact score of each move of an unfinished state [S], see `azero.truth`: [A] int64."""
        scores = np.full(self.game.num_actions, ILLEGAL, np.int64)
        sign = 1 if int(state[pieces.OWN]).bit_count() > 1 else -1
        for action in self.game.legal_actions(state):
            plies = self.plies(self.game.step(state, action))
            scores[action] = 0 if plies is None else sign * (plies + 1)
        return scores


def endings_of(game: Game) -> list[str]:
    """Return the endings of two kings and one more piece that can be won in a form of chess."""
    return ["KPK", "KRK", "KQK"] if game.name == "chess" else []


def material_of(state: np.ndarray) -> str:
    """Return the ending of a state of chess [S] with three pieces, such as KRK; "" with more or fewer."""
    own, other = state[pieces.OWN], state[pieces.OTHER]
    if {int(own).bit_count(), int(other).bit_count()} != {1, 2}:
        return ""
    third = (own | other) & ~state[KINGS]
    kind = next(word for word in range(PAWNS, KINGS) if state[word] & third)
    return f"K{LETTERS[kind - PAWNS].upper()}K"


@lru_cache(maxsize=16)
def solve_variant(variant: str, material: str) -> Ending:
    """Return the solved ending of a form of chess; see `solve_ending`."""
    game, shape = make_game("chess", variant=variant), FORMS[variant].shape
    layout, lower = make_layout(shape.size, material), make_layout(shape.size, material.replace("P", "Q"))
    promoted = np.full((KINGS - PAWNS, lower.positions), DRAW, np.int16)
    if "P" in material:
        for word in (*shape.pieces, pieces.QUEENS):
            after = material.replace("P", LETTERS[word - PAWNS].upper())
            promoted[word - PAWNS] = solve_variant(variant, after).values[BARE]
    values, counts = np.zeros((2, 2, layout.positions), np.int16)
    buffers = Buffers(np.zeros(len(layout.words), np.int64), *np.zeros((2, STATE_WORDS), np.uint64))
    board = pieces.make_table(shape.size), shape
    addresses, legal = game.rule_addresses, make_legal(game.num_actions)
    find_known(addresses, layout, *board, values, counts, buffers, legal)
    edges = np.empty(int(counts.sum(dtype=np.int64)), np.int32)
    follow_moves(addresses, layout, lower, promoted, *board, counts, edges, buffers, legal)
    solve_backwards(counts, edges, values, np.int16(promoted.max()))
    return Ending(game, material, layout, values, lower, promoted)


def table_scores(game: Game, state: np.ndarray) -> np.ndarray | None:
    """Return the exact score of each move of an unfinished state [S], [A] int64; None: no table knows it.

    The tables do not know the plies without a capture or a pawn's move, nor those of the game: a state where
    either could end a line that they know is left to others.
    """
    if game.name != "chess" or (material := material_of(state)) not in endings_of(game):
        return None
    scores = solve_ending(game, material).scores(state)
    longest = int(np.abs(scores[scores != ILLEGAL]).max())
    clock = int(state[FLAGS]) >> int(CLOCK) & 255
    ends = clock + longest >= CLOCK_END or plies_of(state) + longest >= game.max_plies
    return None if ends else scores


def solve_ending(game: Game, material: str) -> Ending:
    """Return a solved ending: K, one or more pieces, and K, in which every capture by the bare king draws.

    That is true of one piece, and of KBNK and KNNK. 8 x 8 takes seconds, KBNK a minute and 0.4 GB.

    Raises:
        UserError: the game is not chess, or the ending is another one.
    """
    known = endings_of(game)
    if known:
        shape = FORMS[game.options["variant"]].shape
        known += ["KNK", *(["KBK", "KNNK", "KBNK"] if pieces.BISHOPS in shape.pieces else ["KNNK"])]
    if material not in known:
        raise UserError(f"{material} of {game.name} is not an ending that azero solves; it solves {known}.")
    return solve_variant(game.options["variant"], material)
