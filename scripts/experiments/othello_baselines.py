"""Othello: UCT with short rollouts against random, minimax and flat Monte Carlo, published beside measured.

    python scripts/experiments/othello_baselines.py  # limits in simulations
    python scripts/experiments/othello_baselines.py --timed  # limits in milliseconds, with fewer games

UCT rolls out 20 plies and counts discs, expands after 20 visits, C = sqrt(2). Three searches are compared.
"As published" is the published code: it carries the result for the side at the root unchanged through the
nodes of both sides and takes the logarithm of all simulations in every node; its `depth <= 20` plays 21 plies
and its `> threshold` expands at the 21st visit. "Corrected" is the text: the judgement turns at each level.
"Worked table" is the text's example: an expanded move takes the largest UCB1 of its children. The source does
not say how its minimax judges a position; here it counts discs or weighs squares.
"""

from __future__ import annotations

from published import Experiment, measure, parser, player, print_table, share_of

from azero.cli.hydra_program import one_sentence
from azero.cli.player_spec import PlayerSpec
from azero.games import make_game

GAMES = 400


def uct(variant: str, **limit: object) -> PlayerSpec:
    """UCT with a limit, `num_simulations` or `seconds`."""
    options: dict[str, object] = {**limit, "heuristic": "discs"}
    if variant == "corrected":
        return player("uct", **options, rollout_depth=20, expansion_threshold=20)
    code = {"rollout_depth": 21, "expansion_threshold": 21, "log_of": "total"}
    if variant == "as published":
        return player("uct", **options, **code, reward_for="root")
    return player("uct", **options, **code, expanded_score="children")


RANDOM = ("random", player("random"))
DISCS, SQUARES = (
    (f"minimax, 2 plies, {name}", player("alpha_beta", depth=2, heuristic=name))
    for name in ("discs", "squares")
)
FLAT = (
    "flat Monte Carlo, 20 plies, 200 rollouts",
    player("flat_monte_carlo", num_simulations=200, rollout_depth=20, heuristic="discs"),
)


def experiments(games: int) -> list[Experiment]:
    """The matches with limits in simulations."""
    matches = [
        (200, RANDOM, "94 of 100"),
        (2000, RANDOM, "100 of 100"),
        (200, DISCS, "32 to 67"),
        (200, SQUARES, "32 to 67"),
        (200, FLAT, "63 to 34"),
    ]
    few = [
        (20, RANDOM, "94 of 100"),
        (20, DISCS, "32 to 67"),
        (20, SQUARES, "32 to 67"),
        (20, FLAT, "63 to 34"),
    ]
    return [
        Experiment(
            f"UCT, {simulations:,} simulations, {variant}, v. {name}",
            said,
            uct(variant, num_simulations=simulations),
            other,
            games,
        )
        for rows, variants in (
            (matches, ("as published", "corrected", "worked table")),
            (few, ("corrected",)),
        )
        for simulations, (name, other), said in rows
        for variant in variants
    ]


def timed_experiments(share: float) -> list[Experiment]:
    """The matches with limits in time; a game with a second a move takes about half a minute."""
    matches = [
        (0.1, RANDOM, "94 of 100", 40),
        (0.1, DISCS, "32 to 67", 40),
        (0.1, SQUARES, "32 to 67", 40),
        (0.1, FLAT, "63 to 34", 40),
        (1.0, RANDOM, "100 of 100", 10),
        (1.0, SQUARES, "", 10),
    ]
    return [
        Experiment(
            f"UCT, {seconds * 1000:.0f} ms, {variant}, v. {name}",
            said,
            uct(variant, seconds=seconds),
            other,
            share_of(games, share),
        )
        for seconds, (name, other), said, games in matches
        for variant in ("as published", "corrected")
    ]


def main() -> None:
    """Play everything."""
    options = parser(__doc__)
    options.add_argument("--timed", action="store_true", help="play with limits in time instead")
    asked = options.parse_args()
    matches = timed_experiments(asked.share) if asked.timed else experiments(share_of(GAMES, asked.share))
    rows = measure(make_game("othello"), matches, asked.seed)
    print_table("othello_timed" if asked.timed else "othello_baselines", rows, asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
