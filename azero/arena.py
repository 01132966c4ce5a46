"""`azero arena first=uct second=alpha_beta game=othello games=100`: matches between any players, tournaments.

Every pair of players meets in a number of games. Colours alternate, and two games with colours swapped share
an opening. A match reports its score with a 95 % interval, Elo difference, distinct games and the time of a
move; a tournament also a table of ratings and a cross table. Each game is written to a file as one JSON line
when it ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import TextIO

import numpy as np

from azero.cli.arguments import RunSettings, refuse_rest, run_program, split_words, take_game, take_settings
from azero.cli.player_spec import (
    PlayerSpec,
    choose_player,
    make_from_spec,
    needs_network,
    seconds_a_move,
    take_player_spec,
)
from azero.config.reading import whole_number
from azero.config.schema import Config, UserError, explaining_failure, setting
from azero.games.game import Game
from azero.kernels.compiling import CompileNotice
from azero.match.lockstep import MatchGame, MatchResult, play_match, summarize
from azero.match.openings import draw_openings, read_book, varied_openings
from azero.match.rating import score
from azero.match.text import Pairing, match_text, tournament_text
from azero.players import Player
from azero.process import seeds
from azero.process.machine import cores
from azero.process.signals import Stopped, StopSignal
from azero.records.begin import read_openings
from azero.records.files import WRITERS
from azero.records.json_lines import write_json
from azero.records.record import Record
from azero.report.console import Console, Progress
from azero.run.disk import next_number

EXAMPLES = """
first=uct second=alpha_beta game=othello games=100
first=pv_mcts first.run=tictactoe second=uct second.seconds=1
players=[random,weak,uct] weak=uct weak.num_simulations=10
"""
LABELS = {
    "first=uct": "The first player, by name.",
    "second=random": "The second player.",
    "first.OPTION=VALUE": "An option of that player, such as first.num_simulations=1000.",
}
GAMES_AT_ONCE = 8  # in lock-step; a player with a network wants more, for its batches
GAMES_AT_ONCE_WITH_NETWORK = 64
LOOK_SECONDS = 0.25  # between two counts of the score so far, which take longer the more games there are


@dataclass(frozen=True)
class ArenaSettings(RunSettings):
    """Settings of the program."""

    players: list[str] | None = setting(
        None, "A tournament of these players instead, such as [a,b,c]. a=uct a.OPTION=VALUE names one."
    )
    games: int = setting(100, "Games of each pair of players. Colours alternate.", between=(2, 10_000_000))
    opening_plies: int | None = setting(
        None, "Random plies before each pair of games; auto: only between two deterministic players."
    )
    book: str = setting(
        "",
        "File of openings to play instead, one a line, with spaces between moves; or of games (.sgf, .jsonl "
        "or .parquet), of which opening_plies= moves are kept.",
    )
    workers: int = setting(
        0,
        "Threads that play; 0 or auto: one for each core. The games do not depend on it.",
        between=(0, 1024),
    )
    record: str = setting(
        "", "File of the games, one JSON line each. Default: data/arena/NUMBER-GAME-PLAYERS.jsonl."
    )


@dataclass(frozen=True)
class Arena:
    """What is played.

    Attributes:
        game: the rules.
        specs: two or more; each meets each.
        games: of each pair, even.
        seed: of all random numbers.
        opening_plies: random plies before a pair of games; None chooses.
        book: openings as actions; none to draw them.
        workers: threads.
        config: where runs lie, and the device.
    """

    game: Game
    specs: tuple[PlayerSpec, ...]
    games: int
    seed: int
    opening_plies: int | None
    book: tuple[list[int], ...]
    workers: int
    config: Config

    @cached_property
    def never_vary(self) -> tuple[bool, ...]:
        """Which specs are deterministic. A player that cannot play raises UserError here."""
        return tuple(self.make(number).deterministic for number in range(len(self.specs)))

    def make(self, number: int) -> Player:
        """Return a new player of a spec."""
        return make_from_spec(self.specs[number], self.game, self.config)

    def is_fixed(self, one: int, other: int) -> bool:
        """Return whether both specs are deterministic: the same opening gives the same pair of games."""
        return self.never_vary[one] and self.never_vary[other]

    @property
    def names(self) -> list[str]:
        """The specs as text."""
        return [str(spec) for spec in self.specs]


# receives both players' places and their games that have ended
Watch = Callable[[tuple[int, int], list[MatchGame]], None]


def make_openings(arena: Arena, one: int, other: int, source: np.random.SeedSequence) -> list[list[int]]:
    """Return the opening of each pair of games: from the book, drawn, or none where players vary.

    Two deterministic players get enough random plies for openings that all differ.
    """
    pairs = arena.games // 2
    if arena.book:
        return [arena.book[number % len(arena.book)] for number in range(pairs)]
    if arena.opening_plies is not None:
        return draw_openings(arena.game, arena.opening_plies, pairs, source)
    if arena.is_fixed(one, other):
        return varied_openings(arena.game, pairs, source)
    return [[]] * pairs


def hold_match(arena: Arena, one: int, other: int, watch: Watch) -> MatchResult:
    """Play the match of two specs: a few games in lock-step in each worker, which has its own players.

    The moves of a game depend on its number alone.
    """
    specs = (arena.specs[one], arena.specs[other])
    source = seeds.sequence(arena.seed, 0, seeds.ARENA, one, other)
    game_seeds = source.generate_state(arena.games, np.uint64)
    at_once = games_at_once(specs)
    starts = iter(range(0, arena.games, at_once))
    num_workers = min(arena.workers, -(-arena.games // at_once))
    taking, parts, played = threading.Lock(), list[MatchResult](), list[MatchGame]()
    teams = [(arena.make(one), arena.make(other)) for _ in range(num_workers)]
    openings = make_openings(arena, one, other, source)

    def play_worker(team: tuple[Player, Player]) -> None:
        while True:
            with taking:
                start = next(starts, None)
            if start is None:
                return
            try:
                play_from(team, start)
            except BaseException:
                with taking:
                    list(starts)  # the other workers begin nothing more
                raise

    def play_from(team: tuple[Player, Player], start: int) -> None:
        end = min(start + at_once, arena.games)

        def report(ended: list[MatchGame]) -> None:
            with taking:
                watch((one, other), [game._replace(number=game.number + start) for game in ended])

        result = play_match(arena.game, team, game_seeds[start:end], openings[start // 2 : end // 2], report)
        with taking:
            parts.append(result)
            played.extend(game._replace(number=game.number + start) for game in result.games)

    with ThreadPoolExecutor(len(teams)) as workers:
        list(workers.map(play_worker, teams))
    return summarize(sorted(played), parts, fixed=arena.is_fixed(one, other))


def games_at_once(specs: tuple[PlayerSpec, PlayerSpec]) -> int:
    """Return how many games are played in lock-step: few where moves take long, so that a stop is quick."""
    if any(seconds_a_move(spec) for spec in specs):
        return 2
    return GAMES_AT_ONCE_WITH_NETWORK if any(map(needs_network, specs)) else GAMES_AT_ONCE


def game_line(game: Game, names: Sequence[str], played: MatchGame, seed: int) -> str:
    """Return one game as a JSON line. names: of the match's players 0 and 1."""
    one, other = names if played.first == 0 else names[::-1]
    record = Record(game, (one, other), outcome=played.outcome if played.first == 0 else -played.outcome)
    record.add_line(played.actions)
    more = {"number": played.number, "seed": seed, "opening_plies": played.opening_plies}
    return write_json(record, more)


class Account:
    """Writes finished games to the record and shows the score of the match so far."""

    def __init__(self, arena: Arena, record: TextIO, progress: Progress, stop: StopSignal) -> None:
        self.arena, self.record, self.progress, self.stop = arena, record, progress, stop
        self.games: dict[tuple[int, int], list[MatchGame]] = {}
        self.next_look = 0.0

    def watch(self, places: tuple[int, int], ended: list[MatchGame]) -> None:
        """Write games that have ended to the record, and show the score so far in the live line.

        Raises:
            Stopped: a stop was requested.
        """
        arena, names = self.arena, [self.arena.names[place] for place in places]
        if ended:
            self.record.writelines(game_line(arena.game, names, game, arena.seed) + "\n" for game in ended)
            self.record.flush()
            self.games.setdefault(places, []).extend(ended)
            if time.perf_counter() >= self.next_look:
                self.show(places)
        if self.stop.requested:
            raise Stopped

    def show(self, places: tuple[int, int]) -> None:
        """Show the score of a match so far in the live line."""
        self.next_look = time.perf_counter() + LOOK_SECONDS
        names, result = [self.arena.names[place] for place in places], self.result(places)
        counts = f"{result.wins} wins, {result.draws} draws, {result.losses} losses"
        done = sum(map(len, self.games.values()))
        share = score(result.wins, result.draws, result.losses)
        self.progress.update(done, match=" against ".join(names), counts=counts, score=share)

    def pairings(self) -> list[Pairing]:
        """Return the matches as far as they were played."""
        return [Pairing(*places, self.result(places)) for places in self.games]

    def result(self, places: tuple[int, int]) -> MatchResult:
        """Return the match of two specs so far."""
        return summarize(sorted(self.games[places]), fixed=self.arena.is_fixed(*places))


def open_next_record(arena: Arena) -> TextIO:
    """Open the next numbered file of `data/arena`, or the one after if another arena takes it meanwhile.

    Raises:
        UserError: it cannot be made.
    """
    folder, labels = Path(arena.config.data) / "arena", [Path(spec.name).stem for spec in arena.specs[:4]]
    name = "-".join([Path(arena.game.name).stem.replace(":", "_"), *labels])
    with explaining_failure(f"data={arena.config.data} cannot hold records"):
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            number = next_number(folder, r"(\d+).*")
            with suppress(FileExistsError):
                return (folder / f"{number:06d}-{name}.jsonl").open("x", encoding="utf-8")


def open_record(path: Path) -> TextIO:
    """Open the file of the games, which must not exist.

    Raises:
        UserError: it does, or it cannot be written.
    """
    with explaining_failure(f"record={path} cannot be written"):
        return path.open("x", encoding="utf-8")


def read_arena(words: Sequence[str]) -> tuple[Arena, Path | None]:
    """Return what the command line asks for, and the file of the record if it names one.

    Raises:
        UserError: an unknown setting, or a value that is not allowed.
    """
    texts = split_words(words)
    asked = take_settings(texts, ArenaSettings)
    game, specs = take_game(texts, asked), take_player_specs(texts, asked.players)
    # names the run of a champion
    specs = tuple(spec if spec.name == "auto" else choose_player(spec, game, asked.config) for spec in specs)
    refuse_rest(texts, ArenaSettings, ("first", "second"))
    if asked.games % 2:
        raise UserError(
            f"games={asked.games} must be even, because games are played in pairs with colours swapped."
        )
    plies = asked.opening_plies
    if plies is not None:
        whole_number("opening_plies", plies, 0, game.max_plies)
    has_games = Path(asked.book).suffix.lower() in WRITERS
    if plies is not None and asked.book and not has_games:
        raise UserError("book= and opening_plies= cannot both be set, except for a book of games.")
    read = partial(read_openings, plies=plies) if has_games else read_book
    book = read(game, Path(asked.book)) if asked.book else ()
    arena = Arena(game, specs, asked.games, asked.seed, plies, book, asked.workers or cores(), asked.config)
    _ = arena.never_vary  # refuses a player that cannot play
    return arena, Path(asked.record) if asked.record else None


def take_player_specs(texts: dict[str, str], labels: list[str] | None) -> tuple[PlayerSpec, ...]:
    """Take the players out of the arguments: those with these labels, else `first` and `second`.

    Raises:
        UserError: fewer than two labels, or two equal ones.
    """
    if labels is None:
        return take_player_spec(texts, "first", "uct"), take_player_spec(texts, "second", "random")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise UserError(
            "players= must be a list of two or more different names, such as players=[random,uct,alpha_beta]."
        )
    return tuple(take_player_spec(texts, label) for label in labels)


def run_arena(arena: Arena, record: TextIO, console: Console) -> int:
    """Play everything and report it, also after a stop; return the exit status."""
    pairs = len(arena.specs) * (len(arena.specs) - 1) // 2
    with record, StopSignal(f"Stopped; the games that ended are in {record.name}") as stop:
        with threads_for(arena), console.stage("arena", 0, 0, pairs * arena.games, "games") as progress:
            account, pairings = Account(arena, record, progress, stop), list[Pairing]()
            try:
                for one, other in combinations(range(len(arena.specs)), 2):
                    pairings.append(Pairing(one, other, hold_match(arena, one, other, account.watch)))
            except Stopped:
                pairings = account.pairings()
            progress.update(sum(map(len, account.games.values())))
            progress.stats.clear()  # the reports below have them
        reports = [match_text(arena.names, pairing) for pairing in pairings]
        if len(arena.specs) > 2 and pairings:
            reports.append(tournament_text(arena.names, pairings))
        if reports:
            console.message("\n\n".join(reports))
        console.message(f"games are in {record.name}")
        return stop.exit_code


def threads_for(arena: Arena) -> AbstractContextManager[None]:
    """Give each worker one thread of torch, if a player needs torch."""
    if not any(map(needs_network, arena.specs)):
        return nullcontext()
    from azero.network.torch_inference import one_thread_per_worker

    return one_thread_per_worker()


def play_asked(words: Sequence[str]) -> int:
    """Play what the words of the command line ask for; return the exit status."""
    console = Console()
    with CompileNotice(console.message):
        arena, record = read_arena(words)
        return run_arena(arena, open_record(record) if record else open_next_record(arena), console)


main = partial(run_program, "arena", play_asked, ArenaSettings, EXAMPLES, labels=LABELS)

if __name__ == "__main__":
    sys.exit(main())
