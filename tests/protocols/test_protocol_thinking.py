"""A game on a client's board, and a player that thinks about it: limits, stops, analyses, pondering."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import TrainedRun

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.players import Thought
from azero.players.growing import growing_search
from azero.players.pv_mcts import PvMcts
from azero.protocols.engine import EngineSettings, take_engine
from azero.protocols.thinking import Thinker

# X X .     X is to move: 2 completes the row, and nothing else wins
# O O .
# . . .
NEARLY_WON = [0, 3, 1, 4]
UCT = PlayerSpec("player", "uct", {"num_simulations": 300})


def trained(run: TrainedRun, **options: object) -> Thinker:
    """Return a thinker with the champion of tic-tac-toe."""
    config = Config(checkpoints=str(run.checkpoints), data=str(run.data), device="cpu")
    spec = PlayerSpec("player", "pv_mcts", {"run": run.name, **options})
    return Thinker(spec, make_game("tictactoe"), config)


# --- the game -----------------------------------------------------------------------------------------------


def test_a_game_is_played_and_taken_back() -> None:
    at = GameInProgress(make_game("tictactoe"), NEARLY_WON)
    assert (at.to_play, at.is_over, at.outcome, at.legal_actions()) == (0, False, None, [2, 5, 6, 7, 8])
    at.play(2)
    assert (at.is_over, at.outcome, at.legal_actions()) == (True, 1.0, [])
    with pytest.raises(UserError, match=r"^the game is over\.$"):
        at.play(5)
    for _ in range(5):
        at.undo()
    assert at.actions == [] and at.state.tolist() == at.game.initial_state().tolist()
    with pytest.raises(UserError, match="no move to take back"):
        at.undo()


def test_an_illegal_move_leaves_the_game_as_it_was() -> None:
    at = GameInProgress(make_game("tictactoe"), NEARLY_WON)
    for action in (4, -1, 9):
        with pytest.raises(UserError, match=r"^move 5 is not legal\.$"):
            at.play(action)
    assert at.actions == NEARLY_WON


def test_the_history_forbids_repeats() -> None:
    # 2 x 2 Go: black a1, white b2 – then black b1 captures nothing; the shortest repeat is found by trying
    game = make_game("go", size=2, komi=0.5)
    at, rng, forbidden = GameInProgress(game), np.random.default_rng(1), 0
    for _ in range(300):
        if at.is_over:
            at = GameInProgress(game)
        legal = at.legal_mask()
        banned = np.flatnonzero(game.legal_mask(at.state) & ~legal)
        if len(banned):
            forbidden += 1
            with pytest.raises(UserError, match="repeats an earlier position"):
                at.play(int(banned[0]))
        stones = [action for action in np.flatnonzero(legal).tolist() if action != 4]
        at.play(int(rng.choice(stones or [4])))
    assert forbidden


def test_what_is_legal_is_known_anew_after_each_move() -> None:
    at = GameInProgress(make_game("tictactoe"))
    at.legal_mask()[:] = False  # a caller's own copy
    assert at.legal_actions() == list(range(9))
    at.play(4)
    assert at.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]
    at.undo()
    assert at.legal_actions() == list(range(9)) and at.before is None


# --- the thinker --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uct", "alpha_beta", "iterative_deepening", "perfect", "flat_monte_carlo"])
@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_every_kind_of_player_finds_the_win(name: str, seconds: float) -> None:
    thinker = Thinker(PlayerSpec("player", name, {}), make_game("tictactoe"), Config())
    assert thinker.choose(GameInProgress(thinker.game, NEARLY_WON), seconds).best == 2


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_champion_finds_the_win_and_reports_it(trained_run: TrainedRun, seconds: float) -> None:
    thinker, seen = trained(trained_run), list[Thought]()
    at = GameInProgress(thinker.game, NEARLY_WON)
    assert thinker.choose(at, seconds, report=seen.append).best == 2
    assert seen[-1].best == 2 and seen[-1].visits > 0
    assert thinker.latest is (thinker.timed() if seconds else thinker.player)


def test_a_number_of_simulations_holds_under_a_clock() -> None:
    thinker, seen = Thinker(UCT, make_game("connect_four"), Config()), list[Thought]()
    thinker.choose(GameInProgress(thinker.game), 100.0, report=seen.append)
    assert seen[-1].visits == 300


def test_a_search_stops_with_the_move_it_has(trained_run: TrainedRun) -> None:
    for thinker in (
        Thinker(PlayerSpec("player", "uct", {"seconds": 1000}), make_game("tictactoe"), Config()),
        trained(trained_run, seconds=1000),
        Thinker(PlayerSpec("player", "iterative_deepening", {"seconds": 1000}), make_game("hex"), Config()),
        Thinker(PlayerSpec("player", "alpha_beta", {"depth": 40}), make_game("hex"), Config()),
        Thinker(PlayerSpec("player", "negamax", {"depth": 40}), make_game("hex"), Config()),
    ):
        at = GameInProgress(thinker.game)
        assert thinker.choose(at, stopping=lambda: True).best in at.legal_actions()


def test_the_only_move_is_not_thought_about_under_a_clock() -> None:
    thinker, at = Thinker(UCT, make_game("tictactoe"), Config()), list[Thought]()
    game = GameInProgress(thinker.game, [0, 1, 2, 4, 3, 5, 7, 6])
    assert thinker.choose(game, 100.0, report=at.append).best == 8 and not at


def test_a_time_of_its_own_comes_back_after_a_clock() -> None:
    thinker = Thinker(
        PlayerSpec("player", "iterative_deepening", {"seconds": 0.5}), make_game("hex"), Config()
    )
    thinker.choose(GameInProgress(thinker.game), 0.01)
    assert thinker.player is thinker.timed() and thinker.player.seconds == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["uct", "pv_mcts"])
def test_an_analysis_reports_until_it_is_stopped_and_leaves_moves_out(
    name: str, trained_run: TrainedRun
) -> None:
    thinker = trained(trained_run) if name == "pv_mcts" else Thinker(UCT, make_game("tictactoe"), Config())
    seen, banned = list[Thought](), np.arange(9) == 2
    at = GameInProgress(thinker.game, NEARLY_WON)
    thinker.analyse(at, lambda: len(seen) > 2, seen.append, 0.01)
    assert len(seen) == 3 and seen[-1].best == 2 and at.actions == NEARLY_WON
    thinker.analyse(at, lambda: len(seen) > 5, seen.append, 0.01, banned)
    assert seen[-1].best != 2 and 2 not in [move.action for move in seen[-1].moves if move.visits]


def test_a_player_without_a_search_cannot_analyse() -> None:
    thinker = Thinker(PlayerSpec("player", "random", {}), make_game("tictactoe"), Config())
    with pytest.raises(UserError, match=r"^player random has no search to show; choose pv_mcts or uct\.$"):
        growing_search(thinker.player)


def test_pondering_serves_the_next_move(trained_run: TrainedRun) -> None:
    thinker = trained(trained_run, num_simulations=50)
    at = GameInProgress(thinker.game)
    at.play(thinker.choose(at, 10.0).best)
    player = thinker.timed()
    assert isinstance(player, PvMcts) and player.search.tree_reuse
    thinker.ponder(at, lambda: False)
    known = {move: int(visits) for move, visits in enumerate(player.visit_counts(np.zeros(1, np.int64))[0])}
    reply = max(known, key=lambda move: known[move])
    at.play(reply)
    player.searches.begin(at.state[None], np.zeros(1, np.int64), None)
    kept = int(player.tree.nodes[0, 0]["node_visits"])
    assert known[reply] > 1 and kept == known[reply]
    thinker.ponder(at, lambda: True)  # stops after one wave
    assert int(player.tree.searches["simulations_left"][0]) > 0


def test_games_of_a_random_player_differ_but_depend_on_the_seed_only() -> None:
    def moves(thinker: Thinker) -> list[int]:
        at = GameInProgress(thinker.game)
        while not at.is_over:
            at.play(thinker.choose(at).best)
        return at.actions

    one, other = (
        Thinker(PlayerSpec("player", "random", {}), make_game("hex"), Config(), seed=7) for _ in range(2)
    )
    first = moves(one)
    one.new_game()
    assert first == moves(other) and first != moves(one)


# --- its arguments ------------------------------------------------------------------------------------------


def engine(texts: dict[str, str], **asked: Any) -> tuple[str, PlayerSpec]:
    """Return the game's name and the player that arguments ask for."""
    game, spec = take_engine(texts, EngineSettings(**asked))
    assert not texts
    return game.name, spec


def test_a_run_names_the_game_and_the_champion(trained_run: TrainedRun, tmp_path: Path) -> None:
    folders = {"checkpoints": str(trained_run.checkpoints), "data": str(trained_run.data)}
    champion = PlayerSpec("player", "pv_mcts", {"run": "trained"})
    assert engine({}, run="trained", **folders) == ("tictactoe", champion)
    assert engine({"player.run": "trained"}, **folders) == ("tictactoe", champion)
    assert engine({}, game="tictactoe", **folders) == ("tictactoe", champion)
    assert engine({"player": "uct"}, run="trained", **folders) == (
        "tictactoe",
        PlayerSpec("player", "uct", {}),
    )
    nothing = {"checkpoints": str(tmp_path), "data": str(tmp_path)}
    assert engine({}, game="hex", **nothing) == (
        "hex",
        PlayerSpec("player", "uct", {"num_simulations": 1000}),
    )
    assert engine({"player.seconds": "2"}, game="hex", **nothing)[1].options == {"seconds": 2}
    with pytest.raises(UserError, match="nowhere"):
        engine({}, run="nowhere", **nothing)


def test_time_is_kept_by_real_searches() -> None:
    thinker = Thinker(PlayerSpec("player", "uct", {}), make_game("hex"), Config())
    thinker.timed()
    taken = list[float]()
    for _ in range(3):  # other programs may delay a slice, and no second one fits then
        began = time.perf_counter()
        thinker.choose(GameInProgress(thinker.game), 0.2)
        taken.append(time.perf_counter() - began)
    assert max(taken) >= 0.2 - 0.05  # the rest is left only where no slice fits
