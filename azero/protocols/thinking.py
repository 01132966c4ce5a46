"""One player that moves and analyses on a client's board, and stops when the client says so.

Searches run in the caller's thread and ask `stopping` many times a second, so nothing needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from azero.cli.player_spec import PlayerSpec, make_from_spec, schema_of, seconds_a_move
from azero.config.schema import Config, settings
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Report, ThinkingPlayer, Thought, never
from azero.players.growing import grow, growing_search
from azero.players.pv_mcts import most_simulations

MOST_SIMULATIONS = 200_000  # of a search with a network that only time limits; more would be slow to begin


class Thinker:
    """A player of any kind, for one game at a time.

    Attributes:
        player: the player as the command line describes it.
        latest: the player that moved last, `player` or `timed()`.
    """

    def __init__(self, spec: PlayerSpec, game: Game, config: Config, seed: int = 1) -> None:
        """Make the player; UserError: it cannot play this game."""
        self.spec, self.game, self.config, self.seed = spec, game, config, seed
        self.player = self.latest = make_from_spec(spec, game, config, one_game=True)
        self._timed: ThinkingPlayer | None = None
        self.begin_game(self.player)

    @property
    def keeps_time(self) -> bool:
        """Whether the player can be given seconds for a move."""
        return "seconds" in settings(schema_of(self.spec))

    @property
    def own_seconds(self) -> float:
        """The seconds for a move that the spec gives; 0: none."""
        return seconds_a_move(self.spec)

    def timed(self) -> ThinkingPlayer:
        """Return the player for moves within a time, and for analyses. The first call takes seconds."""
        if self._timed is None:
            self._timed = self.make_timed()
            self.begin_game(self._timed)
        return self._timed

    def make_timed(self) -> ThinkingPlayer:
        """Make the player for moves within a time.

        Without a number of simulations in its spec it searches as long as it may. A search algorithm that
        cannot end early is replaced by PUCT.
        """
        if not self.keeps_time or self.own_seconds:
            return self.player
        options = {**self.spec.options, "seconds": 1.0}
        if schema_of(self.spec).keeps_tree:
            most = min(MOST_SIMULATIONS, most_simulations(self.game, tree_reuse=True))
            options = {"num_simulations": most, **options}
        player = make_from_spec(replace(self.spec, options=options), self.game, self.config, one_game=True)
        player.keep_trees()  # what pondering found serves the next search
        return player

    def begin_game(self, player: ThinkingPlayer) -> None:
        """Let a player forget the game before."""
        player.new_games(np.array([self.seed % 2**64], np.uint64))

    def warm_up(self) -> None:
        """Compile a search that can be stopped, before a client waits for its first move."""
        self.choose(GameInProgress(self.game), stopping=lambda: True)
        self.begin_game(self.player)

    def new_game(self) -> None:
        """Begin another game, with other random numbers."""
        self.seed += 1
        self.begin_game(self.player)
        if self._timed is not None:
            self.begin_game(self._timed)

    def choose(
        self,
        at: GameInProgress,
        seconds: float = 0.0,
        stopping: Callable[[], bool] = never,
        report: Report | None = None,
        saves_time: bool = True,
        most: int = 0,
    ) -> Thought:
        """Return the player's move in a game that is not over; arguments as for `ThinkingPlayer.think`.

        A forced move under a clock is not thought about if that saves time.
        """
        player = self.latest = self.timed() if seconds else self.player
        if seconds and saves_time and len(legal := at.legal_actions()) == 1:
            return Thought(legal[0])
        return player.think(at, shorter(self.own_seconds, seconds), stopping, report, most)

    def analyse(
        self,
        at: GameInProgress,
        stopping: Callable[[], bool],
        report: Report,
        every: float,
        banned: np.ndarray | None = None,
        lasting: bool = True,
    ) -> None:
        """Search a position that is not over until `stopping`.

        Args:
            at: the game.
            stopping, report, every, lasting: as for `growing.grow`.
            banned: further moves to leave out, [A] bool.

        Raises:
            UserError: the player has no search that grows.
        """
        search = growing_search(self.timed())
        bans = [each for each in (at.banned(), banned) if each is not None]
        search.begin(at.state, np.logical_or.reduce(bans) if bans else None)
        grow(search, stopping, report, every, lasting)

    def ponder(self, at: GameInProgress, stopping: Callable[[], bool]) -> None:
        """Search a position in the opponent's time until `stopping` or all simulations are done."""
        if not at.is_over:
            self.latest.ponder(at, stopping)


def shorter(one: float, other: float) -> float:
    """Return the shorter of two times, where 0 is no limit."""
    return min(one, other) if one and other else one or other


def can_ponder(spec: PlayerSpec) -> bool:
    """Return whether thinking in the opponent's time helps the player's next move."""
    return schema_of(spec).keeps_tree
