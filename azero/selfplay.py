"""Stage: the champion plays games against itself and their records become a shard.

`python -m azero.selfplay` runs this stage on the run's folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from azero.command_line import program
from azero.config import Config
from azero.examples import GameRecord, examples_of
from azero.games import make_game
from azero.games.game import Game
from azero.lanes import LaneFigures, play_games
from azero.metrics import Reporter
from azero.network.inference import InferenceChoice, choose_inference, make_inference, one_thread_a_lane, resolve_device
from azero.network.model import Network, unpack_network
from azero.replay import load_partial, write_games, write_partial
from azero.run import Run, Stopped, StopSignal
from azero.search.kernels import compiled_before
from azero.seeds import SELFPLAY, game_seeds
from azero.stage import run_alone


def batch_rows(config: Config) -> int:
    """Games in flight in one lane, which is the batch shape: as set, else a quarter of the stage's games, between 16 and 256.

    It does not look at the number of lanes: evaluations in another shape could differ in their last bit.
    """
    if config.selfplay.concurrent_games:
        return config.selfplay.concurrent_games
    return min(256, max(16, 1 << max(1, config.selfplay.games // 4).bit_length() - 1))


def ensure_choice(run: Run, config: Config, game: Game, network: Network, report: Reporter) -> InferenceChoice:
    """The backend of this run: chosen once, stored in the state, and reused, so that timing noise never changes a run."""
    if run.state.inference is not None:
        return InferenceChoice(**run.state.inference)
    planes = positions_to_time(game, batch_rows(config), config.seed)
    choice = choose_inference(network, game, config.inference, resolve_device(config.device), batch_rows(config), planes)
    run.commit(replace(run.state, inference=asdict(choice)))
    report.message(
        f"inference: {choice.backend} {choice.precision} on {choice.device}, {choice.evaluations_per_second:,.0f} evaluations/s"
    )
    return choice


def positions_to_time(game: Game, count: int, seed: int) -> np.ndarray:
    """[count, C, H, W] planes of positions of random play, for timing and comparing backends."""
    rng = np.random.default_rng(seed)
    planes = np.zeros((count, *game.planes_shape), np.float32)
    state = game.initial_state()
    for row in range(count):
        planes[row] = game.planes(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        if game.is_terminal(state):
            state = game.initial_state()
    return planes


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Play the cycle's games with the champion, write them, commit.

    Raises:
        Stopped: finished games are committed as a partial shard; the others are played again from their seeds.
    """
    begin = time.perf_counter()
    cycle, wanted = run.state.cycle + 1, config.selfplay.games
    game = make_game(config.game.name, **config.game.options)
    champion = unpack_network(run.read_champion(), "champion").network
    choice = ensure_choice(run, config, game, champion, report)
    if not compiled_before():
        report.message("Compiling the rules and the search, once for this version and machine; about a quarter of a minute.")
    done = load_partial(run, report.message)
    numbers = sorted(set(range(wanted)) - {record.number for record in done})
    seeds = game_seeds(config.seed, cycle, SELFPLAY, wanted)
    with report.stage("selfplay", cycle, config.cycles, wanted, "games") as progress, one_thread_a_lane(choice):
        inferences = [make_inference(champion, game, choice) for _ in range(lane_count(config, len(numbers), choice))]
        played, figures = play_games(game, inferences, config, numbers, seeds, progress, stop)
    if len(played) < len(numbers):
        run.commit(replace(run.state, partial=[*run.state.partial, *write_partial(run, cycle, played, game.name)]))
        raise Stopped
    records = [*(record for record in done if record.number < wanted), *played]
    seconds = time.perf_counter() - begin
    report_games(report, game, cycle, sorted(records, key=lambda record: record.number), figures, seconds)
    shards = [*run.state.shards, *write_games(run, cycle, records, game.name)]
    elapsed = run.state.elapsed_seconds + time.perf_counter() - begin
    run.commit(replace(run.state, stage="train", shards=shards, partial=[], elapsed_seconds=elapsed))


def lane_count(config: Config, games: int, choice: InferenceChoice) -> int:
    """Lanes to play in: as set, else one a core on the CPU and two on a GPU; never more than batches of games."""
    lanes = config.lanes or (2 if choice.device == "cuda" else len(os.sched_getaffinity(0)))
    return max(1, min(lanes, -(-games // choice.batch_size)))


def report_games(
    report: Reporter, game: Game, cycle: int, records: Sequence[GameRecord], figures: LaneFigures, seconds: float
) -> None:
    """Scalars, histograms and one game of the stage as text."""
    outcomes = np.array([record.first_outcome for record in records])
    searched = np.concatenate([record.searched for record in records])
    targets = np.concatenate([record.policy_target for record in records])[searched]
    entropy = -(targets * np.log(np.maximum(targets, 1e-12))).sum(axis=1)
    report.cycle_scalars(
        cycle,
        {
            "selfplay/games_per_second": figures.games / seconds,
            "selfplay/simulations_per_second": figures.simulations / seconds,
            "selfplay/batch_fill": figures.evaluations / max(figures.rows, 1),
            "selfplay/cache_hits": figures.cache_found / max(figures.cache_asked, 1),
            "selfplay/game_length": float(np.mean([len(record.actions) for record in records])),
            "selfplay/first_wins": float((outcomes > 0).mean()),
            "selfplay/draws": float((outcomes == 0).mean()),
            "selfplay/second_wins": float((outcomes < 0).mean()),
            "selfplay/distinct_games": float(len({tuple(record.actions) for record in records})),
            "selfplay/target_entropy": float(entropy.mean()),
        },
    )
    report.histogram("selfplay/policy_target_entropy", entropy, cycle)
    root_value = np.concatenate([record.root_value for record in records])[searched]
    report.histogram("selfplay/root_value", root_value, cycle)
    report.histogram("selfplay/value_error", root_value - examples_of(records).value_target, cycle)
    report.text("selfplay/game", game_text(game, records[0].actions.tolist()), cycle)


def game_text(game: Game, actions: Sequence[int]) -> str:
    """The moves of a game and its last position."""
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    return " ".join(game.action_name(action) for action in actions) + "\n\n" + game.format_state(state)


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("selfplay", run_stage, config, name)


if __name__ == "__main__":
    program(main)
