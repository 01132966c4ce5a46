"""Play stored games again under the rules: a compiled rule gets no state that the rules did not make.

A state from a file may hold any words, and a rule that reads them as a list of stones or as a place reads
outside its arrays.

Letters: G games, T plies of all games together, A actions, S state words, R repetition words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from azero.games.game import Game, rules_at
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.words import copy_words, same_words

CLOSE = 1e-6  # outcomes are stored as float32
STATE, OVER, TURN, ILLEGAL, TARGET, REPEATS, LONG, UNFINISHED, OUTCOME = range(1, 10)  # what is wrong
WRONG = {
    STATE: "its position is another one",
    OVER: "the game is over before",
    TURN: "the other player is to move",
    ILLEGAL: "its move is not legal",
    TARGET: "its search was told to prefer a move that is not legal",
    REPEATS: "its move repeats an earlier position",
    LONG: "it is longer than max_plies",
    UNFINISHED: "somebody has won although it is not over",
    OUTCOME: "its outcome is another one",
}


@kernel
def replay(
    addresses, plies, outcomes, states, to_play, actions, targets, limit, position, successor, keys, legal
):
    """Return (game, ply, what is wrong) of the first fault; (0, 0, 0) if there is none.

    plies, outcomes: [G]. states: [T, S]. to_play, actions: [T]. targets: [T, A]. limit: the most plies of a
    game. The others are scratch: [S], [S], [most plies + 1, R], [A].
    """
    rules, row = rules_at(addresses), 0
    states, position, successor = borrowed(states), borrowed(position), borrowed(successor)
    keys, legal = borrowed(keys), borrowed(legal)
    for game in range(plies.shape[0]):
        if plies[game] > limit:
            return game, limit, LONG
        rules.initial(position)
        for ply in range(plies[game]):
            if not same_words(states[row], position):
                return game, ply, STATE
            if rules.is_terminal(position):
                return game, ply, OVER
            if to_play[row] != rules.to_play(position):
                return game, ply, TURN
            rules.legal_mask(position, legal)
            if not legal[actions[row]]:
                return game, ply, ILLEGAL
            for action in range(legal.shape[0]):
                if targets[row, action] > 0.0 and not legal[action]:
                    return game, ply, TARGET
            rules.step(position, actions[row], successor)
            if keys.shape[1] > 0 and repeats(rules, position, successor, ply, keys):
                return game, ply, REPEATS
            copy_words(successor, position)
            row += 1
        if rules.is_terminal(position):
            outcome = rules.outcome(position) * (1.0 if rules.to_play(position) == 0 else -1.0)
            if not abs(outcome - outcomes[game]) <= CLOSE:
                return game, plies[game], OUTCOME
        elif outcomes[game] != 0.0:  # one that was cut is a draw
            return game, plies[game], UNFINISHED
    return 0, 0, 0


@part
def repeats(rules, position, successor, ply, keys):
    """Return whether a move leads to a position of before; keys[:ply] are those of the positions before."""
    rules.repetition_key(position, keys[ply])
    rules.repetition_key(successor, keys[ply + 1])
    if same_words(keys[ply + 1], keys[ply]):
        return False
    same = False
    for before in range(ply):
        same |= same_words(keys[ply + 1], keys[before])
    return same


def fault_under(game: Game, game_name: str, columns: Mapping[str, np.ndarray]) -> str:
    """Return in a few words why the rules cannot have made some games; "" if they can.

    A game that is not over counts as cut at `max_plies`, a draw.

    Args:
        game: the rules.
        game_name: whose games they are, as the file says.
        columns: of a shard; lengths, actions and players are checked already.
    """
    states, targets = columns["states"], columns["policy_target"]
    if game_name != game.name:
        return f"its games are of {game_name}, not of {game.name}"
    if (states.shape[1], targets.shape[1]) != (game.state_words, game.num_actions):
        widths = f"{states.shape[1]} words of state and {targets.shape[1]} actions"
        return f"its games have {widths}, and {game.name} has {game.state_words} and {game.num_actions}"
    plies, words = columns["plies"], (game.state_words,)
    longest = min(int(plies.max(initial=0)), game.max_plies)
    number, ply, wrong = replay(
        game.rule_addresses,
        *(plies, columns["first_outcome"].astype(np.float64), states),
        *(columns["to_play"], columns["actions"].astype(np.int64), targets),
        *(game.max_plies, np.zeros(words, np.uint64), np.zeros(words, np.uint64)),
        np.zeros((longest + 1, game.repetition_words), np.uint64),
        np.zeros(game.num_actions, np.bool_),
    )
    if not wrong:
        return ""
    return (
        f"the rules of {game.name} do not play its game {columns['number'][number]} so: at ply {ply} "
        f"{WRONG[wrong]}"
    )
