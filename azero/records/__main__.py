"""`azero records run=connect_four out=games.sgf`: games as SGF, PGN, JSON lines or Parquet."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from azero.cli.arguments import (
    FolderSettings,
    load_game,
    read_range,
    refuse_rest,
    run_program,
    split_words,
    take_group,
    take_settings,
)
from azero.config.schema import UserError, setting

if TYPE_CHECKING:
    from azero.records.record import Record
    from azero.report.console import Console

EXAMPLES = """
run=connect_four
run=connect_four out=games.sgf cycles=10-20
run=connect_four out=games.parquet
from=data/play.jsonl out=played.sgf
from=collection.sgf out=games.jsonl skip=true
"""
HELP = {"from=games.sgf": "A file of games to read instead of a run: SGF, PGN, JSON lines or Parquet."}


@dataclass(frozen=True)
class RecordsSettings(FolderSettings):
    """Settings of the program."""

    run: str = setting("", "The run whose games of self-play are read.")
    cycles: str = setting("", "Its cycles, such as 12 or 10-20. Default: all that it keeps.")
    out: str = setting("", "File to write: .sgf, .pgn, .jsonl or .parquet. Default: print a summary.")
    overwrite: bool = setting(False, "Replace the file if it exists.")
    skip: bool = setting(False, "With from=: leave out the games that azero cannot play, and count them.")
    game: str = setting("", "With from=: the Python file of your own game, if the games are of it.")


def games_of_run(asked: RecordsSettings, console: Console) -> tuple[Iterator[Record], int]:
    """Return the games of the run asked for, and their number.

    Raises:
        UserError: there is no such run, or it does not keep these cycles.
    """
    from azero.games import game_of_settings
    from azero.records.selfplay import read_selfplay, shards_of
    from azero.run.run import Run

    run = Run.read(asked.config, asked.run)
    wanted = "a cycle or a range, such as 12 or 10-20"
    shards = shards_of(run, read_range(asked.cycles, "cycles", 1, math.inf, wanted))
    games = read_selfplay(run, game_of_settings(run.state.config), shards, console.message)
    return games, sum(shard.games for shard in shards)


def games_asked(
    words: Sequence[str], console: Console, skipped: list[str]
) -> tuple[RecordsSettings, Iterator[Record], int]:
    """Return what the command line asks for, its games, and about how many they are.

    `skipped` receives what is wrong with each game that is left out.

    Raises:
        UserError: an unknown setting, a value that is not allowed, or games that are not there.
    """
    from azero.records.files import about_how_many, read_file, refuse_file
    from azero.records.record import known_game, raise_error

    texts = split_words(words, bare="game" if any(word.startswith("from=") for word in words) else "run")
    source = texts.pop("from", "")
    asked, options = take_settings(texts, RecordsSettings), take_group(texts, "game.options")
    refuse_rest(texts, RecordsSettings, ("from",))
    if not source and Path(asked.run).is_file():
        raise UserError(f"{asked.run} is a file; from={asked.run} reads it.")
    if bool(source) == bool(asked.run):
        raise UserError("Name either a run with run= or a file of games with from=.")
    if source and asked.cycles:
        raise UserError("cycles= is for the games of a run.")
    if asked.run and (asked.game or options):
        raise UserError("game= is for the games of a file; a run knows its game.")
    if asked.run and asked.skip:
        raise UserError("skip= is for the games of a file.")
    if asked.out:
        refuse_file(Path(asked.out), asked.overwrite)
    if asked.run:
        games, number = games_of_run(asked, console)
        return asked, games, number
    make = known_game(load_game(asked.game, options) if asked.game else None)

    def skip(error: UserError) -> None:
        skipped.append(f"{source}: {error}")

    games = read_file(Path(source), make, skip if asked.skip else raise_error)
    return asked, games, about_how_many(Path(source))


def records_asked(words: Sequence[str]) -> int:
    """Write or summarize the games that the command line asks for; return the exit status."""
    from azero.kernels.compiling import CompileNotice
    from azero.process.ending import raise_interrupts
    from azero.records.files import open_records
    from azero.records.summary import Summary, cycles_text
    from azero.report.console import Console, format_count

    console, summaries, cycles, skipped = Console(), dict[str, Summary](), set[int | None](), list[str]()
    raise_interrupts()  # so that no temporary file stays
    with CompileNotice(console.message):
        asked, games, number = games_asked(words, console, skipped)
        out = Path(asked.out)
        place, done = open_records(out, asked.overwrite) if asked.out else nullcontext(), 0
        with place as write, console.stage("records", 0, 0, number, "games") as progress:
            for done, record in enumerate(games, 1):
                if write:
                    write(record)
                    cycles.add(record.cycle)
                else:
                    rules = f"{record.game.name} {record.game.options}"
                    summaries.setdefault(rules, Summary()).add(record)
                progress.update(done)
            if skipped and not done:
                raise UserError(
                    f"No game is left; skipped: {format_count(len(skipped), 'games')}, {skipped[0]}"
                )
    if asked.out:
        print(f"{out}: {format_count(done, 'games')}{cycles_text(cycles)}, {out.stat().st_size:,} bytes")
    else:
        print("\n\n".join(summary.text() for summary in summaries.values()))
    if skipped:
        print(f"skipped: {format_count(len(skipped), 'games')}; the first: {skipped[0]}")
    return 0


main = partial(run_program, "records", records_asked, RecordsSettings, EXAMPLES, labels=HELP)

if __name__ == "__main__":
    sys.exit(main())
