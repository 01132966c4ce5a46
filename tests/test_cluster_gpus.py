"""Workers on GPUs: Ray counts GPUs that are only pretended; the network is computed on the CPU.

`RayCrew` is told that every worker has a GPU (`device=cuda` in a run), and the terms of the stage tell the
workers to compute on the CPU. So all is real but the GPU itself: places, numbers of GPUs, and the games.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy import toy_config

from azero.cluster.ray_crew import RayCrew
from azero.cluster.stage import make_head, play_on_cluster
from azero.config.schema import ClusterConfig
from azero.games import make_game
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.stages.backend import positions_to_time


@pytest.fixture
def crew() -> Iterator[Any]:
    """The workers of two pretended machines: one with two GPUs and four cores, one without a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "token")):
            patch.setenv(name, value)
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        ray = pytest.importorskip("ray", reason="Ray is not installed")
        from ray.cluster_utils import Cluster

        machine = {"num_cpus": 4, "num_gpus": 2, "include_dashboard": False}
        cluster = Cluster(True, head_node_args=machine)
        try:
            cluster.add_node(num_cpus=2, num_gpus=0)
            crew = RayCrew(ClusterConfig(address=cluster.address), 1, cuda=True)
            yield crew
            crew.close()
        finally:
            ray.shutdown()
            cluster.shutdown()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_gpu_has_a_worker_that_sees_no_other(crew: Any, tmp_path: Path) -> None:
    config, game = toy_config(tmp_path), make_game("tictactoe")
    network, choice = build_network(config.network, game, 1), InferenceChoice("torch", "fp32", 16, "cpu", 0.0)
    planes, said = positions_to_time(game, 8, 1), list[str]()
    how = (crew, game, network, choice, planes, config, 1)
    head = make_head(*how, range(40), {}, Progress(), StopSignal(), said.append)
    records, _, totals = play_on_cluster(head, lambda records: None)
    assert [record.number for record in records] == list(range(40)) and not said
    assert totals.workers == 2 and list(totals.nodes.values()) == [40]  # the other machine has no GPU
    visible = [
        actor.handle.__ray_call__.remote(lambda worker: os.environ["CUDA_VISIBLE_DEVICES"])
        for actor in crew.actors.values()
    ]
    assert sorted(crew.ray.get(visible)) == ["0", "1"]
