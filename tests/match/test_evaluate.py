"""The evaluate stage: a match decides, the threshold must be passed, and promotion copies."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from places import DOUBLE_MOVE
from toy import NAME, StopInside, Told, advance, toy_config

from azero import loop
from azero.config.schema import Config, EvaluateConfig, GameConfig, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.match.gate import Verdict
from azero.match.lockstep import MatchGame, MatchResult, summarize
from azero.match.rating import elo_difference
from azero.network.inference import InferenceChoice
from azero.process.signals import Stopped, StopSignal
from azero.report.console import Progress
from azero.report.event_files import read_events
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import State
from azero.stages import evaluate
from azero.workers import matches, memory
from azero.workers.matches import MatchPlan, RoundsHere
from azero.workers.memory import cache_bytes, tree_bytes

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a toy run whose first candidate waits for its match."""
    folder = tmp_path_factory.mktemp("trained")
    advance(toy_config(folder), until="evaluate")
    return folder


@pytest.fixture
def config(trained: Path, tmp_path: Path) -> Config:
    """A copy of it."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return toy_config(tmp_path)


def match_of(wins: int, draws: int, losses: int) -> MatchResult:
    """A match in which no two games are equal."""
    outcomes = [1.0] * wins + [0.0] * draws + [-1.0] * losses
    return summarize([MatchGame(g, g % 2, 0, [g], outcome) for g, outcome in enumerate(outcomes)])


def gate(
    config: Config,
    networks: tuple[bytes, bytes],
    game: Game,
    cycle: int,
    choice: InferenceChoice,
    progress: Progress,
    stop: StopSignal,
) -> MatchResult:
    """Play a match in this process."""
    plan = MatchPlan(config, cycle, game, choice, networks)
    return evaluate.play_gate(plan, progress, RoundsHere(plan, progress, stop))


def evaluated(config: Config, report: Told | None = None) -> State:
    """Run the stage."""
    with Run.open(config, NAME, "test") as run:
        evaluate.run_stage(config, run, report or Told(), StopSignal())
        return run.state


def test_a_match_that_memory_cannot_hold_is_refused_before_it_begins(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trees for each of the games that are under way together, and the caches of two networks."""
    game = make_game("tictactoe")
    needed, caches = matches.match_bytes(config, game), 2 * cache_bytes(game, config)
    assert needed == 2 * config.evaluate.games * tree_bytes(game, matches.match_search(config)) + caches
    monkeypatch.setattr("azero.workers.memory.most_bytes", lambda: needed - 1)
    with pytest.raises(
        UserError,
        match=r"A match of tictactoe would take .* lower evaluate\.games, "
        r"evaluate\.anchor_games, evaluate\.num_simulations or inference\.cache\.",
    ):
        evaluated(config)
    monkeypatch.setattr("azero.workers.memory.most_bytes", lambda: needed)
    assert evaluated(config).cycle == 1


@pytest.mark.parametrize("games", [0, 8])
def test_so_are_games_against_fixed_opponents(
    config: Config, monkeypatch: pytest.MonkeyPatch, games: int
) -> None:
    """Random and exact play, UCT, the champion before: 4 x 100 trees of the new champion, 100 of that one."""
    rated = EvaluateConfig(games=games, gate="off", anchor_games=100, anchors=[5])
    game, asked = make_game("tictactoe"), replace(config, evaluate=rated)
    needed = matches.match_bytes(asked, game)
    assert needed == 500 * tree_bytes(game, matches.match_search(config)) + 2 * cache_bytes(game, asked)
    monkeypatch.setattr("azero.workers.memory.most_bytes", lambda: needed - 1)
    with pytest.raises(UserError, match=r"lower evaluate\.games, evaluate\.anchor_games"):
        evaluated(replace(config, evaluate=rated))


@pytest.mark.parametrize(
    ("counts", "threshold", "promoted"),
    [
        ((4, 0, 4), 0.5, False),  # a score of exactly the threshold is not above it
        ((4, 1, 3), 0.5, True),  # 4.5 of 8
        ((0, 8, 0), 0.5, False),
        ((1, 7, 0), 0.5, True),  # draws count half: 4.5 of 8
        ((4, 0, 4), 0.55, False),
        ((11, 0, 9), 0.55, False),  # 11 of 20 is 0.55
        ((11, 1, 8), 0.55, True),
        ((0, 0, 8), 0.0, False),
        ((0, 1, 7), 0.0, True),
        ((8, 0, 0), 1.0, False),  # nothing is above 1
    ],
)
def test_the_candidate_is_promoted_strictly_above_the_threshold(
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    counts: tuple[int, int, int],
    threshold: float,
    promoted: bool,
) -> None:
    monkeypatch.setattr("azero.stages.evaluate.play_gate", lambda *of: match_of(*counts))
    before = Run.read(config, NAME).state
    report = Told()
    state = evaluated(replace(config, evaluate=EvaluateConfig(games=8, threshold=threshold)), report)
    assert (state.cycle, state.stage) == (1, "selfplay")
    assert before.champion and before.candidate and state.champion and state.candidate == before.candidate
    record = state.history[-1]
    assert record["promoted"] == promoted and report.scalars[1]["evaluate/promoted"] == float(promoted)
    assert (record["wins"], record["draws"], record["losses"]) == counts
    assert record["score"] == pytest.approx((counts[0] + counts[1] / 2) / sum(counts))
    if promoted:  # a copy, so that either file may go without the other
        assert (
            state.champion.file == "champion/000001.pt" and state.champion.sha256 == before.candidate.sha256
        )
        assert [entry.cycle for entry in state.champions] == [0, 1]
    else:
        assert state.champion == before.champion
    assert record["champion"] == state.champion.sha256


@pytest.mark.parametrize(
    ("gate", "counts", "promoted"),
    [
        ("off", (0, 0, 8), True),  # measured, and promoted all the same
        ("sequential", (80, 0, 0), True),
        ("sequential", (0, 0, 80), False),
        ("sequential", (40, 0, 40), False),  # undecided, and elo0 = 0 is likelier than elo1 = 35
    ],
)
def test_the_gate_decides_by_its_kind_and_the_match_is_told(
    config: Config, monkeypatch: pytest.MonkeyPatch, gate: str, counts: tuple[int, int, int], promoted: bool
) -> None:
    monkeypatch.setattr("azero.stages.evaluate.play_gate", lambda *of: match_of(*counts))
    report = Told()
    state = evaluated(replace(config, evaluate=EvaluateConfig(games=8, gate=gate, most_games=80)), report)
    record, told = state.history[-1], report.scalars[1]
    assert record["promoted"] == promoted and record["games"] == told["evaluate/games"] == sum(counts)
    assert told["evaluate/score"] == record["score"] == (counts[0] + counts[1] / 2) / sum(counts)
    assert ("evaluate/llr" in told) == (gate == "sequential")
    assert record["elo_chain"] == (elo_difference(record["score"]) if promoted else 0.0)


@pytest.mark.parametrize(
    ("counts", "settings", "text"),
    [
        ((2, 4, 2), EvaluateConfig(threshold=0.45), "score 50 %, above 45 %: promoted"),
        ((2, 4, 2), EvaluateConfig(), "score 50 %, not above 50 %: rejected"),
        ((1, 4, 3), EvaluateConfig(threshold=0.55), "score 37.5 %, not above 55 %: rejected"),
        ((0, 0, 8), EvaluateConfig(gate="off"), "score 0 %, no gate: promoted"),
        ((8, 0, 0), EvaluateConfig(gate="sequential"), "score 100 %, sequential test: promoted"),
    ],
)
def test_the_line_says_what_the_gate_asks_for(
    counts: tuple[int, int, int], settings: EvaluateConfig, text: str
) -> None:
    played = evaluate.match_record(match_of(*counts), settings)
    assert evaluate.gate_text(played, settings) == text


def test_without_games_every_candidate_is_promoted(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*of: object) -> None:
        raise AssertionError("a match was played")

    monkeypatch.setattr("azero.stages.evaluate.play_gate", refuse)
    state = evaluated(replace(config, evaluate=EvaluateConfig(games=0)))
    assert state.champion and state.candidate and state.champion.sha256 == state.candidate.sha256
    assert state.history[-1]["promoted"] and state.history[-1]["elo_chain"] == 0.0
    assert "score" not in state.history[-1]


@pytest.mark.parametrize(("games", "rows"), [(2, 8), (32, 8), (40, 16), (60, 16), (100, 32), (400, 64)])
def test_a_batch_of_the_match_has_a_row_for_a_quarter_of_its_games_but_no_more_than_the_run_s(
    games: int, rows: int
) -> None:
    alone = matches.match_choice(InferenceChoice("torch", "fp32", 64, "cpu", 0.0), games)
    assert (alone.batch_size, alone.batches) == (rows, (rows,))
    smaller = InferenceChoice("torch", "fp32", 64, "cpu", 0.0, batches=(8, 16, 32, 64))
    chosen = matches.match_choice(smaller, games)
    assert chosen.batch_size == rows and chosen.batches == tuple(
        size for size in smaller.batches if size <= rows
    )


def test_elo_sums_over_promotions_only(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """6 of 8 is 400 log10(3) = 190.8 Elo; a candidate that lost adds nothing."""
    results = iter([match_of(6, 0, 2), match_of(2, 0, 6), match_of(6, 0, 2)])
    monkeypatch.setattr("azero.stages.evaluate.play_gate", lambda *of: next(results))
    advance(replace(config, cycles=3))
    chain = [record["elo_chain"] for record in Run.read(config, NAME).state.history]
    assert chain == pytest.approx([190.85, 190.85, 381.70], abs=0.01)


def test_a_real_match_is_counted_reported_and_the_same_again(config: Config) -> None:
    with Run.open(config, NAME, "test") as run:
        networks = (run.read_candidate(), run.read_champion())
        assert run.state.inference is not None
        choice = InferenceChoice(**run.state.inference)
        game = make_game("tictactoe")
        results = [gate(config, networks, game, 1, choice, Progress(), StopSignal()) for _ in range(2)]
        in_two_workers = gate(replace(config, workers=2), networks, game, 1, choice, Progress(), StopSignal())
        swapped = gate(config, networks[::-1], game, 1, choice, Progress(), StopSignal())
        next_cycle = gate(config, networks, game, 2, choice, Progress(), StopSignal())
    assert results[0] == results[1] == in_two_workers
    assert results[0].games not in (swapped.games, next_cycle.games)
    assert results[0].wins + results[0].draws + results[0].losses == 8
    report = Told()
    record = evaluated(config, report).history[-1]
    assert (record["wins"], record["draws"], record["losses"], record["distinct"]) == (
        *(results[0].wins, results[0].draws, results[0].losses),
        results[0].distinct,
    )
    told = report.scalars[1]
    assert told["evaluate/score"] == record["score"]
    assert told["evaluate/score_low"] <= told["evaluate/score"] <= told["evaluate/score_high"]
    assert [told[f"evaluate/{key}"] for key in ("wins", "draws", "losses", "distinct")] == [
        record[key] for key in ("wins", "draws", "losses", "distinct")
    ]
    assert report.texts["evaluate/game"] == evaluate.match_game_text(game, results[0].games[0])


def test_a_sequential_match_is_played_in_rounds_and_the_same_in_any_workers(config: Config) -> None:
    never_sure = EvaluateConfig(games=8, gate="sequential", most_games=20, error=1e-6)
    sequential = replace(config, evaluate=never_sure)
    with Run.open(config, NAME, "test") as run:
        networks = (run.read_candidate(), run.read_champion())
        assert run.state.inference is not None
        of = (
            networks,
            make_game("tictactoe"),
            1,
            InferenceChoice(**run.state.inference),
            Progress(),
            StopSignal(),
        )
        results = [gate(replace(sequential, workers=workers), *of) for workers in (1, 2)]
        one_round = gate(config, *of)
    assert results[0] == results[1] and results[0].games[:8] == one_round.games
    assert [game.number for game in results[0].games] == list(range(20))  # rounds of 8, 8 and 4
    assert results[0].moves[0] + results[0].moves[1] == sum(len(game.actions) for game in results[0].games)


def test_a_sequential_match_ends_with_the_round_that_decides_it(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "judge", lambda games, of: Verdict(len(games) >= 16, True, None))
    sequential = replace(config, evaluate=EvaluateConfig(games=8, gate="sequential", most_games=40))
    with Run.open(config, NAME, "test") as run:
        networks = (run.read_candidate(), run.read_champion())
        assert run.state.inference is not None
        of = (
            networks,
            make_game("tictactoe"),
            1,
            InferenceChoice(**run.state.inference),
            Progress(),
            StopSignal(),
        )
        assert len(gate(sequential, *of).games) == 16


def test_a_sequential_match_stopped_in_its_second_round_ends_like_an_undisturbed_one(
    config: Config, tmp_path: Path
) -> None:
    sequential = replace(
        config, cycles=1, evaluate=EvaluateConfig(games=4, gate="sequential", most_games=12, error=1e-6)
    )
    shutil.copytree(tmp_path, tmp_path / "undisturbed")
    expected = advance(toy_config(tmp_path / "undisturbed", cycles=1, evaluate=sequential.evaluate))
    with Run.open(sequential, NAME, "test") as run, pytest.raises(Stopped):
        loop.run_cycles(sequential, run, Told(), StopInside(run, 1, "evaluate", 20))
    assert advance(sequential).history == expected.history and expected.history[0]["games"] == 12


def test_a_game_of_the_match_tells_who_is_who_and_how_it_ended() -> None:
    game, actions = make_game("tictactoe"), [0, 3, 1, 4, 2]
    told = evaluate.match_game_text(game, MatchGame(0, 0, 2, actions, 1.0)).splitlines()
    assert told[:3] == ["candidate moves first, champion second", "opening: 0 3", "moves: 1 4 2"]
    assert told[-1] == "the candidate wins"
    told = evaluate.match_game_text(game, MatchGame(1, 1, 0, actions, -1.0)).splitlines()
    assert (
        told[:2] == ["champion moves first, candidate second", "moves: 0 3 1 4 2"]
        and told[-1] == "the champion wins"
    )


def test_a_candidate_of_other_rules_is_one_sentence(config: Config) -> None:
    other = replace(config, game=GameConfig(DOUBLE_MOVE))
    with (
        Run.open(config, NAME, "test") as run,
        pytest.raises(UserError, match="The network plays tictactoe, but the game is"),
    ):
        evaluate.run_stage(other, run, Told(), StopSignal())


def test_a_match_has_its_own_number_of_simulations() -> None:
    search = SearchConfig(num_simulations=20, dirichlet_fraction=0.25, c_puct=2.0)
    assert matches.match_search(Config(search=search)) == search
    own = matches.match_search(Config(search=search, evaluate=EvaluateConfig(num_simulations=7)))
    assert own == replace(search, num_simulations=7)


def test_noise_of_self_play_does_not_change_a_match(config: Config) -> None:
    def games(noise: float) -> list[MatchGame]:
        noisy = replace(config, search=replace(config.search, dirichlet_fraction=noise))
        with Run.open(noisy, NAME, "test") as run:
            assert run.state.inference is not None
            networks = (run.read_candidate(), run.read_champion())
            choice = InferenceChoice(**run.state.inference)
            return gate(noisy, networks, make_game("tictactoe"), 1, choice, Progress(), StopSignal()).games

    assert games(0.0) == games(1.0)


def test_a_network_scores_half_against_itself(config: Config) -> None:
    """Openings and streams are shared by a pair, so at temperature 0 what one wins as X it loses as O."""
    greedy = replace(config, evaluate=EvaluateConfig(games=20, temperature=0.0, opening_plies=2))
    with Run.open(greedy, NAME, "test") as run:
        assert run.state.inference is not None
        networks = (run.read_champion(), run.read_champion())
        choice = InferenceChoice(**run.state.inference)
        result = gate(greedy, networks, make_game("tictactoe"), 1, choice, Progress(), StopSignal())
    assert result.wins == result.losses
    for even, odd in zip(result.games[0::2], result.games[1::2], strict=True):
        assert even.actions == odd.actions and even.outcome == -odd.outcome


def test_a_damaged_candidate_is_made_again(config: Config, tmp_path: Path) -> None:
    expected = advance(toy_config(tmp_path / "undisturbed", cycles=1))
    run = Run.read(config, NAME)
    candidate = run.state.candidate
    assert candidate is not None
    run.paths.of(candidate.file).write_bytes(b"something else")
    report = Told()
    state = evaluated(config, report)
    assert (state.cycle, state.stage) == (0, "train") and state.history == []
    assert "is damaged" in report.messages[-1] and "Training makes it again" in report.messages[-1]
    state = advance(replace(config, cycles=1))
    assert state.candidate and expected.candidate and state.candidate.sha256 == expected.candidate.sha256
    assert [(record["score"], record["champion"]) for record in state.history] == [
        (record["score"], record["champion"]) for record in expected.history
    ]
    assert [entry.file for entry in state.quarantine] == [candidate.file]


def test_a_candidate_made_again_in_the_same_process_tells_its_figures_once(
    config: Config, tmp_path: Path
) -> None:
    expected = toy_config(tmp_path / "undisturbed", cycles=1)
    loop.run_asked(expected, NAME)
    run = Run.read(config, NAME)
    assert run.state.candidate is not None
    run.paths.of(run.state.candidate.file).write_bytes(b"something else")
    with (
        Run.open(config, NAME, "test") as opened,
        Reporter.open(opened) as report,
    ):  # what was told of the damaged one
        report.train_scalars(1, {"loss/total": 99.0})
        report.cycle_scalars(1, {"replay/new_share": 99.0})
    loop.run_asked(replace(config, cycles=1), NAME)
    for folder, tag in (("train", "loss/total"), ("cycle", "replay/new_share")):
        told = [
            scalars_of(paths.tensorboard / folder, tag)
            for paths in (run.paths, Run.read(expected, NAME).paths)
        ]
        assert told[0] == told[1] and told[0]


def scalars_of(folder: Path, tag: str) -> list[tuple[int, float]]:
    """The steps and values of a tag as they lie in the files."""
    events = [event for place in sorted(folder.iterdir()) for event in read_events(place.read_bytes())]
    return [
        (event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.tag == tag
    ]


def test_a_stopped_match_is_played_again_from_its_start(config: Config) -> None:
    with Run.open(config, NAME, "test") as run:
        before = run.state
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, Told(), StopInside(run, 1, "evaluate", 4))
        after = run.state
        assert after == replace(
            before, elapsed_seconds=after.elapsed_seconds, stage_seconds=after.stage_seconds
        )


def test_old_networks_and_shards_outside_the_window_are_removed(tmp_path: Path) -> None:
    config = toy_config(
        tmp_path, cycles=3, keep=0, evaluate=EvaluateConfig(games=0), selfplay=SelfplayConfig(games=60)
    )
    state = advance(config)
    paths = Run.read(config, NAME).paths
    there = {str(path.relative_to(paths.folder)) for path in paths.folder.rglob("*.pt")}
    assert there == {"champion/000003.pt", "candidate/000003.pt"}
    assert [shard.cycle for shard in state.shards] == [3] or sum(
        shard.examples for shard in state.shards[1:]
    ) < 400
    assert {path.name for path in paths.data.glob("*.pickle")} == {shard.file for shard in state.shards}


def test_a_match_of_a_game_with_many_actions_counts_the_caches_of_both_networks() -> None:
    """2,401 actions, 9 of them legal: 65,536 x (8 x 3 + 8 x 9) bytes a cache; without games there is none."""
    actions = 2401
    game = replace(make_game("tictactoe"), num_actions=actions, key_words=3)
    config = replace(Config(), evaluate=EvaluateConfig(games=2, anchor_games=0))
    assert config.inference.cache == 65_536
    trees = 4 * tree_bytes(game, matches.match_search(config))
    assert matches.match_bytes(config, game) == trees + 2 * 65_536 * (8 * 3 + 8 * 9)
    assert matches.match_bytes(replace(config, evaluate=EvaluateConfig(games=0)), game) == 0


@pytest.mark.parametrize("error", [ValueError, OSError, AttributeError])
def test_a_system_that_does_not_tell_its_memory_refuses_no_match(
    config: Config, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def unknown(name: str) -> int:
        raise error(f"unrecognized configuration name {name}")

    monkeypatch.setattr("os.sysconf", unknown)
    assert memory.most_bytes() == math.inf
    matches.check_match_memory(config, make_game("tictactoe"))
