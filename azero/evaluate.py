"""Stage: a match of the candidate against the champion decides who is champion of the next cycle.

`python -m azero.evaluate` runs this stage on the run's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from azero import seeds
from azero.anchors import Anchors
from azero.command_line import program
from azero.config import Config, EvaluateConfig, SearchConfig
from azero.elo_table import Result, champion_name, results_of
from azero.games import make_game
from azero.games.game import Game
from azero.gate import Verdict, counted_games, counts_distinct, games_at_most, judge
from azero.inference_choice import choice_for, ensure_choice
from azero.lanes import lanes_wished
from azero.match import MatchGame, MatchResult, Table, Tally, Watch, summarize
from azero.match_report import game_text
from azero.memory import check_memory, tree_bytes
from azero.metrics import Reporter
from azero.monitoring.console import Progress
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import check_fits, unpack_network
from azero.network.torch_inference import one_thread_a_lane
from azero.openings import draw_openings, random_openings
from azero.players import pv_mcts
from azero.players.pv_mcts import PvMcts
from azero.rating import count_results, elo_difference, score, score_interval
from azero.run import Run, Stopped, StopSignal
from azero.search.figures import StageFigures
from azero.stage import run_alone

TEMPERATURE = ("temperature", "temperature_plies", "temperature_decay_plies", "temperature_final")  # of a match, in its settings


def match_search(config: Config) -> SearchConfig:
    """The search of a match: as in self-play, with its own number of simulations if one is set."""
    simulations = config.evaluate.num_simulations or config.search.num_simulations
    return replace(config.search, num_simulations=simulations)


def match_bytes(config: Config, game: Game) -> int:
    """What the trees of the networks take: of the match, or of the games against fixed opponents if that is more.

    All games of a round of the match are under way together, and each side has a tree in each; so are all games of a champion
    against the fixed opponents, random and exact play among them, and the champion before it, which has a tree in its own.
    """
    evaluate = config.evaluate
    rated = evaluate.anchor_games * (len(evaluate.anchors) + 4)
    return max(2 * evaluate.games, rated) * tree_bytes(game, match_search(config))


def check_match_memory(config: Config, game: Game) -> None:
    """Refuse games that this machine's memory cannot hold. Raises UserError."""
    settings = "evaluate.games, evaluate.anchor_games or evaluate.num_simulations"
    check_memory(f"A match of {game.name}", match_bytes(config, game), settings)


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


def make_players(config: Config, networks: tuple[bytes, bytes], game: Game, choice: InferenceChoice) -> tuple[PvMcts, PvMcts]:
    """The players of a match between (candidate, champion).

    Raises:
        UserError: a network does not fit the rules, or the games of a round do not fit into memory.
    """
    check_match_memory(config, game)
    schedule = {name: getattr(config.evaluate, name) for name in TEMPERATURE}
    choice = match_choice(choice, config.evaluate.games)
    candidate = make_searcher(config, networks[0], "candidate", game, choice, **schedule)
    return candidate, make_searcher(config, networks[1], "champion", game, choice, **schedule)


def make_searcher(config: Config, data: bytes, name: str, game: Game, choice: InferenceChoice, **schedule: Any) -> PvMcts:
    """A player with a network's file, which `name` names in messages, and the search of a match.

    schedule: its temperature; without one it plays the most visited moves.

    Raises:
        UserError: the network does not fit the rules.
    """
    loaded = unpack_network(data, name)
    check_fits(loaded, game)
    inference = make_inference(loaded.network, game, choice)
    return pv_mcts.make(game, inference, search=match_search(config), cache=config.inference.cache, **schedule)


def make_openings(config: Config, game: Game, cycle: int) -> list[list[int]]:
    """The opening of each pair of games that a match may have; different ones, as far as possible, where copies do
    not count or a sequential test asks for as much as the games can tell."""
    evaluate, source = config.evaluate, seeds.sequence(config.seed, cycle, seeds.OPENINGS)
    draw = draw_openings if counts_distinct(evaluate) or evaluate.gate == "sequential" else random_openings
    return draw(game, evaluate.opening_plies, games_at_most(evaluate) // 2, source)


def lay_table(
    config: Config,
    players: tuple[PvMcts, PvMcts],
    game: Game,
    cycle: int,
    openings: Sequence[list[int]],
    watch: Watch,
    start: int = 0,
) -> Table:
    """A round of the match of (candidate, champion) before its first move: games from `start` on, the candidate as player 0."""
    end = min(start + config.evaluate.games, games_at_most(config.evaluate))
    game_seeds = seeds.game_seeds(config.seed, cycle, seeds.EVALUATE, end)[start:]
    return Table(game, players, game_seeds, openings[start // 2 : end // 2], watch)


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
    """Play the match of (candidate, champion), in rounds until the gate is decided.

    Raises:
        Stopped: a stop was requested.
        UserError: a network does not fit the rules.
    """
    tables, tally, games = list[Table](), Tally(), list[MatchGame]()  # at most one table, of the round under way

    def watch(ended: list[MatchGame]) -> None:
        for table in tables:
            figures = StageFigures([seat.figures for seat in table.seats])
            progress.update(len(games) + len(table.ended), **figures.live())
        if stop.requested:
            raise Stopped

    with one_thread_a_lane():
        players, openings = make_players(config, networks, game, choice), make_openings(config, game, cycle)
        while not games or not judge(games, config.evaluate).decided:
            tables.append(lay_table(config, players, game, cycle, openings, watch, len(games)))
            tables[0].play(match_lanes(config, choice))
            played = tables.pop().result()
            tally.add(played)
            games += [game._replace(number=len(games) + game.number) for game in played.games]
            progress.update(len(games), **live_verdict(judge(games, config.evaluate)))
    return summarize(games, tally)


def live_verdict(verdict: Verdict) -> dict[str, str]:
    """How far a sequential test is, for a person watching."""
    test = verdict.test
    return {} if test is None else {"test": f"LLR {test.llr:.2f} of {test.lower:.2f} to {test.upper:.2f}"}


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Play the match, promote the candidate if the gate says so, and finish the cycle. Promotion copies.

    A damaged candidate is told, and leaves the run before its training.

    Raises:
        Stopped: a stop was requested; the match is played again from its start.
        UserError: a network does not fit the rules.
    """
    cycle = run.state.cycle + 1
    game = make_game(config.game.name, **config.game.options)
    networks = (run.read_candidate(report.message), run.read_champion())
    if run.state.stage != "evaluate":
        report.cut_back(run)
        report.message("The candidate is made again.")
        return
    record: dict[str, Any] = {"cycle": cycle, "games": config.evaluate.games, "promoted": True}
    if config.evaluate.games or config.evaluate.anchor_games:
        record |= hold_matches(config, run, networks, game, report, stop)
    promoted = bool(record["promoted"])
    elo = float(run.state.history[-1]["elo_chain"]) if run.state.history else 0.0
    elo += elo_difference(record["score"]) if promoted and config.evaluate.games else 0.0
    champion = run.write_network("champion", cycle, networks[0]) if promoted else run.state.champion
    assert champion is not None
    record |= {"champion": champion.sha256, "elo_chain": elo}
    report.cycle_scalars(cycle, {"evaluate/promoted": float(promoted), "evaluate/elo_chain": elo})
    history = [*run.state.history, record]
    run.commit(replace(run.state, cycle=cycle, stage="selfplay", champion=champion, history=history), ends_cycle=True)
    run.clean()


def hold_matches(
    config: Config, run: Run, networks: tuple[bytes, bytes], game: Game, report: Reporter, stop: StopSignal
) -> dict[str, Any]:
    """Play the match of (candidate, champion), then the games of whoever is champion now against the fixed opponents; tell both.

    Returns what the run's history keeps of them, with the gate's decision.

    Raises:
        Stopped: a stop was requested.
        UserError: a network does not fit the rules, or the games of a round do not fit into memory.
    """
    cycle, evaluate = run.state.cycle + 1, config.evaluate
    champion = unpack_network(networks[1], "champion")
    check_fits(champion, game)
    choice = ensure_choice(run, config, game, champion.network, report)
    choice = choice_for(choice, unpack_network(networks[0], "candidate").network, "candidate", game, report)
    anchors = Anchors(game, evaluate, results_of(run.state.history)) if evaluate.anchor_games else None
    most = games_at_most(evaluate) + (anchors.most_games if anchors else 0)
    record: dict[str, Any] = {"promoted": True}
    with report.stage("evaluate", cycle, config.cycles, most, "games") as progress:
        if evaluate.games:
            result = play_gate(config, networks, game, cycle, choice, progress, stop)
            record = figures_of(result, evaluate)
            gate = "promoted" if record["promoted"] else "champion stays"
            progress.update(record["games"], score=record["score"], gate=gate)
            report_match(report, game, cycle, result, record)
        if anchors:
            watch = counting(progress, record.get("games", 0), stop)
            new_first = networks if record["promoted"] else networks[1:]
            record["rated"] = rate_champion(config, run, new_first, anchors, choice, watch)
    return record


def rate_champion(
    config: Config, run: Run, networks: Sequence[bytes], anchors: Anchors, choice: InferenceChoice, watch: Watch
) -> list[Result]:
    """Games of the champion, at temperature 0, against the anchors, and against the champion before it where it is new.

    Args:
        config, run, choice: as for the match.
        networks: the champion's, and behind it, where it is new, that of the champion before it.
        anchors: the fixed opponents; those that have not met yet meet each other.
        watch: told of games that end; may raise.

    Raises:
        UserError: the games do not fit into memory.
    """
    check_match_memory(config, anchors.game)
    assert run.state.champion is not None
    cycle, game = run.state.cycle + 1, anchors.game
    names = (champion_name(cycle), champion_name(run.state.champion.cycle))[-len(networks) :]
    choice = match_choice(choice, config.evaluate.anchor_games * len(anchors.names))
    with one_thread_a_lane():
        pairs = zip(names, networks, strict=True)
        players = {name: make_searcher(config, data, name, game, choice) for name, data in pairs}
        links = anchors.meet_each_other(watch, lanes_wished(config, "cpu"))
        return links + anchors.meet(
            players, seeds.sequence(config.seed, cycle, seeds.ANCHORS), watch, match_lanes(config, choice)
        )


def counting(progress: Progress, over: int, stop: StopSignal) -> Watch:
    """Tells `progress` of games as they end, beside so many that are over, and raises Stopped on request; for any thread."""
    ended = list[MatchGame]()

    def watch(some: list[MatchGame]) -> None:
        ended.extend(some)
        progress.update(over + len(ended))
        if stop.requested:
            raise Stopped

    return watch


def figures_of(result: MatchResult, evaluate: EvaluateConfig) -> dict[str, Any]:
    """The match as the run's history keeps it, with the gate's decision; wins, draws and losses are those that it counted."""
    verdict = judge(result.games, evaluate)
    counts = count_results([game.outcome for game in counted_games(result.games, evaluate)])
    low, high = score_interval(*counts)
    figures: dict[str, Any] = {"games": len(result.games)}
    figures |= zip(("wins", "draws", "losses"), counts, strict=True)
    figures |= {"distinct": result.distinct, "score": score(*counts), "score_low": low, "score_high": high}
    if verdict.test is not None:
        figures["llr"] = verdict.test.llr
    return figures | {"promoted": verdict.promoted}


def report_match(report: Reporter, game: Game, cycle: int, result: MatchResult, record: dict[str, Any]) -> None:
    """Scalars of the match and one of its games as text."""
    keys = ("games", "score", "score_low", "score_high", "wins", "draws", "losses", "distinct", "llr")
    report.cycle_scalars(cycle, {f"evaluate/{key}": float(record[key]) for key in keys if key in record})
    report.cycle_scalars(cycle, StageFigures(result.figures).shares("evaluate"))
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
