"""The match on a cluster: the same games as one machine's, whatever happens to the workers.

The workers run in this process. `test_cluster_ray.py` does the same with Ray's processes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crews import NearCrew
from toy import NAME, StopInside, Told, advance, digest_of, toy_config

from azero import estimate, loop
from azero.cluster.chunks import Answer, Book, Differing, answer_of, chunks_of
from azero.cluster.kinds import MATCH, dump_match, load_match
from azero.cluster.match import PAIR
from azero.cluster.worker import Report
from azero.config.schema import ClusterConfig, Config, EvaluateConfig, UserError
from azero.games import make_game
from azero.match.lockstep import MatchGame
from azero.network.inference import InferenceChoice
from azero.process.signals import Stopped, StopSignal
from azero.report.console import Progress
from azero.report.forecast import cycle_seconds
from azero.run.disk import DamagedFile, digest
from azero.run.run import Run
from azero.stages import executor, trials
from azero.workers.matches import (
    MatchWorker,
    Sharing,
    make_openings,
    make_players,
    match_seeds,
    play_here,
)
from azero.workers.threads import GameQueue, WorkerThreads

GAMES = 12
NEAR = ClusterConfig(address="near", tokens=False)


def gated(folder: Path, **changes: Any) -> Config:
    """The toy run with a match of random openings that says something."""
    match = EvaluateConfig(games=GAMES, opening_plies=2, gate="score", threshold=0.5)
    return toy_config(folder, cycles=1, evaluate=match, **changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a toy run whose first candidate waits for its match."""
    folder = tmp_path_factory.mktemp("trained")
    advance(gated(folder), until="evaluate")
    return folder


@pytest.fixture(scope="module")
def undisturbed(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """The digest and the history of the run without a cluster."""
    folder = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    state = advance(gated(folder))
    return digest_of(gated(folder)), state.history


@pytest.fixture
def config(trained: Path, tmp_path: Path) -> Config:
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return gated(tmp_path, cluster=NEAR)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let both stages use a crew; it is closed after the test. Every match is worth sending."""
    used: list[NearCrew] = []
    monkeypatch.setattr("azero.cluster.match.WORTH_SENDING", 0)

    def use_crew(crew: NearCrew) -> NearCrew:
        used.append(crew)
        monkeypatch.setattr(executor, "crew_of", lambda config, device: crew)
        return crew

    yield use_crew
    for crew in used:
        crew.close()


def outcome_of(config: Config) -> tuple[str, Any]:
    return digest_of(config), Run.read(config, NAME).state.history


def in_matches(crew: NearCrew) -> bool:
    """Whether the stage under way is a match."""
    assert crew.terms is not None
    return crew.terms.kind is MATCH


class TestGames:
    """What is played in a game depends on its number alone."""

    @pytest.fixture
    def made(self, config: Config) -> Any:
        game = make_game("tictactoe")
        with Run.open(config, NAME, "test") as run:
            assert run.state.inference is not None
            networks = run.read_candidate(), run.read_champion()
            players = make_players(config, networks, game, InferenceChoice(**run.state.inference))
        return game, players, make_openings(config, game, 1), match_seeds(config, 1)

    @pytest.mark.parametrize("size", [1, 2, 4, 10])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_games_of_a_table_of_any_size_are_those_of_the_whole_match(
        self, made: Any, size: int, threads: int
    ) -> None:
        """With other neighbours, so in batches of other rows; the players' caches know earlier games."""
        game, players, openings, seeds = made
        worker = MatchWorker(game, players, 1)

        def games(numbers: range, threads: int) -> list[MatchGame]:
            worker.threads = threads
            return play_here(worker, numbers, openings, seeds, StopSignal(), lambda ended: None)

        whole = games(range(GAMES), 1)
        parts = [
            games(range(first, min(first + size, GAMES)), threads)
            for first in reversed(range(0, GAMES, size))
        ]
        assert [each for part in reversed(parts) for each in part] == whole
        assert [(each.number, each.first) for each in whole] == [(n, n % 2) for n in range(GAMES)]
        assert len({tuple(each.actions) for each in whole}) > 3  # else equality says little

    def test_free_tables_share_what_waits(self, made: Any) -> None:
        game, players, openings, seeds = made
        sharing = Sharing(3)
        workers = [MatchWorker(game, players, 1, sharing=sharing) for _ in range(3)]
        queue = GameQueue(iter(range(10)), openings=openings)
        taken: list[int] = []

        def take_and_stay(count: int, take: Any = queue.take) -> np.ndarray:
            taken.append(count)
            return np.empty(0, np.int64) if count == 0 else take(count)

        queue.take = take_and_stay  # type: ignore[method-assign]
        for worker in workers:  # each stays busy when the next one asks
            worker.play(queue, seeds, StopSignal())
            sharing.busy += 1
        assert taken == [4, 3, 3]

    def test_a_table_whose_games_nobody_needs_is_left(self, made: Any) -> None:
        game, players, openings, seeds = made
        worker, queue = MatchWorker(game, players, 1), GameQueue(iter(range(4)), openings=openings)
        queue.needless |= {0, 1, 2, 3}
        worker.play(queue, seeds, StopSignal())
        assert len(queue.records) < 4 and not worker.sharing.busy

    def test_an_error_at_a_table_ends_all_and_is_raised(self, made: Any) -> None:
        game, players, openings, seeds = made

        def fail() -> None:
            raise MemoryError("no memory")

        workers = [MatchWorker(game, players, 2, fail)]
        queue = GameQueue(iter(range(4)), openings=openings)
        with (
            pytest.raises(MemoryError, match="no memory"),
            WorkerThreads(workers, queue, seeds, StopSignal()),
        ):
            pass
        assert not workers[0].sharing.busy


class TestBook:
    """Chunks of pairs, and the answers to them."""

    def games(self, *numbers: int, outcome: float = 1.0) -> list[MatchGame]:
        return [MatchGame(number, number % 2, 0, [0, 3, 1, 4, 2], outcome) for number in numbers]

    def test_games_are_the_same_after_the_way_to_the_head(self) -> None:
        games = [MatchGame(6, 0, 2, [0, 3, 1, 4, 2], 1.0), MatchGame(7, 1, 0, [4], -0.25)]
        assert load_match(dump_match(games, "toy"), "it") == games
        assert dump_match(games, "toy") == dump_match(list(games), "toy")

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\x80\x04",
            b"7",
            b'["toy", [0, 0, 0, [1]]]',
            b'["toy", [0, 0, 0, [1], 2.0]]',
            b'["toy", [0, 0, 0, ["1"], 1.0]]',
            b'["toy", [0.5, 0, 0, [1], 1.0]]',
            b'["toy", [0, 0, 0, 1, 1.0]]',
            b'["toy", [0, 0, 0, [1], "won"]]',
            b"[" * 100_000,
        ],
    )
    def test_other_data_are_refused(self, data: bytes) -> None:
        with pytest.raises(DamagedFile, match="it is not a list of games"):
            load_match(data, "the answer of worker a")

    def test_pairs_come_back_once_and_a_second_answer_must_be_equal(self) -> None:
        book = Book(chunks_of(range(6), size=PAIR), kind=MATCH)
        first, second, _ = book.take("a", room=9)
        assert [first.games, second.games] == [(0, 1), (2, 3)]
        assert [chunk.games for chunk in book.take("b", room=1)] == [(4, 5)]  # newest first, a second time
        book.finish("a", answer_of(first, self.games(0, 1), "toy", MATCH))
        assert book.in_order() == self.games(0, 1)
        third = book.by_number[2]
        assert book.finish("b", answer_of(third, self.games(4, 5), "toy", MATCH)) == ["a"]
        book.finish("a", answer_of(third, self.games(4, 5), "toy", MATCH))
        assert book.repeats == 1
        with pytest.raises(Differing, match="Workers b and a have played games 4 to 5 differently"):
            book.finish("a", answer_of(third, self.games(4, 5, outcome=0.0), "toy", MATCH))

    def test_games_of_another_kind_are_refused(self) -> None:
        book = Book(chunks_of(range(2), size=PAIR), kind=MATCH)
        (chunk,) = book.take("a", room=9)
        pickled = Answer(chunk.number, b"junk", digest(b"junk"), whole=True)
        with pytest.raises(UserError, match="Worker a has sent no games"):
            book.finish("a", pickled)
        wrong = dump_match(self.games(2, 3), "toy")
        with pytest.raises(UserError, match="was asked for games 0 to 1 and sent others"):
            book.finish("a", pickled._replace(data=wrong, digest=digest(wrong)))

    def test_a_further_round_gets_numbers_above_all_others(self) -> None:
        book = Book([], kind=MATCH)
        assert book.done
        book.add(chunks_of(range(4), size=PAIR))
        for chunk in book.take("a", room=9):
            book.finish("a", answer_of(chunk, self.games(*chunk.games), "toy", MATCH))
        assert book.done
        book.add(chunks_of(range(4, 6), size=PAIR))
        assert not book.done
        (chunk,) = book.take("a", room=9)
        assert (chunk.number, chunk.games) == (2, (4, 5))
        book.finish("a", answer_of(chunk, self.games(4, 5), "toy", MATCH))
        assert book.done and [game.number for game in book.in_order()] == list(range(6))


@pytest.mark.parametrize("workers, threads", [(1, 1), (1, 4), (2, 2), (4, 1)])
def test_the_number_of_workers_changes_no_byte(
    config: Config, undisturbed: Any, use: Any, workers: int, threads: int
) -> None:
    use(NearCrew(workers, threads))
    report = Told()
    advance(config, report=report)
    assert outcome_of(config) == undisturbed
    told = report.scalars[1]
    assert told["cluster/match_workers"] == workers and told["evaluate/games"] == GAMES
    assert 0 < told["evaluate/batch_fill"] <= 1
    assert sum("cluster, match: " in line for line in report.messages) == 1


def test_a_worker_lost_in_a_match_changes_nothing(config: Config, undisturbed: Any, use: Any) -> None:
    crew, killed = use(NearCrew(2)), list[str]()

    def kill_once(name: str, report: Report) -> None:
        if in_matches(crew) and report.answers and not killed:
            killed.append(name)
            crew.kill(name)
            crew.start(f"{name}+")

    crew.on_report = kill_once
    report = Told()
    advance(config, report=report)
    assert killed and outcome_of(config) == undisturbed
    assert report.scalars[1]["cluster/match_lost"] == 1 and report.scalars[1]["cluster/match_retries"] > 0


def test_a_candidate_that_a_worker_computes_differently_is_noticed(
    config: Config, undisturbed: Any, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The champion alone would pass: the digest is that of both networks."""
    from azero.cluster import worker as worker_module

    crew, digest_of_both = use(NearCrew(2)), worker_module.match_digest

    def differing(inferences: Any, planes: Any, *of: Any) -> str:
        candidate, champion = inferences
        odd = type("Odd", (), {"infer": lambda self, planes, rows=None: candidate.infer(planes * 0.5)})()
        return digest_of_both([odd, champion], planes, *of)

    def greet(greeting: Any) -> Any:
        play = crew.processes["near-2"].play
        assert play is not None
        if play.terms.kind is not MATCH:
            return greeting
        inferences = [player.inference for player in play.workers[0].players]
        odd = differing(inferences, play.terms.planes, play.terms.choice, play.terms.config)
        assert odd != greeting.digest and odd[64:] == greeting.digest[64:]
        return replace(greeting, digest=odd)

    crew.changes["near-2"] = greet
    report = Told()
    advance(config, report=report)
    assert crew.refused == ["near-2"] and outcome_of(config) == undisturbed
    assert any("near-2 was refused: it computes the network differently" in line for line in report.messages)


def test_a_sequential_gate_is_played_in_rounds_and_ends_with_the_same_one(
    config: Config, use: Any, tmp_path: Path, trained: Path
) -> None:
    gate = EvaluateConfig(games=4, gate="sequential", most_games=14, error=1e-6, opening_plies=2)
    shutil.copytree(trained, tmp_path / "alone", dirs_exist_ok=True)
    alone = toy_config(tmp_path / "alone", cycles=1, evaluate=gate)
    advance(alone)
    crew = use(NearCrew(2, 2))
    begun, begin = list[Any](), crew.begin

    def count(terms: Any) -> None:
        begun.append(terms)
        begin(terms)

    crew.begin = count
    spread = replace(config, evaluate=gate)
    advance(spread)
    assert outcome_of(spread) == outcome_of(alone)
    assert outcome_of(spread)[1][0]["games"] == 14  # rounds of 4, 4, 4 and 2
    assert [terms.kind is MATCH for terms in begun] == [True]  # both networks go out once


@pytest.mark.parametrize("looks", [1, 3])
def test_a_stop_in_a_match_loses_nothing_and_the_run_goes_on(
    config: Config, undisturbed: Any, use: Any, looks: int
) -> None:
    use(NearCrew(2))
    with Run.open(config, NAME, "test") as run:
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, Told(), StopInside(run, 1, "evaluate", looks))
        assert run.state.stage == "evaluate" and run.state.candidate is not None
    use(NearCrew(1))
    advance(config)
    assert outcome_of(config) == undisturbed


def test_a_short_match_stays_on_the_head(
    config: Config, undisturbed: Any, use: Any, monkeypatch: Any
) -> None:
    crew = use(NearCrew(1))
    longest = GAMES * config.search.num_simulations * 9  # plies
    monkeypatch.setattr("azero.cluster.match.WORTH_SENDING", longest + 1)
    report = Told()
    state = advance(replace(config, cycles=2), report=report)
    assert state.history[:1] == undisturbed[1] and not in_matches(crew)
    assert "cluster/workers" in report.scalars[2] and "cluster/match_workers" not in report.scalars[2]


class TestEstimate:
    """`azero estimate cluster.address=…`: the workers play, and the estimate is the cluster's."""

    @pytest.mark.parametrize(
        "least, held", [(0, "the match on its workers"), (10**9, "the head plays the match")]
    )
    def test_self_play_and_the_match_are_measured_on_the_workers(
        self, use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int, held: str
    ) -> None:
        for name in ("SELFPLAY", "TRAIN", "MATCH", "CLUSTER"):
            monkeypatch.setattr(trials, f"{name}_SECONDS", 0.4)
        use(NearCrew(2))
        monkeypatch.setattr("azero.cluster.match.WORTH_SENDING", least)
        config = gated(tmp_path, cluster=NEAR)
        measured = estimate.measure(config, NAME, tmp_path / "trial", Progress())
        found = measured.cluster
        assert found is not None and (found.workers, found.machines) == (2, 1)
        assert found.simulations > 0 and measured.start > 0 and found.prepare > 0 and not found.said
        assert measured.pace.selfplay == found.selfplay > found.prepare
        text = estimate.report_text(config, measured)
        assert "cluster near: 1 machine, 2 workers" in text and held in text

    def test_with_overlap_a_cycle_takes_the_longer_of_both(self, use: Any, tmp_path: Path) -> None:
        """Self-play of the next cycle goes on beside training and the match."""
        use(NearCrew(2))
        config = gated(tmp_path, cluster=replace(NEAR, overlap=True))
        measured = estimate.measure(config, NAME, tmp_path / "trial", Progress())
        pace, there = measured.pace, measured.cluster
        assert there is not None
        first = cycle_seconds(pace, config.train, 1)
        rest = sum(first.values()) - first["selfplay"]
        assert sum(first.values()) == pytest.approx(max(there.selfplay, rest))
