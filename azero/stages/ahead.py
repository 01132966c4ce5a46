"""Self-play of the next cycle while the head of a cluster trains and holds the match (`cluster.overlap`).

Who plays is fixed before: the champion of the moment when training begins (`State.player`). So the games do
not depend on how far they are when training ends, and an interrupted run goes on with the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azero.config.schema import Config
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import StageName

if TYPE_CHECKING:
    from azero.cluster.selfplay import SelfPlayAhead  # imports Numba


class Ahead:
    """The next cycle's games, if they are played beside the stages of this one.

    A context: leaving it ends the games and commits the finished ones, as self-play does when it is stopped.
    """

    def __init__(self, config: Config, run: Run, report: Reporter) -> None:
        """Begin nothing yet."""
        self.config, self.run, self.report = config, run, report
        self.games: SelfPlayAhead | None = None

    def __enter__(self) -> Ahead:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the games and commit the finished ones."""
        from azero.stages.selfplay import keep

        if self.games:
            keep(self.run, self.games.plan, self.games.end())
            self.games = None

    def look(self, stage: str) -> SelfPlayAhead | None:
        """Return the games if self-play comes next; begin them before the other stages, if that is asked for.

        Raises:
            UserError: the network that plays is damaged, or the cluster is not there.
        """
        if stage == StageName.SELFPLAY:
            games, self.games = self.games, None
            self.report.show_beside(str)
            return games
        cycle = self.run.state.cycle + 2
        if self.run.state.player and not self.games and cycle <= self.config.cycles:
            self.begin(cycle)
        return None

    def begin(self, cycle: int) -> None:
        """Begin the games of a cycle if somebody else than this process plays them."""
        from azero.stages.executor import executor_of
        from azero.stages.selfplay import make_plan

        self.games = games = executor_of(self.config).ahead(
            lambda: make_plan(self.config, self.run, self.report, cycle), self.report.message
        )
        if games:
            total = f"{len(games.plan.numbers):,} games"
            self.report.show_beside(lambda: f"cycle {cycle}: {games.finished:,}/{total}")
