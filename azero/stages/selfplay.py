"""The self-play stage: the champion plays games against itself, and their records become a shard."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from azero.config.schema import Config
from azero.games import make_game
from azero.network.model import unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord, ended_and_waiting
from azero.replay.shards import load_partial, write_games, write_partial
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.run.run import Run
from azero.run.state import AsideEntry, StageName, State
from azero.stages.backend import ensure_choice
from azero.stages.executor import executor_of
from azero.workers.report import is_cut, report_games
from azero.workers.selfplay import Plan, SelfPlay, Watch, WorkAccount


def make_plan(config: Config, run: Run, report: Reporter, cycle: int) -> Plan:
    """Return what is to be played of a cycle.

    Raises:
        UserError: the network does not fit the rules, or is damaged.
    """
    game = make_game(config.game.name, **config.game.options)
    network = unpack_network(run.read_player(), "champion", game).network
    choice = ensure_choice(run, config, game, network, report)
    done, waiting = ended_and_waiting(load_partial(run, game, report.message))
    wanted = config.selfplay.games
    numbers = set(range(wanted)) - {record.number for record in done} - left_out(run, cycle, wanted)
    expected = report.last_stat(GAME_SECONDS) or 0.0
    return Plan(
        settings_in(config, cycle, run.state.final_openings),
        cycle,
        game,
        network,
        choice,
        sorted(numbers),
        done,
        [record for record in waiting if record.number in numbers],
        expected,
    )


def keep(run: Run, plan: Plan, played: Sequence[GameRecord]) -> None:
    """Commit finished games of a cycle that is not finished."""
    parts = write_partial(run, plan.cycle, played, plan.game.name)
    run.commit(replace(run.state, partial=[*run.state.partial, *parts]))


def run_stage(
    config: Config,
    run: Run,
    report: Reporter,
    stop: StopSignal,
    deadline: float = math.inf,
    ahead: SelfPlay | None = None,
) -> None:
    """Play the cycle's games with the champion, write them, commit.

    With `cluster.overlap` the network plays that was champion when the training of the cycle before began.

    Args:
        config, run, report, stop: as for every stage.
        deadline: `time.perf_counter()` at which the games should have ended; those that could be played until
            then are the cycle's games.
        ahead: the games, if they have begun already.

    Raises:
        Stopped: finished games are committed as a partial shard; the others are played again from their
            seeds. Any other error of a worker keeps them too. One GPU plays all of them again.
        UserError: the champion does not fit the rules.
    """
    began, cycle = time.perf_counter(), run.state.cycle + 1
    games = ahead or executor_of(config).selfplay(
        lambda: make_plan(config, run, report, cycle), report.message
    )
    plan, wanted, saving = games.plan, config.selfplay.games, partial(keep, run, games.plan)
    with (
        report.stage(StageName.SELFPLAY, cycle, config.cycles, games.games_left(), "games") as progress,
        one_thread_per_worker(),
    ):
        played = games.play(Watch(progress, stop, deadline, saving, began))
    set_aside(run, cycle, played.aside)
    aside = left_out(run, cycle, wanted)
    if len(played.games) < len(set(plan.numbers) - aside) and stop.requested:
        saving(played.games)
        raise Stopped
    records = [*(record for record in plan.done if record.number < wanted), *played.games]
    records.sort(key=lambda record: record.number)
    warn_of_games(config, plan, records, wanted - len(aside), report)
    try:
        report_games(report, plan.game, cycle, records, played.stats, played.seconds)
    except BaseException:
        if not played.ahead:  # how far those were depends on all games
            saving(played.games)
        raise
    report_account(run, report, played.account)
    new = write_games(run, cycle, records, plan.game.name)
    player = run.state.champion if config.cluster.overlap else None
    begun = write_partial(run, cycle + 1, played.ahead, plan.game.name)
    state = replace(run.state, shards=[*run.state.shards, *new], partial=begun, player=player)
    run.commit(replace(state, stage=StageName.TRAIN, final_openings=final_openings(config, run.state)))


def warn_of_games(
    config: Config, plan: Plan, records: Sequence[GameRecord], wanted: int, report: Reporter
) -> None:
    """Report games of a cycle that time has left out, and those that were cut."""
    if len(records) < wanted:
        short = f"self-play: {len(records):,} of {config.selfplay.games:,} games"
        report.message(f"{short}, as many as minutes={config.minutes:g} leaves time for.")
    game = plan.game
    if cut := sum(is_cut(game, record) for record in records):
        report.message(
            f"self-play: {cut:,} of {len(records):,} games went on after {game.max_plies} plies and count as "
            f"draws; raise max_plies in the rules of {game.name}, or let its games end."
        )


def set_aside(run: Run, cycle: int, aside: Mapping[int, str]) -> None:
    """Commit which games of a cycle are played no more, and why."""
    if aside:
        entries = [AsideEntry(cycle, game, reason) for game, reason in sorted(aside.items())]
        run.commit(replace(run.state, aside=[*run.state.aside, *entries]))


def left_out(run: Run, cycle: int, games: int) -> set[int]:
    """Return the games of a cycle that are not played, because workers died of them."""
    return {entry.game for entry in run.state.aside if entry.cycle == cycle and entry.game < games}


def report_account(run: Run, report: Reporter, account: WorkAccount) -> None:
    """Report what others did in a stage; mark the run if they computed the network differently."""
    report.cycle_scalars(run.state.cycle + 1, account.scalars)
    if account.line:
        report.message(account.line)
    if account.mixed and not run.state.mixed:
        report.message("Workers compute the network differently, so this run is marked as mixed.")
        run.commit(replace(run.state, mixed=True))


def final_openings(config: Config, state: State) -> int:
    """Return the first cycle with the final length of random openings, 0 if that is not known yet.

    It is settled when a cycle's games are there: so the next ones, which may begin at once, depend on what is
    committed, not on when they begin.
    """
    share, cycle = config.selfplay.opening_plies_share, state.cycle + 1
    if not share or state.final_openings:
        return state.final_openings
    minutes = state.elapsed_seconds / (60 * config.minutes) if config.minutes else 0.0
    return cycle + 1 if max(minutes, cycle / max(1, config.cycles)) >= share else 0


def settings_in(config: Config, cycle: int, final: int) -> Config:
    """Return the settings with the cycle's length of random openings; `final`: see `State.final_openings`."""
    selfplay = config.selfplay
    if not final or cycle < final or not selfplay.opening_plies_final:
        return config
    return replace(config, selfplay=replace(selfplay, opening_plies=selfplay.opening_plies_final))
