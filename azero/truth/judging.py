"""Ask players about positions whose scores are known, and judge their answers.

A *mistake* is a move that does not keep the game's value: it throws a win or a draw away. A slow win or a
fast loss is not a mistake, but it is not a best move either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.network.inference import Inference
from azero.players.policy import PolicyPlayer
from azero.players.pv_mcts import PvMcts
from azero.truth.hex_openings import opening_states, opening_values
from azero.truth.positions import ILLEGAL, PositionSet

BATCHES_AT_ONCE = 4  # of positions in a search: some wait for the network while others descend


class Answers(NamedTuple):
    """What a player answers."""

    moves: np.ndarray  # [P] int64
    values: np.ndarray  # [P] float64 in [-1, 1], for the player to move


class Stats(NamedTuple):
    """How good answers are."""

    positions: int
    keeps_value: float  # share of moves that keep win, draw or loss; the others are mistakes
    best_move: float  # share that keep it by the fastest win or the longest loss
    value_error: float  # mean distance between the value and the exact one, 0 to 2

    @property
    def mistakes(self) -> int:
        """Moves that do not keep the value."""
        return round(self.positions * (1 - self.keeps_value))


class OpeningStats(NamedTuple):
    """How well a network knows the first moves of Hex."""

    values: np.ndarray  # [A] float64, the network's value after each, for the second player
    right: np.ndarray  # [A] bool, it has the sign of the exact one
    value_error: float  # mean distance between them, 0 to 2


def judge_openings(game: Game, inference: Inference) -> OpeningStats:
    """Compare a network's values after the first moves of Hex with the exact ones; see `has_openings`."""
    values, exact = ask_network(game, inference, opening_states(game)).values, opening_values(game)
    return OpeningStats(values, np.sign(values) == exact, float(np.abs(values - exact).mean()))


def judge(asked: PositionSet, answers: Answers) -> Stats:
    """Compare answers with the exact scores."""
    chosen = np.take_along_axis(asked.scores, answers.moves[:, None], axis=1)[:, 0]
    best = asked.best
    return Stats(
        positions=len(best),
        keeps_value=float((np.sign(chosen) == np.sign(best)).mean()),
        best_move=float((chosen == best).mean()),
        value_error=float(np.abs(answers.values - asked.values).mean()),
    )


def random_mistakes(asked: PositionSet) -> float:
    """Return the share of mistakes of uniformly random legal moves, exactly: the mean over positions."""
    legal = asked.scores != ILLEGAL
    wrong = legal & (np.sign(asked.scores) != np.sign(asked.best)[:, None])
    return float((wrong.sum(axis=1) / legal.sum(axis=1)).mean())


def judge_all(sets: Sequence[PositionSet], answers: Answers) -> list[Stats]:
    """Compare answers to the positions of all sets, in their order, with the exact scores."""
    ends = np.cumsum([len(each.states) for each in sets])[:-1]
    parts = zip(*(np.split(column, ends) for column in answers), strict=True)
    return [judge(each, Answers(*part)) for each, part in zip(sets, parts, strict=True)]


def mean_of(stats: Sequence[Stats]) -> Stats:
    """Return the mean over sets, each with the same weight."""
    keeps_value, best_move, value_error = np.mean([each[1:] for each in stats], axis=0).tolist()
    return Stats(sum(each.positions for each in stats), keeps_value, best_move, value_error)


def ask_network(game: Game, inference: Inference, states: np.ndarray) -> Answers:
    """Return the network's likeliest legal move, the first of equals, and its value for states [P, S]."""
    policies, values = PolicyPlayer(game, inference).ask(states)
    return Answers(policies.argmax(axis=1), values)


def ask_search(
    game: Game,
    inferences: Sequence[Inference],
    search: SearchConfig,
    states: np.ndarray,
    plies: np.ndarray,
    watch: Callable[[float], object] = lambda done: None,
) -> Answers:
    """Return the move and the root value of a search of states [P, S] after `plies` [P].

    Each search starts with an empty tree and has no noise. Each inference takes a part of the positions in a
    thread of its own; the answers do not depend on the number of threads. `watch` often receives how many
    positions are done, with the share of those under way, in any of the threads.
    """
    alone = replace(search, tree_reuse=False)
    parts = np.array_split(np.arange(len(states)), len(inferences))
    done = [0.0] * len(inferences)

    def work(place: int) -> Answers:
        def count(share: float) -> None:
            done[place] = share * len(parts[place])
            watch(sum(done))

        player, rows = PvMcts(game, inferences[place], alone), parts[place]
        return search_on(player, states[rows], plies[rows], count)

    with ThreadPoolExecutor(len(inferences)) as workers:
        found = list(workers.map(work, range(len(inferences))))
    return Answers(*(np.concatenate(column) for column in zip(*found, strict=True)))


def search_on(
    player: PvMcts, states: np.ndarray, plies: np.ndarray, watch: Callable[[float], object]
) -> Answers:
    """Return the answers of one player, in one thread; `watch` receives the share that is done."""
    moves, values = np.zeros(len(states), np.int64), np.zeros(len(states))
    size = BATCHES_AT_ONCE * player.inference.batch_size
    for start in range(0, len(states), size):
        here = slice(start, start + size)
        games = np.arange(len(states[here]))
        player.new_games(np.zeros(len(games), np.uint64))
        player.begin(states[here], games, plies[here])
        while len(player.thinking):
            decided, actions = player.think_on()
            moves[start + decided] = actions
            left = player.tree.searches["simulations_left"][player.thinking].sum()
            watch((start + len(games) - left / player.search.num_simulations) / len(states))
        values[here] = player.root_values(games)
    return Answers(moves, values)
