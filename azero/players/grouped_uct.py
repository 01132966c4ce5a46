"""UCT that first chooses a row, a column or a region of the board and then a move in it."""

from __future__ import annotations

import math

import numpy as np

from azero.config import UserError
from azero.games.board import NO_CELL
from azero.games.game import Game
from azero.players import ban_table, check_number
from azero.players.streams import Drawing
from azero.search.grouped_uct import search_positions

GROUPINGS = ("rows", "columns", "regions")


class GroupedUctPlayer(Drawing):
    """Grouped UCT from scratch for every move; it plays the most visited move of the most visited group."""

    def __init__(self, game: Game, grouping: str, num_simulations: int, exploration: float, expansion_threshold: int) -> None:
        super().__init__()
        self.name = f"grouped_uct {grouping} {num_simulations}"
        self.game = game
        self.groups = groups_of_actions(game, grouping)
        self.num_simulations = num_simulations
        self.exploration = exploration
        self.expansion_threshold = expansion_threshold

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return a move for each of states [B, S]."""
        return self.search(states, games, banned)[0]

    def search(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Search each of states [B, S]; return the moves, [B] int64, and how often each action was visited, [B, A] int64."""
        actions, counts = np.zeros(len(states), np.int64), np.zeros((len(states), self.game.num_actions), np.int64)
        with self.streams.of(games) as streams:
            search_positions(
                self.game.rule_addresses,
                np.ascontiguousarray(states),
                self.groups,
                streams,
                self.num_simulations,
                self.exploration,
                self.expansion_threshold,
                self.game.max_plies,
                ban_table(self.game, states, banned),
                actions,
                counts,
            )
        return actions, counts


def groups_of_actions(game: Game, grouping: str) -> np.ndarray:
    """The group of each action, [A] int64, numbered from 0.

    A move is in the group of the cell where it puts its piece. Each of the others, a pass or a swap, is a group of its own.

    Raises:
        UserError: the game has no board, or where a move puts its piece depends on the position, as in Connect Four.
    """
    if game.board is None:
        raise UserError(f"player grouped_uct: {game.name} has no board of cells, so there are no {grouping}.")
    height, width = len(game.board.rows), len(game.board.columns)
    state = game.initial_state()
    cells = [game.board.cell_of(state, action) for action in range(game.num_actions)]
    if len(set(cells) - {NO_CELL}) < height * width:
        raise UserError(f"player grouped_uct: a move of {game.name} alone does not name a cell, so there are no {grouping}.")
    group_of_cell = groups_of_cells(height, width, grouping).ravel()
    groups, taken, free = np.zeros(game.num_actions, np.int64), set[int](), int(group_of_cell.max()) + 1
    for action, cell in enumerate(cells):
        if cell == NO_CELL or cell in taken:
            groups[action], free = free, free + 1
        else:
            groups[action] = group_of_cell[cell]
            taken.add(cell)
    return groups


def groups_of_cells(height: int, width: int, grouping: str) -> np.ndarray:
    """The group of each cell, [H, W]: its row, its column, or its region.

    Regions cut either side of the board into about as many parts as a part is long: nine of 3 x 3 on a board of 9 x 9.
    """
    row, column = np.mgrid[:height, :width]
    if grouping == "rows":
        return row
    if grouping == "columns":
        return column
    down, across = round(math.sqrt(height)), round(math.sqrt(width))
    return row * down // height * across + column * across // width


def make(
    game: Game,
    *,
    grouping: str = "regions",
    num_simulations: int = 100,
    exploration: float = math.sqrt(2.0),
    expansion_threshold: int = 1,
) -> GroupedUctPlayer:
    """Return the player.

    Args:
        game: the game it plays; a move must say by itself to which cell it goes.
        grouping: rows, columns or regions.
        num_simulations: simulations before each move.
        exploration: constant of UCB1 for rewards in [0, 1].
        expansion_threshold: visits before a leaf is expanded.

    Raises:
        UserError: a value that it refuses, or a game whose moves have no such groups.
    """
    if grouping not in GROUPINGS:
        raise UserError(f"player grouped_uct: grouping={grouping} is not one of: {', '.join(GROUPINGS)}.")
    check_number("grouped_uct", "num_simulations", num_simulations, 1, 1_000_000)
    check_number("grouped_uct", "exploration", exploration, 0.0, 1000.0, whole=False)
    check_number("grouped_uct", "expansion_threshold", expansion_threshold, 1, 1_000_000)
    return GroupedUctPlayer(game, grouping, num_simulations, float(exploration), expansion_threshold)
