"""Tic-tac-toe by AlphaZero: the published fixed positions and matches beside those of a run of this machine.

    python scripts/experiments/alphazero_tictactoe.py  # the champion of the run published_tictactoe
    python scripts/experiments/alphazero_tictactoe.py --run tictactoe  # that of another run

The first is `azero loop experiment=published_tictactoe`, ten cycles of the published recipe; a champion
searches with its run's own settings. Which temperature the published matches had is not known: both are
played. UCT makes 100 simulations; it never expands its tree, as in the published code, or at 10 visits, as in
its text; in the table of fixed positions also at every visit, as it stands in `azero.correctness`.
"""

from __future__ import annotations

from published import EXPANDING, NEVER, Experiment, measure, parser, player, print_table, share_of

from azero.champion.load import load_players
from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config
from azero.games import make_game
from azero.players import make_player
from azero.truth.tictactoe import UCT_RUNS, TicTacToeQuestions, full_table

GAMES = 500
PUBLISHED_RUN = "published_tictactoe"
THRESHOLDS = ((NEVER, "never expanding"), (EXPANDING, f"expanding at {EXPANDING} visits"))


def fixed_positions(run: str) -> list[list[str]]:
    """How many of the eleven fixed positions each player answers rightly, published beside measured."""
    game = make_game("tictactoe")
    said = {"alpha-beta": "11", "PV-MCTS": "10 after 10 cycles, 11 after 100", "UCT 100": "5.9 to 6.2"}
    table = full_table(*load_players(Config(), run, game), game)
    rows = [[figures.name, said.get(figures.name, ""), f"{sum(figures.right):.2f}"] for figures in table]
    questions = TicTacToeQuestions(game)
    for threshold, name in THRESHOLDS:
        right = questions.ask_fixed(
            make_player("uct", game, num_simulations=100, expansion_threshold=threshold), UCT_RUNS
        )
        rows.append([f"UCT 100, {name}", said["UCT 100"], f"{right.mean(axis=0).sum():.2f}"])
    return [["right of 11 fixed positions", "published", "measured"], *rows]


def experiments(run: str, games: int) -> list[Experiment]:
    """The matches; the first-named player moves first in all games."""
    first, second = "0.91 (10 cycles), 0.94 (100)", "0.575 (10 cycles), 0.515 (100)"
    found = []
    for threshold, how in THRESHOLDS:
        uct = player("uct", num_simulations=100, expansion_threshold=threshold)
        for temperature in (0.0, 1.0):
            champion = player("pv_mcts", run=run, temperature=temperature)
            name = f"PV-MCTS (temperature {temperature:g})"
            found.append(
                Experiment(f"{name} moving first, v. UCT {how}", first, champion, uct, games, first_only=True)
            )
            found.append(
                Experiment(
                    f"UCT {how} moving first, v. {name}", second, uct, champion, games, first_only=True
                )
            )
    return found


def main() -> None:
    """Ask and play everything."""
    words = parser(__doc__)
    words.add_argument("--run", default=PUBLISHED_RUN, help="the run whose champion plays")
    asked = words.parse_args()
    which = "" if asked.run == PUBLISHED_RUN else f"_{asked.run}"
    print_table(f"alphazero_positions{which}", fixed_positions(asked.run), asked.write)
    table = measure(make_game("tictactoe"), experiments(asked.run, share_of(GAMES, asked.share)), asked.seed)
    print_table(f"alphazero_matches{which}", table, asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
