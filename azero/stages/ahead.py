"""Self-play of the next cycle while the head of a cluster trains and holds the match (`cluster.overlap`).

Who plays is fixed before: the champion of the moment when training begins (`State.player`). So the games do
not depend on how far they are when training ends, and an interrupted run goes on with the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azero.config.schema import Config
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import StageName

if TYPE_CHECKING:
    from azero.stages.selfplay import Begun  # imports Numba


class Ahead:
    """The next cycle's games, if they are played beside the stages of this one.

    A context: leaving it ends the games and commits the finished ones, as self-play does when it is stopped.
    """

    def __init__(self, config: Config, run: Run, report: Reporter) -> None:
        """Begin nothing yet."""
        self.config, self.run, self.report = config, run, report
        self.begun: Begun | None = None

    def __enter__(self) -> Ahead:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the games and commit the finished ones."""
        from azero.stages.selfplay import keep

        if self.begun:
            keep(self.run, self.begun.plan, self.begun.playing.end())
            self.begun = None

    def look(self, stage: str) -> Begun | None:
        """Return the games if self-play comes next; begin them before the other stages, if that is asked for.

        Raises:
            UserError: the network that plays is damaged, or the cluster is not there.
        """
        if stage == StageName.SELFPLAY:
            begun, self.begun = self.begun, None
            self.report.show_beside(str)
            return begun
        cycle, wanted = self.run.state.cycle + 2, self.config.cluster.overlap and self.config.cluster.address
        if wanted and self.run.state.player and not self.begun and cycle <= self.config.cycles:
            self.begin(cycle)
        return None

    def begin(self, cycle: int) -> None:
        """Begin the games of a cycle."""
        from azero.cluster.stage import Playing
        from azero.network.torch_inference import one_thread_per_worker
        from azero.stages.selfplay import Begun, head_for, make_plan

        plan, quiet = make_plan(self.config, self.run, self.report, cycle), Progress()
        with one_thread_per_worker():
            head = head_for(plan, self.report, quiet, StopSignal())
        self.begun = Begun(plan, Playing(head))
        total = f"{len(plan.numbers):,} games"
        self.report.show_beside(lambda: f"cycle {cycle}: {quiet.done:,.0f}/{total}")
