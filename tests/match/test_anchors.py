"""Fixed opponents: who they are, that a field of them plays as each alone would, and that runs share their
scale.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from toy import NAME, StopInside, Told, advance, toy_config

from azero import loop
from azero.config.schema import EvaluateConfig
from azero.games import make_game
from azero.match.anchors import LINK_GAMES, LINKS, Anchors, Field, add_up, make_anchor, meet, plays_exactly
from azero.match.elo_table import Result, results_of
from azero.match.lockstep import MatchGame
from azero.players import make_player
from azero.process.signals import Stopped
from azero.run.run import Run

RATED = EvaluateConfig(games=8, anchor_games=4, anchors=[5, 20])
NAMES = ["random", "uct 5", "uct 20", "perfect"]


def no_watch(ended: list[MatchGame]) -> None:
    """Look at nothing."""


def test_a_small_game_has_a_perfect_opponent_and_a_large_one_has_none() -> None:
    assert Anchors(make_game("tictactoe"), RATED, []).names == NAMES
    assert Anchors(make_game("hex", size=3), RATED, []).names[-1] == "perfect"
    for name in ("connect_four", "go"):
        assert not plays_exactly(make_game(name))
    assert Anchors(make_game("connect_four"), RATED, []).names == NAMES[:-1]


def test_a_field_answers_each_game_with_its_own_player() -> None:
    game = make_game("tictactoe")
    states = np.stack([game.initial_state()] * 4)
    seeds, games, plies = np.arange(6, dtype=np.uint64), np.array([0, 1, 3, 5]), np.zeros(4, np.int64)
    field = Field([make_anchor(game, name) for name in ("random", "uct 5")], 3)
    field.new_games(seeds)
    actions = field.choose(states, games, plies)
    for rows, name in (([0, 1], "random"), ([2, 3], "uct 5")):
        alone = make_anchor(game, name)
        alone.new_games(seeds)
        assert actions[rows].tolist() == alone.choose(states[rows], games[rows], plies[rows]).tolist()


def test_meeting_a_field_gives_the_results_of_meeting_each_alone() -> None:
    """Of the same games: those against the second opponent have other seeds when it stands alone, so the
    first is compared.
    """
    game = make_game("tictactoe")

    def results(*names: str) -> list[Result]:
        opponents = {name: make_anchor(game, name) for name in names}
        return meet(game, "me", make_player("uct", game), opponents, 8, np.random.SeedSequence(5), no_watch)

    both = results("random", "uct 5")
    assert both[0] == results("random")[0] and [result.other for result in both] == ["random", "uct 5"]
    assert sum(both[0][2:]) == 8 and both[0].wins > both[0].losses


def test_games_between_fixed_players_with_one_opening_count_once() -> None:
    """Two in a row on 2 x 2: who moves first wins with its second stone. Two plies begin in 12 ways, so 12 of
    20 pairs differ.
    """
    game = make_game("gomoku", rows=2, columns=2, connect=2)
    one, other = make_anchor(game, "perfect"), make_anchor(game, "perfect")
    (result,) = meet(game, "one", one, {"other": other}, 40, np.random.SeedSequence(1), no_watch)
    assert result[2:] == (12, 0, 12)


def test_neighbours_meet_once_and_the_same_in_every_run_and_in_any_workers() -> None:
    game = make_game("tictactoe")
    anchors = Anchors(game, RATED, [])
    assert anchors.missing == [("random", "uct 5"), ("uct 5", "uct 20"), ("uct 20", "perfect")]
    assert anchors.most_games == 4 * 5 + 3 * LINKS * LINK_GAMES
    links = anchors.meet_each_other(no_watch, workers=1)
    assert [result[:2] for result in links] == anchors.missing and links == anchors.meet_each_other(
        no_watch, workers=2
    )
    assert all(result.wins < result.losses or result.other == "perfect" for result in links)
    assert (
        Anchors(game, RATED, links).missing == []
        and Anchors(game, RATED, links[:2]).missing == anchors.missing[2:]
    )


def test_results_add_up() -> None:
    assert add_up([Result("a", "b", 1, 2, 3), Result("a", "b", 10, 20, 30)]) == Result("a", "b", 11, 22, 33)


@pytest.mark.usefixtures("unmeasured")
def test_each_cycle_rates_its_champion_and_the_table_follows_what_is_committed(tmp_path: Path) -> None:
    config = toy_config(tmp_path, evaluate=RATED)
    loop.run_asked(config, NAME)
    run = Run.read(config, NAME)
    first, second = run.state.history
    assert [result[:2] for result in results_of([first])[:3]] == list(pairwise(NAMES))
    champion = 1 if first["promoted"] else 0
    met = [result.other for result in results_of([first])[3:]]
    assert met == [*NAMES, "champion 0"][: 5 if first["promoted"] else 4]
    assert {result.one for result in results_of([first])[3:]} == {f"champion {champion}"}
    assert all(result.one.startswith("champion") for result in results_of([second]))  # the anchors have met
    assert ("perfect" in {result.other for result in results_of([second])}) == second["promoted"]
    table = run.paths.ratings_csv.read_text()
    assert "\nrandom,,0,0," in table and f"\nchampion {champion},{champion}," in f"\n{table}"
    assert "rating/elo_low" in run.paths.metrics_csv.read_text()
    run.paths.ratings_csv.write_text("told, but not committed")
    loop.run_asked(config, NAME)
    assert run.paths.ratings_csv.read_text() == table


@pytest.mark.usefixtures("unmeasured")
def test_an_interrupted_rating_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    expected = advance(toy_config(tmp_path / "undisturbed", cycles=1, evaluate=RATED))
    config = toy_config(tmp_path, cycles=1, evaluate=RATED)
    advance(config, until="evaluate")
    with Run.open(config, NAME, "test") as run, pytest.raises(Stopped):
        loop.run_cycles(config, run, Told(), StopInside(run, 1, "evaluate", 150))
    assert Run.read(config, NAME).state.history == []
    assert advance(config).history == expected.history


@pytest.mark.usefixtures("unmeasured")
def test_champions_are_rated_without_a_match_too(tmp_path: Path) -> None:
    report = Told()
    state = advance(
        toy_config(tmp_path, cycles=1, evaluate=EvaluateConfig(games=0, anchor_games=2, anchors=[5])),
        report=report,
    )
    rated = {name for result in results_of(state.history) for name in result[:2]}
    assert state.history[0]["promoted"] and {"champion 1", "champion 0"} <= rated
    told = report.scalars[1]
    assert told["rating/elo_low"] < told["rating/elo"] < told["rating/elo_high"]
