"""What a notebook shows: pictures of boards, and a game against a champion."""

from __future__ import annotations

from html import escape

import numpy as np

from azero.config.schema import UserError
from azero.games.ending import result_for
from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.games.kit.picture import draw
from azero.games.playing import GameInProgress
from azero.players import Player, move_of


class Picture(str):
    """The text of an SVG file, which a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


class GameAgainst:
    """A game against a champion. A notebook shows it as a board, a terminal as text.

    Attributes:
        at: the game: its moves and positions.
    """

    def __init__(self, player: Player, game: Game, moves_first: bool) -> None:
        """player: the champion; moves_first: whether it does."""
        self.player, self.seat = player, 0 if moves_first else 1
        self.at = GameInProgress(game)
        player.new_games(np.zeros(1, np.uint64))
        self._answer()

    def move(self, move: str | int) -> GameAgainst:
        """Play your move, by its name such as "e2e4" or 4, and the champion's answer.

        Raises:
            UserError: the move is not legal, or the game is over.
        """
        if self.at.is_over:
            raise UserError("The game is over; champion.play() begins another.")
        self.at.play_moves([str(move)])
        self._answer()
        return self

    def _answer(self) -> None:
        """Play the champion's moves until it is your turn."""
        while not self.at.is_over and self.at.to_play == self.seat:
            self.at.play(move_of(self.player, self.at))

    @property
    def message(self) -> str:
        """Whose turn it is, or who has won."""
        if not self.at.is_over:
            last = f"The champion plays {self.at.moves[-1]}. " if self.at.actions else ""
            return f"{last}It is your turn."
        return result_for(self.at, 1 - self.seat, "The champion")

    def __repr__(self) -> str:
        return f"{self.at.game.format_state(self.at.state)}\n{self.message}"

    def _repr_html_(self) -> str:
        game, at = self.at.game, self.at
        if game.board is None:
            return f"<pre>{escape(repr(self))}</pre>"
        last = NO_CELL
        if at.before is not None and (cell := game.cell_of(at.before, at.actions[-1])) is not None:
            last = cell
        return framed(draw(game.board, at.state, last), self.message)


def framed(picture: str, text: str) -> str:
    """Return HTML of a picture of at most 24 rem with a line below it."""
    return f'<div style="max-width:24rem">{picture}<p>{escape(text)}</p></div>'
