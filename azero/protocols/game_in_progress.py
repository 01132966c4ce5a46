"""One game on a client's board: its moves, whose turn it is, what is legal, and the history for superko."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.config.schema import UserError
from azero.games import go
from azero.games.game import Game
from azero.search.repetition import banned_after

HEX_PLIES = 4  # that a position of Hex counts where black's turn was left out: too late for a swap


class GameInProgress:
    """A game that is played and taken back.

    Attributes:
        game: the rules.
        actions: the moves so far.
        states: the positions so far, [S] each; the last one is on the board.
    """

    def __init__(self, game: Game, actions: Sequence[int] = (), state: np.ndarray | None = None) -> None:
        """Begin a game, or its history at a state [S], with some moves; UserError: one is not legal."""
        self.game = game
        self.actions: list[int] = []
        self.states = [game.initial_state() if state is None else state]
        for action in actions:
            self.play(action)

    @property
    def state(self) -> np.ndarray:
        """The position on the board, [S] uint64."""
        return self.states[-1]

    @property
    def to_play(self) -> int:
        """Who is to play: 0 for the player who makes the first move of the game, else 1."""
        return self.game.to_play(self.state)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.game.is_terminal(self.state)

    @property
    def outcome(self) -> float | None:
        """The result for the first player, in [-1, 1]; None while the game goes on."""
        return self.game.first_outcome(self.state) if self.is_over else None

    def banned(self) -> np.ndarray | None:
        """Return which actions the game's history forbids, [A] bool; None for a game that forbids none."""
        return banned_after(self.game, self.states)

    def legal_mask(self) -> np.ndarray:
        """Return the moves that may be played, [A] bool; none when the game is over."""
        if self.is_over:
            return np.zeros(self.game.num_actions, np.bool_)
        legal, banned = self.game.legal_mask(self.state), self.banned()
        return legal if banned is None else legal & ~banned

    def legal_actions(self) -> list[int]:
        """Return the moves that may be played, in rising order."""
        return np.flatnonzero(self.legal_mask()).tolist()

    def play(self, action: int) -> None:
        """Play a move; UserError: it is not legal."""
        if self.is_over:
            raise UserError("the game is over.")
        if not 0 <= action < self.game.num_actions or not self.game.legal_mask(self.state)[action]:
            raise UserError(f"move {len(self.actions) + 1} is not legal.")
        banned = self.banned()
        if banned is not None and banned[action]:
            raise UserError(f"{self.game.action_name(action)} repeats an earlier position.")
        self.actions.append(action)
        self.states.append(self.game.step(self.state, action))

    def turned(self, side: int) -> GameInProgress | None:
        """Return a new history that begins at this position with `side` to move; None: the rules have none.

        In Go nobody has passed then, so a game that was over goes on. In Hex white may begin on the empty
        board, where a client has exchanged the pieces itself; and who moves right after the own swap has
        exchanged the persons: the stone stays as it was before.
        """
        if self.game.name == "go":
            return GameInProgress(self.game, state=go_turn(self.game, self.state, side))
        if self.game.name == "hex":
            has_swapped = self.actions[-1:] == [self.game.options["size"] ** 2]
            state = self.states[-2 if has_swapped else -1].copy()
            if has_swapped or not state[:-1].any():
                state[-1] = HEX_PLIES + side
                return GameInProgress(self.game, state=state)
        return None

    def undo(self) -> None:
        """Take the last move back; UserError: there is none."""
        if not self.actions:
            raise UserError("there is no move to take back.")
        self.actions.pop()
        self.states.pop()


def go_turn(game: Game, state: np.ndarray, mover: int) -> np.ndarray:
    """Return a state of Go with the same stones, where `mover` plays the first move of a game."""
    turned = state.copy()
    turned[go.PLY], turned[go.PASSES], turned[go.KO] = mover, 0, game.options["size"] ** 2
    return turned
