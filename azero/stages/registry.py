"""The stages of a run, one record each. Modules load when they run, so `--help` stays fast."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass

from azero.config.schema import Config
from azero.report.reporter import Reporter
from azero.run.run import Run, StopSignal
from azero.run.state import StageName


@dataclass(frozen=True)
class Stage:
    """One stage: `azero/stages/<name>.py` holds its function, `run_stage`.

    Attributes:
        name: the name in `state.json`, on the console and in `python -m azero.<name>`.
        purpose: what the stage does, in one line.
        needs: the networks that it reads.
        ends_early: the function takes a deadline and does less where time is short.
        ignores_minutes: says by the configuration whether the stage runs also when the minutes are used up.
    """

    name: StageName
    purpose: str
    needs: tuple[str, ...] = ()
    ends_early: bool = False
    ignores_minutes: Callable[[Config], bool] = lambda config: False

    def run(
        self, config: Config, run: Run, report: Reporter, stop: StopSignal, deadline: float = math.inf
    ) -> None:
        """Run the stage on a run's folder; it commits what it has made.

        Args:
            config, report: of the run.
            run: opened for work; this stage comes next.
            stop: looked at often; when requested, the stage saves what is safe.
            deadline: `time.perf_counter()` at which a stage that `ends_early` should end.

        Raises:
            Stopped: a stop was requested.
            UserError: the stage cannot run; nothing is lost.
        """
        function = importlib.import_module(f"azero.stages.{self.name}").run_stage
        function(config, run, report, stop, **({"deadline": deadline} if self.ends_early else {}))


RECORDS = (
    Stage(
        StageName.INITIALIZE,
        "Make network 000000: random, or with init_from another run's champion.",
        ignores_minutes=lambda config: True,  # a run without a network has nothing to show
    ),
    Stage(
        StageName.SELFPLAY,
        "Let the champion play games against itself and keep them as training examples.",
        needs=("champion",),
        ends_early=True,
    ),
    Stage(
        StageName.TRAIN,
        "Train the next candidate on recent examples.",
        needs=("candidate or champion, as train.start_from says",),
    ),
    Stage(
        StageName.EVALUATE,
        "Let the candidate play a match against the champion; the winner plays the next cycle's games.",
        needs=("candidate", "champion"),
        # without a game the promotion takes no time, and no training is lost
        ignores_minutes=lambda config: not config.evaluate.games and not config.evaluate.anchor_games,
    ),
)


def record_of(name: str) -> Stage:
    """Return the record of a stage."""
    return next(record for record in RECORDS if record.name == name)
