"""One game in progress: its moves, whose turn it is, what is legal, and its history.

Letters: A actions, S state words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.repetition import History, dead_end

ONLY_GAME = np.zeros(1, np.int64)  # the number of the only game, for what works on many


def start_text(game: Game, state: np.ndarray) -> str:
    """Return a first position [S] as `Game.text` writes it; "" for the game's own."""
    own = game.initial_state()
    if np.array_equal(state, own):
        return ""
    text = game.text(state)
    return "" if text == game.text(own) else text


def outcome_after(game: Game, state: np.ndarray, plies: int) -> float | None:
    """Return the result for the first player, in [-1, 1]; None while the game goes on.

    A game that goes on after `max_plies`, against what its rules say, is a draw.
    """
    if game.is_terminal(state):
        return game.first_outcome(state)
    return None if plies < game.max_plies else 0.0


class GameInProgress:
    """A game that is played and taken back.

    Attributes:
        game: the rules.
        actions: the moves so far.
        states: the positions so far, [S] each; the last one is on the board.
    """

    def __init__(self, game: Game, actions: Iterable[int] = (), state: np.ndarray | None = None) -> None:
        """Begin a game, or its history at a state [S], with some moves; UserError: one is not legal."""
        self.game = game
        self.actions: list[int] = []
        self.states = [game.initial_state() if state is None else state]
        self._past = History(game, 1)
        self._legal: np.ndarray | None = None  # of the position on the board, if it was asked for
        for action in actions:
            self.play(action)

    @classmethod
    def along(cls, game: Game, actions: Sequence[int], states: Sequence[np.ndarray]) -> Self:
        """Return a game of which all positions are known, the first and those after each of its moves."""
        at = cls(game, state=states[0])
        for action, state in zip(actions, states[1:], strict=True):
            at._go_to(action, state)
        return at

    @property
    def start(self) -> str:
        """The first position, see `start_text`."""
        return start_text(self.game, self.states[0])

    @property
    def state(self) -> np.ndarray:
        """The position on the board, [S] uint64."""
        return self.states[-1]

    @property
    def before(self) -> np.ndarray | None:
        """The position before the last move, [S] uint64; None: there is no move."""
        return self.states[-2] if self.actions else None

    @property
    def to_play(self) -> int:
        """Who is to play: 0 for the player who makes the first move of the game, else 1."""
        return self.game.to_play(self.state)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.outcome is not None

    @property
    def outcome(self) -> float | None:
        """The result for the first player, see `outcome_after`."""
        return outcome_after(self.game, self.state, len(self.actions))

    @property
    def moves(self) -> list[str]:
        """The names of the moves so far."""
        return [self.game.action_name(*played) for played in zip(self.states, self.actions, strict=False)]

    def banned(self) -> np.ndarray | None:
        """Return which actions the game's history forbids, [A] bool; None for a game that forbids none."""
        banned = self._past.banned(ONLY_GAME, self.state[None])
        return None if banned is None else banned[0]

    def legal_mask(self) -> np.ndarray:
        """Return the moves that may be played, [A] bool; none when the game is over."""
        if self.is_over:
            return np.zeros(self.game.num_actions, np.bool_)
        if self._legal is None:
            legal, banned = self.game.legal_mask(self.state), self.banned()
            self._legal = legal if banned is None else legal & ~banned
        return self._legal.copy()

    def legal_actions(self) -> list[int]:
        """Return the moves that may be played, in rising order."""
        return np.flatnonzero(self.legal_mask()).tolist()

    def some_legal_actions(self) -> list[int]:
        """Return the moves that may be played; BrokenGame: there is none, and the game is not over."""
        found = self.legal_actions()
        if not found and not self.is_over:
            raise dead_end(self.game, self.actions)
        return found

    def is_legal(self, action: int) -> bool:
        """Return whether a number is that of a move that may be played."""
        return 0 <= action < self.game.num_actions and bool(self.legal_mask()[action])

    def play(self, action: int) -> None:
        """Play a move; UserError: it is not legal."""
        if self.is_over:
            raise UserError("the game is over.")
        if not self.is_legal(action):
            if 0 <= action < self.game.num_actions and self.game.legal_mask(self.state)[action]:
                raise UserError(f"{self.game.action_name(self.state, action)} repeats an earlier position.")
            raise UserError(f"move {len(self.actions) + 1} is not legal.")
        self._go_to(action, self.game.step(self.state, action))

    def play_moves(self, texts: Iterable[str]) -> None:
        """Play moves as the game writes them; UserError: one does not exist or is not legal."""
        for text in texts:
            try:
                action = self.game.parse_action(self.state, text)
            except ValueError as mistake:
                raise UserError(str(mistake)) from mistake
            if not self.is_legal(action):
                before = " ".join(self.moves) or "no moves"
                raise UserError(f"{text!r} is not legal after {before} in {self.game.name}.")
            self._go_to(action, self.game.step(self.state, action))

    def play_legal(self, actions: Iterable[int]) -> None:
        """Play moves of a file up to the first that is not legal: compiled rules check nothing themselves."""
        for action in actions:
            if not self.is_legal(action):
                return
            self._go_to(action, self.game.step(self.state, action))

    def undo(self) -> None:
        """Take the last move back; UserError: there is none."""
        if not self.actions:
            raise UserError("there is no move to take back.")
        self.actions.pop()
        self.states.pop()
        self._past.take_back(ONLY_GAME)
        self._legal = None

    def _go_to(self, action: int, state: np.ndarray) -> None:
        self._past.add(ONLY_GAME, self.state[None])
        self.actions.append(action)
        self.states.append(state)
        self._legal = None


def random_game(game: Game, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the positions [S] of a game of random moves, the last one too.

    Raises:
        BrokenGame: a position has no legal move.
    """
    at = GameInProgress(game)
    yield at.state
    while not at.is_over:
        at.play(int(rng.choice(at.some_legal_actions())))
        yield at.state
