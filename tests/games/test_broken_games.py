"""Mistakes in rules or networks: games are cut or stop with a sentence, and no array's bound is passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from places import OWN_GAMES
from searching import FakeInference, thought_of

from azero.champion.champion import Champion
from azero.classic.deepening import Searcher
from azero.classic.flat_monte_carlo import share_rollouts
from azero.classic.rollouts import new_room
from azero.config.schema import BrokenGame, Config, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game, tictactoe
from azero.games.game import LEGAL_MASK, OUTCOME, REPETITION_KEY, Game, rule
from azero.games.kit.bits import popcount
from azero.games.kit.board import Board
from azero.games.playing import GameInProgress
from azero.heuristics import make_heuristic
from azero.match.lockstep import play_match
from azero.match.openings import random_opening
from azero.players import MODULES, Player, make_player
from azero.players.pv_mcts import PvMcts
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.studio.game_tree import GameTree
from azero.tracing.record import MctsSettings, UctSettings, record
from azero.tracing.watched_uct import WatchedUct
from azero.workers.report import is_cut
from azero.workers.threads import GameQueue, play_games

SEARCH = SearchConfig(num_simulations=6, solver=False)


def endless() -> Game:
    """The ring with a bound that its games pass."""
    return replace(make_game(str(OWN_GAMES / "ring.py")), max_plies=9)


@rule(LEGAL_MASK)
def the_first_alone(state: np.ndarray, mask: np.ndarray) -> None:
    for action in range(4):
        mask[action] = action == 0


def line() -> Game:
    """The ring with one legal move."""
    game = endless()
    return replace(game, rules=game.rules._replace(legal_mask=the_first_alone))


@rule(LEGAL_MASK)
def none_after_two(state: np.ndarray, mask: np.ndarray) -> None:
    """Forget the moves as soon as there are two stones."""
    stones = state[0] | state[1]
    few = popcount(stones) < 2
    for cell in range(tictactoe.CELLS):
        mask[cell] = few and (stones >> np.uint64(cell)) & tictactoe.ONE == 0


def stuck() -> Game:
    """Tic-tac-toe without a legal move after two plies."""
    game = tictactoe.make_game()
    return replace(game, rules=game.rules._replace(legal_mask=none_after_two))


def self_play(game: Game, inference: FakeInference, **selfplay: Any) -> list[GameRecord]:
    config = Config(search=SEARCH, selfplay=replace(SelfplayConfig(games=6), **selfplay))
    seeds, queue = game_seeds(1, 1, SELFPLAY, 6), GameQueue(iter(range(6)))
    return play_games(game, [inference], config, queue, seeds, Progress(), StopSignal())[0]


def searcher(game: Game, inference: FakeInference) -> Player:
    return make_player("pv_mcts", game, inference=inference, search=SEARCH)


@pytest.mark.parametrize("opening_plies", [1, 40])
def test_a_game_that_never_ends_is_cut_at_its_bound(opening_plies: int) -> None:
    game = endless()
    records = self_play(game, FakeInference(game), opening_fraction=1.0, opening_plies=opening_plies)
    assert [len(record.actions) for record in records] == [9] * 6
    assert [record.first_outcome for record in records] == [0.0] * 6
    assert all(is_cut(game, record) for record in records)


def test_a_game_in_progress_is_a_draw_at_its_bound() -> None:
    at = GameInProgress(endless())
    while not at.is_over:
        at.play(at.legal_actions()[0])
    assert (len(at.actions), at.outcome, at.legal_actions()) == (9, 0.0, [])
    with pytest.raises(UserError, match="the game is over"):
        at.play(0)
    at.undo()
    assert at.outcome is None and at.legal_actions()
    played = Champion(at.game, FakeInference(at.game), SEARCH).play_game()
    assert (len(played.moves), played.outcome, played.result) == (9, 0.0, "Draw")


def test_a_search_deeper_than_the_bound_stays_within_its_arrays() -> None:
    """One legal move at each of 10,000 plies: a path of 300 nodes where nine plies are announced."""
    game = replace(line(), max_plies=9)
    player = make_player("uct", game, num_simulations=300)
    result = play_match(game, (player, player), np.arange(2, dtype=np.uint64))
    assert [len(played.actions) for played in result.games] == [9, 9]


def test_prefetching_deeper_than_the_bound_stays_within_its_journal() -> None:
    game, search = replace(line(), max_plies=3), replace(SEARCH, num_simulations=300)
    visits = []
    for cache in (0, 4096):
        player = PvMcts(game, FakeInference(game, batch_size=64), search, cache=cache)
        player.new_games(np.zeros(1, np.uint64))
        one = np.zeros(1, np.int64)
        player.choose(game.initial_state()[None], one, one, None)
        visits.append(player.searches.tree.nodes["node_visits"][0, :300].tolist())
    assert visits[0] == visits[1]


@pytest.mark.parametrize("name", ["uct", "random", "alpha_beta", "pure_mcts"])
def test_a_match_stops_where_nothing_is_legal(name: str) -> None:
    game = stuck()
    options: dict[str, Any] = {"depth": 1} if name == "alpha_beta" else {}
    if name in ("uct", "pure_mcts"):
        options = {"num_simulations": 1}
    player = make_player(name, game, **options)
    with pytest.raises(BrokenGame, match=r"is not over after [0-8] [0-8], but"):
        play_match(game, (player, player), np.arange(2, dtype=np.uint64), openings=[[4, 0]])


def test_no_game_that_ends_is_called_cut() -> None:
    game = tictactoe.make_game()  # nine plies at most, and a draw has nine
    records = self_play(game, FakeInference(game))
    assert len(records) == 6 and not any(is_cut(game, record) for record in records)


def test_a_match_cuts_such_games_too() -> None:
    game = endless()
    result = play_match(game, (searcher(game, FakeInference(game)),) * 2, np.arange(4, dtype=np.uint64))
    assert (result.wins, result.draws, result.losses) == (0, 4, 0)
    assert all(len(played.actions) == 9 for played in result.games)


@pytest.mark.parametrize("opening_fraction", [0.0, 1.0])
def test_self_play_stops_where_nothing_is_legal(opening_fraction: float) -> None:
    game = stuck()
    with pytest.raises(BrokenGame, match=r"is not over after [0-8] [0-8], but has no legal move there"):
        self_play(game, FakeInference(game), opening_fraction=opening_fraction, opening_plies=4)


def test_a_search_stops_where_nothing_is_legal() -> None:
    game = stuck()
    player = searcher(game, FakeInference(game))
    player.new_games(np.zeros(1, np.uint64))
    states, one = game.initial_state()[None], np.zeros(1, np.int64)
    with pytest.raises(BrokenGame, match=r"after [0-8] [0-8], but"):
        player.choose(states, one, one, None)
    with pytest.raises(BrokenGame, match="in the position to search"):
        player.choose(game.step(game.step(states[0], 0), 1)[None], one, one, None)


def spoiled(game: Game, logit: float, value: float) -> FakeInference:
    """A network that spoils the answer to the second row of its third batch."""

    class Spoiled(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            logits, values = super().infer(planes, rows)
            if self.calls == 3:
                logits[1, 4] += logit
                values[1] += value
            return logits, values

    return Spoiled(game)


@pytest.mark.parametrize(
    ("logit", "value"), [(np.nan, 0), (np.inf, 0), (-np.inf, 0), (0, np.nan), (0, np.inf), (0, 1e30), (0, -3)]
)
def test_a_network_that_answers_nonsense_is_not_believed(logit: float, value: float) -> None:
    game = tictactoe.make_game()
    with pytest.raises(UserError, match="answered NaN, infinity or a value beyond 1, and nothing of it was"):
        self_play(game, spoiled(game, logit, value))
    match = (searcher(game, spoiled(game, logit, value)), make_player("random", game))
    with pytest.raises(UserError, match="answered NaN"):
        play_match(game, match, np.arange(8, dtype=np.uint64))


@pytest.mark.parametrize("name", ["policy", "value", "alphago"])
def test_no_player_believes_it(name: str) -> None:
    game = tictactoe.make_game()
    answer = (np.full(9, np.nan, np.float32), np.float32(0.0))
    player = make_player(name, game, inference=FakeInference(game, lambda planes: answer))
    with pytest.raises(UserError, match="answered NaN"):
        play_match(game, (player, player), np.arange(2, dtype=np.uint64))


def test_rows_that_carry_no_position_may_hold_anything() -> None:
    game = tictactoe.make_game()

    class Padded(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            logits, values = super().infer(planes, rows)
            logits[rows:], values[rows:] = np.nan, np.nan
            return logits, values

    assert len(self_play(game, Padded(game))) == 6


@rule(REPETITION_KEY)
def every_third_ply(state: np.ndarray, key: np.ndarray) -> None:
    key[0] = state[1] % np.uint64(3)


def no_way_on() -> Game:
    """The ring on a board; after two plies each move repeats the key of the start."""
    game = late()
    return replace(game, repetition_words=1, rules=game.rules._replace(repetition_key=every_third_ply))


NO_WAY_ON = r"is not over after [0-3] [0-3], but has no legal move there, because each repeats an earlier"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in sorted(set(MODULES) - {"perfect", "pv_mcts"})),
        ("uct", {"seconds": 0.01}),
        ("flat_monte_carlo", {"seconds": 0.01}),
        *(
            ("pv_mcts", {"kind": kind, "tree_reuse": reuse})
            for kind in ("puct", "gumbel")
            for reuse in (0, 1)
        ),
    ],
)
def test_no_player_moves_where_the_history_forbids_every_move(name: str, options: dict[str, Any]) -> None:
    game = no_way_on()
    if name == "pv_mcts":
        reuse = bool(options["tree_reuse"]) and options["kind"] == "puct"
        options = {"search": replace(SEARCH, kind=options["kind"], tree_reuse=reuse)}
    elif name in ("pure_mcts", "alphago"):
        options = {"num_simulations": 10}
    player = roller(name, game, **options)
    with pytest.raises(BrokenGame, match=NO_WAY_ON):
        play_match(game, (player, player), np.arange(4, dtype=np.uint64))
    player.new_games(np.zeros(1, np.uint64))
    one, all_banned = np.zeros(1, np.int64), np.ones((1, 4), np.bool_)
    with pytest.raises(BrokenGame, match="has no legal move there"):
        player.choose(game.initial_state()[None], one, one, all_banned)


@pytest.mark.parametrize("opening_fraction", [0.0, 1.0])
@pytest.mark.parametrize(("kind", "reuse"), [("puct", True), ("puct", False), ("gumbel", False)])
def test_self_play_stops_where_the_history_forbids_every_move(
    kind: str, reuse: bool, opening_fraction: float
) -> None:
    game, selfplay = no_way_on(), SelfplayConfig(games=6, opening_fraction=opening_fraction, opening_plies=4)
    config = Config(search=replace(SEARCH, kind=kind, tree_reuse=reuse), selfplay=selfplay)
    seeds, queue = game_seeds(1, 1, SELFPLAY, 6), GameQueue(iter(range(6)))
    with pytest.raises(BrokenGame, match=NO_WAY_ON):
        play_games(game, [FakeInference(game)], config, queue, seeds, Progress(), StopSignal())


@pytest.mark.parametrize(("make", "why"), [(no_way_on, NO_WAY_ON), (stuck, r"is not over after [0-8] [0-8]")])
def test_openings_and_the_studio_stop_where_nothing_may_be_played(make: Callable[[], Game], why: str) -> None:
    game = make()
    with pytest.raises(BrokenGame, match=why):
        random_opening(game, 3, np.random.default_rng(1))
    tree = GameTree(game)
    tree.play(0)
    with pytest.raises(BrokenGame, match=why):
        tree.play(1)
    assert len(tree.nodes) == 2 and tree.legal().any()  # the board stands where there is a move


def test_a_champion_stops_where_the_history_forbids_every_move() -> None:
    game = no_way_on()
    champion = Champion(game, FakeInference(game), SEARCH)
    with pytest.raises(BrokenGame, match=NO_WAY_ON):
        champion.play_game()
    with pytest.raises(BrokenGame, match="is not over after 3 1, but"):
        champion.search(champion.position("3 1"), moves="3 1")


@pytest.mark.parametrize("name", ["uct", "pure_mcts", "alphago", "flat_monte_carlo", "grouped_uct"])
def test_a_search_that_meets_a_dead_end_counts_it_as_a_draw(name: str) -> None:
    game = stuck()  # nothing is won or lost within two plies
    inference = FakeInference(game, lambda planes: (np.zeros(9, np.float32), np.float32(0.0)))
    options: dict[str, Any] = {"rollouts": 20} if name == "flat_monte_carlo" else {"num_simulations": 300}
    if name == "alphago":
        options |= {"rollout_share": 1.0}
    player: Any = make_player(name, game, inference=inference, **options)
    player.new_games(np.zeros(1, np.uint64))
    one = np.zeros(1, np.int64)
    assert 0 <= player.choose(game.initial_state()[None], one, one)[0] < 9
    if name in ("pure_mcts", "alphago"):
        assert not player.tree.edges["child_value_sum"].any()
    if name == "uct":
        assert [move.value for move in player.read().moves] == [0.0] * 9


@rule(OUTCOME)
def won_or_lost(state: np.ndarray) -> float:
    return 1.0 if state[0] & np.uint64(1) == np.uint64(0) else -1.0


def late() -> Game:
    """The ring as a board of 2 x 2 cells: announced as 9 plies long, won or lost after 10,000."""
    game = endless()
    board = Board(
        "squares", ("a", "b"), ("2", "1"), lambda _: np.zeros((2, 2), np.int8), lambda _, cell: cell
    )
    return replace(game, rules=game.rules._replace(outcome=won_or_lost), board=board)


def roller(name: str, game: Game, **options: Any) -> Any:
    """A player with rollouts and a network that knows nothing."""
    inference = FakeInference(game, lambda planes: (np.zeros(4, np.float32), np.float32(0.0)))
    return make_player(name, game, inference=inference, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pure_mcts", {"priors": "uniform"}),
        ("alphago", {"rollout_share": 1.0, "eta": 0.1}),
        ("alphago", {"rollout_share": 1.0, "eta": 0.1, "rollout_policy": "random"}),
    ],
)
def test_a_rollout_of_a_game_that_never_ends_is_cut_and_a_draw(name: str, options: dict[str, Any]) -> None:
    game = late()
    player = roller(name, game, num_simulations=40, **options)
    player.new_games(np.zeros(1, np.uint64))
    visits = player.visit_counts(game.initial_state()[None], np.zeros(1, np.int64))
    assert visits.sum() == 40 and not player.tree.edges["child_value_sum"].any()


def test_such_rollouts_of_uct_and_flat_monte_carlo_are_draws() -> None:
    game, state, one = late(), late().initial_state(), np.zeros(1, np.int64)
    uct = roller("uct", game, num_simulations=40)
    assert [move.value for move in thought_of(uct, state).moves] == [0, 0, 0, 0]
    flat = roller("flat_monte_carlo", game, rollouts=5)
    flat.new_games(np.zeros(1, np.uint64))
    assert flat.choose(state[None], one, one).tolist() == [0]  # of equal moves the first
    room, stream, sums = new_room(4, game.state_words), np.zeros(2, np.uint64), np.zeros(4)
    none, counts = np.zeros(4, np.bool_), np.zeros(4, np.int64)
    share_rollouts(
        game.rule_addresses, room, flat.judge, state, none, flat.actions, 0, 20, stream, sums, counts
    )
    assert sums.tolist() == [2.5] * 4 and counts.tolist() == [5] * 4


@pytest.mark.long
def test_such_rollouts_of_grouped_uct_are_draws() -> None:
    """Moves of equal worth get equal shares of 200 simulations, less one in each of the two rows of cells."""
    game = late()
    player = roller("grouped_uct", game, num_simulations=200, grouping="rows")
    _, visits = player.search(
        game.initial_state()[None], np.zeros((1, 4), np.bool_), np.zeros((1, 2), np.uint64)
    )
    assert sorted(visits[0]) == [49, 49, 50, 50]


def test_the_heuristic_rollouts_counts_such_games_as_draws() -> None:
    game = late()
    judge = make_heuristic("rollouts", game).function.__wrapped__
    assert [judge(game.step(game.initial_state(), action)) for action in range(4)] == [0.0] * 4


def test_a_traced_search_cuts_such_games_too() -> None:
    game = late()
    search = WatchedUct(game, game.initial_state(), 1, 1.4, 1)
    simulations = [search.simulate() for _ in range(20)]
    assert {(len(each.evaluation.moves), each.evaluation.value) for each in simulations} == {(9, 0.5)}
    shown = [
        record(game, [], settings, 20)["simulations"][-1]["evaluation"]["result"]
        for settings in (UctSettings(), MctsSettings())
    ]
    assert shown == ["no end after 9 moves, a draw"] * 2


@pytest.mark.parametrize("name", ["flat_monte_carlo", "uct", "pure_mcts", "grouped_uct", "alphago"])
def test_players_with_rollouts_play_such_a_game_to_its_bound(name: str) -> None:
    game = late()
    options = {"rollouts": 2} if name == "flat_monte_carlo" else {"num_simulations": 10}
    players = (roller(name, game, **options), make_player("random", game))
    result = play_match(game, players, np.arange(2, dtype=np.uint64))
    assert [len(played.actions) for played in result.games] == [9, 9] and result.draws == 2


@pytest.mark.parametrize("name", ["alpha_beta", "iterative_deepening", "negamax"])
@pytest.mark.parametrize("answer", [np.nan, np.inf, 30.0])
def test_no_search_believes_a_network_as_heuristic(name: str, answer: float) -> None:
    game = tictactoe.make_game()
    answers = [np.float32(0.0)]
    inference = FakeInference(game, lambda planes: (np.zeros(9, np.float32), answers[0]))
    options: dict[str, Any] = {"heuristic": "network", "depth": 3, "inference": inference}
    if name == "iterative_deepening":
        options["seconds"] = 600.0  # so that its depth ends it
    player: Any = make_player(name, game, **options)
    other: Any = make_player(name, game, **options)
    one, states = np.zeros(1, np.int64), game.step(game.initial_state(), 4)[None]
    answers[0] = np.float32(answer)
    with pytest.raises(UserError, match="answered NaN, infinity or a value beyond 1, and nothing of it was"):
        player.choose(states, one, one)
    answers[0] = np.float32(0.3)
    found = []
    for each in (player, other):
        each.choose(states, one, one)
        found.append(each.found[0][:2])
    assert found[0] == found[1]  # move and value: nothing of it is left in the table


def test_an_interrupt_inside_a_heuristic_is_not_lost() -> None:
    game = tictactoe.make_game()

    def interrupted(planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
        raise KeyboardInterrupt

    heuristic = make_heuristic("network", game, FakeInference(game, interrupted))
    with pytest.raises(KeyboardInterrupt):
        Searcher(game, 2, heuristic=heuristic).search(game.initial_state())
