"""Stage: the champion plays games against itself and their records become a shard.

`python -m azero.selfplay` runs this stage on the run's folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from azero import compile_ahead
from azero.command_line import program
from azero.config import Config, share_in
from azero.examples import GameRecord, outcome_for_mover
from azero.forks import forks
from azero.games import make_game
from azero.games.game import Game
from azero.inference_choice import ensure_choice
from azero.lanes import lanes_wished, play_games
from azero.match_report import game_text
from azero.metrics import Reporter
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import check_fits, unpack_network
from azero.network.torch_inference import one_thread_a_lane
from azero.replay import load_newest, load_partial, write_games, write_partial
from azero.run import Run, Stopped, StopSignal
from azero.search.figures import StageFigures
from azero.search.kernels import compiled_before, note_compiled
from azero.seeds import FORKS, SELFPLAY, game_seeds, sequence
from azero.stage import GAME_SECONDS, run_alone


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal, deadline: float = math.inf) -> None:
    """Play the cycle's games with the champion, write them, commit.

    Args:
        config, run, report, stop: as for every stage.
        deadline: `time.perf_counter()` at which the games should have ended; those that could be played until then are the
            cycle's games.

    Raises:
        Stopped: finished games are committed as a partial shard; the others are played again from their seeds. So it is where
            anything goes wrong in a lane or beside them, which is raised then.
        UserError: the champion does not fit the rules.
    """
    begin = time.perf_counter()
    cycle, wanted = run.state.cycle + 1, config.selfplay.games
    game = make_game(config.game.name, **config.game.options)
    loaded = unpack_network(run.read_champion(), "champion")
    check_fits(loaded, game)
    champion = loaded.network
    choice = ensure_choice(run, config, game, champion, report)
    if not compiled_before(config.search.kind):
        report.message("Compiling the rules and the search, once for this version and machine; about a quarter of a minute.")
        compile_ahead.start(config.search.kind)
    done = load_partial(run, report.message)
    numbers = sorted(set(range(wanted)) - {record.number for record in done})
    seeds = game_seeds(config.seed, cycle, SELFPLAY, wanted)
    config = settings_in(config, cycle)
    openings = openings_of(config, run, game, report)
    with report.stage("selfplay", cycle, config.cycles, len(numbers), "games") as progress, one_thread_a_lane():
        lanes = lane_count(config, len(numbers), choice)
        inferences = make_inferences(champion, game, choice, lanes)
        limits = (deadline, report.last_figure(GAME_SECONDS) or 0.0)

        def keep(played: list[GameRecord]) -> None:
            run.commit(replace(run.state, partial=[*run.state.partial, *write_partial(run, cycle, played, game.name)]))

        played, figures = play_games(game, inferences, config, numbers, seeds, progress, stop, *limits, openings, keep)
    if played:
        note_compiled(config.search.kind)
    if len(played) < len(numbers) and stop.requested:
        keep(played)
        raise Stopped
    records = [*(record for record in done if record.number < wanted), *played]
    if len(records) < wanted:
        report.message(f"selfplay: {len(records):,} of {wanted:,} games, as many as minutes={config.minutes:g} leaves time for.")
    seconds = time.perf_counter() - begin
    records.sort(key=lambda record: record.number)
    report_games(report, game, cycle, records, figures, seconds, config.selfplay.resign_threshold)
    new = write_games(run, cycle, records, game.name)
    examples = run.state.examples + sum(shard.examples for shard in new)
    run.commit(replace(run.state, stage="train", shards=[*run.state.shards, *new], partial=[], examples=examples))


def settings_in(config: Config, cycle: int) -> Config:
    """The settings with the share of random openings that a cycle has."""
    selfplay = config.selfplay
    shares = (selfplay.opening_fraction, selfplay.opening_fraction_cycles, selfplay.opening_fraction_final)
    return replace(config, selfplay=replace(selfplay, opening_fraction=share_in(cycle, *shares)))


def openings_of(config: Config, run: Run, game: Game, report: Reporter) -> dict[int, np.ndarray]:
    """The openings of the cycle's games that leave earlier ones, by number; see `forks`."""
    if not config.selfplay.fork_fraction:
        return {}
    source = sequence(config.seed, run.state.cycle + 1, FORKS)
    return forks(game, load_newest(run, report.message), config.selfplay.fork_fraction, config.selfplay.games, source)


def lane_count(config: Config, games: int, choice: InferenceChoice) -> int:
    """Lanes to play in; never more than batches of games."""
    return max(1, min(lanes_wished(config, choice.device), -(-games // choice.batch_size)))


def report_games(
    report: Reporter,
    game: Game,
    cycle: int,
    records: Sequence[GameRecord],
    figures: StageFigures,
    seconds: float,
    threshold: float = -1.0,
) -> None:
    """Scalars, histograms and one game of the stage as text. threshold: `selfplay.resign_threshold`."""
    outcomes = np.array([record.first_outcome for record in records])
    searched = np.concatenate([record.searched for record in records])
    targets = np.concatenate([record.policy_target for record in records])[searched]
    entropy = -(targets * np.log(np.maximum(targets, 1e-12))).sum(axis=1)
    report.cycle_scalars(
        cycle,
        {
            "selfplay/games": float(len(records)),
            "selfplay/evaluations": float(figures.evaluations),
            GAME_SECONDS: figures.game_seconds,
            "selfplay/games_per_second": figures.games / seconds,
            "selfplay/simulations_per_second": figures.simulations / seconds,
            "selfplay/cache_hits": figures.cache_found / max(figures.cache_asked, 1),
            "selfplay/game_length": float(np.mean([len(record.actions) for record in records])),
            "selfplay/first_wins": float((outcomes > 0).mean()),
            "selfplay/draws": float((outcomes == 0).mean()),
            "selfplay/second_wins": float((outcomes < 0).mean()),
            "selfplay/distinct_games": float(len({record.actions.tobytes() for record in records})),
            "selfplay/target_entropy": float(entropy.sum() / max(len(entropy), 1)),
            **(resignations(game, records, threshold) if threshold > -1 else {}),
            **figures.shares("selfplay"),
        },
    )
    report.histogram("selfplay/policy_target_entropy", entropy, cycle)
    root_value = np.concatenate([record.root_value for record in records])[searched]
    outcomes_for_movers = np.concatenate([outcome_for_mover(record) for record in records])
    report.histogram("selfplay/root_value", root_value, cycle)
    report.histogram("selfplay/value_error", root_value - outcomes_for_movers[searched], cycle)
    shown = records[0]
    report.text("selfplay/game", game_text(game, shown.actions.tolist(), shown.first_outcome, shown.opening_plies), cycle)


def resignations(game: Game, records: Sequence[GameRecord], threshold: float) -> dict[str, float]:
    """The share of games that ended by resignation, and how often that would have been wrong.

    A game that was played on tells: the first player in it whose search was worth less than the threshold would have resigned,
    and wrongly if it did not lose; not at the last move, for whoever ends the game does not resign. Silver et al. 2017
    ("AlphaGo Zero") want less than 5 % of these false positives.
    """
    resigned = [not is_over(game, record) for record in records]
    low = [(record, record.root_value[:-1] < threshold) for record, gave_up in zip(records, resigned, strict=True) if not gave_up]
    wrong = [float(outcome_for_mover(record)[below.argmax()] > -1.0) for record, below in low if below.any()]
    shares = {"selfplay/resigned": float(np.mean(resigned)), "selfplay/resign_measured": float(len(wrong))}
    return shares | ({"selfplay/resign_false_positives": float(np.mean(wrong))} if wrong else {})


def is_over(game: Game, record: GameRecord) -> bool:
    """Whether a game was played to its end."""
    return game.is_terminal(game.step(record.states[-1], int(record.actions[-1])))


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("selfplay", run_stage, config, name)


if __name__ == "__main__":
    program(main)
