"""A run of toy size, a way to advance it in this process, and what a test can do in the middle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from azero import loop
from azero.config.schema import (
    Config,
    EvaluateConfig,
    InferenceConfig,
    NetworkConfig,
    OracleConfig,
    SearchConfig,
    SelfplayConfig,
    TrainConfig,
)
from azero.process.signals import StopSignal
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.run.state import State, run_digest
from azero.stages.registry import stage_named

NAME = "toy"
ToyUntil = Callable[[Path, str], Config]  # see conftest.py


def toy_config(folder: Path, **changes: Any) -> Config:
    """Two cycles, about a second each, in fp32: what 'auto' finds fastest may differ between runs.

    No positions are asked about beside the table of all of them: that is for tests/truth/test_oracle.py.
    """
    toy = Config(
        network=NetworkConfig(blocks=1, channels=8),
        search=SearchConfig(num_simulations=8),
        selfplay=SelfplayConfig(games=40, concurrent_games=16),
        train=TrainConfig(epochs=1.0, batch_size=32, window=400, precision="fp32"),
        evaluate=EvaluateConfig(games=8),
        inference=InferenceConfig(backend="torch", precision="fp32"),
        oracle=OracleConfig(positions=0),
        run=NAME,
        seed=3,
        cycles=2,
        device="cpu",
        workers=1,
        checkpoints=str(folder / "checkpoints"),
        data=str(folder / "data"),
    )
    return replace(toy, **changes)


class Told(NullReporter):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.scalars: dict[int, dict[str, float]] = {}  # by cycle, then by tag
        self.messages: list[str] = []
        self.texts: dict[str, str] = {}
        self.ended: list[int] = []

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        self.scalars.setdefault(cycle, {}).update(scalars)

    def stats(self, cycle: int) -> dict[str, float]:
        return self.scalars.get(cycle, {})

    def last_stat(self, tag: str) -> float | None:
        return next(
            (told[tag] for _, told in sorted(self.scalars.items(), reverse=True) if tag in told), None
        )

    def message(self, text: str) -> None:
        self.messages.append(text)

    def text(self, tag: str, text: str, step: int) -> None:
        self.texts[tag] = text

    def end_cycle(self, cycle: int) -> None:
        self.ended.append(cycle)


class StopInside(StopSignal):
    """Requests a stop when it has been looked at so many times while a stage of a cycle comes next."""

    def __init__(self, run: Run, cycle: int, stage: str, looks: int) -> None:
        self._run, self._where, self._looks = run, (cycle - 1, stage), looks
        super().__init__()

    @property
    def requested(self) -> bool:
        """A look."""
        if (self._run.state.cycle, self._run.state.stage) == self._where:
            self._looks -= 1
        return self._looks < 0

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


def advance(config: Config, until: str | None = None, report: NullReporter | None = None) -> State:
    """Go on with the toy run to its end, or until a stage comes next; returns what is committed."""
    report = report or NullReporter()
    with Run.open(config, NAME, "test") as run:
        if until is None:
            loop.run_cycles(config, run, report, StopSignal())
        while until is not None and run.state.stage != until:
            stage_named(run.state.stage).run(config, run, report, StopSignal())
        return run.state


def digest_of(config: Config) -> str:
    """The digest of the toy run as it stands."""
    return run_digest(Run.read(config, NAME).state)
