"""Every player by name: legal moves, its own randomness only, and stronger than the one below."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import searching
from searching import after, columns_of, thought_of

from azero.classic.solve import solve
from azero.config.schema import SearchConfig, UserError, settings
from azero.games import make_game
from azero.games.game import Game
from azero.games.repetition import History
from azero.players import MODULES, Player, make_player, options_of
from azero.players.alpha_beta import AlphaBetaPlayer
from azero.players.iterative_deepening import IterativeDeepening
from azero.players.policy import PolicyPlayer

WITHOUT_NETWORK = ["random", "alpha_beta", "negamax", "flat_monte_carlo", "uct", "grouped_uct", "pure_mcts"]
QUICK: dict[str, dict[str, Any]] = {"pure_mcts": {"num_simulations": 50}}  # options beside the defaults


class FakeInference:
    """Prefers the action of the highest number in every position."""

    def __init__(self, batch_size: int, num_actions: int = 9) -> None:
        self.batch_size, self.num_actions = batch_size, num_actions
        self.batches: list[np.ndarray] = []

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        assert planes.shape == (self.batch_size, 2, 3, 3) and planes.dtype == np.float32
        self.batches.append(planes.copy())
        logits = np.tile(np.arange(self.num_actions, dtype=np.float32), (self.batch_size, 1))
        return logits, np.zeros(self.batch_size, np.float32)


def some_states(game: Game, count: int = 300) -> np.ndarray:
    """Return unfinished positions, spread over the game."""
    solution = solve(game)
    rows = np.flatnonzero(solution.unfinished)
    return solution.states[rows[:: len(rows) // count]]


def ask(player: Player, states: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
    """Return one move for each state, each in a game of its own."""
    count = len(states)
    player.new_games(np.arange(count, dtype=np.uint64) if seeds is None else seeds)
    return player.choose(states, np.arange(count), np.zeros(count, np.int64))


def play_games(game: Game, first: Player, second: Player, games: int) -> tuple[int, int, int]:
    """Return wins, draws and losses of `first`, which moves first in even games."""
    for salt, player in enumerate((first, second)):
        player.new_games(np.arange(games, dtype=np.uint64) * np.uint64(2) + np.uint64(salt))
    states = np.stack([game.initial_state()] * games)
    score = np.zeros(games)
    running = np.ones(games, np.bool_)
    for ply in range(game.max_plies):
        for which, player in enumerate((first, second)):
            mine = np.flatnonzero(running & ((np.arange(games) + ply) % 2 == which))
            if not len(mine):
                continue
            actions = player.choose(states[mine], mine, np.full(len(mine), ply))
            for g, action in zip(mine, actions.tolist(), strict=True):
                states[g] = game.step(states[g], action)
                if game.is_terminal(states[g]):
                    running[g] = False
                    score[g] = game.outcome(states[g]) * (
                        -1 if which == 0 else 1
                    )  # the outcome is for the one who did not move
    assert not running.any()
    return int((score > 0).sum()), int((score == 0).sum()), int((score < 0).sum())


@pytest.mark.parametrize("name", WITHOUT_NETWORK)
def test_every_move_is_legal(name: str, game: Game) -> None:
    states = some_states(game)
    actions = ask(make_player(name, game, **QUICK.get(name, {})), states)
    assert actions.shape == (len(states),) and actions.dtype == np.int64
    assert all(game.legal_mask(state)[action] for state, action in zip(states, actions, strict=True))


@pytest.mark.parametrize("name", WITHOUT_NETWORK)
def test_a_move_depends_on_its_game_s_seed_and_on_no_other_game(name: str, game: Game) -> None:
    states = some_states(game)
    seeds = np.random.default_rng(7).integers(0, 2**63, len(states)).astype(np.uint64)
    player = make_player(name, game, **QUICK.get(name, {}))
    together = ask(player, states, seeds)
    np.testing.assert_array_equal(ask(player, states, seeds), together)
    backwards = ask(player, states[::-1], seeds[::-1])
    np.testing.assert_array_equal(backwards[::-1], together)
    alone = [
        int(ask(player, states[row : row + 1], seeds[row : row + 1])[0]) for row in range(0, len(states), 50)
    ]
    assert alone == together[::50].tolist()


GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tictactoe", {}),
    ("connect_four", {"rows": 4, "columns": 5}),
    ("othello", {"size": 4}),
    ("go", {"size": 3}),
    ("gomoku", {"rows": 5, "columns": 5, "connect": 4}),
    ("hex", {"size": 3}),
]
FEW: dict[str, dict[str, Any]] = {
    "alpha_beta": {"depth": 2},
    "negamax": {"depth": 2},
    "iterative_deepening": {"seconds": 0.002},
    "perfect": {"seconds": 0.002, "table": 1000},
    "uct": {"num_simulations": 30},
    "grouped_uct": {"num_simulations": 30},
    "pure_mcts": {"num_simulations": 30},
    "alphago": {"num_simulations": 10},
    "pv_mcts": {"num_simulations": 10},
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("game_name, options", GAMES, ids=[name for name, _ in GAMES])
def test_every_player_plays_every_game_to_its_end(name: str, game_name: str, options: dict[str, Any]) -> None:
    if (name, game_name) in (("grouped_uct", "connect_four"), ("perfect", "go")):
        return  # refused: a move of Connect Four names no cell, and in Go the history decides what is legal
    game, games = make_game(game_name, **options), np.arange(4)
    player = make_player(name, game, inference=searching.FakeInference(game), **FEW.get(name, {}))
    player.new_games(games.astype(np.uint64))
    past, states, plies = History(game, 4), np.stack([game.initial_state()] * 4), 0
    while len(games):
        actions = player.choose(
            states[games], games, np.full(len(games), plies), past.banned(games, states[games])
        )
        for g, action in zip(games, actions, strict=True):
            banned = past.banned(np.array([g]), states[g][None])  # what the game's history forbids
            assert game.legal_mask(states[g])[action] and (banned is None or not banned[0, action])
            past.add(np.array([g]), states[g][None])
            states[g] = game.step(states[g], int(action))
        games = np.array([g for g in games if not game.is_terminal(states[g])], np.int64)
        plies += 1
    assert plies <= game.max_plies


def test_other_seeds_give_other_random_moves_and_a_game_s_moves_go_on(game: Game) -> None:
    player = make_player("random", game)
    states = np.stack([game.initial_state()] * 500)
    first = ask(player, states, np.arange(500, dtype=np.uint64))
    second = player.choose(states, np.arange(500), np.ones(500, np.int64))
    assert (first != second).mean() > 0.8  # the stream goes on: 8 of 9 moves differ
    assert (ask(player, states, np.arange(500, 1000, dtype=np.uint64)) != first).mean() > 0.8
    assert (
        (np.bincount(first, minlength=9) - 500 / 9) ** 2 / (500 / 9)
    ).sum() < 32  # chi square, 8 degrees: once in 10,000


def test_uct_beats_random_and_a_bigger_uct_beats_a_smaller_one(game: Game) -> None:
    wins, _, losses = play_games(
        game, make_player("uct", game, num_simulations=50), make_player("random", game), 200
    )
    assert wins > 150 > 20 > losses
    big, small = make_player("uct", game, num_simulations=400), make_player("uct", game, num_simulations=10)
    wins, _, losses = play_games(game, big, small, 200)
    assert wins > 3 * losses and wins > 60


def test_alpha_beta_beats_random_never_loses_and_beats_its_smaller_self(game: Game) -> None:
    wins, _, losses = play_games(game, make_player("alpha_beta", game), make_player("random", game), 200)
    assert wins > 150 and losses == 0
    assert (
        play_games(game, make_player("alpha_beta", game), make_player("uct", game, num_simulations=100), 200)[
            2
        ]
        == 0
    )
    wins, _, losses = play_games(
        game, make_player("alpha_beta", game, depth=2), make_player("random", game), 200
    )
    assert wins > 100 > losses


def test_policy_plays_the_favourite_legal_move_in_batches_of_one_shape(game: Game) -> None:
    inference = FakeInference(batch_size=64)
    states = some_states(game)
    actions = ask(make_player("policy", game, inference=inference), states)
    assert actions.tolist() == [max(game.legal_actions(state)) for state in states]
    assert len(inference.batches) == -(-len(states) // 64)
    np.testing.assert_array_equal(inference.batches[0][5], game.planes(states[5]))


def test_the_policies_are_a_softmax_over_legal_moves(game: Game) -> None:
    state = game.step(game.step(game.initial_state(), 8), 0)
    player = PolicyPlayer(game, FakeInference(batch_size=4))
    weights = np.exp(np.arange(9.0)) * [0, 1, 1, 1, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(player.ask(state[None])[0][0], weights / weights.sum())


def test_policy_asks_nothing_of_no_positions(game: Game) -> None:
    inference = FakeInference(batch_size=4)
    player = make_player("policy", game, inference=inference)
    assert player.choose(np.zeros((0, 2), np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)).shape == (
        0,
    )
    assert inference.batches == []


def test_negamax_plays_what_alpha_beta_plays_and_searches_more(game: Game) -> None:
    plain, pruned = make_player("negamax", game), make_player("alpha_beta", game)
    states = some_states(game)
    states = states[[bin(int(state[0] | state[1])).count("1") >= 3 for state in states]]
    assert ask(plain, states).tolist() == ask(pruned, states).tolist()
    assert isinstance(plain, AlphaBetaPlayer) and isinstance(pruned, AlphaBetaPlayer)
    assert plain.analyse(states[0]).value == pruned.analyse(states[0]).value
    assert sum(found.nodes for found in plain.found) > 2 * sum(found.nodes for found in pruned.found)


def test_a_heuristic_is_an_option_of_the_players_that_search_to_a_depth() -> None:
    othello = make_game("othello", size=4)
    for name in ("alpha_beta", "negamax", "iterative_deepening"):
        player = make_player(name, othello, depth=2, heuristic="mobility")
        assert othello.legal_mask(othello.initial_state())[ask(player, othello.initial_state()[None])[0]]
        with pytest.raises(
            UserError,
            match="lines is for connect_four and gomoku only; for othello choose one of: discs, mobility",
        ):
            make_player(name, othello, heuristic="lines")


def test_iterative_deepening_plays_tictactoe_perfectly_and_stops_when_it_knows(game: Game) -> None:
    player = make_player("iterative_deepening", game, seconds=60.0)
    assert play_games(game, player, make_player("random", game), 100)[2] == 0
    assert isinstance(player, IterativeDeepening)
    assert all(found.exact for found in player.found)


def test_iterative_deepening_keeps_its_time() -> None:
    game = make_game("gomoku")
    player = make_player("iterative_deepening", game, seconds=0.05, heuristic="lines")
    assert isinstance(player, IterativeDeepening)
    state, seconds = game.initial_state(), []
    for action in range(0, 100, 20):
        found = player.analyse(state)
        seconds.append(found.seconds)
        assert found.depth >= 1 and game.legal_mask(state)[found.action]
        state = game.step(state, action)
    assert max(seconds) > 0.04 and min(seconds) < 5


def test_a_deadline_before_the_first_depth_still_gives_a_legal_move() -> None:
    game = make_game("connect_four")
    player = make_player("iterative_deepening", game, seconds=0.001, heuristic="rollouts")
    state = game.initial_state()
    while not game.is_terminal(state):
        action = int(ask(player, state[None])[0])
        assert game.legal_mask(state)[action]
        state = game.step(state, action)


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        ("stockfish", {}, "unknown player stockfish; choose one of: random, alpha_beta"),
        (
            "uct",
            {"simulations": 5},
            "unknown setting 'simulations'; did you mean num_simulations?",
        ),
        ("uct", {"num_simulations": 2.5}, "num_simulations=2.5 must be a whole number"),
        ("uct", {"exploration": float("nan")}, "exploration=nan must be a number"),
        ("uct", {"heuristic": "discs"}, "heuristic=discs needs rollout_depth"),
        ("uct", {"rollout_depth": 9, "heuristic": "discs"}, "heuristic=discs is for othello only"),
        ("alpha_beta", {"heuristic": "network"}, "heuristic=network needs a trained network"),
        ("negamax", {"table": 5}, "unknown setting 'table'; player negamax has depth, heuristic."),
        ("random", {"seed": 1}, "unknown setting 'seed'; player random has no options."),
        (
            "flat_monte_carlo",
            {"rollouts": 5, "num_simulations": 50},
            "rollouts=5 is for each move, num_simulations=50 for all",
        ),
        ("flat_monte_carlo", {"heuristic": "discs"}, "heuristic=discs needs rollout_depth"),
        ("pure_mcts", {"update_root": "maybe"}, "update_root=maybe must be true or false."),
        ("policy", {}, "needs a trained network"),
        ("value", {}, "needs a trained network"),
        ("alphago", {}, "needs a trained network"),
        ("pv_mcts", {}, "needs a trained network"),
    ],
)
def test_a_wrong_player_gets_one_sentence(
    name: str, options: dict[str, Any], sentence: str, game: Game
) -> None:
    with pytest.raises(UserError) as refused:
        make_player(name, game, **options)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("name", MODULES)
def test_a_value_that_its_record_does_not_allow_is_refused_by_name(name: str, game: Game) -> None:
    inference = FakeInference(4) if options_of(name).network == "must" else None
    for option, known in settings(options_of(name)).items():
        low, high = known.between or (0, 0)
        wrong: list[Any] = [low - 1, high * 2 + 1, True, "x"] if known.between else ["nonsense", [1]]
        for value in [*wrong, *([float("nan"), float("inf")] if isinstance(low, float) else [])]:
            with pytest.raises(UserError, match=rf"^first\.{option}=.* must be "):
                make_player(name, game, inference=inference, prefix="first.", **{option: value})


@pytest.mark.parametrize("value", [0, 2.5, True])
def test_pv_mcts_refuses_a_search_that_cannot_work(value: Any, game: Game) -> None:
    search = SearchConfig(num_simulations=value)
    with pytest.raises(UserError, match="num_simulations"):
        make_player("pv_mcts", game, inference=FakeInference(4), search=search)


def test_alpha_beta_searches_small_games_to_the_end_and_some_plies_of_others_by_their_own_heuristic() -> None:
    """Negamax searches less deep on large boards: 82 * 81 * 80 * 79 or 225 * 224 * 223 lines are too many."""
    depths = {"tictactoe": (9, 9), "connect_four": (4, 4), "othello": (4, 4), "go": (4, 3), "gomoku": (4, 2)}
    heuristics = {
        "tictactoe": None,
        "connect_four": "lines",
        "othello": "squares",
        "go": None,
        "gomoku": "lines",
    }
    for name, both in depths.items():
        for player_name, depth in zip(("alpha_beta", "negamax"), both, strict=True):
            player = make_player(player_name, make_game(name))
            assert isinstance(player, AlphaBetaPlayer)
            chosen = player.searcher.heuristic
            assert (player.searcher.depth, chosen and chosen.name) == (depth, heuristics[name])
    whole = make_player("alpha_beta", make_game("connect_four", rows=4, columns=4), depth=0, heuristic="")
    assert isinstance(whole, AlphaBetaPlayer) and (whole.searcher.depth, whole.searcher.heuristic) == (
        16,
        None,
    )


def test_every_name_has_a_module() -> None:
    assert set(MODULES) == {
        "iterative_deepening",
        "perfect",
        *WITHOUT_NETWORK,
        "policy",
        "value",
        "alphago",
        "pv_mcts",
    }


def test_a_game_that_was_not_begun_is_refused(game: Game) -> None:
    player = make_player("random", game)
    player.new_games(np.zeros(2, np.uint64))
    with pytest.raises(ValueError, match="game 2 has no seed"):
        player.choose(game.initial_state()[None], np.array([2]), np.zeros(1, np.int64))


def test_uct_says_what_it_thinks_of_each_move() -> None:
    """X to move wins at 2; a lost move is worth -1, an unlisted one nothing.

    X X .
    O O .
    . . .
    """
    game = make_game("tictactoe")
    state = after(game, 0, 3, 1, 4)
    player = make_player("uct", game, num_simulations=4000)
    visits, values = columns_of(thought_of(player, state), 9)
    assert visits.sum() == 4000 and visits.argmax() == 2
    assert values[2] == 1.0
    assert np.isnan(values[[0, 1, 3, 4]]).all() and not np.isnan(values[[2, 5, 6, 7, 8]]).any()
    assert values[6] < 0  # O wins at 5
