"""The stages of a run, one record each. Modules load when they run, so `--help` stays fast."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azero.config.schema import Config
from azero.process.signals import StopSignal
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import StageName

if TYPE_CHECKING:
    from azero.workers.selfplay import SelfPlay


@dataclass(frozen=True)
class Stage:
    """One stage: `azero/stages/<name>.py` holds its function, `run_stage`.

    Attributes:
        name: the name in `state.json`, on the console and in `python -m azero.<name>`.
        ends_early: the function takes a deadline and does less where time is short.
        ignores_minutes: says by the configuration whether the stage runs also when the minutes are used up.
    """

    name: StageName
    ends_early: bool = False
    ignores_minutes: Callable[[Config], bool] = lambda config: False

    def run(
        self,
        config: Config,
        run: Run,
        report: Reporter,
        stop: StopSignal,
        deadline: float = math.inf,
        ahead: SelfPlay | None = None,
    ) -> None:
        """Run the stage on a run's folder; it commits what it has made.

        Args:
            config, report: of the run.
            run: opened for work; this stage comes next.
            stop: looked at often; when requested, the stage saves what is safe.
            deadline: `time.perf_counter()` at which a stage that `ends_early` should end.
            ahead: its games, if they have begun already.

        Raises:
            Stopped: a stop was requested.
            UserError: the stage cannot run; nothing is lost.
        """
        function = importlib.import_module(f"azero.stages.{self.name}").run_stage
        more: dict[str, Any] = {"deadline": deadline} if self.ends_early else {}
        function(config, run, report, stop, **more, **({"ahead": ahead} if ahead else {}))


RECORDS = (
    # a run without a network has nothing to show
    Stage(StageName.INITIALIZE, ignores_minutes=lambda config: True),
    Stage(StageName.SELFPLAY, ends_early=True),
    Stage(StageName.TRAIN),
    Stage(
        StageName.EVALUATE,
        # without a game the promotion takes no time, and no training is lost
        ignores_minutes=lambda config: not config.evaluate.games and not config.evaluate.anchor_games,
    ),
)


def stage_named(name: str) -> Stage:
    """Return the record of a stage."""
    return next(record for record in RECORDS if record.name == name)
