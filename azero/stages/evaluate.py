"""The evaluate stage: candidate against champion decides who plays the next cycle's games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

from azero.config.schema import Config, EvaluateConfig, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.match.anchors import Anchors
from azero.match.elo_table import Result, champion_name, results_of
from azero.match.gate import counted_games, counts_distinct, games_at_most, judge
from azero.match.lockstep import MatchGame, MatchResult, Table, Watch, summarize
from azero.match.openings import draw_openings, random_openings
from azero.match.rating import count_results, elo_difference, score, score_interval
from azero.match.text import game_text
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.players import pv_mcts
from azero.players.pv_mcts import PvMcts
from azero.process import seeds
from azero.report.console import Progress, format_number
from azero.report.reporter import Reporter
from azero.run.disk import DamagedFile
from azero.run.run import Run, Stopped, StopSignal
from azero.run.state import StageName
from azero.search.counters import StageStats
from azero.stages.backend import choice_for, ensure_choice
from azero.workers.memory import check_memory, tree_bytes
from azero.workers.threads import workers_wanted


def match_search(config: Config) -> SearchConfig:
    """Return the search of a match: as in self-play, with its own number of simulations if one is set."""
    simulations = config.evaluate.num_simulations or config.search.num_simulations
    return replace(config.search, num_simulations=simulations)


def match_bytes(config: Config, game: Game) -> int:
    """Return the bytes of the trees of a match, or of the games against fixed opponents if that is more.

    All games of a round are under way together, and each side has a tree in each. A champion's games against
    all fixed opponents, random and exact play too, and against the champion before it run together as well.
    """
    evaluate = config.evaluate
    rated = evaluate.anchor_games * (len(evaluate.anchors) + 4)
    return max(2 * evaluate.games, rated) * tree_bytes(game, match_search(config))


def check_match_memory(config: Config, game: Game) -> None:
    """Raise UserError if this machine's memory cannot hold the games of a match."""
    settings = "evaluate.games, evaluate.anchor_games or evaluate.num_simulations"
    check_memory(f"A match of {game.name}", match_bytes(config, game), settings)


def match_choice(choice: InferenceChoice, games: int) -> InferenceChoice:
    """Return how the networks of a match are computed: in batches that its games can fill.

    Half of the games wait for either network while all are under way, and fewer later, so a batch has a row
    for a quarter of the games: one of the run's smaller batches, or a size of its own where it has none. As
    in `batch_rows` the number of workers does not count. 60 games of Connect Four on two cores took 6.0 s
    with 16 rows, 5.7 s with 24, 6.3 s with 32.
    """
    sizes = choice.batches if len(choice.batches) > 1 else (8 * -(-games // 32), choice.batch_size)
    size = next((size for size in sizes if 4 * size >= games), choice.batch_size)
    return replace(choice, batch_size=min(size, choice.batch_size))


def make_players(
    config: Config, networks: tuple[bytes, bytes], game: Game, choice: InferenceChoice
) -> tuple[PvMcts, PvMcts]:
    """Return the players of a match between (candidate, champion).

    Raises:
        UserError: a network does not fit the rules, or the games of a round do not fit into memory.
    """
    check_match_memory(config, game)
    names = ("temperature", "temperature_plies", "temperature_decay_plies", "temperature_final")
    schedule = {name: getattr(config.evaluate, name) for name in names}
    choice = match_choice(choice, config.evaluate.games)
    candidate = make_searcher(config, networks[0], "candidate", game, choice, **schedule)
    return candidate, make_searcher(config, networks[1], "champion", game, choice, **schedule)


def make_searcher(
    config: Config, data: bytes, name: str, game: Game, choice: InferenceChoice, **schedule: Any
) -> PvMcts:
    """Return a player with a network's file, which `name` names in messages, and the search of a match.

    schedule: its temperature; without one it plays the most visited moves.

    Raises:
        UserError: the network does not fit the rules.
    """
    inference = make_inference(unpack_network(data, name, game).network, game, choice)
    search, cache = match_search(config), config.inference.cache
    return pv_mcts.make(game, inference, search=search, cache=cache, **schedule)


def make_openings(config: Config, game: Game, cycle: int) -> list[list[int]]:
    """Return the opening of each pair of games that a match may have.

    Openings differ as far as possible if copies do not count or a sequential test may need many games.
    """
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
    """Lay out a round of the match of (candidate, champion): games from `start` on, openings played."""
    end = min(start + config.evaluate.games, games_at_most(config.evaluate))
    game_seeds = seeds.game_seeds(config.seed, cycle, seeds.EVALUATE, end)[start:]
    return Table(game, players, game_seeds, openings[start // 2 : end // 2], watch)


def match_workers(config: Config, choice: InferenceChoice) -> int:
    """Return the threads that play a match: one for each network, or one for both."""
    return min(2, workers_wanted(config, choice.device))


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
    rounds, games = list[MatchResult](), list[MatchGame]()
    tables: list[Table] = []  # at most one, of the round under way

    def watch(ended: list[MatchGame]) -> None:
        for table in tables:
            progress.update(len(games) + len(table.ended))
        if stop.requested:
            raise Stopped

    with one_thread_per_worker():
        players, openings = make_players(config, networks, game, choice), make_openings(config, game, cycle)
        while not games or not judge(games, config.evaluate).decided:
            tables.append(lay_table(config, players, game, cycle, openings, watch, len(games)))
            tables[0].play(match_workers(config, choice))
            played = tables.pop().result()
            rounds.append(played)
            games += [game._replace(number=len(games) + game.number) for game in played.games]
            test = judge(games, config.evaluate).test
            live = {"test": f"LLR {test.llr:.2f} of {test.lower:.2f} to {test.upper:.2f}"} if test else {}
            progress.update(len(games), **live)
    return summarize(games, rounds)


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
            result = play_gate(config, networks, game, cycle, choice, progress, stop)
            match = match_record(result, evaluate)
            progress.stats.pop("test", None)  # the result sums it up
            progress.update(match.games, result=gate_text(match, evaluate))
            stats = {name: value for name, value in match.as_json().items() if name != "promoted"}
            scalars = {f"evaluate/{name}": float(value) for name, value in stats.items()}
            report.cycle_scalars(cycle, scalars | StageStats(result.stats).shares("evaluate"))
            report.text("evaluate/game", match_game_text(game, result.games[0]), cycle)
        if anchors:
            ended = [match.games if match else 0]

            def watch(games: list[MatchGame]) -> None:
                ended[0] += len(games)
                progress.update(ended[0])
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
