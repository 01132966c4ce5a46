"""`python -m azero.correctness`: does a run's champion play perfect tic-tac-toe?

Letters: P positions, A actions.

Eleven fixed positions whose right replies are known; all 4,520 unfinished positions against their exact values; and every game
that an opponent can play against each player. A player is asked once for each position, a fresh game each time, and the figures
rest on these answers alone. Exit status 0 exactly when the champion's search is right in all eleven positions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from azero.config import Config, UserError
from azero.machine import cores
from azero.monitoring.console import table_text
from azero.truth.known import has_table

if TYPE_CHECKING:
    from azero.games.game import Game
    from azero.players import Player
    from azero.players.policy import PolicyPlayer
    from azero.search.solvers import Solution

# moves played so far: the replies that keep the game drawn; cells row by row
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
BATCH = 512  # rows of a network call


@dataclass(frozen=True)
class PlayerFigures:
    """What one player did; means over runs where it plays at random."""

    name: str
    right: tuple[float, ...]  # for each of FIXED_POSITIONS, the share of runs with a right reply: 1.0 or 0.0 for one run
    keeps_value: float  # share of all unfinished positions in which its move keeps the exact value
    losses_first: float  # games lost as first player, of every game the opponent can make of it
    losses_second: float  # as second player
    games_first: float  # games the opponent can make of it, as first player
    games_second: float  # as second player

    @property
    def fixed(self) -> float:
        """How many of the fixed positions are right, 0 to 11."""
        return float(sum(self.right))

    @property
    def perfect(self) -> bool:
        """Right in all fixed positions."""
        return all(share == 1.0 for share in self.right)


@dataclass(frozen=True)
class CorrectnessFigures:
    """The champion, with and without its search."""

    search: PlayerFigures
    policy: PlayerFigures

    def scalars(self) -> dict[str, float]:
        """The figures by their TensorBoard tags."""
        return {
            "correctness/fixed_search": self.search.fixed,
            "correctness/fixed_policy": self.policy.fixed,
            "correctness/keeps_value_search": self.search.keeps_value,
            "correctness/keeps_value_policy": self.policy.keeps_value,
        }


def refuse_without_table(game: Game) -> None:
    """Refuse a game other than tic-tac-toe."""
    if not has_table(game.name):
        raise UserError(f"correctness knows the right replies of tictactoe only; there is no table for {game.name}.")


def state_after(game: Game, moves: Sequence[int]) -> np.ndarray:
    """Return the state [S] after ``moves`` from the initial state."""
    state = game.initial_state()
    for move in moves:
        state = game.step(state, move)
    return state


def fixed_states(game: Game) -> np.ndarray:
    """Return the eleven fixed positions as states [11, S]."""
    return np.stack([state_after(game, moves) for moves in FIXED_POSITIONS])


class Questions:
    """The positions every player is asked about, and how its answers are judged. Made once, used for many players."""

    def __init__(self, game: Game) -> None:
        """Solve the game.

        Raises:
            UserError: the game is not tic-tac-toe.
        """
        from azero.search.solvers import solve

        refuse_without_table(game)
        self.game = game
        self.solution: Solution = solve(game)
        self.rows = np.flatnonzero(self.solution.unfinished)  # rows of the solution that players are asked about
        self.states = np.ascontiguousarray(self.solution.states[self.rows])
        self.plies = plies_of(self.solution)[self.rows]
        self.fixed = [self.row_after(moves) for moves in FIXED_POSITIONS]

    def row_after(self, moves: Sequence[int]) -> int:
        """Return the solution's row of the position after ``moves``."""
        row = 0
        for move in moves:
            row = int(self.solution.successor[row, move])
        return row

    def ask(self, player: Player, seed: int = 0) -> np.ndarray:
        """Return the player's move in every position: [P] int64, -1 where the game is over."""
        seeds = np.random.SeedSequence([seed]).generate_state(len(self.rows), np.uint64)
        player.new_games(seeds)
        moves = np.full(len(self.solution.states), -1, np.int64)
        moves[self.rows] = player.choose(self.states, np.arange(len(self.rows)), self.plies)
        return moves

    def ask_fixed(self, player: Player, runs: int) -> np.ndarray:
        """Return whether the player was right: [runs, 11] bool, the fixed positions asked about so many times."""
        rows = np.tile(self.fixed, runs)
        places = np.searchsorted(self.rows, rows)
        player.new_games(np.random.SeedSequence([runs]).generate_state(len(rows), np.uint64))
        moves = player.choose(self.states[places], np.arange(len(rows)), self.plies[places])
        replies = list(FIXED_POSITIONS.values())
        return np.array([move in replies[k % len(replies)] for k, move in enumerate(moves)]).reshape(runs, -1)

    def judge(self, name: str, moves: np.ndarray) -> PlayerFigures:
        """Return the figures of a player that plays ``moves`` [P]."""
        replies = FIXED_POSITIONS.values()
        losses_first, games_first = exhaustive_play(self.solution, moves, side=0)
        losses_second, games_second = exhaustive_play(self.solution, moves, side=1)
        return PlayerFigures(
            name=name,
            right=tuple(float(moves[row] in right) for row, right in zip(self.fixed, replies, strict=True)),
            keeps_value=float(self.solution.keeps_value(self.rows, moves[self.rows]).mean()),
            losses_first=losses_first,
            losses_second=losses_second,
            games_first=games_first,
            games_second=games_second,
        )


def plies_of(solution: Solution) -> np.ndarray:
    """Return [P] int64: after how many plies each position is first reached."""
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
        side: 0 when it moves first, 1 when second.

    Returns:
        (games it loses, games in all): a game is one sequence of moves.
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
    player_search: Player, player_policy: Player, game: Game, questions: Questions | None = None
) -> CorrectnessFigures:
    """Return the figures of a champion, cheap enough for every cycle.

    Args:
        player_search: its PV-MCTS at temperature 0.
        player_policy: its raw policy.
        game: tic-tac-toe.
        questions: made once for many calls, or None.

    Raises:
        UserError: the game is not tic-tac-toe; `has_table` tells.
    """
    questions = questions or Questions(game)
    return CorrectnessFigures(
        questions.judge("PV-MCTS", questions.ask(player_search)),
        questions.judge("raw policy", questions.ask(player_policy)),
    )


def alpha_beta_figures(questions: Questions) -> PlayerFigures:
    """Return the figures of negamax with alpha-beta, which must be perfect."""
    from azero.players import make_player

    return questions.judge("alpha-beta", questions.ask(make_player("alpha_beta", questions.game)))


def uct_figures(questions: Questions, runs: int = UCT_RUNS, num_simulations: int = UCT_SIMULATIONS) -> PlayerFigures:
    """Return the mean figures of plain UCT: the fixed positions over ``runs`` runs, all positions over a tenth of them."""
    from azero.players import make_player

    def one_run(seed: int) -> PlayerFigures:
        player = make_player("uct", questions.game, num_simulations=num_simulations)
        return questions.judge("", questions.ask(player, seed))

    with ThreadPoolExecutor(cores()) as pool:  # the kernels let go of the interpreter lock
        everywhere = mean_figures(f"UCT {num_simulations}", list(pool.map(one_run, range(max(1, runs // 10)))))
    right = questions.ask_fixed(make_player("uct", questions.game, num_simulations=num_simulations), runs)
    return replace(everywhere, right=tuple(right.mean(axis=0).tolist()))


def mean_figures(name: str, figures: Sequence[PlayerFigures]) -> PlayerFigures:
    """Return the mean of each figure."""

    def mean(field: str) -> float:
        return float(np.mean([getattr(each, field) for each in figures]))

    return PlayerFigures(
        name=name,
        right=tuple(np.mean([each.right for each in figures], axis=0).tolist()),
        keeps_value=mean("keeps_value"),
        losses_first=mean("losses_first"),
        losses_second=mean("losses_second"),
        games_first=mean("games_first"),
        games_second=mean("games_second"),
    )


def full_table(player_search: Player, player_policy: Player, game: Game) -> list[PlayerFigures]:
    """Return the rows of the table: alpha-beta, the champion's search, its raw policy, UCT."""
    questions = Questions(game)
    champion = check_champion(player_search, player_policy, game, questions)
    return [alpha_beta_figures(questions), champion.search, champion.policy, uct_figures(questions)]


# Printing

Rows = list[list[str]]


def share_text(share: float, runs: bool) -> str:
    """Return a right reply as text: yes or no, or a percentage where the player was run many times."""
    return f"{share:.0%}" if runs else ("yes" if share else "no")


def fixed_table(table: Sequence[PlayerFigures]) -> Rows:
    """Return the table of the fixed positions, its header first; a column is named by the moves played so far."""
    rows = [["right after", *("".join(map(str, moves)) for moves in FIXED_POSITIONS), "of 11"]]
    for each in table:
        runs = any(share not in (0.0, 1.0) for share in each.right)
        rows.append([each.name, *(share_text(share, runs) for share in each.right), f"{each.fixed:.3g}"])
    return rows


def exact_table(table: Sequence[PlayerFigures], positions: int) -> Rows:
    """Return the table of the exact figures, its header first."""
    rows = [["", f"keeps the value of {positions:,}", "games lost as first", "as second"]]
    for each in table:
        kept = each.keeps_value * positions
        rows.append(
            [
                each.name,
                f"{kept:,.{0 if kept.is_integer() else 1}f} ({percent(each.keeps_value)})",
                f"{each.losses_first:.4g} of {each.games_first:.4g}",
                f"{each.losses_second:.4g} of {each.games_second:.4g}",
            ]
        )
    return rows


def percent(share: float) -> str:
    """Return a share in percent, never rounded up to 100."""
    return "100 %" if share == 1.0 else f"{min(100 * share, 99.99):.2f} %"


def tables_text(table: Sequence[PlayerFigures], positions: int = 4520) -> str:
    """Return both tables as plain text, one below the other."""
    return "\n\n".join([table_text(fixed_table(table)), table_text(exact_table(table, positions))])


def print_table(table: Sequence[PlayerFigures], positions: int = 4520, stream: TextIO | None = None) -> None:
    """Print both tables: coloured on a terminal, as plain text elsewhere."""
    from azero.monitoring.console import is_terminal, make_rich_console

    stream = stream or sys.stdout
    if not is_terminal(stream):
        print(tables_text(table, positions), file=stream)
        return
    console = make_rich_console(stream)
    for rows in (fixed_table(table), exact_table(table, positions)):
        console.print(rich_table(rows))


def rich_table(rows: Rows) -> Any:
    """Return a table for a terminal; what is wrong stands out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    styles = {"yes": "green", "no": "bold red", "11": "bold green"}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column, header in enumerate(rows[0]):
        table.add_column(header, justify="left" if column == 0 else "right", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(cell, styles.get(cell, "")) for cell in row))
    return table


# The program


def load_players(config: Config, name: str, game: Game, asked: Sequence[str] = ()) -> tuple[Player, PolicyPlayer]:
    """Return the champion of a run with its search (temperature 0) and without it.

    The search is the run's own, as its state.json has it, but for settings that were ``asked`` for, such as "num_simulations".

    Raises:
        UserError: no such run, no champion yet, a damaged file, or a champion of another game.
    """
    from azero.players import make_player
    from azero.players.policy import PolicyPlayer
    from azero.trained import load_trained

    _, inference, settings = load_trained(config, name, BATCH, game)
    settings = replace(settings, **{key: getattr(config.search, key) for key in asked})
    search = make_player("pv_mcts", game, inference=inference, search=settings, temperature=0.0)
    return search, PolicyPlayer(game, inference)


def asked_of_search() -> list[str]:
    """Return the settings of search.* that the command line names."""
    from hydra.core.hydra_config import HydraConfig

    keys = [override.split("=")[0].lstrip("+") for override in HydraConfig.get().overrides.task]
    if "search" in keys:
        raise UserError("correctness takes the run's own search; change single settings of it, such as search.kind=puct.")
    return [key.removeprefix("search.") for key in keys if key.startswith("search.")]


def main(config: Config, name: str) -> int:
    """Print the table of a run's champion; 0 when its search is right in all eleven positions, else 1."""
    from azero.games import make_game

    game = make_game(config.game.name, **config.game.options)
    refuse_without_table(game)
    table = full_table(*load_players(config, name, game, asked_of_search()), game)
    print_table(table)
    return 0 if table[1].perfect else 1


if __name__ == "__main__":
    from azero.command_line import program

    program(main)
