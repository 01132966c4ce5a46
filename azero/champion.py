"""The champion of a run as a Python object: judge a position, find a move, play a game.

    import azero
    champion = azero.load_champion("tictactoe")
    state = champion.position("0 4 8")  # moves from the start; champion.game knows the rules
    print(champion.value(state), champion.policy(state), champion.best_move(state))
    print(champion.play_game())
    pathlib.Path("board.svg").write_text(champion.picture(state))

Letters: A actions, S state words, C H W planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from azero.config import Config, SearchConfig, UserError
from azero.games.game import Game
from azero.games.picture import cells_of_actions, draw
from azero.openings import read_moves
from azero.players import Player, make_player
from azero.players.policy import PolicyPlayer
from azero.search.repetition import History

if TYPE_CHECKING:
    from azero.network.inference import Inference

ONLY_GAME = np.zeros(1, np.int64)  # the number of the only game that is played here


@dataclass(frozen=True)
class PlayedGame:
    """One finished game.

    Attributes:
        moves: all plies, as the game names its actions.
        outcome: for the player who moved first: 1.0 won, 0.0 draw, -1.0 lost.
        board: the last position as text.
    """

    moves: list[str]
    outcome: float
    board: str

    def __str__(self) -> str:
        """The moves, the board and the result, a line or more each."""
        result = "draw" if self.outcome == 0 else f"the {'first' if self.outcome > 0 else 'second'} player wins"
        return f"{' '.join(self.moves)}\n{self.board}\n{result}"


class Champion:
    """A network and the search that it guides, for one game.

    States are those of `game`: [S] uint64 vectors from `position`, or from `game.initial_state` and `game.step`.
    Values lie in [-1, 1] and are meant for the player to move.

    Attributes:
        game: the rules.
        player: PV-MCTS without noise, always the most visited move.
    """

    def __init__(self, game: Game, inference: Inference, search: SearchConfig) -> None:
        """`inference` has rows for at least one position; `search` says how deep the champion looks."""
        self.game = game
        self.network = PolicyPlayer(game, inference)
        self.player: Player = make_player("pv_mcts", game, inference=inference, search=search)

    def position(self, moves: str) -> np.ndarray:
        """The state after some moves, written as the game names them with spaces between: `"4 0 8"`.

        Raises:
            UserError: no such move, or it is not legal there.
        """
        return read_moves(self.game, moves.split())[1]

    def value(self, state: np.ndarray) -> float:
        """What the network expects of a position, in [-1, 1] for the player to move; of a finished game, its exact outcome."""
        return self.game.outcome(state) if self.game.is_terminal(state) else float(self.network.ask(state[None])[1][0])

    def policy(self, state: np.ndarray) -> np.ndarray:
        """[A] float32: the network's probability of each move, before any search; 0 where a move is not legal."""
        self._refuse_finished(state)
        return self.network.ask(state[None])[0][0].astype(np.float32)

    def best_move(self, state: np.ndarray) -> int:
        """The action that the search prefers.

        A state does not hold its history: where a game forbids repeats (superko), this may be one. `play_game` never plays one.
        """
        self._refuse_finished(state)
        self.player.new_games(np.zeros(1, np.uint64))
        return self._choose(self.player, state, 0)

    def picture(self, state: np.ndarray) -> str:
        """The position as the text of an SVG file; of an unfinished one with the network's policy as colour and in percent.

        Raises:
            UserError: the game has no board to draw.
        """
        board = self.game.board
        if board is None:
            raise UserError(f"{self.game.name} has no board that can be drawn; print champion.game.format_state(state) instead.")
        if self.game.is_terminal(state):
            return draw(board, state)
        policy = cells_of_actions(board, state, self.policy(state))
        return draw(board, state, numbers=np.where(policy >= 0.005, np.round(100 * policy), np.nan), heat=policy)

    def play_game(self, opponent: Player | None = None, *, moves_first: bool = True) -> PlayedGame:
        """Play one game from the initial state.

        Args:
            opponent: any player of this game, such as `make_player("random", champion.game)`; by default the champion itself.
            moves_first: whether the champion does.
        """
        champion_side = 0 if moves_first else 1
        for player in (self.player, opponent):
            if player is not None:
                player.new_games(np.zeros(1, np.uint64))
        state = self.game.initial_state()
        past = History(self.game, 1)
        actions: list[int] = []
        while not self.game.is_terminal(state):
            own_move = opponent is None or self.game.to_play(state) == champion_side
            player = self.player if own_move or opponent is None else opponent
            actions.append(self._choose(player, state, len(actions), past.banned(ONLY_GAME, state[None])))
            past.add(ONLY_GAME, state[None])
            state = self.game.step(state, actions[-1])
        names = [self.game.action_name(action) for action in actions]
        return PlayedGame(names, self.game.first_outcome(state), self.game.format_state(state))

    def _choose(self, player: Player, state: np.ndarray, ply: int, banned: np.ndarray | None = None) -> int:
        return int(player.choose(state[None], ONLY_GAME, np.full(1, ply, np.int64), banned)[0])

    def _refuse_finished(self, state: np.ndarray) -> None:
        if self.game.is_terminal(state):
            raise UserError(f"This game of {self.game.name} is over; there is no move to choose.")


def load_champion(run: str, checkpoints: str = "checkpoints", device: str = "auto") -> Champion:
    """The champion of a run; see `azero.load_champion`."""
    from azero.trained import load_for_one_game

    return Champion(*load_for_one_game(Config(checkpoints=checkpoints, device=device), run))
