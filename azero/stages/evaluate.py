"""The evaluate stage: candidate against champion decides who plays the next cycle's games."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

from azero.config.schema import Config, EvaluateConfig
from azero.games import make_game
from azero.games.game import Game
from azero.match.anchors import Anchors
from azero.match.elo_table import Result, champion_name, results_of
from azero.match.gate import counted_games, games_at_most, judge
from azero.match.lockstep import MatchGame, MatchResult, Watch
from azero.match.rating import count_results, elo_difference, score, score_interval
from azero.match.text import game_text
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process import seeds
from azero.process.signals import Stopped, StopSignal
from azero.report.console import Progress, format_number
from azero.report.reporter import Reporter
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import StageName
from azero.search.counters import StageStats
from azero.stages.backend import choice_for, ensure_choice
from azero.stages.executor import executor_of
from azero.stages.selfplay import report_account
from azero.stages.train import unpack_candidate
from azero.workers.matches import (
    MatchPlan,
    Rounds,
    check_match_memory,
    make_openings,
    make_searcher,
    match_choice,
    match_workers,
)
from azero.workers.threads import workers_wanted


def play_gate(plan: MatchPlan, progress: Progress, rounds: Rounds) -> MatchResult:
    """Play the match of (candidate, champion), in rounds until the gate is decided.

    Args:
        plan: the match.
        progress: as for every stage.
        rounds: who plays.

    Raises:
        Stopped: a stop was requested.
    """
    evaluate, games = plan.config.evaluate, list[MatchGame]()
    openings = make_openings(plan.config, plan.game, plan.cycle)
    try:
        while not games or not judge(games, evaluate).decided:
            end = min(len(games) + evaluate.games, games_at_most(evaluate))
            games += rounds.play(range(len(games), end), openings)
            if len(games) < end:
                raise Stopped
            test = judge(games, evaluate).test
            live = {"test": f"LLR {test.llr:.2f} of {test.lower:.2f} to {test.upper:.2f}"} if test else {}
            progress.update(len(games), **live)
    finally:
        rounds.end()
    return rounds.summary(games)


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Play the match, promote the candidate if the gate says so (a copy of its file), and finish the cycle.

    If the candidate is damaged, the run goes back to training.

    Raises:
        Stopped: a stop was requested; the match is played again from its start.
        UserError: a network does not fit the rules.
    """
    cycle = run.state.cycle + 1
    game = make_game(config.game.name, **config.game.options)
    try:
        unpack_candidate(run)  # whether it can be
        networks = (run.read_candidate(), run.read_champion())
    except DamagedFile as damage:
        run.drop_candidate(damage)
        report.cut_back(run)
        report.message(
            f"{damage} Training makes it again; the damaged file is in {quote(str(run.paths.quarantine))}."
        )
        return
    match, rated = None, None
    if config.evaluate.games or config.evaluate.anchor_games:
        match, rated = hold_matches(config, run, networks, game, report, stop)
    promoted = match is None or match.promoted
    elo = float(run.state.history[-1]["elo_chain"]) if run.state.history else 0.0
    elo += elo_difference(match.score) if promoted and match else 0.0
    champion = run.write_network("champion", cycle, networks[0]) if promoted else run.state.champion
    assert champion is not None
    report.cycle_scalars(cycle, {"evaluate/promoted": float(promoted), "evaluate/elo_chain": elo})
    record = CycleRecord(cycle, promoted, champion.sha256, elo, match, rated)
    state = replace(run.state, cycle=cycle, stage=StageName.SELFPLAY, champion=champion)
    run.commit(replace(state, history=[*state.history, record.as_json()]), ends_cycle=True)
    run.clean()


@dataclass(frozen=True)
class MatchRecord:
    """A match as the run's history keeps it, seen by the candidate.

    Attributes:
        games: played.
        wins, draws, losses: of the games that the gate counts.
        distinct: games that differ.
        score: from 0 to 1, with its 95 % interval from `score_low` to `score_high`.
        promoted: whether the gate promotes the candidate.
        llr: log-likelihood ratio of a sequential test; None for another gate.
    """

    games: int
    wins: int
    draws: int
    losses: int
    distinct: int
    score: float
    score_low: float
    score_high: float
    promoted: bool
    llr: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields that have a value, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class CycleRecord:
    """A finished cycle as the run's history keeps it.

    Attributes:
        cycle: counted from 1.
        promoted: whether the candidate became champion.
        champion: SHA-256 of the champion's file.
        elo_chain: Elo over the first network, summed over the scores of promotions.
        match: None where none was played.
        rated: results against fixed opponents; None where none were asked for.
    """

    cycle: int
    promoted: bool
    champion: str
    elo_chain: float
    match: MatchRecord | None = None
    rated: list[Result] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the record as `state.json` holds it: one flat object with the match's fields."""
        match = {"games": 0} if self.match is None else self.match.as_json()
        rated = {} if self.rated is None else {"rated": self.rated}
        own = {"cycle": self.cycle, "champion": self.champion, "elo_chain": self.elo_chain}
        return {**match, **rated, **own, "promoted": self.promoted}


def hold_matches(
    config: Config, run: Run, networks: tuple[bytes, bytes], game: Game, report: Reporter, stop: StopSignal
) -> tuple[MatchRecord | None, list[Result] | None]:
    """Play the match of (candidate, champion), then rate whoever is champion now, and report both.

    Returns:
        the match, and the results against fixed opponents; None for what the settings do not ask for.

    Raises:
        Stopped: a stop was requested.
        UserError: a network does not fit the rules, or the games of a round do not fit into memory.
    """
    cycle, evaluate = run.state.cycle + 1, config.evaluate
    champion = unpack_network(networks[1], "champion", game)
    choice = ensure_choice(run, config, game, champion.network, report)
    choice = choice_for(choice, unpack_network(networks[0], "candidate").network, "candidate", game, report)
    anchors = Anchors(game, evaluate, results_of(run.state.history)) if evaluate.anchor_games else None
    most = games_at_most(evaluate) + (anchors.most_games if anchors else 0)
    match = rated = None
    with report.stage(StageName.EVALUATE, cycle, config.cycles, most, "games") as progress:
        if evaluate.games:
            begin, plan = time.perf_counter(), MatchPlan(config, cycle, game, choice, networks)
            with one_thread_per_worker():
                rounds = executor_of(config).rounds(plan, progress, stop, report.message)
                result = play_gate(plan, progress, rounds)
            report_account(run, report, rounds.account(time.perf_counter() - begin))
            del rounds  # its trees and caches, before the fixed opponents have theirs
            match = match_record(result, evaluate)
            progress.stats.pop("test", None)  # the result sums it up
            progress.update(match.games, result=gate_text(match, evaluate))
            stats = {name: value for name, value in match.as_json().items() if name != "promoted"}
            scalars = {f"evaluate/{name}": float(value) for name, value in stats.items()}
            report.cycle_scalars(cycle, scalars | StageStats(result.stats).shares("evaluate"))
            report.text("evaluate/game", match_game_text(game, result.games[0]), cycle)
        if anchors:

            def watch(games: list[MatchGame]) -> None:
                progress.update(progress.done + len(games))
                if stop.requested:
                    raise Stopped

            new_first = networks if match is None or match.promoted else networks[1:]
            rated = rate_champion(config, run, new_first, anchors, choice, watch)
    return match, rated


def rate_champion(
    config: Config,
    run: Run,
    networks: Sequence[bytes],
    anchors: Anchors,
    choice: InferenceChoice,
    watch: Watch,
) -> list[Result]:
    """Play the champion, at temperature 0, against the anchors, and if it is new against the one before.

    Args:
        config, run, choice, watch: as for the match.
        networks: the champion's, and if it is new, that of the champion before it.
        anchors: the fixed opponents; neighbours that have not met yet meet too.

    Raises:
        UserError: the games do not fit into memory.
    """
    check_match_memory(config, anchors.game)
    assert run.state.champion is not None
    cycle, game = run.state.cycle + 1, anchors.game
    names = (champion_name(cycle), champion_name(run.state.champion.cycle))[-len(networks) :]
    choice = match_choice(choice, config.evaluate.anchor_games * len(anchors.names))
    with one_thread_per_worker():
        pairs = zip(names, networks, strict=True)
        players = {name: make_searcher(config, data, name, game, choice) for name, data in pairs}
        links = anchors.meet_each_other(watch, workers_wanted(config, "cpu"))
        source = seeds.sequence(config.seed, cycle, seeds.ANCHORS)
        return links + anchors.meet(players, source, watch, match_workers(config, choice))


def match_record(result: MatchResult, evaluate: EvaluateConfig) -> MatchRecord:
    """Return what the history keeps of a match, with the gate's decision."""
    verdict = judge(result.games, evaluate)
    counts = count_results([game.outcome for game in counted_games(result.games, evaluate)])
    llr, interval = verdict.test.llr if verdict.test else None, score_interval(*counts)
    counted = (len(result.games), *counts, result.distinct)
    return MatchRecord(*counted, score(*counts), *interval, verdict.promoted, llr)


def gate_text(match: MatchRecord, evaluate: EvaluateConfig) -> str:
    """Return a match's score and the gate's decision, such as "score 50 %, above 45 %: promoted"."""
    above = "above" if match.promoted else "not above"
    why = {
        "score": f"{above} {format_number(100 * evaluate.threshold)} %",
        "sequential": "sequential test",
        "off": "no gate",
    }[evaluate.gate]
    result = "promoted" if match.promoted else "rejected"
    return f"score {format_number(100 * match.score)} %, {why}: {result}"


def match_game_text(game: Game, played: MatchGame) -> str:
    """Return a game of the candidate (player 0) against the champion as a person reads it."""
    names = ("candidate", "champion") if played.first == 0 else ("champion", "candidate")
    first_outcome = played.outcome if played.first == 0 else -played.outcome
    return game_text(game, played.actions, first_outcome, played.opening_plies, names)
