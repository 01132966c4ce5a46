"""The player grouped_uct: UCT that first chooses a row, column or region of the board, then a move in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from azero.classic.grouped_uct import GroupedSettings, begin_search, choose, continue_search, new_tree
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.players.base import Drawing
from azero.players.clock import slices
from azero.players.options import PlayerOptions, exploration_setting, simulations_setting


@dataclass(frozen=True)
class Options(PlayerOptions):
    """UCT that first chooses a row, column or region of the board, then a move in it."""

    grouping: str = setting("regions", "What is chosen first.", choices=("rows", "columns", "regions"))
    num_simulations: int = simulations_setting(100)
    exploration: float = exploration_setting()
    expansion_threshold: int = setting(1, "Visits before a leaf is expanded.", between=(1, 1_000_000))


class GroupedUctPlayer(Drawing):
    """Searches every move from scratch and plays the most visited move of the most visited group."""

    def __init__(
        self, game: Game, grouping: str, num_simulations: int, exploration: float, expansion_threshold: int
    ) -> None:
        super().__init__(f"grouped_uct {grouping} {num_simulations}", game)
        self.groups = groups_of_actions(game, grouping)
        self.settings = GroupedSettings(exploration, expansion_threshold, game.max_plies)
        self.num_simulations = num_simulations
        self.tree = new_tree(num_simulations, game.max_plies, self.groups, game.state_words)

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return a move for each of states [B, S]."""
        return self.search(states, banned, streams)[0]

    def search(
        self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Search each of states [B, S]; return (moves [B] int64, visits of each action [B, A] int64)."""
        actions, counts = np.zeros(len(states), np.int64), np.zeros(banned.shape, np.int64)
        addresses, tree, groups = self.game.rule_addresses, self.tree, self.groups
        for row, state in enumerate(states):
            ban, stream = banned[row], streams[row]
            begin_search(addresses, tree, state)
            for units in slices(self.num_simulations, pause=self.pause):
                continue_search(addresses, tree, self.settings, groups, ban, stream, units)
            actions[row] = choose(addresses, tree, groups, ban, stream, counts[row])
        return actions, counts


def groups_of_actions(game: Game, grouping: str) -> np.ndarray:
    """Return the group of each action, [A] int64, numbered from 0.

    A move is in the group of the cell where it puts its piece. Each of the others, a pass or a swap, is a
    group of its own.

    Raises:
        UserError: the game has no board, or where a move puts its piece depends on the position, as in
            Connect Four.
    """
    if game.board is None:
        raise UserError(f"player grouped_uct: {game.name} has no board of cells, so no {grouping}.")
    height, width = len(game.board.rows), len(game.board.columns)
    state = game.initial_state()
    cells = [game.board.cell_of(state, action) for action in range(game.num_actions)]
    if len(set(cells) - {NO_CELL}) < height * width:
        raise UserError(
            f"player grouped_uct: the cell of a move of {game.name} depends on the position; "
            "choose another game."
        )
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
    """Return the group of each cell, [H, W]: its row, its column, or its region.

    Regions cut either side of the board into about as many parts as a part is long: nine of 3 x 3 on a board
    of 9 x 9.
    """
    row, column = np.indices((height, width))
    down, across = round(math.sqrt(height)), round(math.sqrt(width))
    regions = row * down // height * across + column * across // width
    found: dict[str, np.ndarray] = {"rows": row, "columns": column, "regions": regions}
    return found[grouping]


def make(game: Game, options: Options) -> GroupedUctPlayer:
    """Return the player; UserError: the moves of the game have no such groups."""
    simulations, exploration = options.num_simulations, float(options.exploration)
    return GroupedUctPlayer(game, options.grouping, simulations, exploration, options.expansion_threshold)
