"""Does a bigger budget play better? Each player against random and itself at a tenth of the budget.

    python scripts/experiments/budgets.py

Connect Four and Othello 6 x 6. A player holds if its score is above 0.5 with 95 % confidence. Alpha-beta's
budget is the positions it looks at: two plies less are about a tenth of them. Players that never vary get
random openings. Those with a network play with `--network`, which needs champions: the runs connect_four and
othello6.
"""

from __future__ import annotations

from published import Experiment, measure, parser, player, print_table, share_of

from azero.cli.arguments import load_game
from azero.cli.hydra_program import one_sentence
from azero.cli.player_spec import PlayerSpec

GAMES = 200
GAMES_WITH_NETWORK = 100
HEURISTICS = {"connect_four": "lines", "othello6": "squares"}


def budgeted(heuristic: str) -> list[tuple[PlayerSpec, PlayerSpec]]:
    """Each player without a network, with its budget and with a tenth of it."""
    counted = [
        (player(name, num_simulations=1000), player(name, num_simulations=100))
        for name in ("flat_monte_carlo", "uct", "pure_mcts")
    ]
    timed = {"heuristic": heuristic}
    return [
        *counted,
        (player("alpha_beta", depth=5, **timed), player("alpha_beta", depth=3, **timed)),
        (
            player("iterative_deepening", seconds=0.02, **timed),
            player("iterative_deepening", seconds=0.002, **timed),
        ),
    ]


def trained(run: str) -> list[tuple[PlayerSpec, PlayerSpec | None]]:
    """Return players with a network. Rollouts are random: one by the policy would cost twenty evaluations."""
    fast = {"run": run, "rollout_policy": "random"}
    return [
        (player("alphago", num_simulations=100, **fast), player("alphago", num_simulations=10, **fast)),
        (player("pv_mcts", run=run, num_simulations=100), player("pv_mcts", run=run, num_simulations=10)),
        (player("policy", run=run), None),
        (player("value", run=run), None),
    ]


def experiments(name: str, share: float, network: bool) -> list[Experiment]:
    """All matches of one game, of the players with a network or of those without."""
    pairs: list[tuple[PlayerSpec, PlayerSpec | None]] = (
        [*trained(name)] if network else [*budgeted(HEURISTICS[name])]
    )
    games = share_of(GAMES_WITH_NETWORK if network else GAMES, share)
    return [
        Experiment(f"{strong} v. {other}", "", strong, other, games)
        for strong, weak in pairs
        for other in (player("random"), weak)
        if other is not None
    ]


def with_verdict(rows: list[list[str]]) -> list[list[str]]:
    """The table of `measure` without the published scores and with what each match says."""
    header, *matches = [[row[0], *row[2:]] for row in rows]
    verdicts = ["holds" if float(row[2].split()[0]) > 0.5 else "does not hold" for row in matches]
    return [
        [*header, "above 0.5"],
        *([*row, verdict] for row, verdict in zip(matches, verdicts, strict=True)),
    ]


def main() -> None:
    """Play everything."""
    options = parser(__doc__)
    options.add_argument(
        "--network", action="store_true", help="measure players with a network instead of those without"
    )
    asked = options.parse_args()
    for name in HEURISTICS:
        rows = measure(
            load_game(name, {}), experiments(name, asked.share, asked.network), asked.seed, varied=True
        )
        print(f"\n{name}\n")
        print_table(f"budgets_{name}{'_network' if asked.network else ''}", with_verdict(rows), asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
