"""Classic players play the same whether a game writes its legal moves as a mask or as a list."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from places import MANY_ACTIONS
from twins import other_way

from azero.classic.look_ahead import UNKNOWN, count_moves, look_ahead
from azero.classic.solve import solve
from azero.games import make_game
from azero.games.game import Game, rules_at
from azero.games.legal import Legal, count_legal, draw_legal, legal_room, make_legal, mask_legal
from azero.kernels.compiled import kernel
from azero.kernels.random_stream import new_stream
from azero.match.lockstep import play_match
from azero.players import make_player
from azero.players.base import Drawing

GAMES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {},
    "othello": {"size": 6},
    "hex": {"size": 5, "swap": True},
    "gomoku": {"rows": 9, "columns": 9},
    "go": {"size": 5, "superko": "simple"},
}
PLAYERS: list[tuple[str, dict[str, Any]]] = [
    ("random", {}),
    ("flat_monte_carlo", {"rollouts": 2}),
    ("uct", {"num_simulations": 150}),
    ("uct", {"num_simulations": 150, "expanded_score": "children", "rollouts": 3, "expansion_threshold": 2}),
    ("uct", {"num_simulations": 60, "rollout_depth": 2, "heuristic": "rollouts"}),
    ("grouped_uct", {"num_simulations": 100, "grouping": "rows"}),
    ("alpha_beta", {"depth": 2}),
    ("alpha_beta", {"depth": 1, "heuristic": "rollouts", "table": 0}),
    ("negamax", {"depth": 2}),
]


@cache
def twins(name: str) -> tuple[Game, Game]:
    """A game and its twin that writes its legal moves the other way."""
    game = make_game(MANY_ACTIONS) if name == "many_actions" else make_game(name, **GAMES[name])
    return game, other_way(game)


def some_states(game: Game, count: int) -> np.ndarray:
    """Unfinished positions of random games."""
    rng, states = np.random.default_rng(4), [game.initial_state()]
    while len(states) < count:
        state = game.initial_state()
        for _ in range(int(rng.integers(2, 12))):
            after = game.step(state, int(rng.choice(game.legal_actions(state))))
            state = state if game.is_terminal(after) else after
        states.append(state)
    return np.stack(states)


@pytest.mark.parametrize("name", [*GAMES, "many_actions"])
@pytest.mark.parametrize(("player", "options"), PLAYERS, ids=[" ".join(map(str, each)) for each in PLAYERS])
def test_a_player_moves_alike(name: str, player: str, options: dict[str, Any]) -> None:
    if player == "grouped_uct" and name == "connect_four":
        pytest.skip("the cell of a move depends on the position")
    states, found = some_states(twins(name)[0], 3), []
    for game in twins(name):
        plays: Any = make_player(player, game, **options)
        if isinstance(plays, Drawing):
            streams = np.stack([new_stream(seed) for seed in range(3)])
            banned = np.zeros((3, game.num_actions), np.bool_)
            banned[0, game.legal_actions(states[0])[1]] = True
            answer = getattr(plays, "search", plays.moves)(states, banned, streams)
            found.append(
                [*map(repr_of, answer if isinstance(answer, tuple) else (answer,)), repr_of(streams)]
            )
        else:
            found.append([plays.analyse(state)._replace(seconds=0.0) for state in states])
    assert found[0] == found[1]


def repr_of(answers: np.ndarray) -> str:
    """All elements of an array."""
    return str(answers.tolist())


@pytest.mark.parametrize("name", [*GAMES, "many_actions"])
def test_a_match_plays_a_game_alike(name: str) -> None:
    """Both games are random openings to the end."""
    rng, openings = np.random.default_rng(3), []
    for _ in range(2):
        state, opening = twins(name)[0].initial_state(), list[int]()
        while not twins(name)[0].is_terminal(state):
            opening.append(int(rng.choice(twins(name)[0].legal_actions(state))))
            state = twins(name)[0].step(state, opening[-1])
        openings.append(opening)
    players, seeds = [make_player("random", twins(name)[0])] * 2, np.arange(4, dtype=np.uint64)
    one, other = (play_match(game, (players[0], players[1]), seeds, openings) for game in twins(name))
    assert one.games == other.games and [game.actions for game in one.games[::2]] == openings


@kernel
def walk(
    addresses: np.ndarray,
    here: np.ndarray,
    there: np.ndarray,
    legal: Legal,
    stream: np.ndarray,
    actions: np.ndarray,
    masks: np.ndarray,
) -> None:
    """Play random moves into actions [plies], with the mask before each into masks [plies, A]."""
    rules = rules_at(addresses)
    rules.initial(here)
    for ply in range(actions.shape[0]):
        if rules.is_terminal(here):
            rules.initial(here)
        mask_legal(rules, here, legal)
        for action in range(masks.shape[1]):
            masks[ply, action] = legal.mask[action]
        actions[ply] = draw_legal(rules, here, legal, stream)
        rules.step(here, actions[ply], there)
        here[:] = there


@pytest.mark.parametrize("name", [*GAMES, "many_actions"])
def test_draws_and_masks_are_alike(name: str) -> None:
    walks = []
    for game in twins(name):
        actions, masks = np.zeros(200, np.int64), np.zeros((200, game.num_actions), np.bool_)
        here, there = np.zeros((2, game.state_words), np.uint64)
        stream = new_stream(5)
        walk(game.rule_addresses, here, there, make_legal(game.num_actions), stream, actions, masks)
        walks.append((actions.tolist(), masks.tobytes(), stream.tolist()))
        assert masks[np.arange(200), actions].all() and np.array_equal(
            masks[0], game.legal_mask(game.initial_state())
        )
    assert walks[0] == walks[1]
    assert legal_room(twins(name)[0]) == legal_room(twins(name)[1]) == walked_room(name)


def walked_room(name: str) -> int:
    """The most legal moves, counted by the mask."""
    (game,) = [game for game in twins(name) if not game.lists_moves]
    here, there = np.zeros((2, game.state_words), np.uint64)
    legal = make_legal(game.num_actions)
    return int(count_legal(game.rule_addresses, here, there, legal, game.max_plies, new_stream(1)))


@pytest.mark.parametrize(("name", "options"), [("tictactoe", {}), ("hex", {"size": 3})])
def test_solutions_are_alike(name: str, options: dict[str, Any]) -> None:
    game = make_game(name, **options)
    one, other = solve(game), solve(other_way(game))
    for table in ("states", "terminal", "value", "row", "action", "below", "move_value", "successor"):
        assert np.array_equal(getattr(one, table), getattr(other, table))


@pytest.mark.parametrize("name", [*GAMES, "many_actions"])
def test_looking_ahead_is_alike_and_fills_its_arrays(name: str) -> None:
    found = []
    for game in twins(name):
        states = some_states(game, 8)
        banned = np.zeros((8, game.num_actions), np.bool_)
        legal, values = make_legal(game.num_actions), np.zeros((8, game.num_actions))
        moves = count_moves(game.rule_addresses, states, legal)
        assert moves == sum(len(game.legal_actions(state)) for state in states)
        below = np.zeros((moves, game.state_words), np.uint64)
        places, signs = np.zeros(moves, np.int64), np.zeros(moves)
        banned[0, game.legal_actions(states[0])[0]] = True
        written = (values, below, places, signs)
        count = look_ahead(game.rule_addresses, states, banned, legal, *written)
        assert count < moves and (values[0, banned[0]] == UNKNOWN).all()
        found.append((count, *(each.tobytes() for each in written)))
    assert found[0] == found[1]
