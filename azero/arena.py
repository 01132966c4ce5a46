"""`python -m azero.arena first=uct second=alpha_beta game=othello games=100`: matches between any players, and tournaments.

Every pair of players meets in so many games, colours alternating; two games with colours swapped share an opening. A match is
told by its score with a 95 % interval, Elo difference, distinct games and the time of a move, a tournament by a table of ratings
and a cross table besides. Each game is written to a file as one JSON line the moment it ends.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from azero import seeds
from azero.config import Config, UserError
from azero.entrants import Entrant, make_entrant, needs_network, seconds_a_move, take_entrant
from azero.games.game import Game
from azero.machine import cores
from azero.match import MatchGame, MatchResult, Tally, play_match, summarize
from azero.match_report import Pairing, game_line, match_text, tournament_text
from azero.monitoring.console import Console, Progress
from azero.openings import draw_openings, read_book, varied_openings
from azero.players import MODULES, Player
from azero.rating import score
from azero.signals import Stopped, StopSignal
from azero.words import parse_words, refuse_rest, run_program, take_config, take_game, whole_number

HELP = """
settings:
  first= second=       two players by name: {players}
  first.OPTION=VALUE   an option of a player, such as first.num_simulations=1000; a trained one takes first.run=RUN
  players=[a,b,c]      a tournament of these players instead; a=uct a.OPTION=VALUE gives one a name of its own
  game=tictactoe       a shipped game, a file of conf/game, the path of a Python file, or such as openspiel:breakthrough
  game.options.*       options of the game
  games=100            of each pair of players
  opening_plies=auto   random plies before each pair of games; auto: none, unless neither player ever varies
  book=FILE            openings instead, one a line, moves with spaces between
  seed=1
  lanes=auto           threads that play at once; the games do not depend on it
  record=FILE          where the games go, one JSON line each; by default data/arena/NUMBER-GAME-PLAYERS.jsonl
  checkpoints=checkpoints device=auto      where runs lie, and what computes their networks
"""
GAMES_AT_ONCE = 8  # in lock-step; a player with a network wants more, for its batches
GAMES_AT_ONCE_WITH_NETWORK = 64
LOOK_SECONDS = 0.25  # between two looks at the score of a match that is under way: counting takes longer the more games there are


@dataclass(frozen=True)
class Arena:
    """What is played.

    Attributes:
        game: the rules.
        entrants: two or more; each meets each.
        games: of each pair, even.
        seed: where everything random comes from.
        opening_plies: random plies before a pair of games; None chooses.
        book: openings as actions; none to draw them.
        lanes: threads.
        config: where runs lie, and the device.
    """

    game: Game
    entrants: tuple[Entrant, ...]
    games: int
    seed: int
    opening_plies: int | None
    book: tuple[list[int], ...]
    lanes: int
    config: Config

    @cached_property
    def never_vary(self) -> tuple[bool, ...]:
        """Which entrants answer the same position always with the same move. Whoever cannot play at all raises UserError here."""
        return tuple(make_entrant(entrant, self.game, self.config).deterministic for entrant in self.entrants)

    def is_fixed(self, one: int, other: int) -> bool:
        """Whether neither of two entrants varies, as far as a clock allows: a pair of games with the same opening is the same."""
        return self.never_vary[one] and self.never_vary[other]

    @property
    def names(self) -> list[str]:
        """The entrants as people read them."""
        return [str(entrant) for entrant in self.entrants]


Watch = Callable[[tuple[int, int], list[MatchGame]], None]  # told of both players' places and of their games that have ended


def make_openings(arena: Arena, one: int, other: int, source: np.random.SeedSequence) -> list[list[int]]:
    """The opening of each pair of games: from the book, drawn, or none where chance makes the games differ anyway.

    Between two players that never vary, so many random plies are drawn that no two openings need be the same.
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
    """Play the match of two entrants: a few games in lock-step, in as many threads as there are lanes, each with its own players.

    What a game's moves are depends on its number alone.
    """
    entrants = (arena.entrants[one], arena.entrants[other])
    source = seeds.sequence(arena.seed, 0, seeds.ARENA, one, other)
    game_seeds = source.generate_state(arena.games, np.uint64)
    at_once = games_at_once(entrants)
    starts = iter(range(0, arena.games, at_once))
    taking, tally, played = threading.Lock(), Tally(), list[MatchGame]()
    teams = [make_team(arena, entrants) for _ in range(min(arena.lanes, -(-arena.games // at_once)))]
    openings = make_openings(arena, one, other, source)

    def play_lane(team: tuple[Player, Player]) -> None:
        while True:
            with taking:
                start = next(starts, None)
            if start is None:
                return
            try:
                play_from(team, start)
            except BaseException:
                with taking:
                    list(starts)  # the other lanes begin nothing more
                raise

    def play_from(team: tuple[Player, Player], start: int) -> None:
        end = min(start + at_once, arena.games)

        def tell(ended: list[MatchGame]) -> None:
            with taking:
                watch((one, other), [game._replace(number=game.number + start) for game in ended])

        result = play_match(arena.game, team, game_seeds[start:end], openings[start // 2 : end // 2], tell)
        with taking:
            tally.add(result)
            played.extend(game._replace(number=game.number + start) for game in result.games)

    with ThreadPoolExecutor(len(teams)) as lanes:
        list(lanes.map(play_lane, teams))
    return summarize(sorted(played), tally, fixed=arena.is_fixed(one, other))


def games_at_once(entrants: tuple[Entrant, Entrant]) -> int:
    """How many games are played in lock-step: few where moves take long, so that a stop need not wait for all of them."""
    if any(seconds_a_move(entrant) for entrant in entrants):
        return 2
    return GAMES_AT_ONCE_WITH_NETWORK if any(map(needs_network, entrants)) else GAMES_AT_ONCE


def make_team(arena: Arena, entrants: tuple[Entrant, Entrant]) -> tuple[Player, Player]:
    """Both players of a match, for one lane."""
    one, other = (make_entrant(entrant, arena.game, arena.config) for entrant in entrants)
    return one, other


def hold_tournament(arena: Arena, watch: Watch) -> list[Pairing]:
    """Let each entrant meet each."""
    pairs = combinations(range(len(arena.entrants)), 2)
    return [Pairing(one, other, hold_match(arena, one, other, watch)) for one, other in pairs]


class Account:
    """Writes finished games to the record and shows the score of the match so far."""

    def __init__(self, arena: Arena, record: TextIO, progress: Progress, stop: StopSignal) -> None:
        self.arena, self.record, self.progress, self.stop = arena, record, progress, stop
        self.games: dict[tuple[int, int], list[MatchGame]] = {}
        self.next_look = 0.0

    def watch(self, places: tuple[int, int], ended: list[MatchGame]) -> None:
        """See `Watch`.

        Raises:
            Stopped: a stop was requested.
        """
        if ended:
            self.write(places, ended)
        if self.stop.requested:
            raise Stopped

    def write(self, places: tuple[int, int], ended: list[MatchGame]) -> None:
        """Put games that have ended into the record, and the score so far into the live line."""
        arena, names = self.arena, [self.arena.names[place] for place in places]
        self.record.writelines(game_line(arena.game, names, game, arena.seed) + "\n" for game in ended)
        self.record.flush()
        self.games.setdefault(places, []).extend(ended)
        if time.perf_counter() >= self.next_look:
            self.show(places)

    def show(self, places: tuple[int, int]) -> None:
        """Put the score of a match so far into the live line."""
        self.next_look = time.perf_counter() + LOOK_SECONDS
        names, result = [self.arena.names[place] for place in places], self.result(places)
        counts = f"{result.wins} wins, {result.draws} draws, {result.losses} losses"
        done = sum(map(len, self.games.values()))
        self.progress.update(done, match=" v. ".join(names), counts=counts, score=score(result.wins, result.draws, result.losses))

    def pairings(self) -> list[Pairing]:
        """The matches as far as they were played."""
        return [Pairing(*places, self.result(places)) for places in self.games]

    def result(self, places: tuple[int, int]) -> MatchResult:
        """The match of two entrants so far."""
        return summarize(sorted(self.games[places]), fixed=self.arena.is_fixed(*places))


def record_path(arena: Arena) -> Path:
    """The next file of `data/arena`, numbered, so that nothing is ever written over.

    Raises:
        UserError: the folder cannot be made.
    """
    folder = Path(arena.config.data) / "arena"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as mistake:
        raise UserError(f"data={arena.config.data} cannot hold records: {mistake.strerror}.") from mistake
    taken = (re.match(r"\d+", path.name) for path in folder.iterdir())
    number = 1 + max((int(match[0]) for match in taken if match), default=0)
    labels = "-".join(entrant.name for entrant in arena.entrants[:4])
    return folder / f"{number:06d}-{Path(arena.game.name).stem.replace(':', '_')}-{labels}.jsonl"


def open_record(path: Path) -> TextIO:
    """Open the file of the games, which must not exist.

    Raises:
        UserError: it does, or it cannot be written.
    """
    try:
        return path.open("x", encoding="utf-8")
    except OSError as mistake:
        raise UserError(f"record={path} cannot be written: {mistake.strerror}.") from mistake


def read_arena(words: Sequence[str]) -> tuple[Arena, Path | None]:
    """What the words of the command line ask for, and the file for the record if they name one.

    Raises:
        UserError: a word that means nothing, or a value that cannot be.
    """
    settings = parse_words(words, "first=uct")
    game = take_game(settings)
    record = settings.pop("record", None)
    entrants = take_entrants(settings)
    games = whole_number(settings, "games", 100, 2)
    if games % 2:
        raise UserError(f"games={games} must be even, since colours are swapped in pairs.")
    plies, book = take_openings(settings, game)
    seed, lanes = whole_number(settings, "seed", 1, 0), settings.pop("lanes", "auto")
    lanes = cores() if lanes == "auto" else whole_number({"lanes": lanes}, "lanes", 1, 1)
    arena = Arena(game, entrants, games, seed, plies, book, lanes, take_config(settings))
    refuse_rest(settings)
    _ = arena.never_vary  # says at once what is wrong with a player
    return arena, None if record is None else Path(str(record))


def take_entrants(settings: dict[str, Any]) -> tuple[Entrant, ...]:
    """Take the players out of the settings: those of `players`, else `first` and `second`.

    Raises:
        UserError: `players` is no list of different names.
    """
    labels = settings.pop("players", None)
    if labels is None:
        return take_entrant(settings, "first", "uct"), take_entrant(settings, "second", "random")
    if not isinstance(labels, list) or len(labels) < 2 or len(set(map(str, labels))) < len(labels):
        raise UserError("players= must be a list of two or more different names, such as players=[random,uct,alpha_beta].")
    return tuple(take_entrant(settings, str(label)) for label in labels)


def take_openings(settings: dict[str, Any], game: Game) -> tuple[int | None, tuple[list[int], ...]]:
    """Take the number of random plies (None: not asked for) and the book (empty: none) out of the settings.

    Raises:
        UserError: a number out of range, a book that cannot be read, or both.
    """
    plies, book = settings.pop("opening_plies", "auto"), settings.pop("book", None)
    if plies != "auto" and (not isinstance(plies, int) or isinstance(plies, bool) or not 0 <= plies <= game.max_plies):
        raise UserError(f"opening_plies={plies} must be auto or a whole number from 0 to {game.max_plies}.")
    if book is not None and plies != "auto":
        raise UserError("book= and opening_plies= cannot both be set.")
    return None if plies == "auto" else plies, () if book is None else read_book(game, Path(str(book)))


def run_arena(arena: Arena, record: Path, console: Console) -> int:
    """Play everything and tell it; what was played is told also when it is stopped. Returns the exit status."""
    pairs = len(arena.entrants) * (len(arena.entrants) - 1) // 2
    with StopSignal() as stop, closing(open_record(record)) as file:
        with threads_for(arena), console.stage("arena", 0, 0, pairs * arena.games, "games") as progress:
            account = Account(arena, file, progress, stop)
            try:
                pairings = hold_tournament(arena, account.watch)
            except Stopped:
                pairings = account.pairings()
            if account.games:
                account.show([*account.games][-1])
        for pairing in pairings:
            console.message(match_text(arena.names, pairing))
        if len(arena.entrants) > 2 and pairings:
            console.message("\n" + tournament_text(arena.names, pairings))
        console.message(f"games are in {record}")
        return stop.exit_code


def threads_for(arena: Arena) -> AbstractContextManager[None]:
    """One thread of torch a lane, where torch is needed at all."""
    if not any(map(needs_network, arena.entrants)):
        return nullcontext()
    from azero.network.torch_inference import one_thread_a_lane

    return one_thread_a_lane()


def play_asked(words: Sequence[str]) -> int:
    """Play what the words of the command line ask for; return the exit status."""
    arena, record = read_arena(words)
    return run_arena(arena, record or record_path(arena), Console())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    does = "Matches between any two players, and tournaments of several; without a word, uct against random."
    return run_program(play_asked, "arena", does, HELP.format(players=", ".join(MODULES)), arguments)


if __name__ == "__main__":
    sys.exit(main())
