"""A champion as an agent of PettingZoo's board games, which sees the observations of its turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from azero.champion.champion import Champion
from azero.config.schema import UserError
from azero.games.kit.board import FIRST, SECOND


class PettingZooPlayer:
    """Plays `classic/connect_four-v3`, `classic/tictactoe-v3` and games like them, from their observations.

    The actions must have azero's numbers. The first two planes of an observation must be the pieces of the
    player to move and the opponent's. The player finds the opponent's move by comparing the board with that
    after its own last move, so it must see each of its turns, and each side needs a player of its own.

    Attributes:
        moves: the actions of the game so far.
    """

    def __init__(self, champion: Champion, num_simulations: int | None = None) -> None:
        """num_simulations: of each search; None for those of the run.

        Raises:
            UserError: the champion's game has no board of cells.
        """
        if champion.game.board is None:
            raise UserError(f"{champion.game.name} has no board that PettingZoo's observations could show.")
        self.champion, self.num_simulations = champion, num_simulations
        self.moves: list[int] = []

    def act(self, observation: Mapping[str, Any]) -> int:
        """Return an action for an observation with its mask; the board of a first turn begins a new game.

        Raises:
            UserError: the observation does not follow from that of the last turn.
        """
        game, planes = self.champion.game, np.asarray(observation["observation"])
        found = next((each for each in self.possible() if self.shows(planes, each[1])), None)
        if found is None:
            raise UserError(
                f"The observation is no position of {game.name} that follows from this player's last turn."
            )
        moves, state = found
        if not np.array_equal(game.legal_mask(state), np.asarray(observation["action_mask"], bool)):
            raise UserError(f"PettingZoo's legal moves are not those of {game.name} in this position.")
        texts = " ".join(game.move_names(moves))
        self.moves = [*moves, self.champion.search(state, self.num_simulations, texts).best_move]
        return self.moves[-1]

    def shows(self, planes: np.ndarray, state: np.ndarray) -> bool:
        """Return whether an observation [H, W, planes] shows a state to the player to move."""
        assert self.champion.game.board is not None
        own, other = (FIRST, SECOND) if self.champion.game.to_play(state) == 0 else (SECOND, FIRST)
        return np.array_equal(
            self.champion.game.board.marks(state), own * planes[..., 0] + other * planes[..., 1]
        )

    def possible(self) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yield what may have been played, and its state: one more move, or the first turn of a new game."""
        game, start = self.champion.game, self.champion.game.initial_state()
        state = start
        for action in self.moves:
            state = game.step(state, action)
        for moves, before in ((self.moves, state), ([], start)):
            if not moves:
                yield moves, before
            for action in [] if game.is_terminal(before) else game.legal_actions(before):
                yield [*moves, action], game.step(before, action)
