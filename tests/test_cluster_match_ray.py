"""The match over Ray: real worker processes on two pretended machines, one killed in each match.

Long: Ray takes seconds to start. `.ci/run` runs it after the suite.
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_cluster_ray import machines
from toy import NAME, Told, advance, digest_of, toy_config

from azero.cluster.head import Event, Joined, Reported
from azero.cluster.kinds import MATCH
from azero.cluster.ray_crew import RayCrew
from azero.config.schema import ClusterConfig, EvaluateConfig
from azero.run.run import Run
from azero.stages import evaluate, selfplay

__all__ = ["machines"]  # a fixture

GATE = EvaluateConfig(games=60, opening_plies=2, num_simulations=200)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_tic_tac_toe_with_a_gate_is_the_same_on_two_workers_of_which_one_dies_in_each_match(
    machines: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = toy_config(tmp_path / "alone", evaluate=GATE)
    advance(alone)
    crew = RayCrew(ClusterConfig(address=machines[0].address), threads=2, cuda=False)
    processes, killed, poll = dict[str, int](), dict[int, str](), crew.poll

    def kill_one_in_each_match(seconds: float) -> list[Event]:
        events = poll(seconds)
        for event in events:
            if isinstance(event, Joined):
                processes[event.worker] = event.greeting.process
            if not isinstance(event, Reported) or not event.report or not crew.terms:
                continue
            more = 0 < len(event.report.answers) < 4  # it has more to play
            if crew.terms.kind is MATCH and more and crew.terms.cycle not in killed:
                killed[crew.terms.cycle] = event.worker
                os.kill(processes[event.worker], signal.SIGKILL)
        return events

    monkeypatch.setattr(crew, "poll", kill_one_in_each_match)
    for stage in (selfplay, evaluate):
        monkeypatch.setattr(stage, "crew_of", lambda config, device: crew)
    spread = replace(toy_config(tmp_path / "spread", evaluate=GATE), cluster=crew.config)
    report = Told()
    try:
        advance(spread, report=report)
    finally:
        crew.close()
        crew.ray.shutdown()
    one, other = (Run.read(config, NAME).state.history for config in (alone, spread))
    assert other == one and one[0]["games"] == 60  # scores, who was promoted, champions
    assert digest_of(spread) == digest_of(alone)
    assert killed
    for name in killed.values():
        assert any(f"{name} was lost" in line for line in report.messages)
