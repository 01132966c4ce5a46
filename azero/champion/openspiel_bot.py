"""A champion as a bot of OpenSpiel, which plays in OpenSpiel's matches against its bots."""

from __future__ import annotations

from typing import Any

import numpy as np

from azero.champion.champion import Champion
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.playing import GameInProgress

CHECKED_GAMES = 4  # random ones, in which both must have the same moves
PLIES_WITHOUT_REPETITION = 40  # of such a game, where the rules against repetition differ
GO_PARAMETERS = {"komi": None, "handicap": 0}  # with azero's values; random play seldom shows a difference


def openspiel_bot(champion: Champion, game: Any, num_simulations: int | None = None) -> Any:
    """Return a `pyspiel.Bot` that plays a game of OpenSpiel for either player.

    Args:
        champion: it searches each position anew, with the history of its game.
        game: a `pyspiel.Game` with the rules of the champion's game.
        num_simulations: of each search; None for those of the run.

    Raises:
        UserError: OpenSpiel is missing, or its game has other rules.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise UserError('OpenSpiel is not installed; run pip install "azero[openspiel]".') from error
    if not isinstance(game, pyspiel.Game):
        raise UserError(f"openspiel_bot(game={game!r}): game must be made by pyspiel.load_game.")
    if not plays_alike(champion.game, game):
        raise UserError(
            f"OpenSpiel's {game} has other rules than the champion's {champion.game.name} "
            f"with {champion.game.options}."
        )

    class ChampionBot(pyspiel.Bot):  # type: ignore[misc]  # OpenSpiel has no types
        """Searches the position that it is asked for; keeps nothing between two moves."""

        def __init__(self) -> None:
            pyspiel.Bot.__init__(self)

        def step(self, state: Any) -> int:
            moves = " ".join(champion.game.move_names(state.history()))
            return champion.search(champion.position(moves), num_simulations, moves).best_move

        def restart_at(self, state: Any) -> None:
            pass

        def restart(self) -> None:
            pass

        def inform_action(self, state: Any, player: int, action: int) -> None:
            pass

    return ChampionBot()


def plays_alike(game: Game, theirs: Any) -> bool:
    """Return whether komi and handicap are the same, and moves, by number, and results of random games.

    Cells may be numbered from another corner: the rules of a board are symmetric.
    """
    ours, parameters = {**GO_PARAMETERS, **game.options}, theirs.get_parameters()
    if any(name in parameters and parameters[name] != ours[name] for name in GO_PARAMETERS):
        return False
    if theirs.num_distinct_actions() != game.num_actions:
        return False
    rng, first = np.random.default_rng(0), theirs.new_initial_state().current_player()
    plies = PLIES_WITHOUT_REPETITION if game.repetition_words else game.max_plies
    for _ in range(CHECKED_GAMES):
        at, other = GameInProgress(game), theirs.new_initial_state()
        for _ in range(plies):
            legal = at.legal_actions()
            if legal != sorted(other.legal_actions()):
                return False
            action = int(rng.choice(legal))
            at.play(action)
            other.apply_action(action)
            if at.is_over != other.is_terminal():
                return False
            if at.is_over:
                break
        else:
            continue
        if other.returns()[first] / theirs.max_utility() != at.outcome:
            return False
    return True
