"""Othello: UCT with short rollouts against random, minimax and flat Monte Carlo, published beside measured.

    python scripts/experiments/othello_baselines.py

UCT rolls out 20 plies and counts discs, expands after 20 visits, C = sqrt(2). Three searches are compared.
"As published" is the published code: it carries the result for the side at the root unchanged through the
nodes of both sides and takes the logarithm of all simulations in every node; its `depth <= 20` plays 21 plies
and its `> threshold` expands at the 21st visit. "Mended" is the text: the judgement turns at each level.
"Worked table" is the text's example: an expanded move takes the largest UCB1 of its children. Limits in
milliseconds belong to another machine; the published numbers of simulations stand for them here.
"""

from __future__ import annotations

from published import Experiment, measure, parser, player, print_table, share_of

from azero.cli.hydra_program import one_sentence
from azero.cli.player_spec import PlayerSpec
from azero.games import make_game

GAMES = 400


def uct(simulations: int, variant: str) -> PlayerSpec:
    """UCT with that many simulations."""
    options: dict[str, object] = {"num_simulations": simulations, "heuristic": "discs"}
    if variant == "corrected":
        return player("uct", **options, rollout_depth=20, expansion_threshold=20)
    code = {"rollout_depth": 21, "expansion_threshold": 21, "log_of": "total"}
    if variant == "as published":
        return player("uct", **options, **code, reward_for="root")
    return player("uct", **options, **code, expanded_score="children")


def experiments(games: int) -> list[Experiment]:
    """All matches."""
    minimax = player("alpha_beta", depth=2, heuristic="discs")
    flat = player("flat_monte_carlo", num_simulations=200, rollout_depth=20, heuristic="discs")
    matches = [
        (200, "random", player("random"), "94 of 100"),
        (2000, "random", player("random"), "100 of 100"),
        (200, "minimax, 2 plies, counting discs", minimax, "32 to 67"),
        (200, "flat Monte Carlo, 20 plies, 200 rollouts", flat, "63 to 34"),
    ]
    return [
        Experiment(
            f"UCT, {simulations:,} simulations, {variant}, v. {name}",
            said,
            uct(simulations, variant),
            other,
            games,
        )
        for simulations, name, other, said in matches
        for variant in ("as published", "corrected", "worked table")
    ] + [
        Experiment(
            "UCT, 20 simulations, too few to expand, v. minimax, 2 plies, counting discs",
            "",
            uct(20, "corrected"),
            minimax,
            games,
        )
    ]


def main() -> None:
    """Play everything."""
    asked = parser(__doc__).parse_args()
    rows = measure(make_game("othello"), experiments(share_of(GAMES, asked.share)), asked.seed)
    print_table("othello_baselines", rows, asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
