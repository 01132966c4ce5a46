"""Where the games of a run are played: in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from azero.cluster.head import Crew
from azero.cluster.match import RoundsOnCluster, worth_sending
from azero.cluster.ray_crew import crew_of
from azero.cluster.selfplay import SelfPlayAhead, SelfPlayOnCluster
from azero.cluster.worker import FIXED_POSITIONS
from azero.config.schema import Config
from azero.games.game import Game
from azero.gpu.selfplay import SelfPlayOnGpu
from azero.gpu.selfplay import obstacle as gpu_obstacle
from azero.kernels.compiling import compiled_before
from azero.network.inference import InferenceChoice, device_for
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.stages import warm_up
from azero.stages.backend import positions_to_time
from azero.workers.matches import MatchPlan, Rounds, RoundsHere
from azero.workers.memory import check_worker_memory
from azero.workers.selfplay import Plan, SelfPlay, SelfPlayHere, worker_count

Say = Callable[[str], object]
TOLD = set[str]()  # why self-play is not on the GPU that this process has


class Executor:
    """Plays the games of a run in threads of this process."""

    def __init__(self, config: Config) -> None:
        """Begin nothing yet."""
        self.config = config

    def on_gpu(self) -> bool:
        """Return whether self-play is on a GPU. Raises UserError if it should be and cannot."""
        return gpu_obstacle(self.config) is None

    def check(self, game: Game, choice: InferenceChoice) -> None:
        """Check that self-play with such a choice is possible.

        Raises:
            UserError: its workers do not fit into memory, or the cluster cannot be used.
        """
        if self.on_gpu():
            return  # it says how many games have room when it begins
        workers = worker_count(self.config, self.config.selfplay.games, choice)
        check_worker_memory(game, [choice.batch_size] * workers, self.config)

    def selfplay(self, plan: Callable[[], Plan], say: Say) -> SelfPlay:
        """Return who plays a plan; nothing is played yet. The first time a second process compiles.

        Args:
            plan: returns it, which may take some seconds.
            say: receives sentences on what happens.
        """
        kind = self.config.search.kind
        reason = gpu_obstacle(self.config)
        if reason is None:
            return SelfPlayOnGpu(plan(), say)
        if self.config.selfplay.trees == "auto" and device_for(self.config) == "cuda" and reason not in TOLD:
            TOLD.add(reason)
            say(f"Self-play is on the CPU: {reason}")
        if not compiled_before(kind):
            own = kind.endswith(".py")
            later = "at each start, as it is your own" if own else "later starts skip it"
            say(f"Compiling the {Path(kind).name} search takes a minute or two; {later}.")
            warm_up.start(kind)
        return SelfPlayHere(plan())

    def ahead(self, plan: Callable[[], Plan], say: Say) -> SelfPlayAhead | None:
        """Begin the games of a plan while this process does something else; None if they come later."""
        return None

    def rounds(self, plan: MatchPlan, progress: Progress, stop: StopSignal, say: Say) -> Rounds:
        """Return who plays a match."""
        return RoundsHere(plan, progress, stop)


class ClusterExecutor(Executor):
    """Plays them on the workers of a cluster."""

    def crew(self, choice: InferenceChoice) -> Crew:
        """Return the workers, connected."""
        return crew_of(self.config, choice.device)

    def planes(self, game: Game) -> np.ndarray:
        """Return the fixed positions that workers must evaluate alike, [N, C, H, W] float32."""
        return positions_to_time(game, FIXED_POSITIONS, self.config.seed)

    def check(self, game: Game, choice: InferenceChoice) -> None:
        """Connect. Raises UserError if the cluster cannot be used, or has no trees where they should be."""
        self.on_gpu()
        self.crew(choice)

    def selfplay(self, plan: Callable[[], Plan], say: Say) -> SelfPlayOnCluster:
        """Return who plays a plan."""
        made = plan()
        return SelfPlayOnCluster(made, self.crew(made.choice), self.planes(made.game), say)

    def ahead(self, plan: Callable[[], Plan], say: Say) -> SelfPlayAhead | None:
        """Begin the games of a plan if `cluster.overlap` asks for it."""
        return SelfPlayAhead(self.selfplay(plan, say)) if self.config.cluster.overlap else None

    def rounds(self, plan: MatchPlan, progress: Progress, stop: StopSignal, say: Say) -> Rounds:
        """Return who plays a match: this process if it is short, or if the workers play ahead."""
        if not worth_sending(self.config, plan.game):
            return RoundsHere(plan, progress, stop)
        return RoundsOnCluster(plan, self.crew(plan.choice), self.planes(plan.game), progress, stop, say)


def executor_of(config: Config) -> Executor:
    """Return who plays the games of a run with these settings."""
    return ClusterExecutor(config) if config.cluster.address else Executor(config)
