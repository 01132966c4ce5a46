"""Stage: a match of the candidate against the champion decides who is champion of the next cycle.

`python -m azero.evaluate` runs this stage on the run's folder.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from azero import seeds
from azero.arena import MatchResult, play_match
from azero.command_line import program
from azero.config import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.metrics import Reporter
from azero.network.inference import InferenceChoice, make_inference, one_thread_a_lane
from azero.network.model import unpack_network
from azero.players import pv_mcts
from azero.rating import elo_difference, score, score_interval
from azero.run import Run, Stopped, StopSignal
from azero.selfplay import ensure_choice, game_text
from azero.stage import run_alone


def match_search(config: Config) -> SearchConfig:
    """The search of a match: as in self-play, without noise, with its own number of simulations if one is set."""
    simulations = config.evaluate.num_simulations or config.search.num_simulations
    return replace(config.search, num_simulations=simulations, dirichlet_fraction=0.0)


def play_gate(
    config: Config,
    networks: tuple[bytes, bytes],
    game: Game,
    cycle: int,
    choice: InferenceChoice,
    report: Reporter,
    stop: StopSignal,
) -> MatchResult:
    """The match of (candidate, champion), the candidate as player 0."""
    evaluate = config.evaluate
    candidate, champion = networks

    def player(data: bytes, name: str) -> pv_mcts.PvMcts:
        network = unpack_network(data, name).network
        return pv_mcts.make(
            game,
            make_inference(network, game, choice),
            search=match_search(config),
            temperature=evaluate.temperature,
            temperature_plies=evaluate.temperature_plies,
            temperature_decay_plies=evaluate.temperature_decay_plies,
            temperature_final=evaluate.temperature_final,
            cache=config.inference.cache,
        )

    with report.stage("evaluate", cycle, config.cycles, evaluate.games, "games") as progress, one_thread_a_lane(choice):

        def watch(finished: int) -> None:
            progress.update(finished)
            if stop.requested:
                raise Stopped

        result = play_match(
            game,
            (player(candidate, "candidate"), player(champion, "champion")),
            seeds.game_seeds(config.seed, cycle, seeds.EVALUATE, evaluate.games),
            evaluate.opening_plies,
            seeds.sequence(config.seed, cycle, seeds.OPENINGS),
            watch,
        )
        achieved = score(result.wins, result.draws, result.losses)
        verdict = "promoted" if achieved > evaluate.threshold else "champion stays"
        progress.update(evaluate.games, score=achieved, gate=verdict)
    return result


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Play the match, promote the candidate if its score is above the threshold, and finish the cycle. Promotion copies."""
    begin = time.perf_counter()
    cycle = run.state.cycle + 1
    game = make_game(config.game.name, **config.game.options)
    networks = (run.read_candidate(), run.read_champion())
    if run.state.stage != "evaluate":
        report.message("The candidate was damaged; it is made again.")
        return
    record: dict[str, Any] = {"cycle": cycle, "games": config.evaluate.games}
    promoted = True
    elo = float(run.state.history[-1]["elo_chain"]) if run.state.history else 0.0
    if config.evaluate.games:
        choice = ensure_choice(run, config, game, unpack_network(networks[1], "champion").network, report)
        result = play_gate(config, networks, game, cycle, choice, report, stop)
        record |= figures_of(result)
        promoted = record["score"] > config.evaluate.threshold
        elo += elo_difference(record["score"]) if promoted else 0.0
        report_match(report, game, cycle, result, record)
    champion = run.write_network("champion", cycle, networks[0]) if promoted else run.state.champion
    assert champion is not None
    record |= {"promoted": promoted, "champion": champion.sha256, "elo_chain": elo}
    report.cycle_scalars(cycle, {"evaluate/promoted": float(promoted), "evaluate/elo_chain": elo})
    run.commit(
        replace(
            run.state,
            cycle=cycle,
            stage="selfplay",
            champion=champion,
            history=[*run.state.history, record],
            elapsed_seconds=run.state.elapsed_seconds + time.perf_counter() - begin,
        )
    )
    run.clean()


def figures_of(result: MatchResult) -> dict[str, Any]:
    """The match as the run's history keeps it."""
    counts = (result.wins, result.draws, result.losses)
    low, high = score_interval(*counts)
    figures = dict(zip(("wins", "draws", "losses"), counts, strict=True))
    return figures | {"distinct": result.distinct, "score": score(*counts), "score_low": low, "score_high": high}


def report_match(report: Reporter, game: Game, cycle: int, result: MatchResult, record: dict[str, Any]) -> None:
    """Scalars of the gate and one game of the match as text."""
    keys = ("score", "score_low", "score_high", "distinct")
    report.cycle_scalars(
        cycle, {f"evaluate/{key}": float(record[key]) for key in keys} | {"evaluate/distinct": float(result.distinct)}
    )
    report.text("evaluate/game", game_text(game, result.games[0].actions), cycle)


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("evaluate", run_stage, config, name)


if __name__ == "__main__":
    program(main)
