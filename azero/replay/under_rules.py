"""Play stored games again under the rules: a compiled rule gets no state that the rules did not make.

A state from a file may hold any words, and a rule that reads them as a list of stones or as a place reads
outside its arrays.

Letters: G games, T plies of all games together, U pairs of their policy targets, S state words, R repetition
words.
"""

from __future__ import annotations

import numpy as np

from azero.games.checked import ILLEGAL, OVER, REPEATS, TURN, play_checked
from azero.games.game import Game, rules_at
from azero.games.legal import make_legal
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.words import same_words
from azero.replay.examples import Plies

CLOSE = 1e-6  # outcomes are stored as float32
STATE, TARGET, LONG, UNFINISHED, OUTCOME = range(5, 10)  # what is wrong, besides a move
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


@part
def all_listed(actions, first, end, listed, count):
    """Return whether actions[first:end], in rising order, are among the first `count` of a rising list."""
    place = 0
    for pair in range(first, end):
        while place < count and listed[place] < actions[pair]:
            place += 1
        if place == count or listed[place] != actions[pair]:
            return False
    return True


@kernel
def replay(
    addresses, plies, outcomes, waits, states, to_play, actions, target_ends, target_actions, parents, played,
    keys, legal,
):  # fmt: skip
    """Return (game, ply, what is wrong) of the first fault; (0, 0, 0) if there is none.

    plies, outcomes: [G]. waits: whether the games wait to go on. states: [T, S]. to_play, actions: [T].
    target_ends: [T], where the moves of each policy target end in target_actions [U]. parents: -1, 0, 1 and
    so on, one more than the most plies of a game. played, keys, legal: scratch, [most plies + 1, S],
    [most plies + 1, R], from `make_legal`.
    """
    rules, row, first = rules_at(addresses), 0, 0
    states, played, keys, legal = borrowed(states), borrowed(played), borrowed(keys), borrowed(legal)
    for game in range(plies.shape[0]):
        if plies[game] >= parents.shape[0]:
            return game, parents.shape[0] - 1, LONG
        rules.initial(played[0])
        rules.repetition_key(played[0], keys[0])
        for ply in range(plies[game]):
            if not same_words(states[row], played[ply]):
                return game, ply, STATE
            wrong, count = play_checked(
                rules, parents, actions[row], to_play[row], played, ply + 1, keys, legal
            )
            if wrong != 0:
                return game, ply, wrong
            if not all_listed(target_actions, first, target_ends[row], legal.actions, count):
                return game, ply, TARGET
            first = target_ends[row]
            row += 1
        end = played[plies[game]]
        if rules.is_terminal(end):
            if waits:
                return game, plies[game], OVER
            outcome = rules.outcome(end) * (1.0 if rules.to_play(end) == 0 else -1.0)
            if not abs(outcome - outcomes[game]) <= CLOSE:
                return game, plies[game], OUTCOME
        elif outcomes[game] != 0.0:  # one that was cut is a draw
            return game, plies[game], UNFINISHED
    return 0, 0, 0


def fault_under(game: Game, game_name: str, games: Plies) -> str:
    """Return in a few words why the rules cannot have made some games; "" if they can.

    A game that is not over counts as cut at `max_plies`, a draw, or waits to go on.

    Args:
        game: the rules.
        game_name: whose games they are, as the file says.
        games: of a shard; lengths, actions and players are checked already.
    """
    states, plies = games.states, games.plies
    if game_name != game.name:
        return f"its games are of {game_name}, not of {game.name}"
    if states.shape[1] != game.state_words:
        return f"its games have {states.shape[1]} words of state, and {game.name} has {game.state_words}"
    waits = games.stream is not None
    if waits and plies.max(initial=0) >= game.max_plies:
        return f"a game that waits to go on has {game.max_plies} plies or more"
    kept = min(int(plies.max(initial=0)), game.max_plies) + 1
    number, ply, wrong = replay(
        game.rule_addresses,
        *(plies, games.first_outcome.astype(np.float64), waits, states),
        *(games.to_play.astype(np.int64), games.actions.astype(np.int64)),
        *(np.cumsum(games.target_counts), games.target_actions),
        *(np.arange(-1, kept - 1), np.zeros((kept, game.state_words), np.uint64)),
        np.zeros((kept, game.repetition_words), np.uint64),
        make_legal(game.num_actions),
    )
    if not wrong:
        return ""
    return (
        f"the rules of {game.name} do not play its game {games.number[number]} so: at ply {ply} "
        f"{WRONG[wrong]}"
    )
