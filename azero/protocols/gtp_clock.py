"""Clocks of GTP, and how many seconds a move may take.

The share of a move: what is left, less a reserve, is divided by the moves that still come.

    main time alone          (left - DELAY of each move) / moves to the end of the game, at most MOST_MOVES
    Canadian overtime        left / stones of this period
    Japanese overtime        one period for a move
    main time, then overtime the larger of its share and of that of the overtime's first move
"""

from __future__ import annotations

from dataclasses import dataclass, field

from azero.config.schema import UserError

MOST_MOVES = 30  # of one side that main time is kept for
RESERVE, MOST_RESERVE = 0.2, 0.5  # part of the time, and seconds, that are kept for delays
DELAY = 0.02  # seconds of each move that are not thought
LEAST = 0.001  # seconds for a move when no time is left
MOST_COUNT = 10_000  # stones or periods


@dataclass(frozen=True)
class TimeSettings:
    """A kind of clock.

    Attributes:
        kind: none, absolute, byoyomi or canadian.
        main: seconds of main time.
        period: seconds of a period of overtime; 0: there is none.
        count: stones to play in a Canadian period, or number of Japanese periods.
    """

    kind: str = "none"
    main: float = 0.0
    period: float = 0.0
    count: int = 0


@dataclass
class Clock:
    """The time of one side.

    Attributes:
        settings: the kind of clock.
        left: seconds of main time, or of this period of overtime.
        count: stones left in this Canadian period, or Japanese periods left; 0 in main time.
    """

    settings: TimeSettings
    left: float = field(init=False)
    count: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.left = self.settings.main
        if self.left <= 0 and self.has_overtime:
            self.begin_period()

    @property
    def has_overtime(self) -> bool:
        """Whether main time is followed by overtime."""
        return self.settings.kind in ("byoyomi", "canadian")

    def begin_period(self) -> None:
        """Begin the overtime, or its next Canadian period."""
        self.left, self.count = self.settings.period, self.settings.count

    def set_left(self, seconds: float, count: int) -> None:
        """Set what a client says is left; `count` as in the attributes."""
        self.left, self.count = seconds, count if self.has_overtime else 0
        if seconds <= 0 and not count and self.has_overtime:
            self.begin_period()

    def seconds_for_move(self, moves_left: int) -> float:
        """Return the seconds for the next move, when this side has at most `moves_left` to play.

        0 means that there is no limit.
        """
        if self.settings.kind == "none":
            return 0.0
        if self.count:
            share = usable(self.left) / (self.count if self.settings.kind == "canadian" else 1)
        else:
            share = (usable(self.left) - DELAY * moves_left) / max(1, min(MOST_MOVES, moves_left))
            if self.has_overtime:
                first = usable(self.settings.period)
                if self.settings.kind == "canadian":
                    first /= self.settings.count
                share = max(share, first)
        return max(LEAST, share)

    def spend(self, seconds: float) -> None:
        """Count the seconds of a move that has been played."""
        if self.settings.kind == "none":
            return
        self.left -= seconds
        if not self.count:
            if self.left > 0 or not self.has_overtime:
                return
            over = -self.left
            self.begin_period()
            self.left -= over
        if self.settings.kind == "byoyomi":
            if self.left <= 0:
                used = min(self.count - 1, int(-self.left // self.settings.period) + 1)
                self.left, self.count = self.left + used * self.settings.period, self.count - used
            if self.left > 0:
                self.left = self.settings.period
        else:
            self.count -= 1
            if self.count == 0 and self.left >= 0:
                self.begin_period()
            self.count = max(1, self.count)

    @property
    def is_over(self) -> bool:
        """Whether the time is over: the game is lost."""
        return self.settings.kind != "none" and self.left < 0


def usable(seconds: float) -> float:
    """Return some seconds without the reserve."""
    return max(0.0, seconds - min(MOST_RESERVE, RESERVE * seconds))


def main_time_alone(seconds: float) -> TimeSettings:
    """Return a clock without overtime. Clients that send no time at all mean that there is no limit."""
    return TimeSettings("absolute", seconds) if seconds > 0 else TimeSettings()


def of_time_settings(main: float, period: float, stones: int) -> TimeSettings:
    """Return what GTP's `time_settings` means; a period without stones is no limit."""
    if period == 0:
        return main_time_alone(main)
    return TimeSettings("canadian", main, period, stones) if stones else TimeSettings()


def of_kgs(kind: str, numbers: list[float]) -> TimeSettings:
    """Return what `kgs-time_settings` means; overtime of 0 stones or periods is none.

    Raises:
        UserError: an unknown kind, or the wrong numbers.
    """
    kind, wanted = kind.lower(), {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}
    if kind not in wanted or (kind != "none" and len(numbers) != wanted[kind]):
        raise UserError(
            "syntax error: write none, absolute MAIN, or byoyomi or canadian with MAIN PERIOD COUNT"
        )
    if kind == "none":
        return TimeSettings()
    if kind == "absolute" or numbers[2] == 0:
        return main_time_alone(numbers[0])
    main, period, count = numbers
    if not 1 <= count <= MOST_COUNT or period < LEAST or count != int(count):
        raise UserError(
            f"syntax error: overtime needs a period of at least {LEAST} s and a whole number from 1 to "
            f"{MOST_COUNT:,}"
        )
    return TimeSettings(kind, main, period, int(count))
