"""What many games have in common, as text: how long they are, how they end, how they begin."""

from __future__ import annotations

from collections import Counter, defaultdict

from azero.records.record import Record
from azero.report.console import format_count, format_share, table_text

OPENING_PLIES = 4
OPENINGS_SHOWN = 5


def cycles_text(cycles: set[int | None]) -> str:
    """Return such as ", cycles 3 to 5"; "" if no game is of a cycle."""
    known = [cycle for cycle in cycles if cycle is not None]
    return f", cycles {min(known)} to {max(known)}" if known else ""


class Summary:
    """Counts the games of one game's rules."""

    def __init__(self) -> None:
        self.title = ""
        self.games = 0
        self.lengths: Counter[int] = Counter()
        self.ends: Counter[float | None] = Counter()
        self.openings: Counter[tuple[str, ...]] = Counter()
        self.finished: Counter[tuple[str, ...]] = Counter()  # of an opening
        self.scores: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self.distinct: set[int] = set()
        self.cycles: set[int | None] = set()

    def add(self, record: Record) -> None:
        """Count a game."""
        actions = record.path(record.main_line()[-1])
        opening = tuple(record.game.move_names(actions[:OPENING_PLIES], record.first_state()))
        self.title, self.games = record.game.name, self.games + 1
        self.lengths[len(actions)] += 1
        self.ends[record.outcome] += 1
        self.openings[opening] += 1
        self.finished[opening] += record.outcome is not None
        self.scores[opening] += 0 if record.outcome is None else (1 + record.outcome) / 2
        self.distinct.add(hash((record.start, *actions)))
        self.cycles.add(record.cycle)

    def text(self) -> str:
        """Return the summary, some lines and a table."""
        games = format_count(self.games, "games")
        plies = sum(length * count for length, count in self.lengths.items()) / self.games
        ended = self.games - self.ends[None]
        ends = [
            ("first player wins", sum(count for end, count in self.ends.items() if end and end > 0)),
            ("draws", self.ends[0.0]),
            ("second player wins", sum(count for end, count in self.ends.items() if end and end < 0)),
        ]
        results = [f"{name} {count:,} ({format_share(count / ended)})" for name, count in ends if ended]
        if self.ends[None]:
            results.append(f"not finished {self.ends[None]:,}")
        rows = [["opening", "games", "share", "first player's score"]]
        for opening, count in self.openings.most_common(OPENINGS_SHOWN):
            finished = self.finished[opening]
            score = format_share(self.scores[opening] / finished) if finished else "-"
            rows.append([" ".join(opening) or "-", f"{count:,}", format_share(count / self.games), score])
        return "\n".join(
            [
                f"{games} of {self.title}{cycles_text(self.cycles)}, {len(self.distinct):,} distinct",
                f"length: {plies:.1f} plies on average, {min(self.lengths)} to {max(self.lengths)}",
                f"results: {', '.join(results)}",
                "",
                f"the commonest openings of {OPENING_PLIES} plies",
                table_text(rows),
            ]
        )
