"""Let a champion move first against perfect play or every reply, and find the mistakes that cost it a win."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.match.rating import score_interval
from azero.players import Player
from azero.report.console import format_interval, format_share, table_text
from azero.truth.positions import worth
from azero.truth.solvers import Oracle


class Played(NamedTuple):
    """One game of a champion."""

    moves: tuple[int, ...]
    outcome: float  # for the champion


def count(games: Sequence[Played]) -> dict[str, int]:
    """Return how the games ended by name, such as "wins" and, among the different games, "distinct_wins"."""
    wins, draws, losses = (sum(each.outcome == outcome for each in games) for outcome in (1.0, 0.0, -1.0))
    distinct = set(games)
    stats = {"wins": wins, "draws": draws, "losses": losses, "games": len(games), "distinct": len(distinct)}
    ends = {
        f"distinct_{name}": sum(each.outcome == outcome for each in distinct)
        for name, outcome in (("wins", 1), ("losses", -1))
    }
    return stats | ends


def results_text(stats: Mapping[str, int], end: str) -> str:
    """Return two lines: the results, and the share of an end, "wins" or "losses", with its interval."""
    games, distinct, share = stats["games"], stats["distinct"], stats[end] / stats["games"]
    low, high = score_interval(stats[f"distinct_{end}"], 0, distinct - stats[f"distinct_{end}"])
    results = ", ".join(f"{stats[name]} {name}" for name in ("wins", "draws", "losses"))
    return (
        f"{results} of {games} games, {distinct} of them distinct\n"
        f"{end} {format_share(share, 1)}; of the distinct games, 95 % interval {format_interval(low, high)}"
    )


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


def play(
    game: Game,
    champion: Player,
    opponent: PerfectOpponent,
    games: int,
    watch: Callable[[int, int], object] = lambda ended, ply: None,
) -> list[Played]:
    """Play games side by side, ply by ply, of a game in which players alternate; the champion moves first.

    A deterministic champion's games differ by the replies alone, so some of them may be equal. `watch`
    receives after each ply how many games have ended, and the ply.
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
        watch(games - len(playing), ply)
    return [Played(tuple(line), game.first_outcome(state)) for line, state in zip(moves, states, strict=True)]


def first_mistake(game: Game, oracle: Oracle, moves: Sequence[int]) -> int:
    """Return the ply of the champion's first move that did not keep the win, counted from 1."""
    for ply in range(0, len(moves), 2):
        scores = oracle.score_moves(reduce(game.step, moves[:ply], game.initial_state()))
        if scores[moves[ply]] <= 0:
            return ply + 1
    raise AssertionError("a game that is not won has a mistake")


BOOK_PLIES = 11  # of the solver; without its book a position takes up to 250 ms
Lines = dict[bytes, tuple[np.ndarray, tuple[int, ...]]]  # states and the moves that led there, by bytes


class Replies(NamedTuple):
    """A champion's answers at one of its plies, whatever the other player replied before.

    Attributes:
        ply: counted from 1.
        positions: how many distinct ones are reached; the champion wins all of them under perfect play.
        mistakes: the moves up to each mistake, the mistake last.
    """

    ply: int
    positions: int
    mistakes: list[tuple[int, ...]]


def try_replies(
    game: Game,
    answer: Callable[[np.ndarray, np.ndarray], np.ndarray],
    oracle: Oracle,
    plies: int,
    most: int,
    rng: np.random.Generator,
) -> Iterator[Replies]:
    """Yield a champion's answers at its first, third, ... ply up to `plies`.

    The first player, who is the champion, wins the game, and players alternate. No line goes on after a
    mistake. Mirror images count apart, because a network may judge them differently. After BOOK_PLIES the
    positions of a ply are a sample.

    Args:
        game: the rules.
        answer: the champion. It takes states [P, S] and plies [P] and returns its moves [P].
        oracle: judges the moves.
        plies: where to stop.
        most: how many positions of a later ply are drawn.
        rng: draws them.
    """
    lines: Lines = {b"": (game.initial_state(), ())}
    for ply in range(0, plies, 2):
        states, mistakes = np.stack([state for state, _ in lines.values()]), list[tuple[int, ...]]()
        later: Lines = {}
        actions = answer(states, np.full(len(states), ply)).tolist()
        for (state, moves), action in zip(lines.values(), actions, strict=True):
            if oracle.score_moves(state)[action] <= 0:
                mistakes.append((*moves, action))
            else:
                later |= successors(game, game.step(state, action), (*moves, action))
        yield Replies(ply + 1, len(states), mistakes)
        lines = later if ply + 2 < BOOK_PLIES else draw(later, most, rng)
        if not lines:
            return


def draw(lines: Lines, most: int, rng: np.random.Generator) -> Lines:
    """Return at most that many of the lines, in their order."""
    if len(lines) <= most:
        return lines
    keys = list(lines)
    return {keys[i]: lines[keys[i]] for i in sorted(rng.choice(len(keys), most, replace=False))}


def successors(game: Game, state: np.ndarray, moves: tuple[int, ...]) -> Lines:
    """Return the unfinished positions after each legal move in a state, and the moves that led there."""
    actions = [] if game.is_terminal(state) else game.legal_actions(state)
    after = [(game.step(state, action), (*moves, action)) for action in actions]
    return {each[0].tobytes(): each for each in after if not game.is_terminal(each[0])}


def report_text(game: Game, oracle: Oracle, games: Sequence[Played]) -> str:
    """Return the results, and each different game that is not won with its first mistake."""
    lines = [results_text(count(games), "wins")]
    for each in dict.fromkeys(each for each in games if each.outcome < 1):
        end = "drawn" if each.outcome == 0 else "lost"
        moves = " ".join(game.move_names(each.moves))
        lines.append(f"{end}, first mistake at ply {first_mistake(game, oracle, each.moves)}: {moves}")
    return "\n".join(lines)


def replies_text(game: Game, found: Sequence[Replies]) -> str:
    """Return a table of the plies, and the moves up to each mistake."""
    mistakes = [" ".join(game.move_names(moves)) for each in found for moves in each.mistakes]
    rows = [["ply", "positions", "mistakes"]]
    rows += [[str(each.ply), f"{each.positions:,}", str(len(each.mistakes))] for each in found]
    rows.append(["all", f"{sum(each.positions for each in found):,}", str(len(mistakes))])
    heading = ["The moves up to each mistake, the mistake last:"] if mistakes else []
    return "\n".join([table_text(rows), *heading, *mistakes])
