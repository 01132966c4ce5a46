"""Fixed opponents (anchors) that champions are rated against, and the games with them.

They never learn: a random player, UCT with several numbers of simulations, and exact play in games that are
small enough to solve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from azero.config.schema import EvaluateConfig
from azero.games.game import Game
from azero.match.elo_table import ZERO, Result
from azero.match.lockstep import Watch, distinct_pairs, play_match
from azero.match.openings import varied_openings
from azero.match.rating import count_results
from azero.players import Player, make_player
from azero.players.perfect import MOST_PLIES, solved_moves
from azero.process import seeds

EXACT = "perfect"
LINKS = 20  # matches between two neighbouring anchors, which give them their ratings
LINK_GAMES = 10  # in each


class Field:
    """Several opponents as one player: the first plays games 0 to `games` - 1, the next the same number."""

    name = "field"
    deterministic = False

    def __init__(self, players: Sequence[Player], games: int) -> None:
        """`games`: of each player."""
        self.players, self.games = players, games

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; see `Player.new_games`."""
        for player in self.players:
            player.new_games(seeds)

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a move for each position from the player of that game; see `Player.choose`."""
        actions, whose = np.zeros(len(games), np.int64), games // self.games
        for place in np.unique(whose):
            rows = whose == place
            barred = None if banned is None else banned[rows]
            actions[rows] = self.players[place].choose(states[rows], games[rows], plies[rows], barred)
        return actions


class Anchors:
    """The fixed opponents of a run.

    Attributes:
        names: weakest first.
        missing: neighbours that have not met in this run.
    """

    def __init__(self, game: Game, evaluate: EvaluateConfig, results: Sequence[Result]) -> None:
        """Name the opponents, by the results of the run so far."""
        self.game, self.games = game, evaluate.anchor_games
        exact = [EXACT] if plays_exactly(game) else []
        self.names = [ZERO, *(f"uct {number}" for number in evaluate.anchors), *exact]
        self.known = {result[:2] for result in results}
        self.missing = [pair for pair in pairwise(self.names) if pair not in self.known]

    @property
    def most_games(self) -> int:
        """Return the most games of a cycle: the champion's, and those that anchors still have to play."""
        return self.games * (len(self.names) + 1) + LINKS * LINK_GAMES * len(self.missing)

    def meet_each_other(self, watch: Watch, workers: int) -> list[Result]:
        """Let neighbours meet that have not yet, in threads. The games are the same in every run."""

        def play(pair: tuple[str, str], source: np.random.SeedSequence) -> Result:
            one, other = (make_anchor(self.game, name) for name in pair)
            (result,) = meet(self.game, pair[0], one, {pair[1]: other}, LINK_GAMES, source, watch)
            return result

        pairs = [pair for pair in self.missing for _ in range(LINKS)]
        sources = [each for _ in self.missing for each in seeds.sequence(0, 0, seeds.ANCHORS).spawn(LINKS)]
        with ThreadPoolExecutor(workers) as threads:
            results = list(threads.map(play, pairs, sources))
        return [add_up([result for result in results if result[:2] == pair]) for pair in self.missing]

    def meet(
        self, players: Mapping[str, Player], source: np.random.SeedSequence, watch: Watch, workers: int
    ) -> list[Result]:
        """Let the first of some players meet all anchors and the other players.

        A champion meets exact play once: neither varies, and a small game has few openings.
        """
        (name, player), *others = players.items()
        names = [anchor for anchor in self.names if anchor != EXACT or (name, EXACT) not in self.known]
        opponents = {anchor: make_anchor(self.game, anchor) for anchor in names} | dict(others)
        return meet(self.game, name, player, opponents, self.games, source, watch, workers)


def add_up(results: Sequence[Result]) -> Result:
    """Return several results of the same two players as one."""
    return Result(*results[0][:2], *np.sum([result[2:] for result in results], axis=0).tolist())


def plays_exactly(game: Game) -> bool:
    """Return whether exact play is known for every position."""
    return game.max_plies <= MOST_PLIES and not game.repetition_words and bool(solved_moves(game))


def make_anchor(game: Game, name: str) -> Player:
    """Return the fixed opponent of that name, such as "uct 100"."""
    if name == EXACT:
        return make_player(EXACT, game, table=0)  # it never searches
    kind, _, simulations = name.partition(" ")
    if not simulations:
        return make_player(kind, game)
    return make_player(kind, game, num_simulations=int(simulations))


def meet(
    game: Game,
    name: str,
    player: Player,
    opponents: Mapping[str, Player],
    games: int,
    source: np.random.SeedSequence,
    watch: Watch,
    workers: int = 1,
) -> list[Result]:
    """Let a player meet each of its opponents, all games at once. Repeated pairs count once.

    The openings are random, different, as short as possible, and the same against each opponent.
    """
    openings = varied_openings(game, games // 2, source)
    field = Field(list(opponents.values()), games)
    game_seeds = source.generate_state(games * len(opponents), np.uint64)
    played = play_match(game, (player, field), game_seeds, openings * len(opponents), watch, workers).games
    results = []
    for place, other in enumerate(opponents):
        part = distinct_pairs(played[place * games : (place + 1) * games])
        results.append(Result(name, other, *count_results([game.outcome for game in part])))
    return results
