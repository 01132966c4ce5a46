"""The arena as a person uses it: words in, scores, tables and one JSON line a game out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from toy import NAME, advance, toy_config

from azero import arena
from azero.arena import Arena, hold_match, main, read_arena
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config
from azero.games import make_game
from azero.match.lockstep import MatchGame, MatchResult, summarize
from azero.match.text import Pairing, match_text, tournament_text

pytestmark = pytest.mark.usefixtures("elsewhere")


def records(path: Path = Path("games.jsonl")) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def play(*words: str) -> list[dict[str, object]]:
    """What the arena writes for these words, in the order of the games."""
    Path("games.jsonl").unlink(missing_ok=True)
    assert main([*words, "record=games.jsonl"]) == 0
    return sorted(records(), key=lambda line: (str(line["players"]), str(line["number"])))


def test_a_match_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    play("first=alpha_beta", "second=random", "games=40")
    out = capsys.readouterr().out
    assert "alpha_beta against random: " in out and ", 0 losses" in out
    for part in (
        "score ",
        "95 % interval",
        "Elo difference +",
        "distinct games of 40",
        "time a move",
        "moving first",
        "games are in games.jsonl",
    ):
        assert part in out


def test_every_game_is_a_line_that_can_be_played_again() -> None:
    game = make_game("connect_four", rows=4, columns=5)
    lines = play(
        "game=connect_four",
        "game.options.rows=4",
        "game.options.columns=5",
        "first=random",
        "games=10",
        "second=uct",
    )
    assert [line["number"] for line in sorted(lines, key=lambda line: int(str(line["number"])))] == list(
        range(10)
    )
    for line in lines:
        assert line["options"] == {"rows": 4, "columns": 5, "connect": 4}
        assert line["players"] == (
            ["random", "uct"] if int(str(line["number"])) % 2 == 0 else ["uct", "random"]
        )
        state = game.initial_state()
        for move in line["moves"]:  # type: ignore[attr-defined]
            state = game.step(state, game.parse_action(state, move))
        assert game.is_terminal(state)
        assert line["outcome"] == game.outcome(state) * (1 if game.to_play(state) == 0 else -1)


def test_the_games_do_not_depend_on_the_workers_and_do_on_the_seed() -> None:
    words = ("first=uct", "first.num_simulations=10", "second=random", "games=30")
    assert play(*words, "workers=1") == play(*words, "workers=3")
    assert [line["moves"] for line in play(*words, "seed=2")] != [line["moves"] for line in play(*words)]


def test_players_that_never_vary_get_openings_of_their_own() -> None:
    lines = play("first=alpha_beta", "second=negamax", "games=20")
    openings = [tuple(line["moves"][: line["opening_plies"]]) for line in lines]  # type: ignore[index]
    assert len(set(openings)) == 10  # one a pair
    assert all(line["opening_plies"] == 0 for line in play("first=alpha_beta", "second=random", "games=4"))
    assert all(
        line["opening_plies"] == 3
        for line in play("first=alpha_beta", "second=random", "games=4", "opening_plies=3")
    )


def test_a_book_gives_the_openings_in_turn() -> None:
    Path("book").write_text("4 0\n8 4 2\n")
    lines = play("first=random", "second=random", "games=8", "book=book")
    in_order = sorted(lines, key=lambda line: int(str(line["number"])))
    assert [line["opening_plies"] for line in in_order] == [2, 2, 3, 3, 2, 2, 3, 3]


def test_a_tournament_ends_with_ratings_and_a_cross_table(capsys: pytest.CaptureFixture[str]) -> None:
    play(
        "players=[random,weak,alpha_beta]",
        "weak=uct",
        "weak.num_simulations=20",
        "games=20",
        "opening_plies=1",
    )
    table = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert table[0].split()[:4] == ["player", "Elo", "±", "95"]
    assert (
        table[1].startswith("1  alpha_beta")
        and table[2].startswith("2  weak: uct num_simulations=20")
        and "3  random" in table[3]
    )
    assert len(records()) == 3 * 20


def test_a_trained_player_comes_from_its_run(tmp_path: Path) -> None:
    advance(toy_config(tmp_path))
    folder = f"checkpoints={tmp_path}/checkpoints"
    lines = play(
        "first=policy",
        f"first.run={NAME}",
        "second=pv_mcts",
        f"second.run={NAME}",
        "games=4",
        "opening_plies=2",
        folder,
    )
    assert {str(line["players"]) for line in lines} == {
        f"['policy run={NAME}', 'pv_mcts run={NAME}']",
        f"['pv_mcts run={NAME}', 'policy run={NAME}']",
    }


def test_records_are_numbered_and_never_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["first=random", "second=random", "games=2"]) == 0
    names = sorted(path.name for path in Path("data/arena").iterdir())
    assert names == ["000001-tictactoe-random-random.jsonl", "000002-tictactoe-random-random.jsonl"]
    assert main(["first=random", "second=random", "games=2", f"record=data/arena/{names[0]}"]) == 2
    assert "cannot be written: File exists" in capsys.readouterr().err
    assert main(["first=random", "second=random", "games=2", "data=/dev/null"]) == 2
    assert "data=/dev/null cannot hold records: " in capsys.readouterr().err


def test_two_arenas_that_find_the_same_number_write_two_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for late in (False, True):  # the second one looks before the first has made its file
        numbers = iter([1, 2] if late else [1])
        monkeypatch.setattr(arena, "next_number", lambda *of, numbers=numbers: next(numbers))
        assert main(["first=random", "second=random", "games=2"]) == 0
    assert len(list(Path("data/arena").iterdir())) == 2


@pytest.mark.parametrize(
    "words, said",
    [
        (["first=nobody"], "unknown player nobody; choose one of: random"),
        (["first=alpha_bta"], "unknown player alpha_bta; did you mean alpha_beta?"),
        (["second=alfa"], "unknown player alfa; did you mean alpha_beta?"),
        (["first=champion"], "unknown player champion; did you mean first=pv_mcts first.run=RUN?"),
        (["games=3"], "games=3 must be even"),
        (["thirst=uct"], "unknown setting 'thirst'; did you mean first?"),
        (["players=[uct]"], "players= must be a list of two or more different names"),
        (["players=[uct,uct]"], "players= must be a list of two or more different names"),
        (["opening_plies=2", "book=b"], "cannot both be set"),
        (["first=uct", "first.rollout_depth=3", "first.heuristic=network"],
         "first.heuristic=network is not for rollouts"),
        (["first=pv_mcts", "first.search=5"], "unknown setting 'first.search'"),
        (["first=alpha_beta", "first.heuristic=[a]"], "first.heuristic=[a] must be one of: auto"),
        (["first=policy", "first.run=nowhere"], "holds no run nowhere"),
        (["game=losalamos", "first=policy"], "first=policy needs a champion, and no run has one of this"),
        (["game=draughts"], "game=draughts does not exist; there are breakthrough, breakthrough6, chess, "),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not Path("data").exists()


def test_nothing_at_all_asks_for_uct_against_random() -> None:
    arena, record = read_arena([])
    assert [spec.name for spec in arena.specs] == ["uct", "random"]
    assert (arena.games, arena.game.name, record) == (100, "tictactoe", None)


def result_of(wins: int, draws: int, losses: int) -> MatchResult:
    """A match in which every game is its own; the one asked about moves first in the even ones."""
    outcomes = [1.0] * wins + [0.0] * draws + [-1.0] * losses
    return summarize(
        [MatchGame(number, number % 2, 0, [number], outcome) for number, outcome in enumerate(outcomes)]
    )


def test_a_stopped_match_does_not_tell_a_time_that_nobody_took() -> None:
    assert "time a move" not in match_text(["a", "b"], Pairing(0, 1, result_of(3, 0, 1)))
    timed = replace(result_of(3, 0, 1), moves=(2, 2), seconds=(0.5, 0.25))
    assert match_text(["a", "b"], Pairing(0, 1, timed)).endswith("time a move 250 ms and 125 ms")


def test_a_champion_is_named_with_its_run(box: Path) -> None:
    arena, _ = read_arena(["game=hex5", "first=pv_mcts", "second=random"])
    assert list(arena.names) == ["pv_mcts run=shipped/hex5", "random"]


def test_a_score_beyond_measure_is_said_to_be_so() -> None:
    """40 of 40 games: Wilson's lower limit is 40 / (40 + 1.96^2) = 91.2 %, +407 Elo.

    7 wins and 3 losses of 10: 400 log10(0.7 / 0.3) = 147.
    """
    won = match_text(["a", "b"], Pairing(0, 1, result_of(40, 0, 0)))
    assert "Elo difference more than +1,200, 95 % interval +407 to more than +1,200\n" in won
    assert "score 100.0 %, 95 % interval 91.2 % to 100.0 %\n" in won
    lost = match_text(["a", "b"], Pairing(0, 1, result_of(0, 0, 40)))
    assert "Elo difference less than -1,200, 95 % interval less than -1,200 to -407\n" in lost
    assert "Elo difference +147, 95 % interval " in match_text(["a", "b"], Pairing(0, 1, result_of(7, 0, 3)))


def test_the_result_is_printed_once_and_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    play("first=alpha_beta", "second=random", "games=40")
    out = capsys.readouterr().out
    assert out.count("alpha_beta against random") == out.count(" wins, ") == 1
    assert max(map(len, out.splitlines())) <= 80


def test_copies_of_games_between_players_that_never_vary_are_not_counted() -> None:
    """Five times the same two games, one won and one drawn, are two games."""
    copies = [MatchGame(number, number % 2, 0, [1], 1.0 - number % 2) for number in range(10)]
    text = match_text(["a", "b"], Pairing(0, 1, summarize(copies, fixed=True)))
    assert "1 wins, 1 draws, 0 losses" in text
    assert text.endswith(
        "2 distinct games of 10; 8 repeat others and are not counted: more different openings would help"
    )
    assert "score moving first 100.0 %, second 50.0 %" in text
    varied = match_text(["a", "b"], Pairing(0, 1, summarize(copies)))
    assert "5 wins, 5 draws, 0 losses" in varied and varied.endswith("2 distinct games of 10")
    stopped = [MatchGame(5, 1, 0, [1], 0.0), MatchGame(8, 0, 0, [1], 1.0)]  # halves of two pairs
    assert summarize(stopped, fixed=True).repeats == 0


def test_two_players_that_never_vary_and_begin_alike_have_one_pair_of_games() -> None:
    arena = Arena(
        make_game("tictactoe"),
        (PlayerSpec("one", "negamax", {}), PlayerSpec("other", "alpha_beta", {})),
        8,
        1,
        0,
        (),
        2,
        Config(),
    )
    result = hold_match(arena, 0, 1, lambda places, ended: None)
    assert (len(result.games), result.repeats) == (2, 6)


def test_the_cross_table_turns_each_match_around() -> None:
    text = tournament_text(["a", "b"], [Pairing(0, 1, result_of(6, 2, 2))])
    first, second = (row.split() for row in text.splitlines()[1:])
    assert first[:2] == ["1", "a"] and first[-4:] == [
        "70.0",
        "%",
        "70.0",
        "%",
    ]  # its whole score, and against b
    assert second[:2] == ["2", "b"] and second[-4:] == ["30.0", "%", "30.0", "%"]


def test_a_player_of_exact_values_says_how_often_it_did_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "game=connect_four",
        "first=perfect",
        "first.seconds=0.002",
        "first.table=1000",
        "second=random",
        "games=2",
    ]
    play(*words)
    assert "perfect seconds=0.002 table=1000 did not know " in capsys.readouterr().out
    play("first=perfect", "second=random", "games=2")
    assert "did not know" not in capsys.readouterr().out


def test_a_draw_is_plain_zero_whoever_moved_first() -> None:
    play("first=alpha_beta", "second=negamax", "games=4", "opening_plies=0")
    assert [line["outcome"] for line in records()] == [0.0] * 4
    assert "-0.0" not in Path("games.jsonl").read_text()


def test_an_error_in_one_worker_ends_the_match() -> None:
    arena, _ = read_arena(["first=random", "second=random", "games=4000", "workers=2"])
    ended_games: list[int] = []

    def watch(_places: tuple[int, int], ended: list[MatchGame]) -> None:
        ended_games.append(len(ended))
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        hold_match(arena, 0, 1, watch)
    assert len(ended_games) <= 2  # each worker was at its first games
