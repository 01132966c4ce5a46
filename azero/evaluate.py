"""Stage: a match of the candidate against the champion decides who is champion of the next cycle.

`python -m azero.evaluate` runs this stage on the run's folder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from azero import seeds
from azero.command_line import program
from azero.config import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.inference_choice import choice_for, ensure_choice
from azero.lanes import lanes_wished
from azero.match import MatchGame, MatchResult, Table, Watch
from azero.metrics import Reporter
from azero.monitoring.console import Progress
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import check_fits, unpack_network
from azero.network.torch_inference import one_thread_a_lane
from azero.openings import random_openings
from azero.players import pv_mcts
from azero.rating import elo_difference, score, score_interval
from azero.run import Run, Stopped, StopSignal
from azero.search.figures import StageFigures
from azero.selfplay import game_text
from azero.stage import run_alone


def match_search(config: Config) -> SearchConfig:
    """The search of a match: as in self-play, without noise, with its own number of simulations if one is set."""
    simulations = config.evaluate.num_simulations or config.search.num_simulations
    return replace(config.search, num_simulations=simulations, dirichlet_fraction=0.0)


def match_choice(choice: InferenceChoice, games: int) -> InferenceChoice:
    """How the networks of a match are computed: in batches that its games can fill.

    Half of the games wait for either network while all are under way, and fewer later on, so a batch has a row for a quarter of
    the games: one of the run's smaller batches, or a size of its own where it has none. It does not look at the number of lanes,
    for the same reason as `batch_rows`. Measured with 60 games of Connect Four on two cores: 6.0 s with 16 rows, 5.7 with 24, 6.3
    with 32.
    """
    sizes = choice.batches if len(choice.batches) > 1 else (8 * -(-games // 32), choice.batch_size)
    size = next((size for size in sizes if 4 * size >= games), choice.batch_size)
    return replace(choice, batch_size=min(size, choice.batch_size))


def lay_table(
    config: Config, networks: tuple[bytes, bytes], game: Game, cycle: int, choice: InferenceChoice, watch: Watch
) -> Table:
    """The match of (candidate, champion) before its first move, the candidate as player 0.

    Raises:
        UserError: a network does not fit the rules.
    """
    evaluate, choice = config.evaluate, match_choice(choice, config.evaluate.games)

    def player(data: bytes, name: str) -> pv_mcts.PvMcts:
        loaded = unpack_network(data, name)
        check_fits(loaded, game)
        return pv_mcts.make(
            game,
            make_inference(loaded.network, game, choice),
            search=match_search(config),
            temperature=evaluate.temperature,
            temperature_plies=evaluate.temperature_plies,
            temperature_decay_plies=evaluate.temperature_decay_plies,
            temperature_final=evaluate.temperature_final,
            cache=config.inference.cache,
        )

    source = seeds.sequence(config.seed, cycle, seeds.OPENINGS)
    openings = random_openings(game, evaluate.opening_plies, evaluate.games // 2, source)
    players = (player(networks[0], "candidate"), player(networks[1], "champion"))
    return Table(game, players, seeds.game_seeds(config.seed, cycle, seeds.EVALUATE, evaluate.games), openings, watch)


def match_lanes(config: Config, choice: InferenceChoice) -> int:
    """Lanes that a match is played in: one for each network, or one for both."""
    return min(2, lanes_wished(config, choice.device))


def play_gate(
    config: Config,
    networks: tuple[bytes, bytes],
    game: Game,
    cycle: int,
    choice: InferenceChoice,
    progress: Progress,
    stop: StopSignal,
) -> MatchResult:
    """Play the match of (candidate, champion).

    Raises:
        Stopped: a stop was requested.
        UserError: a network does not fit the rules.
    """
    tables: list[Table] = []

    def watch(ended: list[MatchGame]) -> None:
        for table in tables:
            figures = StageFigures([seat.figures for seat in table.seats])
            progress.update(len(table.ended), **figures.live())
        if stop.requested:
            raise Stopped

    with one_thread_a_lane():
        tables.append(lay_table(config, networks, game, cycle, choice, watch))
        tables[0].play(match_lanes(config, choice))
    return tables[0].result()


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Play the match, promote the candidate if its score is above the threshold, and finish the cycle. Promotion copies.

    A damaged candidate is told, and leaves the run before its training.

    Raises:
        Stopped: a stop was requested; the match is played again from its start.
        UserError: a network does not fit the rules.
    """
    cycle = run.state.cycle + 1
    game = make_game(config.game.name, **config.game.options)
    networks = (run.read_candidate(), run.read_champion())
    if run.state.stage != "evaluate":
        report.cut_back(run)
        report.message("The candidate was damaged; it is made again.")
        return
    record: dict[str, Any] = {"cycle": cycle, "games": config.evaluate.games, "promoted": True}
    if config.evaluate.games:
        record |= hold_match(config, run, networks, game, report, stop)
    promoted = bool(record["promoted"])
    elo = float(run.state.history[-1]["elo_chain"]) if run.state.history else 0.0
    elo += elo_difference(record["score"]) if promoted and config.evaluate.games else 0.0
    champion = run.write_network("champion", cycle, networks[0]) if promoted else run.state.champion
    assert champion is not None
    record |= {"champion": champion.sha256, "elo_chain": elo}
    report.cycle_scalars(cycle, {"evaluate/promoted": float(promoted), "evaluate/elo_chain": elo})
    history = [*run.state.history, record]
    run.commit(replace(run.state, cycle=cycle, stage="selfplay", champion=champion, history=history))
    run.clean()


def hold_match(
    config: Config, run: Run, networks: tuple[bytes, bytes], game: Game, report: Reporter, stop: StopSignal
) -> dict[str, Any]:
    """Play the match of (candidate, champion), tell it, and return it as the run's history keeps it, the decision with it."""
    cycle, games = run.state.cycle + 1, config.evaluate.games
    champion = unpack_network(networks[1], "champion")
    check_fits(champion, game)
    choice = ensure_choice(run, config, game, champion.network, report)
    choice = choice_for(choice, unpack_network(networks[0], "candidate").network, "candidate", game, report)
    with report.stage("evaluate", cycle, config.cycles, games, "games") as progress:
        result = play_gate(config, networks, game, cycle, choice, progress, stop)
        record = figures_of(result, config.evaluate.threshold)
        progress.update(games, score=record["score"], gate="promoted" if record["promoted"] else "champion stays")
    report_match(report, game, cycle, result, record)
    report.cycle_scalars(cycle, StageFigures(result.figures).shares("evaluate"))
    return record


def figures_of(result: MatchResult, threshold: float) -> dict[str, Any]:
    """The match as the run's history keeps it; the candidate is promoted if its score is above the threshold."""
    counts = (result.wins, result.draws, result.losses)
    low, high = score_interval(*counts)
    figures: dict[str, Any] = dict(zip(("wins", "draws", "losses"), counts, strict=True))
    figures |= {"distinct": result.distinct, "score": score(*counts), "score_low": low, "score_high": high}
    return figures | {"promoted": figures["score"] > threshold}


def report_match(report: Reporter, game: Game, cycle: int, result: MatchResult, record: dict[str, Any]) -> None:
    """Scalars of the match and one of its games as text."""
    keys = ("score", "score_low", "score_high", "wins", "draws", "losses", "distinct")
    report.cycle_scalars(cycle, {f"evaluate/{key}": float(record[key]) for key in keys})
    report.text("evaluate/game", match_game_text(game, result.games[0]), cycle)


def match_game_text(game: Game, played: MatchGame) -> str:
    """A game of the candidate (player 0) against the champion as a person reads it."""
    names = ("candidate", "champion") if played.first == 0 else ("champion", "candidate")
    first_outcome = played.outcome if played.first == 0 else -played.outcome
    return game_text(game, played.actions, first_outcome, played.opening_plies, names)


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("evaluate", run_stage, config, name)


if __name__ == "__main__":
    program(main)
