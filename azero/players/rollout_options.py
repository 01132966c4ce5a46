"""Options of all players with rollouts: the length of a rollout, and the heuristic that judges a cut one."""

from __future__ import annotations

from azero.classic.rollouts import NO_HEURISTIC, Judge
from azero.config.schema import UserError
from azero.games.game import Game
from azero.heuristics import choose_heuristic
from azero.players import check_number


def make_judge(player: str, game: Game, rollout_depth: int, heuristic: str) -> Judge:
    """Return how rollouts end.

    Args:
        player: the player's name, for messages.
        game: the game.
        rollout_depth: most plies of a rollout; 0 for no limit.
        heuristic: judges a rollout that was cut; "" for none, "auto" for the best of the game.

    Raises:
        UserError: the depth is out of range, or the heuristic is unused or does not fit the game.
    """
    check_number(player, "rollout_depth", rollout_depth, 0, 1_000_000)
    if heuristic and not rollout_depth:
        raise UserError(
            f"player {player}: heuristic={heuristic} needs a rollout_depth; full rollouts use no heuristic."
        )
    if heuristic == "network":
        raise UserError(f"player {player} does not take heuristic=network; use alpha_beta or alphago.")
    chosen = choose_heuristic(heuristic, game)
    return Judge(rollout_depth or game.max_plies, chosen.address if chosen else NO_HEURISTIC)
