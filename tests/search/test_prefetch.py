"""A search of one position with prefetch is the plain search, visit for visit, with fewer network calls."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE
from plain_mcts import PlainSearch
from searching import FakeInference, after, hashed, random_game, searched
from trees import assert_same_edges

from azero.config.schema import SearchConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.network.side_by_side import SideBySideInference
from azero.players import make_player
from azero.players.pv_mcts import PvMcts, is_decided
from azero.search.prefetch import gather, receive_prefetched
from azero.search.tree import EDGE, NO_LEAF, NODE, ROOT, edges_of

GAMES = ("tictactoe", DOUBLE_MOVE, "connect_four")
ONLY = np.zeros(1, np.int64)


def ready(game: Game, leaves: int, config: SearchConfig, **options: object) -> PvMcts:
    """Return a player of one game with `leaves` leaves in a wave."""
    fake = FakeInference(game, batch_size=leaves + 2)
    return PvMcts(game, fake, config, cache=4096, leaves=leaves, **options)  # type: ignore[arg-type]


def random_state(game: Game, seed: int) -> np.ndarray:
    """Return an unfinished position of random play."""
    rng = np.random.default_rng(seed)
    states = random_game(game, rng)
    return states[int(rng.integers(len(states)))]


def assert_same_root(player: PvMcts, other: PvMcts, other_game: int = 0) -> None:
    """Assert that both searches' roots are equal bit for bit."""
    assert (edges_of(player.tree, 0, ROOT) == edges_of(other.tree, other_game, ROOT)).all()
    assert player.tree.nodes["value_sum"][0, ROOT] == other.tree.nodes["value_sum"][other_game, ROOT]


@pytest.mark.parametrize("name", GAMES, ids=["tictactoe", "double_move", "connect_four"])
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    leaves=st.integers(1, 40),
    simulations=st.integers(1, 150),
    solver=st.booleans(),
)
def test_any_number_of_leaves_finds_what_the_plain_search_finds(
    name: str, seed: int, leaves: int, simulations: int, solver: bool
) -> None:
    game, state = make_game(name), random_state(make_game(name), seed)
    config = SearchConfig(num_simulations=simulations, tree_reuse=False, solver=solver)
    player = ready(game, leaves, config)
    player.search_states(state[None], ONLY)
    side_by_side = searched(game, [state, game.initial_state()], config)  # two games: no prefetch
    assert_same_root(player, side_by_side)
    visits = player.tree.nodes["node_visits"][0, ROOT]
    assert visits == simulations + 1 or (
        solver and player.tree.nodes["proven"][0, ROOT] and visits <= simulations
    )
    assert player.tree.searches["num_nodes"][0] == side_by_side.tree.searches["num_nodes"][0]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), leaves=st.integers(2, 24), simulations=st.integers(2, 100))
def test_guesses_about_lost_endings_leave_no_trace_in_a_gumbel_search(
    seed: int, leaves: int, simulations: int
) -> None:
    """Othello 4 x 4, where the last move may lose for who makes it: a guess then meets nodes of which all
    moves are lost ends.
    """
    game = make_game("othello", size=4)
    state = random_state(game, seed)
    config = SearchConfig(kind="gumbel", num_simulations=simulations, tree_reuse=False, solver=True)
    player = ready(game, leaves, config)
    player.search_states(state[None], ONLY)
    side_by_side = searched(game, [state, game.initial_state()], config)
    nodes = player.tree.searches["num_nodes"][0]
    assert nodes == side_by_side.tree.searches["num_nodes"][0]
    assert_same_edges(player.tree, side_by_side.tree)


def test_the_plain_twin_finds_the_same_visits() -> None:
    game = make_game("tictactoe")
    config = SearchConfig(num_simulations=100, tree_reuse=False)
    player = ready(game, 12, config)
    player.search_states(after(game, 4)[None], ONLY)
    plain = PlainSearch(
        game, lambda state: hashed(np.frombuffer(game.planes(state).tobytes(), np.uint8), 9), config
    )
    root = plain.run(after(game, 4), 100)
    assert player.visit_counts(ONLY)[0].tolist() == [root.edge_visits.get(action, 0) for action in range(9)]
    assert isinstance(player.inference, FakeInference) and player.inference.calls < plain.evaluations / 4


def test_what_comes_next_is_guessed_with_the_mean_value_above() -> None:
    """The root says 0.5 and likes the cells 0 and 1, with priors of nearly 0.8 and 0.2; c_puct is 1
    throughout.

    Cell 0 is asked for first: 0 + 1 * sqrt(1) * 0.8 against 0.2. The guess is that it keeps the root's mean,
    0.5. Then 0.5 + sqrt(2) * 0.8 / 2 = 1.07 against sqrt(2) * 0.2 = 0.28: cell 0 again, which still waits,
    and is guessed again to be 0.5. 0.5 + sqrt(3) * 0.8 / 3 = 0.96 against sqrt(3) * 0.2 = 0.35, and so on:
    0.5 + 0.8 * sqrt(n) / n against 0.2 * sqrt(n) goes to cell 1 when n has come to 13: 0.722 against 0.721.
    So a wave of two leaves needs 13 guesses, and has them.
    """
    game = make_game("tictactoe")
    logits = np.full(9, -30.0, np.float32)
    logits[0], logits[1] = np.log(0.8), np.log(0.2)
    inference = FakeInference(game, lambda planes: (logits, np.float32(0.5)), batch_size=2)
    config = SearchConfig(num_simulations=100, c_puct=1.0, c_puct_base=0.0, tree_reuse=False)
    player = PvMcts(game, inference, config, cache=64, leaves=2)
    player.begin(game.initial_state()[None], ONLY, ONLY)
    assert player.wave(0)  # the root
    assert gather_rows(player) == 2
    first, second = player.prefetch.prefetched.keys
    assert (first == key_of(game, after(game, 0))).all() and (second == key_of(game, after(game, 1))).all()
    player.tree.searches["simulations_left"] = 12  # one guess too few
    player.tree.searches["leaf"] = NO_LEAF
    assert gather_rows(player) == 1


def gather_rows(player: PvMcts) -> int:
    """Search on to the next wave and write its rows."""
    own = player.prefetch
    return int(
        gather(
            player.game.rule_addresses,
            player.tree,
            own.cache,
            0,
            player.searches.algorithm,
            own.rows,
            own.prefetched,
            own.scratch,
            player.searches.exact,
        )
    )


def key_of(game: Game, state: np.ndarray) -> np.ndarray:
    key = np.zeros(game.key_words, np.uint64)
    game.rules.plain().evaluation_key(state, key)
    return key


def test_what_was_guessed_is_taken_back_bit_for_bit() -> None:
    game = make_game("connect_four")
    config = SearchConfig(num_simulations=300, tree_reuse=False)
    wide, narrow = ready(game, 32, config), ready(game, 1, config)
    for player in (wide, narrow):
        player.begin(game.initial_state()[None], ONLY, ONLY)
    while True:
        rows = [gather_rows(player) for player in (wide, narrow)]
        nodes = int(wide.tree.searches["num_nodes"][0])
        assert (wide.tree.searches == narrow.tree.searches).all()
        assert_same_edges(wide.tree, narrow.tree)
        for field in set(NODE.names or ()) - {"raw_value"}:  # which a leaf does not have yet
            assert (wide.tree.nodes[field][0, :nodes] == narrow.tree.nodes[field][0, :nodes]).all()
        assert (rows[0] > 0) == (rows[1] > 0)
        if not rows[0]:
            break
        for player in (
            wide,
            narrow,
        ):  # what the wide one has prefetched is kept from it, so that both wait for the same leaf
            answer_first(player)


def answer_first(player: PvMcts) -> None:
    own = player.prefetch
    answers = own.inference.infer(own.planes)
    receive_prefetched(
        player.game.rule_addresses,
        player.tree,
        own.cache,
        ONLY,
        own.prefetched,
        1,
        *answers,
        own.scratch,
    )


def test_no_position_is_evaluated_twice() -> None:
    game = make_game("tictactoe")
    player = PvMcts(game, FakeInference(game, batch_size=16), SearchConfig(num_simulations=500), cache=2**16)
    player.search_states(game.initial_state()[None], ONLY)
    assert player.cache.used.sum() == player.stats.evaluations
    assert player.stats.rows < 1.3 * player.stats.evaluations  # 16 a wave


def test_batches_computed_side_by_side_change_nothing() -> None:
    game, threads = make_game("connect_four"), set[int]()
    config = SearchConfig(num_simulations=200)

    class Told(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            threads.add(threading.get_ident())
            return super().infer(planes, rows)

    alone = PvMcts(game, FakeInference(game, batch_size=12), config)
    parted = PvMcts(game, SideBySideInference([Told(game, batch_size=4) for _ in range(3)]), config)
    for player in (alone, parted):
        player.search_states(game.initial_state()[None], ONLY)
    assert_same_root(alone, parted)
    assert len(threads) > 1 and threading.get_ident() in threads


def test_a_tree_is_kept_from_move_to_move_as_without_foresight() -> None:
    game = make_game("connect_four")
    config = SearchConfig(num_simulations=60)
    player, side_by_side = ready(game, 16, config), ready(game, 1, config)
    side_by_side.new_games(np.zeros(2, np.uint64))
    state = game.initial_state()
    for ply in range(12):
        chosen = [each.choose(state[None], ONLY, np.array([ply])) for each in (player, side_by_side)]
        assert chosen[0] == chosen[1]
        assert_same_root(player, side_by_side)
        state = game.step(state, int(chosen[0][0]))


def test_banned_moves_are_never_chosen_and_the_rest_is_searched_as_without_foresight() -> None:
    game = make_game("go", size=5)
    config = SearchConfig(num_simulations=80)
    for seed in range(6):
        state, rng = random_state(game, seed), np.random.default_rng(seed)
        banned = game.legal_mask(state) & (rng.random(game.num_actions) < 0.5)
        banned[-1] = False  # a pass is never banned
        player, side_by_side = ready(game, 16, config), ready(game, 1, config)
        side_by_side.new_games(np.zeros(2, np.uint64))
        for each in (player, side_by_side):
            assert not banned[each.choose(state[None], ONLY, ONLY, banned[None])[0]]
            assert not each.visit_counts(ONLY)[0][banned].any()
        assert_same_root(player, side_by_side)


class Clock:
    """Time that passes only while the network is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("azero.players.pv_mcts.time.perf_counter", lambda: self.now)

    def slow(self, game: Game, seconds: float) -> FakeInference:
        """Return a network that takes these seconds for a batch."""

        def answer(planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
            self.now += seconds / 4
            return hashed(np.frombuffer(planes.tobytes(), np.uint8), game.num_actions)

        return FakeInference(game, answer, batch_size=4)


def test_a_move_takes_no_longer_than_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    game, clock = make_game("connect_four"), Clock(monkeypatch)
    player = make_player("pv_mcts", game, inference=clock.slow(game, 0.03), seconds=1.0, leaves=4)
    assert isinstance(player, PvMcts)
    for games in (1, 2):
        player.new_games(np.zeros(games, np.uint64))
        begin = clock.now
        player.choose(
            np.repeat(game.initial_state()[None], games, axis=0), np.arange(games), np.zeros(games, np.int64)
        )
        assert (
            games * 0.93 < clock.now - begin <= games * 1.0 + 1e-9
        )  # what is left is too short for one wave more
        assert player.stats.rows == games * 33 * 4


def test_there_is_a_move_however_short_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    game, clock = make_game("tictactoe"), Clock(monkeypatch)
    player = make_player("pv_mcts", game, inference=clock.slow(game, 5.0), seconds=0.001)
    state = after(game, 0, 1)
    assert game.legal_mask(state)[player.choose(state[None], ONLY, ONLY)[0]]


def test_a_search_can_be_watched_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    game, clock = make_game("connect_four"), Clock(monkeypatch)
    player = PvMcts(game, clock.slow(game, 0.06), SearchConfig(num_simulations=200), leaves=4)
    totals, seen = list[int](), list[int]()

    whole = player.think(GameInProgress(game), report=lambda thought: totals.append(thought.visits))
    assert len(totals) > 5 and totals == sorted(totals) and totals[-1] == 200
    assert max(abs(move.value) for move in whole.moves if move.visits) <= 1.0

    player = PvMcts(game, clock.slow(game, 0.06), SearchConfig(num_simulations=200), leaves=4)
    found = player.think(
        GameInProgress(game), 0.0, lambda: len(seen) == 3, lambda thought: seen.append(thought.visits)
    )
    assert seen == [*totals[:3], totals[2]] and found.best == player.visit_counts(ONLY)[0].argmax()
    assert player.visit_counts(ONLY).sum() == totals[2] < 200
    player.choose(game.initial_state()[None], ONLY, ONLY)  # goes on in the same tree
    assert player.visit_counts(ONLY).sum() == totals[2] + 200


def test_a_decided_search_ends_early_with_the_same_move() -> None:
    game = make_game("connect_four")
    saved = 0
    for seed in range(30):
        state = random_state(game, seed)
        full, early = (
            ready(game, 8, SearchConfig(num_simulations=120), until_decided=until) for until in (False, True)
        )
        chosen = [player.choose(state[None], ONLY, ONLY) for player in (full, early)]
        assert chosen[0] == chosen[1]
        saved += int(full.visit_counts(ONLY).sum() - early.visit_counts(ONLY).sum())
    assert saved > 30


def test_a_search_is_decided_when_the_second_cannot_come_level() -> None:
    edges = np.zeros(2, EDGE)
    edges["child_visits"] = [30, 10]
    assert is_decided(edges, 19) and not is_decided(edges, 20)
    assert is_decided(edges[:1], 1000)  # the only move
    edges["child_visits"] = 0
    assert not is_decided(edges[:1], 1000)  # there is none yet


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"leaves": 9}, "leaves=9 must be a whole number from 0 to 8"),  # rows of the batch
        ({"leaves": 8, "cache": 0}, "leaves=8 needs a cache"),
        ({"seconds": -1.0}, "seconds=-1 must be"),
        ({"until_decided": 2}, "until_decided=2 must be"),
        ({"until_decided": True, "temperature": 0.5}, "until_decided=true needs temperature=0"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], said: str) -> None:
    game = make_game("tictactoe")
    with pytest.raises(UserError, match=said):
        make_player("pv_mcts", game, inference=FakeInference(game), **options)
