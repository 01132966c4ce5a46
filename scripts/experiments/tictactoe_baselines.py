"""Tic-tac-toe: flat Monte Carlo and UCT against random and alpha-beta, published beside measured.

    python scripts/experiments/tictactoe_baselines.py

The score is the first-named player's, who moves first in all games that count. Alpha-beta takes the first of
equal moves. The published UCT names its own expansion without calling it, so its tree never grows beyond the
root's children: a threshold never reached.
"""

from __future__ import annotations

from published import EXPANDING, NEVER, Experiment, measure, parser, player, print_table, share_of

from azero.cli.hydra_program import one_sentence
from azero.games import make_game

GAMES = 2000


def experiments(games: int) -> list[Experiment]:
    """All matches."""
    flat = player("flat_monte_carlo", rollouts=10)
    random, alpha_beta = player("random"), player("alpha_beta")
    found = [
        Experiment("flat Monte Carlo, 10 rollouts a move, v. random", "0.985", flat, random, games, True),
        Experiment(
            "flat Monte Carlo, 10 rollouts a move, v. alpha-beta", "0.365", flat, alpha_beta, games, True
        ),
    ]
    for simulations in (100, 1000):
        for threshold, name in (
            (NEVER, "never expanding, as published"),
            (EXPANDING, f"expanding at {EXPANDING} visits"),
        ):
            uct = player("uct", num_simulations=simulations, expansion_threshold=threshold)
            said = ("1.0", "0.46") if (simulations, threshold) == (100, NEVER) else ("", "")
            found.append(
                Experiment(
                    f"UCT, {simulations:,} simulations, {name}, v. random", said[0], uct, random, games, True
                )
            )
            found.append(
                Experiment(
                    f"UCT, {simulations:,} simulations, {name}, v. alpha-beta",
                    said[1],
                    uct,
                    alpha_beta,
                    games,
                    True,
                )
            )
    for update_root, name in ((True, "the root's visits counted"), (False, "as published, not counted")):
        pure = player("pure_mcts", num_simulations=1000, update_root=update_root)
        found.append(
            Experiment(
                f"pure MCTS, 1,000 simulations, {name}, v. alpha-beta",
                "",
                pure,
                alpha_beta,
                share_of(games, 0.1),
                True,
            )
        )
    return found


def main() -> None:
    """Play everything."""
    asked = parser(__doc__).parse_args()
    rows = measure(make_game("tictactoe"), experiments(share_of(GAMES, asked.share)), asked.seed)
    print_table("tictactoe_baselines", rows, asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
