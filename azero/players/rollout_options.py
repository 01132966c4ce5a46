"""The options of every player that makes rollouts: when one is cut, and who judges it then."""

from __future__ import annotations

from azero.config import UserError
from azero.evaluations import choose_evaluation
from azero.games.game import Game
from azero.players import check_number
from azero.search.rollouts import NO_EVALUATION, Judge


def make_judge(player: str, game: Game, rollout_depth: int, evaluation: str) -> Judge:
    """Return how rollouts end: after `rollout_depth` plies at most, 0 for no limit.

    evaluation: who judges them then; "" for nobody, "auto" for the game's own.

    Raises:
        UserError: a depth out of range, an evaluation that would never be asked or that there is not for this game.
    """
    check_number(player, "rollout_depth", rollout_depth, 0, 1_000_000)
    if evaluation and not rollout_depth:
        raise UserError(f"player {player}: evaluation={evaluation} needs a rollout_depth; rollouts to the end ask nobody.")
    if evaluation == "network":
        raise UserError(f"player {player}: evaluation=network is for alpha_beta and its like; alphago joins network and rollout.")
    chosen = choose_evaluation(evaluation, game)
    return Judge(rollout_depth or game.max_plies, chosen.address if chosen else NO_EVALUATION)
