"""Use the champion of a run from Python: judge a position, find a move, play a game.

    import azero
    champion = azero.load_champion("tictactoe")
    state = champion.position("0 4 8")  # moves from the start; champion.game knows the rules
    print(champion.value(state), champion.policy(state), champion.best_move(state))
    print(champion.search(state, num_simulations=400).visits)
    print(champion.play_game())
    pathlib.Path("board.svg").write_text(champion.picture(state))
    game = champion.play(); game.move("4")  # in a notebook, a board

Letters: A actions, S state words, C H W planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from azero.champion.shown import GameAgainst, Picture, framed
from azero.config.schema import SearchConfig, UserError
from azero.games.ending import result_text
from azero.games.game import Game
from azero.games.kit.picture import cells_of_actions, draw
from azero.games.playing import GameInProgress
from azero.games.titles import game_heading
from azero.network.inference import Inference
from azero.players import Player, make_player, move_of
from azero.players.growing import growing_search, whole_search
from azero.players.policy import PolicyPlayer


@dataclass(frozen=True)
class PlayedGame:
    """One finished game.

    Attributes:
        moves: all moves, as the game names its actions.
        outcome: 1.0 if the first player won, 0.0 for a draw, -1.0 if that player lost.
        board: the last position as text.
        result: the outcome in words, such as "White wins by checkmate".
    """

    moves: list[str]
    outcome: float
    board: str
    result: str

    def __str__(self) -> str:
        """Return the moves, the board and the result on lines of their own."""
        return f"{' '.join(self.moves)}\n{self.board}\n{self.result}"


@dataclass(frozen=True)
class SearchResult:
    """What a search has found. Values are for the player to move, in [-1, 1].

    Attributes:
        simulations: of the search; fewer than asked for if it was proving and has proven the result.
        value: of the position.
        best_move: the action that the search prefers.
        line: the principal variation, which begins with `best_move`.
        visits: simulations through each action, [A] int64.
        values: mean value of each action, [A] float64; nan without a visit.
        priors: the network's probability of each action, [A] float64; 0 for illegal ones.
        lower, upper: proven bounds of each action's value, [A] float64; nan for illegal ones.
    """

    simulations: int
    value: float
    best_move: int
    line: tuple[int, ...]
    visits: np.ndarray
    values: np.ndarray
    priors: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Champion:
    """A network and the search that it guides, for one game.

    A state is an [S] uint64 vector, from `position` or from `game.initial_state` and `game.step`. Values lie
    in [-1, 1] and are those of the player to move.

    Attributes:
        game: the rules.
        player: PV-MCTS without noise; it plays the most visited move.
    """

    def __init__(self, game: Game, inference: Inference, search: SearchConfig) -> None:
        """`inference` computes the network, one row or more at a time; `search` sets the search."""
        self.game, self._inference, self._search = game, inference, search
        self.network = PolicyPlayer(game, inference)
        self.player: Player = make_player("pv_mcts", game, inference=inference, search=search)

    def position(self, moves: str) -> np.ndarray:
        """Return the state after moves, as the game names them, with spaces between: `"4 0 8"`.

        Raises:
            UserError: a move is unknown or illegal, or `moves` is not a text.
        """
        return self._read(f"position({moves!r})", moves).state

    def value(self, state: np.ndarray) -> float:
        """Return the network's value in [-1, 1] for the player to move; for a finished game its outcome."""
        self._refuse_wrong(state)
        if self.game.is_terminal(state):
            return self.game.outcome(state)
        return float(self.network.ask(state[None])[1][0])

    def policy(self, state: np.ndarray) -> np.ndarray:
        """Return the network's probability of each move, 0 for illegal ones: [A] float32."""
        self._refuse_finished(state)
        return np.array(self.network.ask(state[None])[0][0], np.float32)

    def best_move(self, state: np.ndarray) -> int:
        """Return the action that the search prefers.

        A state does not hold its history, so under superko the action may repeat a position. `play_game`
        plays no repeats, and `search` finds none if it gets the moves.
        """
        self._refuse_finished(state)
        self.player.new_games(np.zeros(1, np.uint64))
        return move_of(self.player, GameInProgress(self.game, state=state))

    def search(
        self, state: np.ndarray, num_simulations: int | None = None, moves: str | None = None
    ) -> SearchResult:
        """Search a position; return what is known of each action.

        Args:
            state: the position.
            num_simulations: None for those of the run.
            moves: the moves that led to `state`, as for `position`. Only superko needs them.

        Raises:
            UserError: the game is over, a number is not allowed, or the moves lead elsewhere.
        """
        self._refuse_finished(state)
        if isinstance(num_simulations, np.integer):
            num_simulations = int(num_simulations)
        trained, search = self._inference, self._search
        player = make_player(
            "pv_mcts", self.game, inference=trained, search=search, num_simulations=num_simulations
        )
        banned = None if moves is None else self._banned(state, moves)
        found = whole_search(growing_search(player), state, banned)
        actions = [move.action for move in found.moves]

        def column(name: str, missing: float) -> np.ndarray:
            known = np.full(self.game.num_actions, missing)
            known[actions] = [getattr(move, name) for move in found.moves]
            return known

        return SearchResult(
            simulations=found.visits,
            value=found.value,
            best_move=found.best,
            line=next(move.line for move in found.moves if move.action == found.best),
            visits=column("visits", 0).astype(np.int64),
            values=column("value", np.nan),
            priors=column("prior", 0.0),
            lower=column("lower", np.nan),
            upper=column("upper", np.nan),
        )

    def _read(self, call: str, moves: str) -> GameInProgress:
        """Return the game after moves; `call` begins the message."""
        if not isinstance(moves, str):
            raise UserError(f"{call}: moves must be one text with spaces between the moves.")
        at = GameInProgress(self.game)
        at.play_moves(moves.split())
        return at

    def _banned(self, state: np.ndarray, moves: str) -> np.ndarray | None:
        """Return the actions [A] that would repeat a position of the moves that led to a state."""
        call = f"search(moves={moves!r})"
        at = self._read(call, moves)
        if not np.array_equal(at.state, state):
            raise UserError(f"{call}: these moves lead to another position than the state.")
        return at.banned()

    def play(self, moves_first: bool = False) -> GameAgainst:
        """Begin a game against you; `moves_first`: the champion does. A notebook shows its board."""
        return GameAgainst(self.player, self.game, moves_first)

    def __repr__(self) -> str:
        """Return what a terminal shows, such as `<Champion of Hex, 7 × 7>`."""
        return f"<Champion of {game_heading(self.game)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first position with the policy, or the game's name."""
        title = f"{game_heading(self.game)}: how the champion would begin"
        start = self.game.initial_state()
        return framed(self.picture(start), title) if self.game.board else f"<p>{escape(title)}</p>"

    def picture(self, state: np.ndarray) -> Picture:
        """Return the position as the text of an SVG file, with the policy as colour and in percent.

        Raises:
            UserError: the game has no board to draw, or `state` is none of its states.
        """
        board = self.game.board
        self._refuse_wrong(state)
        if board is None:
            raise UserError(
                f"{self.game.name} has no board to draw; print champion.game.format_state(state) instead."
            )
        if self.game.is_terminal(state):
            return Picture(draw(board, state))
        policy = cells_of_actions(board, state, self.policy(state))
        percent = np.where(policy >= 0.005, np.round(100 * policy), np.nan)
        return Picture(draw(board, state, numbers=percent, heat=policy))

    def play_game(self, opponent: Player | None = None, *, moves_first: bool = True) -> PlayedGame:
        """Play one game from the initial state.

        Args:
            opponent: a player of this game, such as `make_player("random", champion.game)`. Default: the
                champion.
            moves_first: whether the champion moves first.
        """
        players = [self.player, opponent or self.player]
        if not moves_first:
            players.reverse()
        for player in players:
            player.new_games(np.zeros(1, np.uint64))
        at = GameInProgress(self.game)
        while not at.is_over:
            at.play(move_of(players[at.to_play], at))
        assert at.outcome is not None
        board, result = self.game.format_state(at.state), result_text(self.game, at.state, at.outcome)
        return PlayedGame(at.moves, at.outcome, board, result)

    def _refuse_wrong(self, state: np.ndarray) -> None:
        words = self.game.state_words
        if not isinstance(state, np.ndarray) or state.shape != (words,) or state.dtype != np.uint64:
            raise UserError(
                f"A state of {self.game.name} is an array of {words} uint64 words; position() returns one."
            )

    def _refuse_finished(self, state: np.ndarray) -> None:
        self._refuse_wrong(state)
        if self.game.is_terminal(state):
            raise UserError(f"This game of {self.game.name} is over; there is no move to choose.")
