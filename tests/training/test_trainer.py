"""A batch in shards: the sum of their gradients, the mean of their statistics, the same bits on any cores."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_training import SMALL, TRAIN, batch_of, bits, four_shards

from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.model import build_network
from azero.network.torch_inference import torch_threads
from azero.process.machine import cores
from azero.training import shards
from azero.training.shards import forward_products, shard_count
from azero.training.trainer import Ledger, Trainer, weighted_sums

__all__ = ["four_shards"]  # for every test here: a batch of 30 has four shards


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("connect_four")


def after(game: Game, threads: int, steps: int = 5, precision: str = "fp32") -> Trainer:
    train = replace(TRAIN, precision=precision)
    trainer = Trainer(build_network(SMALL, game, 1), train, "cpu", None, threads)
    batch, ledger = batch_of(game), Ledger(steps, "cpu")
    with torch_threads(1):
        for _ in range(steps):
            trainer.step(batch, 0.1, ledger)
    return trainer


def test_how_many_shards(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    network = build_network(NetworkConfig(blocks=5, channels=64), game, 1)
    weights = sum(weight.numel() for weight in network.parameters())
    assert forward_products(network, 256) == weights * 6 * 7 * 256 > 4e9
    assert shard_count(network, 256, "cpu") == 256 // 64 == 4
    assert shard_count(network, 255, "cpu") == 3
    assert shard_count(network, 40, "cpu") == 1
    assert shard_count(network, 256, "cuda") == 1
    tiny = build_network(NetworkConfig(blocks=4, channels=32), make_game("tictactoe"), 1)
    assert shard_count(tiny, 256, "cpu") == 2  # 0.23 G multiplications
    assert shard_count(tiny, 128, "cpu") == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_same_bits_on_one_thread_and_on_four(game: Game, precision: str) -> None:
    one, two, four = (after(game, threads, precision=precision) for threads in (1, 2, 4))
    assert len(one.replicas) == 4
    assert bits(one.network) == bits(two.network) == bits(four.network)
    assert bits(one.network) != bits(build_network(SMALL, game, 1))


def test_threads_are_the_cores_but_no_more_than_shards(game: Game) -> None:
    trainer = after(game, 0, steps=1)
    assert trainer.pool is not None and trainer.pool._max_workers == min(cores(), 4)


def test_without_batch_norm_a_sum_of_shards_is_the_whole_batch(game: Game) -> None:
    """In evaluation mode batch norms use what they know, so no row depends on another."""
    trainer, batch = Trainer(build_network(SMALL, game, 1), TRAIN, "cpu", None), batch_of(game)
    for replica in trainer.replicas:
        replica.eval()
    total, stats = trainer.gradients(batch)
    found = [parameter.grad for parameter in trainer.parameters]
    whole, expected = trainer.losses(trainer.network, batch)
    assert total.item() == pytest.approx(whole.item(), rel=1e-5)
    assert {tag: value.item() for tag, value in stats.items()} == pytest.approx(
        {tag: value.item() for tag, value in expected.items()}, rel=1e-4
    )
    for own, other in zip(found, torch.autograd.grad(whole, trainer.parameters), strict=True):
        assert own is not None
        torch.testing.assert_close(own, other, rtol=1e-3, atol=1e-6)


def test_statistics_are_the_means_of_the_shards(game: Game) -> None:
    """The first layer's running mean m becomes 0.9 m + 0.1 (7 a + 8 b + 7 c + 8 d) / 30 for shards a to d."""
    trainer, batch = Trainer(build_network(SMALL, game, 1), TRAIN, "cpu", None), batch_of(game)
    norm = trainer.network.stem_norm
    assert norm is not None and norm.running_mean is not None
    before = norm.running_mean.clone()
    means = trainer.network.stem(batch.planes).mean((2, 3)).detach()  # [30, channels]
    trainer.step(batch, 0.0, Ledger(1, "cpu"))
    torch.testing.assert_close(norm.running_mean, 0.9 * before + 0.1 * means.mean(0))


def test_parameters_are_shared_and_statistics_are_not(game: Game) -> None:
    trainer = after(game, 2, steps=1)
    for replica in trainer.replicas[1:]:
        assert [*map(id, replica.parameters())] == [*map(id, trainer.network.parameters())]
    assert len({statistics.data_ptr() for statistics in trainer.all_statistics}) == 4


def test_a_shard_that_is_not_finite_changes_nothing(game: Game) -> None:
    trainer, batch, ledger = after(game, 2), batch_of(game), Ledger(3, "cpu")
    before = bits(trainer.network)
    value = batch.value_target.clone()
    value[29] = torch.nan  # in the last shard
    trainer.step(batch._replace(value_target=value), 0.1, ledger)
    left = {name: content for name, content in bits(trainer.network).items() if "num_batches" not in name}
    assert left == {name: before[name] for name in left}
    assert ledger.skipped == 1
    trainer.step(batch, 0.1, ledger)
    assert bits(trainer.network) != before


def test_a_weighted_sum_by_hand() -> None:
    parts = [{"a": torch.tensor([1.0, 2.0])}, {"a": torch.tensor([3.0, 6.0])}]
    assert weighted_sums(parts, [0.25, 0.75])["a"].tolist() == [2.5, 5.0]
    assert parts[0]["a"].tolist() == [1.0, 2.0]


def test_a_network_learns_in_shards_as_in_one_piece(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty steps on one batch, with batch norms on 7 rows and on 30: the loss falls alike."""
    train = replace(TRAIN, optimizer="adam", lr=0.01)
    losses = {}
    for rows in (7, 30):
        monkeypatch.setattr(shards, "SHARD_ROWS", rows)
        trainer, batch = Trainer(build_network(SMALL, game, 1), train, "cpu", None), batch_of(game)
        ledger = Ledger(60, "cpu")
        for done in range(1, 61):
            trainer.step(batch, 0.01, ledger)
            ledger.look(done)
        losses[rows] = ledger.latest["loss/total"]
    assert losses[7] == pytest.approx(losses[30], rel=0.2)
