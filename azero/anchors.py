"""Fixed opponents (anchors) that champions are rated against, and the games with them.

They never learn: a random player, UCT with several numbers of simulations, and exact play in games small enough to be listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from azero import seeds
from azero.config import EvaluateConfig
from azero.elo_table import ZERO, Result
from azero.games.game import Game
from azero.match import Watch, distinct_pairs, play_match
from azero.openings import varied_openings
from azero.players import Player, make_player
from azero.players.perfect import MOST_PLIES, solved_moves
from azero.rating import count_results

EXACT = "perfect"
LINKS = 20  # matches between two anchors that are neighbours, by which their places are found
LINK_GAMES = 10  # in each


class Field:
    """Several opponents as one player: each plays so many games, the first of them the first games."""

    name = "field"
    deterministic = False

    def __init__(self, players: Sequence[Player], games: int) -> None:
        """`games`: of each player."""
        self.players, self.games = players, games

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; see `Player.new_games`."""
        for player in self.players:
            player.new_games(seeds)

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """A move for each position by the player whose game it is; see `Player.choose`."""
        actions, whose = np.zeros(len(games), np.int64), games // self.games
        for place in np.unique(whose):
            rows = whose == place
            barred = None if banned is None else banned[rows]
            actions[rows] = self.players[place].choose(states[rows], games[rows], plies[rows], barred)
        return actions


class Anchors:
    """The fixed opponents of a run.

    Attributes:
        game: what they play.
        names: of all of them, weakest first.
        missing: neighbours among them that have not met in this run, and so have no places yet.
    """

    def __init__(self, game: Game, evaluate: EvaluateConfig, results: Sequence[Result]) -> None:
        """`results`: of the run so far."""
        self.game, self.games = game, evaluate.anchor_games
        exact = [EXACT] if plays_exactly(game) else []
        self.names = [ZERO, *(f"uct {number}" for number in evaluate.anchors), *exact]
        self.known = {result[:2] for result in results}
        self.missing = [pair for pair in pairwise(self.names) if pair not in self.known]

    @property
    def most_games(self) -> int:
        """How many games a cycle may have: the champion's, one more opponent for the champion before it, and those missing."""
        return self.games * (len(self.names) + 1) + LINKS * LINK_GAMES * len(self.missing)

    def meet_each_other(self, watch: Watch, lanes: int) -> list[Result]:
        """Let neighbours meet that have not yet, in so many threads with players of their own: the same games in every run."""

        def play(link: tuple[str, str, np.random.SeedSequence]) -> list[Result]:
            one, other, source = link
            opponent = {other: make_anchor(self.game, other)}
            return meet(self.game, one, make_anchor(self.game, one), opponent, LINK_GAMES, source, watch)

        links = [(*pair, source) for pair in self.missing for source in seeds.sequence(0, 0, seeds.ANCHORS).spawn(LINKS)]
        with ThreadPoolExecutor(lanes) as threads:
            results = [result for found in threads.map(play, links) for result in found]
        return [add_up([result for result in results if result[:2] == pair]) for pair in self.missing]

    def meet(self, players: Mapping[str, Player], source: np.random.SeedSequence, watch: Watch, lanes: int) -> list[Result]:
        """Let the first of some players meet all anchors and the other players.

        A champion meets exact play once: neither varies, and in a game small enough most openings of later cycles come again.
        """
        (name, player), *others = players.items()
        names = [anchor for anchor in self.names if anchor != EXACT or (name, EXACT) not in self.known]
        opponents = {anchor: make_anchor(self.game, anchor) for anchor in names} | dict(others)
        return meet(self.game, name, player, opponents, self.games, source, watch, lanes)


def make_anchor(game: Game, name: str) -> Player:
    """The fixed opponent of that name, such as "uct 100"."""
    if name == EXACT:
        return make_player(EXACT, game, table=0)  # it never searches
    kind, _, simulations = name.partition(" ")
    return make_player(kind, game, num_simulations=int(simulations)) if simulations else make_player(kind, game)


def plays_exactly(game: Game) -> bool:
    """Whether exact play is known of every position."""
    return game.max_plies <= MOST_PLIES and not game.repetition_words and bool(solved_moves(game))


def meet(
    game: Game,
    name: str,
    player: Player,
    opponents: Mapping[str, Player],
    games: int,
    source: np.random.SeedSequence,
    watch: Watch,
    lanes: int = 1,
) -> list[Result]:
    """Let a player meet each of its opponents in so many games, all side by side; pairs that repeat others are not counted.

    The openings are random, as short as makes them all different, and the same against each opponent.
    """
    openings = varied_openings(game, games // 2, source)
    field = Field(list(opponents.values()), games)
    game_seeds = source.generate_state(games * len(opponents), np.uint64)
    played = play_match(game, (player, field), game_seeds, openings * len(opponents), watch, lanes).games
    parts = [played[start : start + games] for start in range(0, len(played), games)]
    outcomes = [[game.outcome for game in distinct_pairs(part)] for part in parts]
    return [Result(name, other, *count_results(each)) for other, each in zip(opponents, outcomes, strict=True)]


def add_up(results: Sequence[Result]) -> Result:
    """Several results of the same two players as one."""
    one, other = results[0][:2]
    return Result(one, other, *(sum(counts) for counts in zip(*(result[2:] for result in results), strict=True)))
