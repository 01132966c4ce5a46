"""Matches: pairs swap colours and share openings, games are counted, and the better player wins."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from places import DOUBLE_MOVE
from searching import FakeInference, after, hashed

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.match.lockstep import MatchGame, MatchResult, play_match, summarize
from azero.match.openings import random_opening, random_openings
from azero.players import Player, make_player
from azero.players.pv_mcts import PvMcts
from azero.process.signals import StopSignal
from azero.search.root import Temperature
from azero.workers.matches import MatchWorker, play_here

SEEDS = np.arange(100, 200, dtype=np.uint64)


@pytest.fixture(
    scope="module",
    params=["tictactoe", DOUBLE_MOVE],
    ids=["tictactoe", "double_move"],
)
def game(request: pytest.FixtureRequest) -> Game:
    return make_game(request.param)


class Scripted:
    """Plays by a rule of the legal actions; remembers what it was asked and with which seeds."""

    name = "scripted"
    deterministic = True

    def __init__(self, game: Game, rule: Callable[[list[int]], int]) -> None:
        self.game, self.rule = game, rule
        self.seeds = np.zeros(0, np.uint64)
        self.asked: list[tuple[int, int, int]] = []  # game, ply, side to move

    def new_games(self, seeds: np.ndarray) -> None:
        self.seeds = seeds

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        rows = zip(states, games.tolist(), plies.tolist(), strict=True)
        self.asked += [(number, ply, self.game.to_play(state)) for state, number, ply in rows]
        return np.array([self.rule(self.game.legal_actions(state)) for state in states])


def assert_plays_by_the_rules(game: Game, result: MatchResult) -> None:
    for played in result.games:
        state = game.initial_state()
        for action in played.actions:
            assert not game.is_terminal(state)
            assert action in game.legal_actions(state)
            state = game.step(state, action)
        assert game.is_terminal(state)
        first_outcome = game.outcome(state) * (1 if game.to_play(state) == 0 else -1)
        assert played.outcome == first_outcome * (1 if played.first == 0 else -1)


def test_games_of_a_pair_share_their_opening_and_swap_colours(game: Game) -> None:
    players = (make_player("random", game), make_player("random", game))
    result = play_match(game, players, SEEDS[:40], random_openings(game, 3, 20))
    assert [played.number for played in result.games] == list(range(40))
    assert [played.first for played in result.games] == [0, 1] * 20
    openings = [tuple(played.actions[: played.opening_plies]) for played in result.games]
    assert openings[0::2] == openings[1::2]
    assert all(len(opening) == 3 for opening in openings)
    assert len(set(openings)) > 10
    assert_plays_by_the_rules(game, result)


def test_a_player_is_asked_for_its_own_side_after_the_opening_only(game: Game) -> None:
    lowest, highest = Scripted(game, min), Scripted(game, max)
    result = play_match(game, (lowest, highest), SEEDS[:6], random_openings(game, 2, 3))
    for which, player in enumerate((lowest, highest)):
        assert player.asked
        for number, ply, side in player.asked:
            assert side == (0 if result.games[number].first == which else 1)
            assert ply >= result.games[number].opening_plies
    asked = sorted((number, ply) for number, ply, _ in lowest.asked + highest.asked)
    assert asked == [(played.number, ply) for played in result.games for ply in range(2, len(played.actions))]


def test_players_draw_from_streams_of_their_own(game: Game) -> None:
    one, other = Scripted(game, min), Scripted(game, max)
    play_match(game, (one, other), SEEDS[:6])
    assert not set(one.seeds.tolist()) & {
        int(seed) for seed, mine in zip(other.seeds, one.seeds, strict=True) if seed == mine
    }
    assert len(one.seeds) == len(other.seeds) == 6


def test_two_deterministic_players_without_openings_play_two_distinct_games(game: Game) -> None:
    result = play_match(game, (Scripted(game, min), Scripted(game, max)), SEEDS[:10])
    assert result.distinct == 2
    assert result.games[0].actions == result.games[2].actions != result.games[1].actions


def test_the_same_moves_with_colours_swapped_are_another_game(game: Game) -> None:
    result = play_match(game, (Scripted(game, min), Scripted(game, min)), SEEDS[:10])
    assert len({tuple(played.actions) for played in result.games}) == 1
    assert result.distinct == 2
    assert result.wins == result.losses == 5  # whoever moves first does the same


def test_openings_make_games_distinct(game: Game) -> None:
    result = play_match(
        game, (Scripted(game, min), Scripted(game, max)), SEEDS[:20], random_openings(game, 4, 10)
    )
    assert result.distinct > 10


def test_a_match_is_the_same_again_and_other_seeds_play_another(game: Game) -> None:
    def match(seeds: np.ndarray, source: np.random.SeedSequence) -> list[MatchGame]:
        openings = random_openings(game, 2, 10, source)
        return play_match(
            game, (make_player("random", game), make_player("random", game)), seeds, openings
        ).games

    one = match(SEEDS[:20], np.random.SeedSequence(7))
    assert match(SEEDS[:20], np.random.SeedSequence(7)) == one
    assert match(SEEDS[20:40], np.random.SeedSequence(7)) != one
    other = match(SEEDS[:20], np.random.SeedSequence(8))
    assert [played.actions[:2] for played in other] != [played.actions[:2] for played in one]


def test_a_game_of_a_long_match_is_that_of_a_short_one(game: Game) -> None:
    def match(games: int) -> list[MatchGame]:
        players = (make_player("random", game), make_player("random", game))
        return play_match(game, players, SEEDS[:games], random_openings(game, 2, games // 2)).games

    assert match(40)[:10] == match(10)


def test_wins_draws_and_losses_are_player_0_s() -> None:
    outcomes = [1.0, 0.0, -1.0, -1.0, 1.0, -1.0]
    games = [MatchGame(g, g % 2, 0, [g // 2], outcome) for g, outcome in enumerate(outcomes)]
    result = summarize(games)
    assert (result.wins, result.draws, result.losses, result.distinct) == (2, 1, 3, 6)


def test_the_outcome_follows_the_player_and_not_the_colour() -> None:
    """Lowest cell against lowest cell: X takes 0 2 4 6 and wins on the line 2 4 6, whoever X is."""
    game = make_game("tictactoe")
    result = play_match(game, (Scripted(game, min), Scripted(game, min)), SEEDS[:2])
    assert [played.actions for played in result.games] == [[0, 1, 2, 3, 4, 5, 6]] * 2
    assert [(played.first, played.outcome) for played in result.games] == [(0, 1.0), (1, -1.0)]


def test_alpha_beta_never_loses_to_random_and_draws_with_itself() -> None:
    game = make_game("tictactoe")
    perfect = make_player("alpha_beta", game)
    against_random = play_match(game, (perfect, make_player("random", game)), SEEDS)
    assert against_random.losses == 0 and against_random.wins > 70
    as_player_1 = play_match(game, (make_player("random", game), perfect), SEEDS)
    assert as_player_1.wins == 0 and as_player_1.losses > 70
    with_itself = play_match(game, (perfect, make_player("alpha_beta", game)), SEEDS[:10])
    assert (with_itself.wins, with_itself.draws, with_itself.losses, with_itself.distinct) == (0, 10, 0, 2)


def test_an_opening_ends_before_the_game_does(game: Game) -> None:
    for seed in range(200):
        opening = random_opening(game, 9, np.random.default_rng(seed))
        assert 1 <= len(opening) <= 8
        assert not game.is_terminal(after(game, *opening))
    assert random_opening(game, 0, np.random.default_rng(0)) == []


def test_finished_games_are_told_and_telling_may_stop_the_match(game: Game) -> None:
    told: list[list[MatchGame]] = []
    players: tuple[Player, Player] = (make_player("random", game), make_player("random", game))
    result = play_match(game, players, SEEDS[:20], watch=told.append)
    assert told[0] == [] and told[-1] != []  # one message for each time that a player moves
    assert sorted(played for ended in told for played in ended) == result.games

    class Enough(Exception):
        pass

    def stop(ended: list[MatchGame]) -> None:
        if ended:
            raise Enough

    with pytest.raises(Enough):
        play_match(game, players, SEEDS[:20], watch=stop)


def test_moves_are_counted_without_openings_and_timed(game: Game) -> None:
    players = (Scripted(game, min), Scripted(game, max))
    result = play_match(game, players, SEEDS[:6], random_openings(game, 2, 3))
    assert result.moves == (len(players[0].asked), len(players[1].asked))
    assert sum(result.moves) == sum(len(played.actions) - 2 for played in result.games)
    assert min(result.seconds) > 0


@pytest.mark.parametrize("batch_size", [2, 5, 64])
def test_a_match_is_the_same_with_one_worker_and_with_two_and_in_any_batch(
    game: Game, batch_size: int
) -> None:
    """Players that search at their own pace choose the same moves as in lock-step."""

    def player(sharpness: float, rows: int) -> PvMcts:
        def answer(planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
            return hashed(np.frombuffer(planes.tobytes(), np.uint8), game.num_actions, sharpness)

        network = FakeInference(game, answer, rows)
        return PvMcts(
            game, network, SearchConfig(num_simulations=12), Temperature(1.0, 100, 0, 0.0), cache=64
        )

    openings = random_openings(game, 2, 7)
    lock_step = play_match(game, (Patient(player(3.0, 8)), Patient(player(1.0, 8))), SEEDS[:14], openings)
    for workers in (1, 2):
        players = (player(3.0, batch_size), player(1.0, batch_size))
        result = play_match(game, players, SEEDS[:14], openings, workers=workers)
        assert result.games == lock_step.games and result.distinct > 4
        for which, stats in enumerate(result.stats):
            assert 0 < stats.evaluations <= stats.rows and 0 < stats.inference_seconds <= stats.seconds
            assert stats.plies == result.moves[which] == lock_step.moves[which]


class Patient:
    """Hides `begin` and `think_on`, so that the player moves in all games at once."""

    def __init__(self, player: PvMcts) -> None:
        self.name, self.deterministic = player.name, player.deterministic
        self.new_games, self.choose = player.new_games, player.choose


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("which", [0, 1])
def test_a_player_that_fails_ends_the_match_in_every_worker(game: Game, workers: int, which: int) -> None:
    def fail(actions: list[int]) -> int:
        raise ZeroDivisionError

    players = [Scripted(game, min), Scripted(game, min)]
    players[which] = Scripted(game, fail)
    with pytest.raises(ZeroDivisionError):
        play_match(game, (players[0], players[1]), SEEDS[:6], workers=workers)


def play_one_table(game: Game, players: tuple[PvMcts, PvMcts]) -> None:
    play_match(game, players, SEEDS[:4], workers=2)


def play_a_round(game: Game, players: tuple[PvMcts, PvMcts]) -> None:
    worker = MatchWorker(game, players, 2)
    circle = [worker]  # as a stage whose progress knows who plays

    def progress(ended: int) -> None:
        assert circle

    none = {number: np.zeros(0, np.int32) for number in range(4)}
    assert len(play_here(worker, range(4), none, SEEDS, StopSignal(), progress)) == 4


def fail_at_a_table(game: Game, players: tuple[PvMcts, PvMcts]) -> None:
    def fail(ended: object) -> None:
        raise MemoryError("no memory")

    with pytest.raises(MemoryError):
        play_match(game, players, SEEDS[:4], watch=fail)


@pytest.mark.parametrize("play", [play_one_table, play_a_round, fail_at_a_table])
def test_players_of_a_match_leave_memory_when_it_ends(play: Callable[..., None]) -> None:
    game, search = make_game("tictactoe"), SearchConfig(num_simulations=4)
    gc.collect()
    gc.disable()  # only what nothing holds any more is freed
    try:
        players = tuple(PvMcts(game, FakeInference(game), search) for _ in range(2))
        alive = [weakref.ref(player) for player in players]
        play(game, players)
        del players
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()
