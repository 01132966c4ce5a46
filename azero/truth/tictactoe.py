"""Judge players of tic-tac-toe: fixed positions, all positions, every game of an opponent.

Letters: P positions, A actions, S state words.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import partial, reduce
from typing import TextIO

import numpy as np

from azero.classic.solve import Solution, solve
from azero.config.schema import UserError
from azero.games.game import Game
from azero.players import Player, make_player
from azero.process.machine import cores
from azero.report.console import is_terminal, make_rich_console, table_text
from azero.truth.known import has_table

# moves played so far: the replies that keep the draw; cells row by row
FIXED_POSITIONS: dict[tuple[int, ...], frozenset[int]] = {
    (0,): frozenset({4}),
    (1,): frozenset({0, 2, 4, 7}),
    (2,): frozenset({4}),
    (3,): frozenset({0, 4, 5, 6}),
    (4,): frozenset({0, 2, 6, 8}),
    (5,): frozenset({2, 3, 4, 8}),
    (6,): frozenset({4}),
    (7,): frozenset({1, 4, 6, 8}),
    (8,): frozenset({4}),
    (0, 4, 8): frozenset({1, 3, 5, 7}),
    (2, 4, 6): frozenset({1, 3, 5, 7}),
}
UCT_RUNS = 100
UCT_SIMULATIONS = 100

FIXED_LEGEND = f"""PV-MCTS: the champion with its search; raw policy: its network alone.
UCT {UCT_SIMULATIONS}: {UCT_SIMULATIONS} simulations without a network, the mean of many runs.
A column is named by the moves played so far, cells 0 to 8.
yes: the reply keeps the draw; no: it loses."""
EXACT_LEGEND = """keeps the value: positions in which its move throws no win and no draw away.
games lost: of all games that an opponent can make of it."""


@dataclass(frozen=True)
class PlayerStats:
    """The stats of one player; for a stochastic player, means over runs.

    Attributes:
        name: for the table.
        right: for each of FIXED_POSITIONS the share of runs with a right reply; 1.0 or 0.0 for one run.
        keeps_value: share of all unfinished positions in which its move keeps the exact value.
        losses_first, losses_second: games that it loses as first and as second player.
        games_first, games_second: of how many that an opponent can make of it.
    """

    name: str
    right: tuple[float, ...]
    keeps_value: float
    losses_first: float
    losses_second: float
    games_first: float
    games_second: float

    @property
    def fixed(self) -> float:
        """Fixed positions with a right reply, 0 to 11."""
        return float(sum(self.right))

    @property
    def perfect(self) -> bool:
        """Whether all replies to the fixed positions are right."""
        return all(share == 1.0 for share in self.right)


@dataclass(frozen=True)
class CorrectnessStats:
    """The stats of a champion, with and without its search."""

    search: PlayerStats
    policy: PlayerStats

    def scalars(self) -> dict[str, float]:
        """Return the stats by tag."""
        return {
            f"correctness/{stat}_{how}": getattr(player, stat)
            for how, player in (("search", self.search), ("policy", self.policy))
            for stat in ("fixed", "keeps_value", "losses_first", "losses_second")
        }


class TicTacToeQuestions:
    """Asks players about all positions and judges their answers. One object serves many players."""

    def __init__(self, game: Game) -> None:
        """Solve the game.

        Raises:
            UserError: the game is not tic-tac-toe.
        """
        if not has_table(game.name):
            raise UserError(f"there is no table for {game.name}; the fixed positions are those of tictactoe.")
        self.game = game
        self.solution = solve(game)
        self.rows = np.flatnonzero(self.solution.unfinished)  # of the solution, to ask about
        self.states = np.ascontiguousarray(self.solution.states[self.rows])
        self.plies = plies_of(self.solution)[self.rows]
        step = self.solution.successor
        self.fixed = [int(reduce(lambda row, move: step[row, move], moves, 0)) for moves in FIXED_POSITIONS]

    def ask(self, player: Player, seed: int = 0) -> np.ndarray:
        """Return the player's move in every position: [P] int64, -1 where the game is over."""
        seeds = np.random.SeedSequence([seed]).generate_state(len(self.rows), np.uint64)
        player.new_games(seeds)
        moves = np.full(len(self.solution.states), -1, np.int64)
        moves[self.rows] = player.choose(self.states, np.arange(len(self.rows)), self.plies)
        return moves

    def ask_fixed(self, player: Player, runs: int) -> np.ndarray:
        """Return whether the player was right in the fixed positions, asked `runs` times: [runs, 11] bool."""
        rows = np.tile(self.fixed, runs)
        places = np.searchsorted(self.rows, rows)
        player.new_games(np.random.SeedSequence([runs]).generate_state(len(rows), np.uint64))
        moves = player.choose(self.states[places], np.arange(len(rows)), self.plies[places])
        replies = list(FIXED_POSITIONS.values())
        return np.array([move in replies[k % len(replies)] for k, move in enumerate(moves)]).reshape(runs, -1)

    def judge(self, name: str, moves: np.ndarray) -> PlayerStats:
        """Return the stats of a player that plays `moves` [P]."""
        replies = FIXED_POSITIONS.values()
        losses_first, games_first = exhaustive_play(self.solution, moves, side=0)
        losses_second, games_second = exhaustive_play(self.solution, moves, side=1)
        return PlayerStats(
            name=name,
            right=tuple(float(moves[row] in right) for row, right in zip(self.fixed, replies, strict=True)),
            keeps_value=float(self.solution.keeps_value(self.rows, moves[self.rows]).mean()),
            losses_first=losses_first,
            losses_second=losses_second,
            games_first=games_first,
            games_second=games_second,
        )


def plies_of(solution: Solution) -> np.ndarray:
    """Return the ply at which each position is first reached: [P] int64."""
    plies = np.zeros(len(solution.states), np.int64)
    reached, ply = np.zeros(1, np.int64), 0
    while len(reached):
        plies[reached] = ply
        below = solution.successor[reached]
        reached, ply = np.unique(below[below >= 0]), ply + 1
    return plies


def exhaustive_play(solution: Solution, moves: np.ndarray, side: int) -> tuple[int, int]:
    """Play a player against every line of the opponent.

    Args:
        solution: the solved game.
        moves: [P] int64, the player's move in each position.
        side: 0 if it moves first, 1 if second.

    Returns:
        games that it loses, and games in all; a game is one sequence of moves.
    """
    count = np.zeros(len(solution.states), np.int64)  # games that stand at each position
    count[0] = 1
    lost = games = 0
    while True:
        here = np.flatnonzero(count)
        over = here[solution.terminal[here]]
        value = np.where(solution.to_play[over] == side, solution.value[over], -solution.value[over])
        lost += int(count[over[value < 0]].sum())
        games += int(count[over].sum())
        here = here[~solution.terminal[here]]
        if not len(here):
            return lost, games
        own = here[solution.to_play[here] == side]
        others = here[solution.to_play[here] != side]
        rows, actions = np.nonzero(solution.successor[others] >= 0)
        below = np.zeros_like(count)
        np.add.at(below, solution.successor[own, moves[own]], count[own])
        np.add.at(below, solution.successor[others[rows], actions], count[others[rows]])
        count = below


def check_champion(
    player_search: Player, player_policy: Player, game: Game, questions: TicTacToeQuestions | None = None
) -> CorrectnessStats:
    """Return the stats of a champion: of its PV-MCTS at temperature 0, and of its raw policy.

    Cheap enough for every cycle; `questions` may be shared between calls.

    Raises:
        UserError: the game is not tic-tac-toe.
    """
    questions = questions or TicTacToeQuestions(game)
    return CorrectnessStats(
        questions.judge("PV-MCTS", questions.ask(player_search)),
        questions.judge("raw policy", questions.ask(player_policy)),
    )


def alpha_beta_stats(questions: TicTacToeQuestions) -> PlayerStats:
    """Return the stats of negamax with alpha-beta, which must be perfect."""
    return questions.judge("alpha-beta", questions.ask(make_player("alpha_beta", questions.game)))


def uct_stats(
    questions: TicTacToeQuestions, runs: int = UCT_RUNS, num_simulations: int = UCT_SIMULATIONS
) -> PlayerStats:
    """Return the mean stats of plain UCT over `runs` runs; all positions over a tenth of them."""
    make_uct = partial(make_player, "uct", questions.game, num_simulations=num_simulations)

    def one_run(seed: int) -> PlayerStats:
        return questions.judge("", questions.ask(make_uct(), seed))

    with ThreadPoolExecutor(cores()) as pool:  # kernels release the GIL
        everywhere = mean_stats(f"UCT {num_simulations}", list(pool.map(one_run, range(max(1, runs // 10)))))
    right = questions.ask_fixed(make_uct(), runs)
    return replace(everywhere, right=tuple(right.mean(axis=0).tolist()))


def mean_stats(name: str, stats: Sequence[PlayerStats]) -> PlayerStats:
    """Return the mean of each stat."""
    _, *columns = zip(*(astuple(each) for each in stats), strict=True)
    right, *means = (np.mean(column, axis=0).tolist() for column in columns)
    return PlayerStats(name, tuple(right), *means)


def full_table(player_search: Player, player_policy: Player, game: Game) -> list[PlayerStats]:
    """Return the rows of the table: alpha-beta, the champion's search, its raw policy, UCT."""
    questions = TicTacToeQuestions(game)
    champion = check_champion(player_search, player_policy, game, questions)
    return [alpha_beta_stats(questions), champion.search, champion.policy, uct_stats(questions)]


def fixed_table(table: Sequence[PlayerStats]) -> list[list[str]]:
    """Return the table of the fixed positions, header first: yes and no, or the shares of many runs."""
    rows = [["right after", *("".join(map(str, moves)) for moves in FIXED_POSITIONS), "of 11"]]
    for each in table:
        runs = any(share not in (0.0, 1.0) for share in each.right)
        cells = [f"{share:.0%}" if runs else "yes" if share else "no" for share in each.right]
        rows.append([each.name, *cells, f"{each.fixed:.3g}"])
    return rows


def exact_table(table: Sequence[PlayerStats], positions: int) -> list[list[str]]:
    """Return the rows of the table of the exact stats, header first; shares are never rounded up to 100 %."""
    rows = [["", f"keeps the value of {positions:,}", "games lost as first", "as second"]]
    for each in table:
        kept = each.keeps_value * positions
        count = f"{kept:,.{0 if kept.is_integer() else 1}f}"
        percent = "100" if each.keeps_value == 1.0 else f"{min(100 * each.keeps_value, 99.99):.2f}"
        first = f"{each.losses_first:.4g} of {each.games_first:.4g}"
        second = f"{each.losses_second:.4g} of {each.games_second:.4g}"
        rows.append([each.name, f"{count} ({percent} %)", first, second])
    return rows


def print_table(table: Sequence[PlayerStats], positions: int = 4520, stream: TextIO | None = None) -> None:
    """Print both tables with their legends: coloured on a terminal, as plain text elsewhere."""
    stream = stream or sys.stdout
    terminal = make_rich_console(stream) if is_terminal(stream) else None
    for rows, legend in ((fixed_table(table), FIXED_LEGEND), (exact_table(table, positions), EXACT_LEGEND)):
        if terminal is None:
            print(table_text(rows), legend, sep="\n", end="\n\n", file=stream)
        else:
            coloured = re.sub(r"\byes\b", "[green]yes[/]", table_text(rows))
            coloured = re.sub(r"\bno\b", "[bold red]no[/]", coloured)
            terminal.print(f"{coloured}\n[dim]{legend}[/]\n", highlight=False, soft_wrap=True)
