"""Exact scores and the files that hold them: by other means, on worked examples, and as they are shipped."""

from __future__ import annotations

import gzip
import importlib.util
import math
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import NAME, Told, advance, toy_config

from azero import initialize, loop
from azero.champion.load import load_for_workers
from azero.classic.deepening import Searcher
from azero.classic.solve import solve
from azero.config.schema import Config, GameConfig, OracleConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.heuristics import AUTO, choose_heuristic
from azero.network.backends import obstacle
from azero.oracle import main
from azero.run.disk import digest
from azero.run.run import Run
from azero.stages.measure import report_cycle
from azero.truth.hex_openings import OPENINGS, opening_states, opening_values
from azero.truth.judging import Answers, Stats, ask_network, ask_search, judge, judge_all, mean_of
from azero.truth.known import (
    BOARDS,
    DEVELOPMENT,
    FINAL,
    USUAL,
    board_of,
    known_truths,
    last_metric,
    path_of,
    positions_of,
)
from azero.truth.positions import (
    ILLEGAL,
    PositionSet,
    best_scores,
    plies_left,
    read_positions,
    read_text,
    worth,
)
from azero.truth.sampling import CONNECT_FOUR, SetKind, draw_set, key_of, kinds_of
from azero.truth.solvers import SearchOracle, load_bitbully, make_oracle

needs_bitbully = pytest.mark.skipif(
    importlib.util.find_spec("bitbully") is None, reason="extra oracle is not installed"
)
X = ILLEGAL
DIGESTS = {  # of the texts: a committed collection never changes
    DEVELOPMENT: "9e6ea06ffb0d0db5f766b74eeb8ea89984c70e8bfea85841ec9725ff9016e53e",
    FINAL: "b4d36c6325ba88b720da3a88dc18303c4ef285d321cbc80398e8bc284241673f",
}

OTHER_DIGESTS = {
    "hex5": "109347f4ec5690051ad9c07829a49b577ef477a276d0a0a3f165bf4e04b3dfc3",
    "hex6": "3f95730530dbedba2e3c342a72f38c6c9c587531ba26dfcc8458238e22e93804",
    "hex7": "28c14a4296cb6ed552d41368f545bd135b99a05f9e2451baafded1945af3d313",
    "othello": "ee8d69237ff34717503a548b1e8ef42b158a8627aaf05cf4f19bf32af9dec1cf",
    "othello6": "08bdbe1ee6988f37bfb342d78acce7277aca957fe3d226334a062652b23f3bd3",
    "tictactoe": "cd4e86ab5154f4b835fe85a7b14e8a3565ef72771ee304581924c970b968dfe9",
}


@pytest.fixture(scope="module")
def connect_four() -> Game:
    return make_game("connect_four")


def state_of(game: Game, moves: str) -> np.ndarray:
    """The state after moves as the game writes them, with spaces between."""
    return reduce(
        lambda state, move: game.step(state, game.parse_action(state, move)),
        moves.split(),
        game.initial_state(),
    )


# Scores


def test_a_fast_win_is_better_than_a_slow_one_and_a_slow_loss_better_than_a_fast_one() -> None:
    scores = np.array([-2, 3, X, 0, -6, 1])
    assert np.argsort(-worth(scores)).tolist() == [5, 1, 3, 4, 0, 2]
    assert best_scores(np.array([[-2, -6, X], [0, X, -1], [5, 0, 3]])).tolist() == [-6, 0, 3]


def test_a_draw_lasts_to_the_last_ply() -> None:
    assert [plies_left(best, 10, 42) for best in (5, -6, 0)] == [5, 6, 32]


def test_a_mistake_throws_a_win_or_a_draw_away_but_a_slow_win_is_only_not_best() -> None:
    scores = np.array([[3, 1, 0], [-2, 0, X], [-2, -4, X], [5, -2, X]])
    asked = PositionSet("toy", [[], [0], [0, 1], [1]], np.zeros((4, 1), np.uint64), scores)
    # a slow win, the draw, a fast loss where a slow one was possible, a win thrown away
    stats = judge(asked, Answers(np.array([0, 1, 0, 1]), np.array([0.5, 0.25, -1.0, 0.0])))
    assert (stats.keeps_value, stats.best_move, stats.mistakes) == (3 / 4, 1 / 4, 1)
    assert stats.value_error == (0.5 + 0.25 + 0.0 + 1.0) / 4
    assert mean_of([stats, Stats(1, 0.25, 0.75, 0.0625)]) == Stats(5, 0.5, 0.5, 0.25)
    assert (
        judge_all([asked, asked], Answers(np.array([0, 1, 0, 1] * 2), np.array([0.5, 0.25, -1.0, 0.0] * 2)))
        == [stats] * 2
    )


# Oracles


def test_the_scores_of_a_drawn_position_are_those_one_counts_by_hand() -> None:
    # x x .      x is to move: 2 wins at once, 5 is in the way of o and leads to a draw,
    # o o .      after any other move o wins by 5, the second ply from here
    # . . .
    game = make_game("tictactoe")
    assert SearchOracle(game).score_moves(state_of(game, "0 3 1 4")).tolist() == [
        X,
        X,
        1,
        X,
        X,
        0,
        -2,
        -2,
        -2,
    ]


def plain_score(game: Game, state: np.ndarray) -> tuple[float, int]:
    """Return value and plies to the end by plain recursion: the soonest win, the latest loss."""
    if game.is_terminal(state):
        return game.outcome(state), 0
    found = []
    for action in game.legal_actions(state):
        after = game.step(state, action)
        value, plies = plain_score(game, after)
        found.append((value if game.to_play(after) == game.to_play(state) else -value, plies + 1))
    return max(found, key=lambda each: (each[0], -each[0] * each[1]))


@pytest.mark.parametrize(
    "name, options, ply",
    [("connect_four", {"rows": 3, "columns": 4, "connect": 3}, 4), ("othello", {"size": 4}, 5)],
)
def test_the_search_scores_moves_like_plain_recursion(name: str, options: dict[str, int], ply: int) -> None:
    game, rng = make_game(name, **options), np.random.default_rng(1)
    oracle = SearchOracle(game)
    for _ in range(5):
        state = game.initial_state()
        while game.is_terminal(
            state := reduce(
                lambda at, _: game.step(at, int(rng.choice(game.legal_actions(at)))), range(ply), state
            )
        ):
            state = game.initial_state()
        for action, score in enumerate(oracle.score_moves(state).tolist()):
            if score == ILLEGAL:
                assert not game.legal_mask(state)[action]
                continue
            after = game.step(state, action)
            value, plies = plain_score(game, after)
            value = value if game.to_play(after) == game.to_play(state) else -value
            assert score == int(value * (plies + 1))


def test_the_search_agrees_with_the_table_of_tic_tac_toe() -> None:
    game = make_game("tictactoe")
    oracle, solution = SearchOracle(game), solve(game)
    for row in np.flatnonzero(solution.unfinished)[::7]:
        scores = oracle.score_moves(solution.states[row])
        legal = scores != ILLEGAL
        np.testing.assert_array_equal(np.sign(scores[legal]), solution.action_value[row][legal])
        assert np.isnan(solution.action_value[row][~legal]).all()


@needs_bitbully
def test_the_solver_knows_the_first_moves_of_connect_four(connect_four: Game) -> None:
    oracle = make_oracle(connect_four)
    assert oracle.name.startswith("bitbully")
    assert oracle.score_moves(connect_four.initial_state()).tolist() == [-40, -42, 0, 41, 0, -42, -40]


def test_a_solver_that_is_missing_is_named_with_what_installs_it(
    connect_four: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_bitbully.cache_clear()
    monkeypatch.setitem(sys.modules, "bitbully", None)
    with pytest.raises(UserError, match=r'pip install "azero\[oracle\]"'):
        make_oracle(connect_four)


def test_a_position_that_is_not_solved_in_time_is_refused() -> None:
    game = make_game("othello")
    with pytest.raises(UserError, match=r"not solved in 0.01 s; ask for later ones"):
        SearchOracle(game, 0.01).score_moves(game.initial_state())


# Drawing


@given(st.data())
@settings(max_examples=25)
def test_mirror_images_have_one_key(data: st.DataObject) -> None:
    game = make_game(data.draw(st.sampled_from(["tictactoe", "connect_four", "hex"])))
    state, moves = game.initial_state(), list[int]()
    for _ in range(data.draw(st.integers(0, 6))):
        if game.is_terminal(state):
            break
        moves.append(data.draw(st.sampled_from(game.legal_actions(state))))
        state = game.step(state, moves[-1])
    for symmetry in game.action_symmetries:
        assert key_of(game, [int(symmetry[move]) for move in moves]) == key_of(game, moves)


def test_drawn_positions_are_of_the_kind_and_no_two_are_mirror_images() -> None:
    game = make_game("connect_four", rows=4, columns=4)
    kind, taken, oracle = SetKind("some", range(8, 11), range(3, 7)), set[bytes](), SearchOracle(game)
    first, second = (draw_set(game, oracle, kind, 12, np.random.SeedSequence(seed), taken) for seed in (1, 2))
    keys = {key_of(game, moves) for each in (first, second) for moves in each.moves}
    assert len(keys) == len(taken) == 24
    assert {len(moves) for moves in first.moves} <= {8, 9, 10}
    assert all(
        plies_left(int(best), int(ply), 16) in range(3, 7)
        for best, ply in zip(first.best, first.plies, strict=True)
    )
    again = draw_set(game, oracle, kind, 12, np.random.SeedSequence(1), set())
    assert again.moves == first.moves and np.array_equal(again.scores, first.scores)


def test_the_usual_connect_four_has_six_sets_and_every_other_game_one(connect_four: Game) -> None:
    assert kinds_of(connect_four) == CONNECT_FOUR
    assert [kind.name for kind in kinds_of(connect_four, range(8, 12))] == ["plies 8-11"]
    assert len(kinds_of(make_game("connect_four", rows=5))) == len(kinds_of(make_game("hex", size=3))) == 1


# The program and its files


def test_the_program_writes_a_file_that_can_be_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.gz", tmp_path / "second.gz"
    assert main(["game=tictactoe", "positions=20", "seed=3", "plies=3-6", f"out={first}"]) == 0
    out = capsys.readouterr().out
    assert (
        "plies 3-6: 20 positions" in out
        and "positions=20\n" in out
        and f"sha256={digest(read_text(first).encode())}" in out
    )
    assert (
        main(["game=tictactoe", "positions=20", "seed=3", "plies=3-6", f"out={second}", f"without={first}"])
        == 0
    )
    game = make_game("tictactoe")
    (origin, (one,)), (_, (two,)) = read_positions(first, game), read_positions(second, game)
    assert (origin.game, origin.seed, origin.oracle, one.name) == ("tictactoe", 3, "azero", "plies 3-6")
    assert not {key_of(game, moves) for moves in one.moves} & {key_of(game, moves) for moves in two.moves}
    solution = solve(game)
    rows = [int(np.flatnonzero((solution.states == state).all(axis=1))[0]) for state in one.states]
    np.testing.assert_array_equal(one.values, solution.value[rows])
    assert len(read_positions(first, game, most=5)[1][0].moves) == 5


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("", "out= is missing"),
        ("out=x.gz game=nope", "nope"),
        ("out=x.gz positions=0 game=tictactoe", "positions=0"),
        ("out=x.gz game=tictactoe plies=5-3", "plies=5-3 must be a range within 0-8"),
        ("out=x.gz game=tictactoe plies=9-9", "plies=9-9"),
        ("out=x.gz game=tictactoe seconds=soon", "seconds=soon"),
        ("out=x.gz game=tictactoe plies=1-1 positions=9", "has only 3 positions"),
        ("out=x.gz game=tictactoe depth=3", "unknown setting 'depth'"),
        ("out=x.gz game=go", "history"),
        ("out=x.gz game=tictactoe without=nothing.gz", "nothing.gz"),
        ("out=there.gz game=tictactoe", "there already"),
        ("out=no/folder.gz game=tictactoe positions=1", "cannot be written"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(
    words: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("azero.truth.sampling.MOST_MISSES", 200)
    Path("there.gz").touch()
    assert main(words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("azero: ") and sentence in line
    assert not Path("x.gz").exists()


HEADER = '{"format": 1, "game": "tictactoe", "options": {}, "seed": 1, "oracle": "azero"}\n'


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "no file of positions"),
        ("[]\n", "no file of positions"),
        (HEADER.replace("1", "2", 1), "no file of positions"),
        (HEADER.replace("tictactoe", "hex"), "not of tictactoe"),
        (HEADER + "a 0\n", "line 2 must be a set, moves and scores"),
        (HEADER + "a\t0 0\t1 1 1 1 1 1 1 1 1\n", "line 2: '0' is not legal"),
        (HEADER + "a\t0\t. 1 1\n", "line 2: there must be a score"),
        (HEADER + "a\t0\t. 1 1 1 1 1 1 1 one\n", "line 2: '. 1 1 1 1 1 1 1 one' are no scores"),
        (
            HEADER + "a\t0 3 1 4 2\t. . . . . 1 1 1 1\n",
            "line 2: there must be a score for each legal move of an unfinished",
        ),
    ],
)
def test_a_file_that_says_what_the_rules_do_not_allow_is_refused(
    text: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "positions.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(UserError, match=sentence):
        read_positions(path, make_game("tictactoe"))


@pytest.mark.parametrize(
    "data",
    [b"", b"plain text", gzip.compress(HEADER.encode())[:-9], gzip.compress(b"\xff\xfe")],
    ids=["empty", "plain", "cut short", "no text"],
)
def test_a_damaged_file_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "positions.gz"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"positions\.gz is no "):
        read_positions(path, make_game("tictactoe"))


# The shipped files


@pytest.fixture(scope="module")
def shipped(connect_four: Game) -> dict[str, list[PositionSet]]:
    return {
        name: read_positions(path_of("connect_four", name), connect_four)[1] for name in (DEVELOPMENT, FINAL)
    }


@pytest.mark.long
def test_two_collections_of_six_sets_of_a_thousand_are_shipped_and_are_small(
    shipped: dict[str, list[PositionSet]],
) -> None:
    for name, sets in shipped.items():
        assert [(each.name, len(each.moves)) for each in sets] == [(kind.name, 1000) for kind in CONNECT_FOUR]
        assert digest(read_text(path_of("connect_four", name)).encode()) == DIGESTS[name]
    assert sum(path_of("connect_four", name).stat().st_size for name in shipped) < 400_000


@pytest.mark.long
def test_no_position_nor_its_mirror_image_is_in_both_collections_or_twice_in_one(
    shipped: dict[str, list[PositionSet]], connect_four: Game
) -> None:
    keys = [key_of(connect_four, moves) for sets in shipped.values() for each in sets for moves in each.moves]
    assert len(keys) == len(set(keys)) == 12_000


def test_every_position_is_of_its_stage_and_difficulty(shipped: dict[str, list[PositionSet]]) -> None:
    for kind, each in (
        (kind, each) for sets in shipped.values() for kind, each in zip(CONNECT_FOUR, sets, strict=True)
    ):
        assert set(each.plies.tolist()) <= set(kind.plies)
        left = {plies_left(int(best), int(ply), 42) for best, ply in zip(each.best, each.plies, strict=True)}
        assert left <= set(kind.left)
        ends = each.plies[:, None] + np.where(
            (each.scores == ILLEGAL) | (each.scores == 0), 1, np.abs(each.scores)
        )
        assert (ends <= 42).all()
        wins = (each.scores > 0) & (each.scores != ILLEGAL)
        assert (each.scores[wins] % 2 == 1).all() and (
            each.scores[(each.scores < 0) & (each.scores != ILLEGAL)] % 2 == 0
        ).all()


def test_the_shipped_scores_of_late_positions_are_those_of_our_own_search(
    shipped: dict[str, list[PositionSet]], connect_four: Game
) -> None:
    oracle = SearchOracle(connect_four)
    for sets in shipped.values():
        late, *_, middle = sets[:4]
        for each in (late, middle):
            for row in np.flatnonzero(each.plies >= 24)[:12]:
                np.testing.assert_array_equal(oracle.score_moves(each.states[row]), each.scores[row])


@needs_bitbully
def test_the_shipped_scores_are_those_of_the_solver(
    shipped: dict[str, list[PositionSet]], connect_four: Game
) -> None:
    oracle = make_oracle(connect_four)
    for each in (each for sets in shipped.values() for each in sets):
        for row in range(0, 1000, 250):
            np.testing.assert_array_equal(oracle.score_moves(each.states[row]), each.scores[row])


def test_there_are_positions_for_the_usual_board_only() -> None:
    assert (
        board_of("connect_four", {})
        == board_of("connect_four", {"rows": 6, "columns": 7, "connect": 4})
        == "connect_four"
    )
    assert board_of("connect_four", {"rows": 5}) is None and board_of("gomoku", {}) is None
    assert (
        board_of("hex", {}) == board_of("hex", {"size": 7}) == "hex7"
        and board_of("hex", {"swap": True}) is None
    )


def board(name: str) -> Game:
    game, options = BOARDS[name]
    return make_game(game, **options)


def test_the_usual_options_are_the_games_own() -> None:
    for name, usual in USUAL.items():
        assert make_game(name).options == usual
    assert all(path_of(name).exists() for name in BOARDS)


@pytest.mark.parametrize("name", OTHER_DIGESTS)
def test_positions_of_other_boards_are_what_they_were_and_as_a_search_scores_them(name: str) -> None:
    game, path = board(name), path_of(name)
    assert digest(read_text(path).encode()) == OTHER_DIGESTS[name]
    _, (only,) = read_positions(path, game)
    keys = [key_of(game, moves) for moves in only.moves]
    assert len(keys) == len(set(keys)) == (300 if name == "tictactoe" else 200)
    values = [1.0, -1.0] if game.name == "hex" else [1.0, 0.0, -1.0]  # nobody draws at Hex
    assert set(only.values.tolist()) <= set(values) and len(set(only.values.tolist())) == len(values)
    for row in np.flatnonzero(only.plies == only.plies.max())[:3]:
        known = dict[bytes, int]()
        for action in game.legal_actions(only.states[row]):
            assert only.scores[row, action] == score_by_hand(game, only.states[row], action, known)


def score_by_hand(game: Game, state: np.ndarray, action: int, known: dict[bytes, int]) -> int:
    """The score of a move by looking at everything that can follow; `known` are best scores of states."""
    after = game.step(state, action)
    if game.is_terminal(after):
        value, plies = game.outcome(after), 0
    else:
        if after.tobytes() not in known:
            replies = [score_by_hand(game, after, reply, known) for reply in game.legal_actions(after)]
            known[after.tobytes()] = int(best_scores(np.array([replies]))[0])
        best = known[after.tobytes()]
        value, plies = float(np.sign(best)), abs(best)
    if game.to_play(after) != game.to_play(state):
        value = -value
    return int(value) * (plies + 1)


# Each cycle's report


def small(folder: Path, **oracle: Any) -> Config:
    """A run of Connect Four of toy size."""
    return toy_config(folder, game=GameConfig("connect_four"), cycles=1, oracle=OracleConfig(**oracle))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """One that has its first network."""
    config = small(tmp_path_factory.mktemp("run"), positions=4, num_simulations=6)
    advance(config, until="selfplay")
    return config


def test_a_cycle_tells_how_far_the_champion_is_from_the_truth(run: Config) -> None:
    """The same as when each set is asked for itself, the network alone and a search of six simulations."""
    told = Told()
    report_cycle(run, NAME, 1, told)
    stats = dict(told.stats(1))
    game, inferences, search, _ = load_for_workers(run, NAME, 1)
    sets = read_positions(path_of("connect_four", DEVELOPMENT), game, 4)[1]
    assert [each.name for each in sets] == [kind.name for kind in CONNECT_FOUR]
    few = replace(search, num_simulations=6)
    alone = [judge(each, ask_network(game, inferences[0], each.states)) for each in sets]
    searched = [judge(each, ask_search(game, inferences, few, each.states, each.plies)) for each in sets]
    assert alone != searched
    for player, judged in (("policy", alone), ("search", searched)):
        for each, its in zip(sets, judged, strict=True):
            assert stats.pop(f"oracle/mistakes_{player}_{each.name.replace(' ', '_')}") == 1 - its.keeps_value
        assert stats.pop(f"oracle/keeps_value_{player}") == pytest.approx(
            np.mean([its.keeps_value for its in judged])
        )
        assert stats.pop(f"oracle/best_move_{player}") == pytest.approx(
            np.mean([its.best_move for its in judged])
        )
        assert stats.pop(f"oracle/value_error_{player}") == pytest.approx(
            np.mean([its.value_error for its in judged])
        )
    assert not stats


def test_a_position_that_will_be_asked_about_is_checked_before_the_first_cycle(tmp_path: Path) -> None:
    """Line 3 of the file: else it would be found after a cycle, and the run could not go on."""
    good, path = path_of("tictactoe"), tmp_path / "positions.gz"
    lines = read_text(good).splitlines()
    lines[2] = lines[2].replace("\t", "\t9 ", 1)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    config = toy_config(tmp_path, oracle=OracleConfig(file=str(path), positions=2))
    for start in (
        lambda: loop.run_asked(config, NAME),
        lambda: initialize.run_asked(config, NAME),
    ):
        with pytest.raises(UserError, match=r"positions\.gz, line 3: "):
            start()
        assert not list((tmp_path / "checkpoints").glob("*"))
    (asked,) = positions_of(replace(config, oracle=OracleConfig(file=str(path), positions=1)))
    assert len(asked.moves) == 1


def test_positions_of_one_s_own_are_asked_about_in_any_game(tmp_path: Path) -> None:
    """Othello on 4 x 4 has no shipped positions; a file of another board is refused."""
    options, path = {"size": 4}, tmp_path / "late.gz"
    assert main(["game=othello", "game.options.size=4", "positions=6", "plies=6-9", f"out={path}"]) == 0
    config = toy_config(
        tmp_path, game=GameConfig("othello", options=options), oracle=OracleConfig(file=str(path))
    )
    advance(config, until="selfplay")
    told = Told()
    report_cycle(config, NAME, 1, told)
    assert {
        "oracle/keeps_value_policy",
        "oracle/best_move_search",
        "oracle/value_error_search",
    } <= told.stats(1).keys()
    assert 6 * told.stats(1)["oracle/keeps_value_search"] == pytest.approx(
        round(6 * told.stats(1)["oracle/keeps_value_search"])
    )
    assert (
        last_metric(config) == "oracle/keeps_value_policy"
        and last_metric(replace(config, oracle=OracleConfig())) == ""
    )
    other = replace(config, game=GameConfig("othello", options={"size": 6}))
    with pytest.raises(UserError, match="holds positions of othello"):
        loop.run_asked(other, NAME)
    with pytest.raises(UserError, match=r"missing\.gz cannot be read: No such file"):
        loop.run_asked(replace(config, oracle=OracleConfig(file="missing.gz")), NAME)


def test_tic_tac_toe_is_measured_by_its_table_and_by_positions_hex_by_openings_and_by_positions() -> None:
    assert known_truths(Config()) == ["positions", "table"]
    assert known_truths(Config(game=GameConfig("hex", options={"size": 5}))) == ["positions", "openings"]
    assert known_truths(Config(game=GameConfig("hex", options={"size": 4}))) == ["openings"]
    assert known_truths(Config(game=GameConfig("gomoku"))) == []


def test_without_simulations_there_is_no_search_and_without_positions_no_report(run: Config) -> None:
    assert last_metric(run) == "oracle/keeps_value_policy"
    assert last_metric(replace(run, oracle=OracleConfig(positions=0))) == ""
    assert last_metric(replace(run, game=GameConfig("connect_four", options={"rows": 5}))) == ""
    told = Told()
    report_cycle(replace(run, oracle=OracleConfig(positions=2, num_simulations=0)), NAME, 1, told)
    assert last_metric(run) in told.stats(1) and not any("search" in tag for tag in told.stats(1))


def test_answers_are_legal_and_do_not_depend_on_how_many_threads_search(run: Config) -> None:
    game, inferences, search, _ = load_for_workers(run, NAME, 2)
    asked = read_positions(path_of("connect_four", DEVELOPMENT), game, 5)[1][3]
    one, two = (
        ask_search(game, inferences[:workers], search, asked.states, asked.plies) for workers in (1, 2)
    )
    np.testing.assert_array_equal(one.moves, two.moves)
    np.testing.assert_array_equal(one.values, two.values)
    for answers in (one, ask_network(game, inferences[0], asked.states)):
        assert (np.take_along_axis(asked.scores, answers.moves[:, None], axis=1) != ILLEGAL).all()
        assert (np.abs(answers.values) <= 1.0).all()


def test_a_run_is_computed_as_it_chose_or_as_asked_and_another_network_of_its_game_can_take_its_place(
    run: Config, tmp_path: Path
) -> None:
    assert load_for_workers(run, NAME, 1).choice.precision == "fp32"  # it has not chosen yet
    precision = "fp32" if obstacle("torch", "bf16", "cpu") else "bf16"
    asked = load_for_workers(run, NAME, 1, inference=f"torch:{precision}")
    assert (asked.choice.backend, asked.choice.precision) == ("torch", precision)
    with pytest.raises(UserError, match="unknown inference 'fast'"):
        load_for_workers(run, NAME, 1, inference="fast")
    other = tmp_path / "other.pt"
    with pytest.raises(UserError, match=r"other\.pt cannot be read"):
        load_for_workers(run, NAME, 1, other)
    other.write_bytes(Run.read(run, NAME).read_champion())
    planes = np.zeros((asked.choice.batch_size, *asked.game.planes_shape), np.float32)
    champion, same = (
        load_for_workers(run, NAME, 1, file).inferences[0].infer(planes)[1] for file in (None, other)
    )
    np.testing.assert_array_equal(champion, same)


def solve_openings(game: Game) -> str:
    """The map of a game by our own search, as `OPENINGS` has it."""
    searcher = Searcher(game, heuristic=choose_heuristic(AUTO, game), table=4_194_304)
    values = [searcher.deepen(state, math.inf, value_wanted=True).value for state in opening_states(game)]
    cells, size = "".join("1" if value < 0 else "0" for value in values), game.options["size"]
    return " ".join(cells[start : start + size] for start in range(0, size * size, size))


def test_the_openings_of_small_hex_agree_with_our_search_and_all_maps_are_symmetric() -> None:
    for size in (2, 3, 4):
        assert solve_openings(make_game("hex", size=size)) == OPENINGS[size]
    assert all(cells == cells[::-1] for cells in OPENINGS.values())
    assert {size: cells.count("1") for size, cells in OPENINGS.items()} == {
        2: 2,
        3: 5,
        4: 4,
        5: 13,
        6: 24,
        7: 27,
        8: 32,
    }
    values = opening_values(make_game("hex", size=3))
    assert values.tolist() == [1, 1, -1, -1, -1, -1, -1, 1, 1]  # for the second player


def test_a_cycle_of_hex_tells_the_share_of_openings_whose_sign_is_right(tmp_path: Path) -> None:
    config, told = toy_config(tmp_path, game=GameConfig("hex", options={"size": 3})), Told()
    advance(config, until="selfplay")
    report_cycle(config, NAME, 1, told)
    assert last_metric(config) in told.stats(1) and 9 * told.stats(1)["oracle/openings_right"] in range(10)
    assert last_metric(replace(config, game=GameConfig("hex", options={"size": 3, "swap": True}))) == ""
    game, (inference,), *_ = load_for_workers(config, NAME, 1)
    values = ask_network(game, inference, opening_states(game)).values
    assert told.stats(1)["oracle/openings_right"] == np.mean(
        [value * exact > 0 for value, exact in zip(values, opening_values(game), strict=True)]
    )
