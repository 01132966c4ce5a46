"""Let a champion move first against perfect play, and find the mistakes that cost it a win."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from azero.games.game import Game
from azero.match.played import Played, count, results_text
from azero.players import Player
from azero.truth.positions import worth
from azero.truth.solvers import Oracle


class PerfectOpponent:
    """Replies with a move of the best exact score, so that it loses as late as it can.

    Of equally good moves it draws one, each as likely. It asks the oracle once for each state.
    """

    def __init__(self, oracle: Oracle, rng: np.random.Generator) -> None:
        self.oracle, self.rng = oracle, rng
        self.known: dict[bytes, np.ndarray] = {}

    def reply(self, state: np.ndarray) -> int:
        """Return one of the best moves of an unfinished state [S]."""
        key = state.tobytes()
        if key not in self.known:
            ranks = worth(self.oracle.score_moves(state))
            self.known[key] = np.flatnonzero(ranks == ranks.max())
        return int(self.rng.choice(self.known[key]))


def play(game: Game, champion: Player, opponent: PerfectOpponent, games: int) -> list[Played]:
    """Play games side by side, ply by ply, of a game in which players alternate; the champion moves first.

    A deterministic champion's games differ by the replies alone, so some of them may be equal.
    """
    champion.new_games(np.arange(games, dtype=np.uint64))
    states, moves = np.stack([game.initial_state()] * games), [list[int]() for _ in range(games)]
    playing, ply = np.arange(games), 0
    while len(playing):
        if ply % 2 == 0:
            actions = champion.choose(states[playing], playing, np.full(len(playing), ply))
        else:
            actions = np.array([opponent.reply(state) for state in states[playing]])
        for place, action in zip(playing.tolist(), actions.tolist(), strict=True):
            moves[place].append(action)
            states[place] = game.step(states[place], action)
        unfinished = [place for place in playing if not game.is_terminal(states[place])]
        playing, ply = np.array(unfinished, np.int64), ply + 1
    return [Played(tuple(line), game.first_outcome(state)) for line, state in zip(moves, states, strict=True)]


def first_mistake(game: Game, oracle: Oracle, moves: Sequence[int]) -> int:
    """Return the ply of the champion's first move that did not keep the win, counted from 1."""
    for ply in range(0, len(moves), 2):
        scores = oracle.score_moves(reduce(game.step, moves[:ply], game.initial_state()))
        if scores[moves[ply]] <= 0:
            return ply + 1
    raise AssertionError("a game that is not won has a mistake")


def report_text(game: Game, oracle: Oracle, games: Sequence[Played]) -> str:
    """Return the results, and each different game that is not won with its first mistake."""
    lines = [results_text(count(games), "wins")]
    for each in dict.fromkeys(each for each in games if each.outcome < 1):
        end = "drawn" if each.outcome == 0 else "lost"
        moves = " ".join(map(game.action_name, each.moves))
        lines.append(f"{end}, first mistake at ply {first_mistake(game, oracle, each.moves)}: {moves}")
    return "\n".join(lines)
