"""What UCI's `go` asks for, and how many seconds that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from azero.protocols.gtp_clock import LEAST, MOST_MOVES, Clock, TimeSettings, usable

NUMBERS = (
    *("wtime", "btime", "winc", "binc", "movestogo"),
    *("movetime", "depth", "nodes", "mate"),
)
FLAGS = ("infinite", "ponder")
SEARCHMOVES = "searchmoves"


@dataclass(frozen=True)
class Go:
    """The limits of a search; times are in milliseconds, None: not given.

    Attributes:
        wtime, btime: time left of the first player and of the other.
        winc, binc: added after each move.
        movestogo: moves until more time is added.
        movetime: for this move.
        depth, nodes, mate: plies, simulations, and moves to a mate; 0: not given.
        infinite: whether to search until `stop`.
        ponder: whether the opponent's clock runs, until `ponderhit`.
        searchmoves: the only moves to consider; none: all.
    """

    wtime: int | None = None
    btime: int | None = None
    winc: int = 0
    binc: int = 0
    movestogo: int = 0
    movetime: int | None = None
    depth: int = 0
    nodes: int = 0
    mate: int = 0
    infinite: bool = False
    ponder: bool = False
    searchmoves: list[str] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether the answer waits for the client."""
        return self.infinite or self.ponder

    @property
    def limit(self) -> tuple[str, int] | None:
        """The option of a player that limits the search, and its value. Mate in N is 2 N - 1 plies."""
        if self.nodes:
            return "num_simulations", self.nodes
        plies = self.depth or 2 * self.mate - 1
        return ("depth", plies) if plies > 0 else None

    def seconds(self, mover: int, moves_left: int, overhead: float) -> float:
        """Return the seconds for the move of a player, 0 or 1, with at most so many moves left; 0: no limit.

        The share of the clock is that of `Clock`, plus the increment without the overhead: else little would
        be left after many moves, and a delay would lose the game.
        """
        if self.movetime is not None:
            return max(LEAST, self.movetime / 1000 - overhead)
        left, more = ((self.wtime, self.winc), (self.btime, self.binc))[mover]
        if left is None:
            return 0.0
        main = max(0.0, left / 1000 - overhead)
        if self.movestogo > 0:
            clock = Clock(TimeSettings("canadian", 0.0, main, self.movestogo))
        else:
            clock = Clock(TimeSettings("absolute", main))
        share = clock.seconds_for_move(min(MOST_MOVES, moves_left)) + max(0.0, more / 1000 - overhead)
        return max(LEAST, min(share, usable(main)))


def read_go(words: Sequence[str]) -> Go:
    """Return what the words after `go` ask for; what is not understood is skipped."""
    asked: dict[str, Any] = {SEARCHMOVES: []}
    name = ""
    for word in words:
        if word in FLAGS:
            asked[word], name = True, ""
        elif word in NUMBERS or word == SEARCHMOVES:
            name = word
        elif name == SEARCHMOVES:
            asked[SEARCHMOVES].append(word)
        elif name and re.fullmatch(r"-?[0-9]{1,15}", word):
            asked[name], name = max(0, int(word)), ""
    return Go(**asked)
