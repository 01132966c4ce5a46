"""What the experiment scripts share: matches compared with published scores, and tables in documents."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from azero.arena import Arena, hold_match
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config, UserError
from azero.games.game import Game
from azero.match.lockstep import MatchGame, summarize
from azero.match.rating import score, score_interval
from azero.process.machine import cores
from azero.report.console import Console

WORKERS = cores()
NEVER = 1_000_000  # visits before UCT expands a leaf, more than any search here has: the published code
EXPANDING = 10  # as the published text has it
ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "lab" / "experiments.md"


@dataclass(frozen=True)
class Experiment:
    """One published score and the match that measures it again.

    Attributes:
        what: the match in words.
        published: the score as published, for a person to read.
        one: the player whose score it is.
        other: its opponent.
        games: played here; even.
        first_only: whether only the games count in which `one` moved first; then twice as many are played.
    """

    what: str
    published: str
    one: PlayerSpec
    other: PlayerSpec
    games: int
    first_only: bool = False


def player(name: str, **options: object) -> PlayerSpec:
    """A player with its options."""
    return PlayerSpec(name, name, options)


def measure(
    game: Game, experiments: Sequence[Experiment], seed: int, varied: bool = False
) -> list[list[str]]:
    """Play the matches, one after another, and return the table's rows, its header first.

    varied: players that never vary get random openings; else every game begins at the initial state.
    """
    rows = [["", "published", "measured", "95 % interval", "games", "distinct"]]
    total = sum(each.games * (1 + each.first_only) for each in experiments)
    with Console().stage("matches", 0, 0, total, "games") as progress:
        done = 0
        for each in experiments:

            def watch(_places: tuple[int, int], ended: list[MatchGame]) -> None:
                nonlocal done
                done += len(ended)
                progress.update(done)

            games = each.games * (1 + each.first_only)
            arena = Arena(
                game, (each.one, each.other), games, seed, None if varied else 0, (), WORKERS, Config()
            )
            rows.append(row_of(each, hold_match(arena, 0, 1, watch).games))
    return rows


def row_of(experiment: Experiment, games: list[MatchGame]) -> list[str]:
    """One line of the table."""
    counted = summarize([game for game in games if game.first == 0 or not experiment.first_only])
    counts = (counted.wins, counted.draws, counted.losses)
    low, high = score_interval(*counts)
    return [
        experiment.what,
        experiment.published,
        f"{score(*counts):.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{len(counted.games):,}",
        f"{counted.distinct:,}",
    ]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown, its header first."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def write_block(name: str, text: str) -> None:
    """Put a text between the marks of that name in docs/lab/experiments.md.

    Raises:
        UserError: the page has no such marks.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before = DOCUMENT.read_text(encoding="utf-8")
    if begin not in before:
        raise UserError(f"{DOCUMENT.name} has no place for a table {name}; add a line {begin.strip()}.")
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    DOCUMENT.write_text(found.sub(lambda _match: f"{begin}{text}\n{end}", before), encoding="utf-8")


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of every experiment script; the description is the script's first lines."""
    words = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument(
        "--share", type=float, default=1.0, help="share of the games to play, such as 0.1 for a quick look"
    )
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--write", action="store_true", help="write the tables into their documents")
    return words


def share_of(games: int, share: float) -> int:
    """So much of the games, in pairs and at least one of them.

    Raises:
        UserError: no share of anything.
    """
    if not 0.0 < share < math.inf:
        raise UserError(f"--share {share:g} is no share of the games; write a number above 0, such as 0.1.")
    return 2 * max(1, round(games * share / 2))


def print_table(name: str, table: Sequence[Sequence[str]], write: bool) -> None:
    """Print a table, and write it where that was asked for."""
    text = markdown(table)
    print(text)
    if write:
        write_block(name, text)
