"""What measures a champion of Connect Four: arithmetic in public, and a toy champion from end to end."""

from __future__ import annotations

import importlib.util
import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from searching import after
from toy import NAME, advance, toy_config

from azero import strength
from azero.champion.load import change_search, load_for_workers
from azero.config.schema import Config, GameConfig, SearchConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.match.rating import score_interval
from azero.players.pv_mcts import PvMcts
from azero.report.console import Console
from azero.truth import perfect_play
from azero.truth.judging import Stats, ask_network, ask_search, judge, mean_of
from azero.truth.known import DEVELOPMENT, path_of
from azero.truth.positions import read_positions, worth
from azero.truth.solvers import SearchOracle


def test_the_interval_of_the_mean_adds_the_variances_of_the_sets() -> None:
    one, two = Stats(100, 0.9, 0.0, 0.0), Stats(400, 0.8, 0.0, 0.0)
    # 12 of 104 and 82 of 404: sqrt(0.11538 * 0.88462 / 104 + 0.20297 * 0.79703 / 404) / 2 = sqrt(0.00098143 +
    # 0.00040043) / 2
    low, high = strength.mean_interval([one, two])
    assert (low + high) / 2 == pytest.approx(0.15) and high - low == pytest.approx(
        2 * 1.96 * 0.018587, rel=1e-4
    )
    # 2 of 1,004: sqrt(0.001992 * 0.998008 / 1004) = 0.001407
    assert strength.mean_interval([Stats(1000, 1.0, 1.0, 0.0)]) == pytest.approx(
        (0.0, 1.96 * 0.001407), abs=1e-6
    )
    low, high = score_interval(0, 0, 1000)
    assert low == 0.0 and high == pytest.approx(
        0.0038, abs=1e-4
    )  # no mistake in 1,000 is no proof that there is none


class Blind:
    """An inference that thinks nothing: all moves alike, all positions even."""

    batch_size = 8

    def __init__(self, game: Game) -> None:
        self.actions = game.num_actions

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(planes), self.actions), np.float32), np.zeros(len(planes), np.float32)


def test_a_perfect_opponent_draws_among_the_best_and_the_champion_s_mistake_is_found() -> None:
    game = make_game("connect_four", rows=3, columns=4, connect=3)  # the first player wins
    oracle = SearchOracle(game)
    assert oracle.score_moves(game.initial_state()).max() > 0
    champion = PvMcts(game, Blind(game), SearchConfig(num_simulations=2, dirichlet_fraction=0.0))
    games = perfect_play.play(
        game, champion, perfect_play.PerfectOpponent(oracle, np.random.default_rng(1)), 12
    )
    assert len(set(games)) > 1
    for played in games:
        state = game.initial_state()
        scores, chosen = [], []
        for move in played.moves:
            scores.append(oracle.score_moves(state))
            chosen.append(scores[-1][move])
            state = game.step(state, move)
        assert game.is_terminal(state) and played.outcome == game.first_outcome(state)
        assert all(worth(at).max() == worth(at)[move]
                   for at, move in zip(scores[1::2], played.moves[1::2], strict=True))  # fmt: skip
        if played.outcome < 1:
            mistake = perfect_play.first_mistake(game, oracle, played.moves)
            assert chosen[mistake - 1] <= 0 and all(score > 0 for score in chosen[: mistake - 1 : 2])
    assert any(played.outcome < 1 for played in games)  # so that a mistake was looked for
    lines = perfect_play.report_text(game, oracle, games).splitlines()
    won = sum(played.outcome == 1 for played in games)
    assert lines[0].startswith(f"{won} wins, ") and f" of 12 games, {len(set(games))} of them" in lines[0]
    assert len(lines) == 2 + len({played for played in games if played.outcome < 1})


def test_every_reply_is_tried_and_each_move_that_lets_the_win_go_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plain walk of all lines, one position at a time, meets the same positions and mistakes."""
    game = make_game("connect_four", rows=3, columns=4, connect=3)  # the first player wins
    oracle = SearchOracle(game)
    search = SearchConfig(num_simulations=2, dirichlet_fraction=0.0)

    def answer(states: np.ndarray, plies: np.ndarray) -> np.ndarray:
        return ask_search(game, [Blind(game)], search, states, plies).moves

    reached: dict[int, set[bytes]] = {}
    wrong: set[tuple[int, bytes, int]] = set()

    def walk(moves: list[int]) -> None:
        state = after(game, *moves)
        if len(moves) > 6 or game.is_terminal(state):
            return
        reached.setdefault(len(moves) + 1, set()).add(state.tobytes())
        action = int(answer(state[None], np.array([len(moves)]))[0])
        if oracle.score_moves(state)[action] <= 0:
            wrong.add((len(moves) + 1, state.tobytes(), action))
        elif not game.is_terminal(next_state := game.step(state, action)):
            for reply in game.legal_actions(next_state):
                walk([*moves, action, reply])

    walk([])
    found = list(perfect_play.try_replies(game, answer, oracle, 7, 1000, np.random.default_rng(1)))
    assert {each.ply: each.positions for each in found} == {ply: len(seen) for ply, seen in reached.items()}
    assert wrong and wrong == {
        (each.ply, after(game, *moves[:-1]).tobytes(), moves[-1]) for each in found for moves in each.mistakes
    }
    monkeypatch.setattr(perfect_play, "BOOK_PLIES", 3)
    drawn = list(perfect_play.try_replies(game, answer, oracle, 7, 2, np.random.default_rng(1)))
    assert [each.positions for each in drawn[:3]] == [1, 4, 2] and found[2].positions > 2  # a sample of two
    assert all(each.positions <= 2 for each in drawn[2:])
    lines = perfect_play.replies_text(game, found).splitlines()
    assert lines[1].split() == ["1", "1", "0"]
    assert lines[1 + len(found)].split() == ["all", str(sum(map(len, reached.values()))), str(len(wrong))]
    assert len(lines) == 3 + len(found) + len(wrong)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a run of Connect Four that has its first network."""
    config = toy_config(tmp_path_factory.mktemp("run"), game=GameConfig("connect_four"))
    advance(config, until="selfplay")
    return config.checkpoints


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_of_many_positions_says_how_far_it_is(checkpoints: str, workers: int) -> None:
    game, inferences, search, _ = load_for_workers(Config(checkpoints=checkpoints), NAME, workers)
    own, seen = read_positions(path_of("connect_four", DEVELOPMENT), game, 40)[1][2], list[float]()
    few = replace(search, num_simulations=16)
    answers = ask_search(game, inferences, few, own.states, own.plies, seen.append)
    assert len(seen) >= 16 and 0 <= min(seen) < 10 and max(seen) == pytest.approx(40)
    assert workers > 1 or all(one <= other for one, other in itertools.pairwise(seen))
    player = PvMcts(game, inferences[0], replace(few, tree_reuse=False))
    player.new_games(np.zeros(40, np.uint64))
    assert (answers.moves == player.choose(own.states, np.arange(40), own.plies)).all()
    assert (answers.values == player.root_values(np.arange(40))).all()


def test_strength_names_the_run_before_it_loads_it_and_counts_the_positions(
    checkpoints: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"run={NAME} checkpoints={checkpoints} positions=3 simulations=4"
    with monkeypatch.context() as patch:
        patch.setattr("azero.champion.load.load_for_workers", refuse)
        with pytest.raises(UserError):
            strength.measure_all(words.split(), Console())
    assert capsys.readouterr().out == f"Loading the champion of run {NAME}.\n"
    strength.measure_all(words.split(), Console())
    assert "strength   18 positions in " in capsys.readouterr().out


def refuse(*_: object) -> None:
    """Refuse to load a network."""
    raise UserError("not here")


def test_strength_prints_a_table_for_each_player_and_returns_its_numbers(
    checkpoints: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"run={NAME} checkpoints={checkpoints} positions=3 simulations=0,4 c_puct=2.0"
    stats = strength.measure_all(words.split(), Console())
    lines = capsys.readouterr().out.splitlines()
    assert f"{NAME}, torch fp32 on cpu" in lines and "search of 4 simulations" in lines
    assert max(map(len, lines)) <= 80 and not any("=" in line for line in lines)
    sets = [stats[f"search4_{name}_percent"] for name in ("late_easy", "middle_easy", "early_easy")]
    sets += [stats[f"search4_{name}_percent"] for name in ("middle_medium", "early_medium", "early_hard")]
    assert stats["search4_mean_percent"] == pytest.approx(np.mean(sets), abs=0.01)
    assert f"{stats['search4_mean_percent']:.1f} %" in next(line for line in lines[::-1] if "mean " in line)
    game, inferences, search, _ = load_for_workers(Config(checkpoints=checkpoints), NAME, 1)
    own, few = (
        read_positions(path_of("connect_four", DEVELOPMENT), game, 3)[1],
        replace(search, num_simulations=4, c_puct=2.0),
    )
    alone = [judge(each, ask_network(game, inferences[0], each.states)) for each in own]
    searched = [judge(each, ask_search(game, inferences, few, each.states, each.plies)) for each in own]
    for tag, judged in (("policy", alone), ("search4", searched)):
        assert stats[f"{tag}_value_error"] == pytest.approx(mean_of(judged).value_error, abs=1e-4)
        assert stats[f"{tag}_best_move_percent"] == pytest.approx(100 * mean_of(judged).best_move, abs=0.01)
    assert stats["policy_value_error"] != stats["search4_value_error"]


@pytest.mark.parametrize(
    "words, said",
    [
        ("c_puct=abc", "c_puct=abc must be a number from 0 to 1,000."),
        ("num_simulations=10", "set simulations=600"),
        ("c_pukt=1", "unknown setting 'c_pukt'; did you mean c_puct?"),
        ("simulation=3", "unknown setting 'simulation'; did you mean simulations?"),
        ("c_puct=-1", "c_puct=-1 must be a number from 0 to 1,000."),
        ("positions=0", "positions=0 must be"),
        ("workers=-1", "workers=-1 must be"),
        ("collection=other", "collection=other must be one of: development, final"),
        ("file=nowhere.gz", "nowhere.gz cannot be read: No such file or directory."),
        ("perfect=-1", "perfect=-1 must be"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    checkpoints: str, words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strength.main([f"run={NAME}", f"checkpoints={checkpoints}", words]) == 2
    assert said in capsys.readouterr().err


def test_hex_shows_the_value_of_each_first_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = GameConfig("hex", options={"size": 3, "swap": False})
    config = toy_config(tmp_path, game=game)
    advance(config, until="selfplay")
    assert strength.main([f"run={NAME}", f"checkpoints={config.checkpoints}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    board = lines.index(next(line for line in lines if "first move" in line)) + 1
    wrong = " ".join(lines[board : board + 3]).count("x")
    assert [len(line.split()) for line in lines[board : board + 3]] == [3, 3, 3]
    assert lines[-1].startswith(f"right sign: {9 - wrong} of 9 (x: wrong), value error ")


def test_a_game_of_which_nothing_is_known_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path, game=GameConfig("gomoku", options={"rows": 4, "columns": 4, "connect": 3}))
    advance(config, until="selfplay")
    assert strength.main([f"run={NAME}", f"checkpoints={config.checkpoints}"]) == 2
    said = capsys.readouterr().err
    assert (
        "no development positions of gomoku" in said
        and "azero oracle game=gomoku " in said
        and "plies=" in said
        and "azero arena" in said
    )


def test_values_of_a_search_are_read_as_a_config_reads_them() -> None:
    search = change_search(SearchConfig(), {"solver": "off", "tree_reuse": "no", "c_puct": 2})
    assert (search.solver, search.tree_reuse, search.c_puct) == (False, False, 2.0)
    with pytest.raises(UserError, match=r"'search\.c_pukt'; did you mean search\.c_puct\?"):
        change_search(SearchConfig(), {"search.c_pukt": 2})


@pytest.mark.skipif(importlib.util.find_spec("bitbully") is None, reason="extra oracle is not installed")
def test_games_against_the_perfect_opponent_are_counted(
    checkpoints: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"run={NAME} checkpoints={checkpoints} perfect=3 simulations=0,4"
    assert strength.main(words.split()) == 0
    first = capsys.readouterr().out
    assert "raw policy\n" in first and "search of 4 simulations\n" in first
    assert first.count(" of 3 games, ") == 2 and "first mistake at ply" in first and "mistakes:" not in first
    assert strength.main([*words.split(), "seed=1"]) == 0
    again = capsys.readouterr().out
    assert re.sub(r"in [\d.]+ s", "", again) == re.sub(r"in [\d.]+ s", "", first)  # the same replies


@pytest.mark.skipif(importlib.util.find_spec("bitbully") is None, reason="extra oracle is not installed")
def test_mistakes_against_every_reply_are_counted(
    checkpoints: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "book"
    words = f"run={NAME} checkpoints={checkpoints} replies=3 simulations=0,4 book={book}"
    found = strength.measure_all(words.split(), Console())
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines() if line.startswith("all ")]
    assert [int(row[1]) >= 1 for row in rows] == [True, True] and "mistakes:" not in text
    assert found == {"policy_replies_mistakes": int(rows[0][2]), "search4_replies_mistakes": int(rows[1][2])}
    shown = text.splitlines()[-int(rows[1][2]) :] if int(rows[1][2]) else []
    assert book.read_text().splitlines() == [line.rpartition(" ")[0] for line in shown if " " in line]


@pytest.mark.parametrize(
    "words, said",
    [
        ("book=lines", "book=lines needs replies; set replies=21."),
        ("replies=3 book=nowhere/lines", "book=nowhere/lines cannot be written: its folder does not exist."),
    ],
)
def test_a_book_that_cannot_be_written_is_refused_at_once(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert strength.main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_perfect_play_is_refused_for_other_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path)
    advance(config, until="selfplay")
    assert strength.main([f"run={NAME}", f"checkpoints={config.checkpoints}", "perfect=3"]) == 2
    assert "perfect=3 needs Connect Four on 6 x 7; " in capsys.readouterr().err
    assert strength.main([f"run={NAME}", f"checkpoints={config.checkpoints}", "replies=3"]) == 2
    assert "replies=3 needs Connect Four on 6 x 7; " in capsys.readouterr().err


def test_tictactoe_says_which_program_asks_about_all_positions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path)
    advance(config, until="selfplay")
    assert strength.main([f"run={NAME}", f"checkpoints={config.checkpoints}", "simulations=0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"azero correctness run={NAME} asks about all 4,520 positions."
    assert not any(line.startswith("mean") for line in lines)  # of one set
