"""Too little memory for a batch: it is computed in parts, with the same answers and the same effective batch.

No test needs a GPU: the network raises torch's error for more rows than a test allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import BATCH, choice_of, lived_in, positions
from bench_train import examples_for
from small_training import SMALL, TRAIN, batch_of, bits, four_shards
from toy import NAME, advance, digest_of, toy_config

from azero import loop
from azero.config.schema import NetworkConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inference
from azero.network.folded import FoldedNetwork
from azero.network.gpu_memory import MOST_ROWS, is_out_of_memory
from azero.network.inference import Inference, InferenceChoice
from azero.network.model import Network, Outputs, build_network
from azero.process.signals import StopSignal
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.training.fit import fit
from azero.training.trainer import Ledger, Trainer

Allow = Callable[[int], list[int]]  # set the most rows; return a list that collects the rows of every attempt
SHORT = "CUDA out of memory. Tried to allocate 2.00 GiB."

__all__ = ["four_shards"]  # for every test here: a batch of 30 has four shards


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    MOST_ROWS.clear()
    yield
    MOST_ROWS.clear()


def refuse(asked: list[int], rows: int, most: int) -> None:
    asked.append(rows)
    if rows > most:
        raise torch.OutOfMemoryError(SHORT)


@pytest.fixture
def in_inference(monkeypatch: pytest.MonkeyPatch) -> Allow:
    forward = FoldedNetwork.forward

    def allow(most: int) -> list[int]:
        asked: list[int] = []

        def short(self: FoldedNetwork, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            refuse(asked, len(batch), most)
            return forward(self, batch)

        monkeypatch.setattr(FoldedNetwork, "forward", short)
        return asked

    return allow


@pytest.fixture
def in_training(monkeypatch: pytest.MonkeyPatch) -> Allow:
    outputs = Network.outputs

    def allow(most: int) -> list[int]:
        asked: list[int] = []

        def short(self: Network, planes: torch.Tensor) -> Outputs:
            """Fail after the forward pass, which has changed the batch norms' statistics by then."""
            computed = outputs(self, planes)
            if self.training:
                refuse(asked, len(planes), most)
            return computed

        monkeypatch.setattr(Network, "outputs", short)
        return asked

    return allow


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("connect_four")


def inference_of(game: Game) -> Inference:
    return make_inference(
        lived_in(NetworkConfig(blocks=1, channels=8), game), game, choice_of(("torch", "fp32"))
    )


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(40, [64, 32, 32]), (20, [64, 32, 16, 16, 16, 16]), (1, [64, 32, 16, 8, 4, 2] + 64 * [1])],
)
def test_inference_in_parts_gives_the_same_answers(
    game: Game, in_inference: Allow, capsys: pytest.CaptureFixture[str], most: int, sizes: list[int]
) -> None:
    planes = positions(game)
    logits, values = inference_of(game).infer(planes)
    asked = in_inference(most)
    for logits_now, values_now in (inference_of(game).infer(planes), inference_of(game).infer(planes)):
        np.testing.assert_allclose(logits_now, logits, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(values_now, values, rtol=1e-4, atol=1e-5)
    largest = sizes[-1]
    assert asked == sizes + BATCH // largest * [largest]  # the second inference knows the size
    report = f"azero: inference had too little memory for 64 positions at once; it now takes {largest}.\n"
    assert capsys.readouterr().err == report


def test_the_last_part_is_as_large_as_the_others(game: Game, in_inference: Allow) -> None:
    """50 rows, 12 at once: rows 0 to 11, 12 to 23, 24 to 35, 36 to 47 and 38 to 49."""
    network = lived_in(NetworkConfig(blocks=1, channels=8), game)
    inference, planes = make_inference(network, game, choice_of(("torch", "fp32"), 50)), positions(game, 50)
    logits, values = inference.infer(planes)
    asked = in_inference(13)
    logits_now, values_now = inference.infer(planes)
    assert asked == [50, 25, 12, 12, 12, 12, 12] and logits_now.shape == logits.shape
    np.testing.assert_allclose(logits_now, logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values_now, values, rtol=1e-4, atol=1e-5)


def test_a_batch_that_fits_is_one_part(game: Game, in_inference: Allow) -> None:
    inference, planes = inference_of(game), positions(game)
    asked = in_inference(BATCH)
    inference.infer(planes)
    assert asked == [BATCH] and not MOST_ROWS


def test_memory_for_no_position_is_one_sentence(game: Game, in_inference: Allow) -> None:
    inference = inference_of(game)
    asked = in_inference(0)
    with pytest.raises(UserError, match=r"^inference needs more memory than there is, even for one position"):
        inference.infer(positions(game))
    assert asked == [64, 32, 16, 8, 4, 2, 1]


def test_other_errors_pass(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: FoldedNetwork, batch: torch.Tensor) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    inference = inference_of(game)
    monkeypatch.setattr(FoldedNetwork, "forward", broken)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        inference.infer(positions(game))


def test_what_counts_as_too_little_memory() -> None:
    with pytest.raises(RuntimeError) as too_much:
        torch.empty(2**58, dtype=torch.uint8)  # a real error of the CPU
    assert is_out_of_memory(too_much.value)
    assert is_out_of_memory(torch.OutOfMemoryError(SHORT))
    assert is_out_of_memory(
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")
    )
    second = RuntimeError("capture_end failed")  # as leaving a CUDA graph raises it
    second.__context__ = torch.OutOfMemoryError(SHORT)
    assert is_out_of_memory(second)
    assert not is_out_of_memory(RuntimeError("an illegal memory access was encountered"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_answers_in_parts(game: Game, in_inference: Allow) -> None:
    network, planes = lived_in(NetworkConfig(), game), positions(game)
    choice = InferenceChoice("torch", "fp32", BATCH, "cuda", 0.0)
    expected = make_inference(network, game, choice).infer(planes)
    in_inference(20)
    found = make_inference(network, game, choice).infer(planes)
    assert MOST_ROWS == {"inference": 16}
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def trainer_of(game: Game) -> Trainer:
    return Trainer(build_network(SMALL, game, 1), TRAIN, "cpu", None)


@pytest.mark.parametrize(
    ("sharded", "most", "parts"),
    [
        (False, 20, [15, 15]),  # halves of 30
        (False, 9, 5 * [6]),  # 7 at most
        (False, 1, 30 * [1]),
        (True, 8, [7, 7, 8, 8]),
        (True, 7, [3, 3, 4, 4, 4, 4, 4, 4]),  # halves of 8
        (True, 1, 30 * [1]),
    ],
)
def test_the_gradients_of_parts_add_up_to_that_of_the_batch(
    game: Game,
    in_training: Allow,
    monkeypatch: pytest.MonkeyPatch,
    sharded: bool,
    most: int,
    parts: list[int],
) -> None:
    """In evaluation mode batch norms use what they know, so no row depends on another."""
    if not sharded:
        monkeypatch.setattr("azero.training.trainer.shard_count", lambda *_: 1)
    trainer, batch = trainer_of(game), batch_of(game)
    assert len(trainer.replicas) == (4 if sharded else 1)
    frozen = [module for replica in trainer.replicas for module in replica.modules()]
    for module in frozen:
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    whole, expected = trainer.losses(trainer.network, batch)
    gradients = torch.autograd.grad(whole, trainer.parameters)
    asked = in_training(most)
    total, stats = trainer.gradients(batch)
    assert sorted(asked[-len(parts) :]) == parts  # shards come in any order
    assert total.item() == pytest.approx(whole.item(), rel=1e-5)
    assert {tag: value.item() for tag, value in stats.items()} == pytest.approx(
        {tag: value.item() for tag, value in expected.items()}, rel=1e-4
    )
    for parameter, gradient in zip(trainer.parameters, gradients, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-6)


def test_attempts_that_fail_leave_no_trace(
    game: Game, in_training: Allow, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training that finds the size and training that knows it end in the same bits, statistics included."""
    found, batch = [], batch_of(game)
    for known in ({}, {"training": 4}):
        MOST_ROWS.clear()
        MOST_ROWS.update(known)
        trainer, ledger = trainer_of(game), Ledger(3, "cpu")
        asked = in_training(7)  # two of the four shards of 7, 8, 7 and 8 rows fail
        for _ in range(3):
            trainer.step(batch, 0.1, ledger)
        assert asked[-24:] == 3 * [3, 4, 4, 4, 3, 4, 4, 4] and MOST_ROWS == {"training": 4}
        content = bits(trainer.network)
        found.append({name: content[name] for name in content if "num_batches" not in name})
    assert found[0] == found[1]
    report = "azero: training had too little memory for 8 positions at once; it now takes 4.\n"
    assert capsys.readouterr().err == report


def test_a_backward_pass_that_fails_is_repeated_in_parts(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, batch = trainer_of(game), batch_of(game)
    asked: list[int] = []
    outputs = Network.outputs

    def short(self: Network, planes: torch.Tensor) -> Outputs:
        computed = outputs(self, planes)
        computed.policy.register_hook(lambda _: refuse(asked, len(planes), 7))
        return computed

    monkeypatch.setattr(Network, "outputs", short)
    trainer.step(batch, 0.1, Ledger(1, "cpu"))
    assert asked[-8:] == [3, 4, 4, 4, 3, 4, 4, 4] and max(asked) == 8


def test_statistics_are_the_means_of_the_parts(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layer's running mean m becomes 0.9 m + 0.1 (15 a + 15 b) / 30 for parts a and b."""
    MOST_ROWS["training"] = 15
    monkeypatch.setattr("azero.training.trainer.shard_count", lambda *_: 1)
    trainer, batch = trainer_of(game), batch_of(game)
    norm = trainer.network.stem_norm
    assert norm is not None and norm.running_mean is not None
    before = norm.running_mean.clone()
    means = trainer.network.stem(batch.planes).mean((2, 3)).detach()  # [30, channels]
    trainer.step(batch, 0.0, Ledger(1, "cpu"))
    torch.testing.assert_close(norm.running_mean, 0.9 * before + 0.1 * means.mean(0))


def test_training_without_memory_for_one_row_is_one_sentence(game: Game, in_training: Allow) -> None:
    trainer = trainer_of(game)
    before = bits(trainer.network)
    in_training(0)
    with pytest.raises(UserError, match=r"^training needs more memory than there is, even for one position"):
        trainer.step(batch_of(game), 0.1, Ledger(1, "cpu"))
    weights = [name for name, _ in trainer.network.named_parameters()]
    assert [bits(trainer.network)[name] for name in weights] == [before[name] for name in weights]


def test_the_statistics_of_an_average_are_measured_in_parts(game: Game, in_training: Allow) -> None:
    asked = in_training(7)
    network = build_network(SMALL, game, 1)
    config = replace(TRAIN, ema_decay=0.9)
    fit(network, examples_for(game, 60), game, config, 1, "cpu", steps=2)
    assert asked[-8:] == [4, 4, 4, 4, 4, 4, 4, 2]  # the last of 16 batches


@pytest.mark.parametrize("stage", ["selfplay", "train"])
def test_a_run_goes_on_in_parts_and_stops_whole_where_nothing_fits(
    tmp_path: Path, in_inference: Allow, in_training: Allow, capsys: pytest.CaptureFixture[str], stage: str
) -> None:
    config = toy_config(tmp_path, cycles=1)
    advance(config, until=stage)
    before = digest_of(config)
    allow = in_inference if stage == "selfplay" else in_training
    allow(0)
    with Run.open(config, NAME, "test") as run, pytest.raises(UserError, match="even for one position"):
        loop.run_cycles(config, run, NullReporter(), StopSignal())
    assert digest_of(config) == before
    capsys.readouterr()
    asked = allow(6)
    assert advance(config).cycle == 1 and max(asked) > 6
    work = "inference" if stage == "selfplay" else "training"
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and re.match(f"azero: {work} had too little memory for .* at once; it now", said[0])
