"""What a lane did and where its time went: counts and seconds of one thread that plays games with a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class LaneFigures:
    """What one lane did, for the report."""

    games: int = 0
    plies: int = 0
    simulations: int = 0
    searches: int = 0
    evaluations: int = 0
    rows: int = 0  # rows of all batches, used or not
    cache_asked: int = 0
    cache_found: int = 0
    seconds: float = 0.0  # of wall-clock at work, from the first wave to the last
    inference_seconds: float = 0.0  # of them, inside the network
    full_seconds: float = 0.0  # of them, in waves whose batch was full
    full_evaluations: int = 0  # in those waves: what is lost at a stage's ends is not in them
    idle_seconds: float = 0.0  # besides, with nothing to do while other lanes still play

    def add(self, other: LaneFigures) -> None:
        """Sum up."""
        for name in LaneFigures.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def batch_fill(self) -> float:
        """The share of rows of network calls that carried a position."""
        return self.evaluations / max(self.rows, 1)

    @property
    def idle_share(self) -> float:
        """The share of its time without anything to do."""
        return self.idle_seconds / max(self.seconds + self.idle_seconds, 1e-9)


class StageFigures(LaneFigures):
    """The sum over the lanes of a stage.

    Attributes:
        lanes: of each.
        game_seconds: from the beginning of a game to its end beside others in flight, on average; 0 where none has ended.
    """

    def __init__(self, lanes: Sequence[LaneFigures]) -> None:
        super().__init__()
        self.lanes = tuple(lanes)
        self.game_seconds = 0.0
        for lane in lanes:
            self.add(lane)

    def shares(self, stage: str) -> dict[str, float]:
        """Batch fill and idle share by tag, of the stage and of each lane, counted from 1."""
        tags = {f"{stage}/batch_fill": self.batch_fill, f"{stage}/idle_share": self.idle_share}
        for number, lane in enumerate(self.lanes, 1):
            tags |= {f"{stage}/batch_fill_{number}": lane.batch_fill, f"{stage}/idle_share_{number}": lane.idle_share}
        return tags

    def live(self) -> dict[str, float | str]:
        """What a person watching wants to know: batch fill, and the idle share of each lane."""
        idle = ", ".join(f"{lane.idle_share:.0%}".replace("%", " %") for lane in self.lanes)
        return {"batch_fill": self.batch_fill, "idle": f"idle {idle}"}
