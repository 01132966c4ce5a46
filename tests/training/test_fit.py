"""Training: losses by hand, schedules, decay, steps that are not finite, equal bits from equal seeds."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from places import PROJECT
from targets import rows_of_targets
from torch import Tensor

from azero.config.schema import NetworkConfig, TrainConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network.model import Network, build_network, pack_network, unpack_network, value_of
from azero.network.torch_inference import torch_threads
from azero.replay.examples import Examples, targets_of
from azero.training.average import WeightAverage
from azero.training.batches import Batch, draw_batch
from azero.training.fit import Earlier, fit, learning_rate
from azero.training.losses import occupation_loss_of, outcome_shares, policy_loss_of, value_loss_of
from azero.training.optimizers import bare_step, make_optimizer
from azero.training.trainer import Ledger, Trainer, resolve_precision

SMALL = NetworkConfig(blocks=1, channels=8)
LION = str(PROJECT / "tests" / "support" / "lion.py")  # a person's own
OPTIMIZERS = ["sgd", "adam", "adamw", LION]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with torch_threads(1):
        yield


@pytest.fixture(scope="module")
def examples(game: Game) -> Examples:
    """64 distinct positions with sharp targets."""
    rng = np.random.default_rng(1)
    found: dict[bytes, np.ndarray] = {}
    state = game.initial_state()
    while len(found) < 64:
        found[state.tobytes()] = state
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        state = game.initial_state() if game.is_terminal(state) else state
    states = np.array(list(found.values()))
    moves = [int(rng.choice(game.legal_actions(state))) for state in states]
    value = rng.choice([-1, 0, 1], 64).astype(np.float32)
    policy = np.eye(9, dtype=np.float32)[moves]
    draw = (value == 0).astype(np.float32)
    return Examples(states, *targets_of(policy), value, draw, np.empty((64, 0), np.float32))


def same(one: Network, other: Network) -> bool:
    """Whether two networks are equal in every bit of weights and statistics."""
    return all(
        torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    )


def batch_of(policy_target: list[float], legal: list[bool]) -> Batch:
    policy = torch.tensor([policy_target])
    planes, legal_mask = torch.zeros(1, 2, 3, 3), torch.tensor([legal])
    return Batch(planes, legal_mask, policy, torch.zeros(1), torch.ones(1), torch.zeros(1, 0))


# --- losses, by hand ---


def test_cross_entropy_by_hand() -> None:
    """Logits ln 1, ln 2, ln 5 are 1/8, 2/8, 5/8; legal are the first two, so 1/3 and 2/3."""
    output = torch.log(torch.tensor([[1.0, 2.0, 5.0]]))
    batch = batch_of([0.25, 0.75, 0.0], [True, True, False])
    masked, log_policy = policy_loss_of(output, batch, TrainConfig(), linear=False)
    assert masked.item() == pytest.approx(-0.25 * math.log(1 / 3) - 0.75 * math.log(2 / 3))
    assert log_policy.exp()[0].tolist() == pytest.approx([1 / 3, 2 / 3, 0])
    unmasked, _ = policy_loss_of(output, batch, TrainConfig(mask_illegal=False), linear=False)
    assert unmasked.item() == pytest.approx(-0.25 * math.log(1 / 8) - 0.75 * math.log(2 / 8))


def test_squared_error_of_a_linear_output_by_hand() -> None:
    """Errors 0.25, -0.25 and 1: mean over three actions, or with the illegal one left out of the sum."""
    output = torch.tensor([[0.5, 0.5, 1.0]])
    batch = batch_of([0.25, 0.75, 0.0], [True, True, False])
    unmasked, _ = policy_loss_of(
        output, batch, TrainConfig(policy_loss="mse", mask_illegal=False), linear=True
    )
    assert unmasked.item() == pytest.approx((0.0625 + 0.0625 + 1) / 3)
    masked, _ = policy_loss_of(output, batch, TrainConfig(policy_loss="mse"), linear=True)
    assert masked.item() == pytest.approx((0.0625 + 0.0625) / 3)


def test_squared_error_of_logits_is_that_of_probabilities() -> None:
    output = torch.log(torch.tensor([[1.0, 2.0, 5.0]]))
    batch = batch_of([0.25, 0.75, 0.0], [True, True, False])
    loss, _ = policy_loss_of(output, batch, TrainConfig(policy_loss="mse"), linear=False)
    assert loss.item() == pytest.approx(((1 / 3 - 1 / 4) ** 2 + (2 / 3 - 3 / 4) ** 2) / 3)


def test_illegal_moves_get_no_gradient_when_masked() -> None:
    output = torch.zeros(1, 3, requires_grad=True)
    for linear, policy_loss in ((False, "cross_entropy"), (False, "mse"), (True, "mse")):
        loss, _ = policy_loss_of(
            output,
            batch_of([1.0, 0.0, 0.0], [True, True, False]),
            TrainConfig(policy_loss=policy_loss),
            linear,
        )
        (gradient,) = torch.autograd.grad(loss, output)
        assert gradient[0, 2] == 0 and gradient[0, 0] < 0


def test_outcome_shares_by_hand() -> None:
    """Four of eight games won, one drawn, three lost: value 1/8. Then all won, all drawn, half of each."""
    value, draw = torch.tensor([1 / 8, 1.0, 0.0, -0.5]), torch.tensor([1 / 8, 0.0, 1.0, 0.5])
    assert outcome_shares(value, draw).tolist() == [
        [4 / 8, 1 / 8, 3 / 8],
        [1, 0, 0],
        [0, 1, 0],
        [0, 0.5, 0.5],
    ]


def test_cross_entropy_of_win_draw_and_loss_by_hand() -> None:
    """Logits ln 1, ln 2, ln 5 give 1/8, 2/8 and 5/8, so the value is -1/2. The target is 1/4, 1/2, 1/4."""
    output = torch.log(torch.tensor([[1.0, 2.0, 5.0]]))
    batch = batch_of([1.0], [True])._replace(
        value_target=torch.tensor([0.0]), draw_target=torch.tensor([0.5])
    )
    assert value_of(output).tolist() == pytest.approx([-0.5])
    expected = -math.log(1 / 8) / 4 - math.log(2 / 8) / 2 - math.log(5 / 8) / 4
    assert value_loss_of(output, value_of(output), batch).item() == pytest.approx(expected)


def test_squared_error_of_a_scalar_value_by_hand() -> None:
    output = torch.atanh(torch.tensor([[0.5]]))
    batch = batch_of([1.0], [True])._replace(value_target=torch.tensor([-1.0]))
    assert value_of(output).tolist() == pytest.approx([0.5])
    assert value_loss_of(output, value_of(output), batch).item() == pytest.approx(1.5**2)


def test_cross_entropy_of_the_occupation_by_hand() -> None:
    """Logits ln 3, 0, ln 3 give 3/4, 1/2, 3/4. Own piece, the other's, an empty cell are 1, 0, 1/2."""
    output = torch.log(torch.tensor([[3.0, 1.0, 3.0]]))
    half = -(math.log(3 / 4) + math.log(1 / 4)) / 2
    expected = (-math.log(3 / 4) - math.log(1 / 2) + half) / 3
    found = occupation_loss_of(output, torch.tensor([[1.0, -1.0, 0.0]]))
    assert found.item() == pytest.approx(expected)


def test_the_total_loss_is_the_sum_of_both_heads(game: Game, examples: Examples) -> None:
    """The stats are means over the stage; one batch of all examples makes them those of one step."""
    network = build_network(SMALL, game, 1)
    stats = fit(network, examples, game, TrainConfig(batch_size=64, epochs=1), 1, "cpu").scalars
    losses = {tag: loss for tag, loss in stats.items() if tag.startswith("loss/")}
    assert losses.keys() == {"loss/policy", "loss/value", "loss/total"}
    assert losses["loss/total"] == pytest.approx(losses["loss/policy"] + losses["loss/value"])


def test_the_best_win_draw_loss_output_has_the_mean_value(game: Game) -> None:
    """Cross-entropy is smallest where the softmax equals the target, whose win - loss is the mean outcome."""
    value, draw = torch.tensor([0.25, -0.6]), torch.tensor([0.5, 0.1])
    logits = outcome_shares(value, draw).log().requires_grad_()
    batch = batch_of([1.0], [True])._replace(value_target=value, draw_target=draw)
    (gradient,) = torch.autograd.grad(value_loss_of(logits, value_of(logits), batch), logits)
    assert gradient.abs().max() < 1e-6 and value_of(logits).tolist() == pytest.approx([0.25, -0.6])


def test_figures_are_the_means_of_the_stage(game: Game, examples: Examples) -> None:
    """At a learning rate near 0 nothing changes: the loss is that of the first network in training mode."""
    network = build_network(SMALL, game, 1)
    config = TrainConfig(batch_size=64, epochs=1, lr=1e-12, symmetries=False, weight_decay=0.0)
    result = fit(network, examples, game, config, 1, "cpu")
    planes = torch.from_numpy(np.array([game.planes(state) for state in examples.states]))
    legal = torch.from_numpy(np.array([game.legal_mask(state) for state in examples.states]))
    with torch.no_grad():
        logits, value = copy.deepcopy(network).train()(planes)
    target, outcome = torch.from_numpy(rows_of_targets(examples, 9)), torch.from_numpy(examples.value_target)
    policy = logits.masked_fill(~legal, -math.inf).softmax(1)
    policy_loss = -(policy[target.bool()].log()).mean().item()
    value_loss = ((value - outcome) ** 2).mean().item()
    assert result.scalars["loss/policy"] == pytest.approx(policy_loss, rel=1e-4)
    assert result.scalars["loss/value"] == pytest.approx(value_loss, rel=1e-4)
    assert result.scalars["loss/total"] == pytest.approx(policy_loss + value_loss, rel=1e-4)
    assert result.scalars["train/value_error"] == pytest.approx(
        (value - outcome).abs().mean().item(), rel=1e-4
    )
    assert result.scalars["train/target_entropy"] == 0.0
    assert result.scalars["train/policy_entropy"] == pytest.approx(
        torch.special.entr(policy).sum(1).mean().item(), rel=1e-4
    )
    assert result.scalars["train/policy_agreement"] == pytest.approx(
        (policy.argmax(1) == target.argmax(1)).float().mean().item()
    )


def test_a_linear_policy_with_cross_entropy_is_refused(game: Game, examples: Examples) -> None:
    network = build_network(replace(SMALL, policy_output="linear"), game, 1)
    with pytest.raises(UserError, match=r"train\.policy_loss=mse"):
        fit(network, examples, game, TrainConfig(batch_size=8), 1, "cpu")


# --- schedules, decay, optimizers ---


def test_schedules() -> None:
    def rates(**settings: Any) -> list[float]:
        return [learning_rate(TrainConfig(lr=1.0, **settings), step, 8) for step in range(8)]

    assert rates() == [1.0] * 8
    assert rates(schedule="step", milestones=[0.5, 0.75], decay_factor=0.5) == [
        1,
        1,
        1,
        1,
        0.5,
        0.5,
        0.25,
        0.25,
    ]
    assert rates(schedule="cosine")[::2] == pytest.approx(
        [1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]
    )
    assert rates(warmup_steps=4) == [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]
    assert learning_rate(TrainConfig(lr=1.0, warmup_steps=4), 0, 8, steps_before=2) == 0.75


def test_the_published_schedule() -> None:
    """100 epochs of 50 steps: 0.001 for 50, 0.0005 for 25, 0.00025 for 25."""
    config = TrainConfig(lr=0.001, schedule="step", milestones=[0.5, 0.75], decay_factor=0.5)
    epochs = [{learning_rate(config, 50 * epoch + step, 5000) for step in range(50)} for epoch in range(100)]
    assert epochs == [{0.001}] * 50 + [{0.0005}] * 25 + [{0.00025}] * 25


def test_weight_decay_acts_on_kernels_alone(game: Game) -> None:
    """A gradient of 0 leaves the decay alone: sgd takes lr * decay * weight, adamw likewise."""
    for name in ("sgd", "adamw"):
        network = build_network(SMALL, game, 1)
        for parameter in network.parameters():
            parameter.data.fill_(2.0)
            parameter.grad = torch.zeros_like(parameter)
        make_optimizer(network, TrainConfig(optimizer=name, lr=0.1, weight_decay=0.5)).step()
        for parameter in network.parameters():
            expected = 2.0 - 0.1 * 0.5 * 2.0 if parameter.ndim > 1 else 2.0
            assert parameter.flatten()[0].item() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw"])
def test_a_bare_step_is_that_of_torch(game: Game, name: str) -> None:
    def weights_after(step_of: Callable[[torch.optim.Optimizer], Callable[[], object]]) -> list[Tensor]:
        network, random = build_network(SMALL, game, 1), torch.Generator().manual_seed(1)
        optimizer = make_optimizer(network, TrainConfig(optimizer=name, lr=0.1, weight_decay=0.01))
        step = step_of(optimizer)
        for _ in range(3):
            for parameter in network.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=random)
            step()
        return [parameter.detach() for parameter in network.parameters()]

    for bare, usual in zip(
        weights_after(bare_step), weights_after(lambda optimizer: optimizer.step), strict=True
    ):
        assert torch.equal(bare, usual)


def test_training_does_not_import_torch_s_compiler() -> None:
    """That takes seconds, once a process."""
    code = """
import sys
import torch
from azero.config.schema import NetworkConfig, TrainConfig
from azero.games import make_game
from azero.network.model import build_network
from azero.training.optimizers import bare_step, make_optimizer
network = build_network(NetworkConfig(blocks=0, channels=4), make_game("tictactoe"), 1)
for parameter in network.parameters():
    parameter.grad = torch.ones_like(parameter)
for name in ("sgd", "adam", "adamw"):
    optimizer = make_optimizer(network, TrainConfig(optimizer=name))
    bare_step(optimizer)()
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def make_optimizer(groups, config): return 3", r"must return a torch\.optim\.Optimizer\."),
        ("def make_optimizer(groups): return 3", r"mine\.py fails: TypeError"),
        (
            "import torch\ndef make_optimizer(groups, config): return torch.optim.SGD(groups[:1], 0.1)",
            r"The optimizer of \S+mine\.py leaves out \d+ parameters; give it all groups\.",
        ),
        ("x = 3", r"must define make_optimizer; docs/lab/own_parts\.md shows how"),
    ],
)
def test_an_own_optimizer_that_is_none(game: Game, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UserError, match=said):
        make_optimizer(build_network(SMALL, game, 1), TrainConfig(optimizer=str(file)))


def test_numbers_in_the_state_of_an_own_optimizer_go_on(
    game: Game, examples: Examples, tmp_path: Path
) -> None:
    """Lion, which counts the steps of each weight."""
    line = "                direction ="
    text = Path(LION).read_text()
    assert text.count(line) == 1
    file = tmp_path / "counting.py"
    file.write_text(text.replace(line, f"                state['steps'] = state.get('steps', 0) + 1\n{line}"))
    config = TrainConfig(optimizer=str(file), batch_size=16, epochs=2)
    first = fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu")
    second = fit(first.network, examples, game, config, 2, "cpu", earlier=Earlier(first.optimizer_state))
    counts = {int(state["steps"]) for state in second.optimizer_state["state"].values()}
    assert counts == {first.steps + second.steps}


def test_decay_of_adam_is_in_the_gradient(game: Game) -> None:
    """Adam divides a gradient by its size, so L2 in the gradient moves a weight by lr for any decay."""
    for decay in (0.001, 0.1):
        network = build_network(SMALL, game, 1)
        for parameter in network.parameters():
            parameter.data.fill_(2.0)
            parameter.grad = torch.zeros_like(parameter)
        make_optimizer(network, TrainConfig(optimizer="adam", lr=0.1, weight_decay=decay)).step()
        assert network.stem.weight.flatten()[0].item() == pytest.approx(1.9, abs=1e-4)


def test_clipping_bounds_the_gradient(game: Game, examples: Examples) -> None:
    """One step of sgd without momentum moves all weights together by lr times the clipped norm."""
    for clip_norm in (0.01, 0.1):
        network = build_network(SMALL, game, 1)
        config = TrainConfig(
            optimizer="sgd",
            momentum=0.0,
            weight_decay=0.0,
            lr=1.0,
            clip_norm=clip_norm,
            batch_size=64,
            epochs=1,
        )
        result = fit(network, examples, game, config, 1, "cpu")
        assert result.scalars["train/gradient_norm"] > 0.1
        pairs = zip(network.parameters(), result.network.parameters(), strict=True)
        moved = math.sqrt(sum(float(((new - old) ** 2).sum().detach()) for old, new in pairs))
        assert moved == pytest.approx(clip_norm, rel=1e-3)


def test_a_win_draw_loss_head_learns_the_outcomes_of_64_positions(game: Game, examples: Examples) -> None:
    network = build_network(replace(SMALL, blocks=2, channels=16, value_output="wdl"), game, 1)
    config = TrainConfig(lr=0.01, batch_size=64, epochs=150, schedule="cosine", symmetries=False)
    result = fit(network, examples, game, config, 1, "cpu")
    assert result.scalars["loss/value"] < 0.1 and result.scalars["train/value_error"] < 0.1
    planes = torch.from_numpy(np.array([game.planes(state) for state in examples.states]))
    with torch.no_grad():
        chances = result.network.outputs(planes).value.softmax(1)
    expected = 1 - examples.value_target.astype(int)  # place 0 is a win, 1 a draw, 2 a loss
    assert (chances.argmax(1).numpy() == expected).mean() > 0.95


@pytest.mark.parametrize(
    "optimizer, precision", [*((each, "fp32") for each in OPTIMIZERS), ("adamw", "bf16")]
)
def test_a_small_network_learns_64_positions_by_heart(
    game: Game, examples: Examples, optimizer: str, precision: str
) -> None:
    network = build_network(replace(SMALL, blocks=2, channels=16), game, 1)
    config = TrainConfig(
        optimizer=optimizer,
        lr=0.05 if optimizer == "sgd" else 0.01,
        batch_size=64,
        epochs=150,
        schedule="cosine",
        symmetries=False,
        precision=precision,
    )
    result = fit(network, examples, game, config, 1, "cpu")
    assert result.steps == 150 and result.precision == precision
    assert result.scalars["loss/policy"] < 0.1 and result.scalars["loss/value"] < 0.05
    assert result.scalars["train/policy_agreement"] == 1.0
    planes = torch.from_numpy(np.array([game.planes(state) for state in examples.states]))
    with torch.no_grad():
        logits, value = result.network(
            planes
        )  # in evaluation mode: batch norm's statistics were learned as well
    legal = torch.from_numpy(np.array([game.legal_mask(state) for state in examples.states]))
    moves = logits.masked_fill(~legal, -math.inf).argmax(1).numpy()
    assert (moves == rows_of_targets(examples, 9).argmax(1)).mean() > 0.95
    assert np.abs(value.numpy() - examples.value_target).mean() < 0.2


def test_the_published_kind_learns_by_squared_error(game: Game, examples: Examples) -> None:
    network = build_network(
        NetworkConfig(blocks=2, channels=32, block="pyramid", head="pooled", policy_output="linear"), game, 1
    )
    config = TrainConfig(
        optimizer="adam",
        policy_loss="mse",
        mask_illegal=False,
        lr=0.003,
        batch_size=64,
        epochs=250,
        symmetries=False,
    )
    result = fit(network, examples, game, config, 1, "cpu")
    assert result.scalars["loss/policy"] < 0.01 and result.scalars["loss/value"] < 0.05


# --- equal seeds, equal bits ---


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_again_gives_equal_bits_and_leaves_the_first_network_alone(
    game: Game, examples: Examples, optimizer: str
) -> None:
    network = build_network(SMALL, game, 1)
    before = copy.deepcopy(network)
    config = TrainConfig(optimizer=optimizer, batch_size=16, epochs=3)
    one, other, third = (fit(network, examples, game, config, seed, "cpu").network for seed in (7, 7, 8))
    assert same(one, other) and not same(one, third)
    assert same(network, before) and not network.training


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_moments_go_through_a_file_without_a_trace(game: Game, examples: Examples, optimizer: str) -> None:
    config = TrainConfig(optimizer=optimizer, batch_size=16, epochs=2)
    first = fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu")
    data = pack_network(
        first.network,
        game=game,
        cycle=1,
        train_steps=first.steps,
        optimizer_state=first.optimizer_state,
    )
    loaded = unpack_network(data, "file")
    on = [
        fit(start, examples, game, config, 2, "cpu", earlier=Earlier(state)).network
        for start, state in (
            (first.network, first.optimizer_state),
            (loaded.network, loaded.optimizer_state),
            (loaded.network, None),
        )
    ]
    assert same(on[0], on[1])
    assert not same(on[1], on[2])  # without moments it is another training


def test_moments_of_another_optimizer_or_network_are_left(game: Game, examples: Examples) -> None:
    config = TrainConfig(optimizer="adam", batch_size=16)
    network = build_network(SMALL, game, 1)
    state = fit(network, examples, game, config, 1, "cpu").optimizer_state
    fresh = fit(network, examples, game, replace(config, optimizer="sgd"), 1, "cpu").network
    assert same(
        fresh,
        fit(
            network, examples, game, replace(config, optimizer="sgd"), 1, "cpu", earlier=Earlier(state)
        ).network,
    )
    bigger = build_network(NetworkConfig(blocks=2, channels=8), game, 1)
    assert not Trainer(bigger, config, "cpu", state).went_on
    assert Trainer(network, config, "cpu", state).went_on


def test_progress_hears_of_every_step_and_may_stop_it(game: Game, examples: Examples) -> None:
    heard: list[tuple[int, int, dict[str, float]]] = []
    config = TrainConfig(batch_size=16, epochs=10)
    fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu", lambda *told: heard.append(told))
    assert [done for done, _, _ in heard] == list(range(1, 41)) and {steps for _, steps, _ in heard} == {40}
    with_stats = [stats for _, _, stats in heard if stats]
    assert len(with_stats) == 20 and all(stats["train/lr"] == config.lr for stats in with_stats)

    def stop(done: int, steps: int, stats: dict[str, float]) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu", stop)


# --- the average of the weights ---


def test_an_average_forgets_its_first_weights_by_hand(game: Game) -> None:
    """It keeps 1/10, 2/11, 3/12, at most the decay: from 0, 1 makes 0.9, 2 makes 19.8 / 11, 3 makes 2.7."""
    network = build_network(SMALL, game, 1)
    weight = network.stem.weight.data
    average = WeightAverage(network, network, decay=0.9, steps_before=0)
    own = average.network.stem.weight
    own.data.zero_()
    for number, expected in ((1.0, 0.9), (2.0, 19.8 / 11), (3.0, 2.7)):
        weight.fill_(number)
        average.follow()
        assert own.flatten()[0].item() == pytest.approx(expected)
    late = WeightAverage(network, network, decay=0.9, steps_before=1000)
    weight.fill_(13.0)
    late.follow()
    assert late.network.stem.weight.flatten()[0].item() == pytest.approx(0.9 * 3 + 0.1 * 13)


@given(
    weights=st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=30),
    decay=st.floats(0.1, 0.999),
    before=st.integers(0, 50),
)
def test_an_average_is_that_of_a_plain_loop(weights: list[float], decay: float, before: int) -> None:
    network = build_network(SMALL, make_game("tictactoe"), 1)
    average = WeightAverage(network, network, decay=decay, steps_before=before)
    bias = network.value_head.output.bias.data
    expected = bias.item()
    for step, weight in enumerate(weights, before + 1):
        kept = min(decay, step / (step + 9))
        expected = kept * expected + (1 - kept) * weight
        bias.fill_(weight)
        average.follow()
    assert average.network.value_head.output.bias.item() == pytest.approx(expected, abs=1e-4)


def test_an_average_s_statistics_are_the_means_over_its_own_batches(game: Game) -> None:
    network = build_network(SMALL, game, 1)
    average = WeightAverage(network, network, decay=0.9, steps_before=0)
    batches = torch.rand(3, 16, 2, 3, 3, generator=torch.Generator().manual_seed(1))
    average.measure_statistics(batches)
    with torch.no_grad():
        seen = [
            network.stem(planes).transpose(0, 1).flatten(1) for planes in batches
        ]  # [channels, cells of all boards]
    norm = average.network.stem_norm
    assert (
        norm is not None
        and norm.running_mean is not None
        and norm.running_var is not None
        and norm.momentum == 0.1
    )
    assert torch.allclose(norm.running_mean, torch.stack([part.mean(1) for part in seen]).mean(0), atol=1e-6)
    assert torch.allclose(norm.running_var, torch.stack([part.var(1) for part in seen]).mean(0), rtol=1e-4)


def test_with_an_average_training_goes_as_without_and_the_average_follows(
    game: Game, examples: Examples
) -> None:
    network, config = build_network(SMALL, game, 1), TrainConfig(batch_size=16, epochs=4)
    plain = fit(network, examples, game, config, 1, "cpu")
    result = fit(network, examples, game, replace(config, ema_decay=0.9), 1, "cpu")
    assert plain.training is None and result.training is not None and same(result.training, plain.network)
    assert not same(result.network, plain.network) and not result.network.training
    last = fit(
        network, examples, game, replace(config, ema_decay=1e-9), 1, "cpu"
    ).network  # keeps nothing: the last weights
    weights = zip(last.parameters(), plain.network.parameters(), strict=True)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in weights)
    statistics = [one.state_dict()["stem_norm.running_mean"] for one in (last, plain.network)]
    assert not torch.equal(*statistics)  # measured for itself


def test_average_and_training_weights_go_through_a_file_without_a_trace(
    game: Game, examples: Examples
) -> None:
    config = TrainConfig(batch_size=16, epochs=2, ema_decay=0.95)
    first = fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu")
    assert first.training is not None
    packed: dict[str, Any] = {
        "game": game,
        "cycle": 1,
        "train_steps": first.steps,
        "optimizer_state": first.optimizer_state,
    }
    loaded = unpack_network(pack_network(first.network, training=first.training, **packed), "file")
    assert (
        loaded.training is not None
        and same(loaded.training, first.training)
        and same(loaded.network, first.network)
    )
    on = [
        fit(
            start,
            examples,
            game,
            config,
            2,
            "cpu",
            earlier=Earlier(state, first.steps, average),
        )
        for start, state, average in (
            (first.training, first.optimizer_state, first.network),
            (loaded.training, loaded.optimizer_state, loaded.network),
        )
    ]
    assert same(on[0].network, on[1].network) and on[0].training and on[1].training
    assert same(on[0].training, on[1].training)
    assert unpack_network(pack_network(first.network, **packed), "file").training is None


def test_the_average_goes_on_where_it_was_and_keeps_what_its_steps_say(
    game: Game, examples: Examples
) -> None:
    """One step. After 1,000 steps it keeps 0.9 of the average that it was given, after none 1/10 of it."""
    start, before = build_network(SMALL, game, 1), build_network(SMALL, game, 2)
    config = TrainConfig(batch_size=64, epochs=1, ema_decay=0.9)
    for steps_before, kept in ((1000, 0.9), (0, 0.1)):
        result = fit(
            start, examples, game, config, 1, "cpu", earlier=Earlier(steps=steps_before, average=before)
        )
        assert result.training is not None and result.steps == 1
        expected = kept * before.stem.weight + (1 - kept) * result.training.stem.weight
        assert torch.allclose(result.network.stem.weight, expected, atol=1e-6)


def test_the_warm_up_goes_on_with_the_moments_and_begins_anew_without(game: Game, examples: Examples) -> None:
    """After two steps of a warm-up of four the next has 3/4 of the rate; with new moments it has 1/4."""
    config = TrainConfig(batch_size=64, epochs=1, warmup_steps=4, lr=0.1)
    first = fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu")
    assert first.scalars["train/lr"] == pytest.approx(0.025)
    on = fit(first.network, examples, game, config, 1, "cpu", earlier=Earlier(first.optimizer_state, steps=2))
    assert on.scalars["train/lr"] == pytest.approx(0.075)
    anew = fit(first.network, examples, game, config, 1, "cpu", earlier=Earlier(steps=2))
    assert anew.scalars["train/lr"] == pytest.approx(0.025)
    plain = replace(config, optimizer="sgd", momentum=0.0)  # keeps no moments, but knows that it has stepped
    state = {"optimizer": "sgd", "state": {}}
    on = fit(first.network, examples, game, plain, 1, "cpu", earlier=Earlier(state, steps=2))
    assert on.scalars["train/lr"] == pytest.approx(0.075)


def test_every_symmetry_is_drawn_for_every_example_unless_there_shall_be_none(
    game: Game, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[torch.Tensor | None] = []

    def watched(data: Any, of: Game, rows: torch.Tensor, which: torch.Tensor | None) -> Batch:
        drawn.append(which)
        return draw_batch(data, of, rows, which)

    monkeypatch.setattr("azero.training.batches.draw_batch", watched)
    fit(build_network(SMALL, game, 1), examples, game, TrainConfig(batch_size=16, epochs=5), 1, "cpu")
    batches = [which for which in drawn if which is not None]
    assert len(batches) == len(drawn) == 20 and all(len(set(which.tolist())) > 1 for which in batches)
    # 320 draws of eight: 40 each, give or take five standard deviations of sqrt(320 * 7 / 64) = 5.9
    assert torch.bincount(torch.cat(batches), minlength=8).tolist() == pytest.approx([40] * 8, abs=30)
    drawn.clear()
    fit(
        build_network(SMALL, game, 1),
        examples,
        game,
        TrainConfig(batch_size=16, epochs=1, symmetries=False),
        1,
        "cpu",
    )
    assert drawn == [None] * 4


# --- what is not finite ---


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
@pytest.mark.parametrize("first", [True, False])
def test_a_step_that_is_not_finite_changes_nothing(
    game: Game, optimizer: str, clip_norm: float, first: bool
) -> None:
    """After NaN or infinity in planes, policy or value, weights, moments and statistics keep every bit."""
    trainer = Trainer(
        build_network(SMALL, game, 1), TrainConfig(optimizer=optimizer, clip_norm=clip_norm), "cpu", None
    )
    ledger = Ledger(100, "cpu")
    generator = torch.Generator().manual_seed(1)
    planes = torch.rand(16, 2, 3, 3, generator=generator)
    target = torch.softmax(torch.rand(16, 9, generator=generator), 1)
    value, legal_mask = torch.rand(16, generator=generator), torch.ones(16, 9, dtype=torch.bool)
    good = Batch(planes, legal_mask, target, value, torch.zeros(16), torch.zeros(16, 0))
    if not first:
        trainer.step(good, 0.01, ledger)

    def snapshot() -> tuple[list[torch.Tensor], dict[str, dict[str, torch.Tensor]]]:
        return [tensor.clone() for tensor in trainer.network.state_dict().values()], trainer.moments()[
            "state"
        ]

    weights, moments = snapshot()
    for number in (math.nan, math.inf):
        for field in ("planes", "policy_target", "value_target"):
            bad = getattr(good, field).clone()
            bad.view(-1)[3] = number
            trainer.step(good._replace(**{field: bad}), 0.01, ledger)
    after, after_moments = snapshot()
    assert all(torch.equal(one, other) for one, other in zip(weights, after, strict=True))
    for name, kept in moments.items():
        for key, tensor in kept.items():
            assert torch.equal(tensor, after_moments[name][key])
    assert int(ledger.skipped) == 6
    trainer.step(good, 0.01, ledger)
    after, _ = snapshot()
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after)
    assert not torch.equal(after[0], weights[0])
    stats = ledger.look(5)
    assert all(math.isfinite(value) for value in stats.values())  # bad steps are in no mean


def test_training_goes_on_over_single_bad_examples(game: Game, examples: Examples) -> None:
    value_target = examples.value_target.copy()
    value_target[5] = np.nan
    config = TrainConfig(batch_size=4, epochs=3)
    result = fit(
        build_network(SMALL, game, 1), examples._replace(value_target=value_target), game, config, 1, "cpu"
    )
    assert result.skipped == 3 and result.steps == 48
    assert all(bool(torch.isfinite(tensor).all()) for tensor in result.network.state_dict().values())


def test_eight_bad_steps_in_a_row_stop_the_training(game: Game, examples: Examples) -> None:
    heard: list[int] = []
    nothing = examples._replace(value_target=np.full(64, np.nan, np.float32))
    with pytest.raises(UserError, match=r"8 steps in a row.*train\.lr"):
        fit(
            build_network(SMALL, game, 1),
            nothing,
            game,
            TrainConfig(batch_size=4),
            1,
            "cpu",
            lambda done, *rest: heard.append(done),
        )
    assert heard == [1, 2, 3, 4, 5, 6, 7]


def test_a_learning_rate_that_explodes_is_stopped(game: Game, examples: Examples) -> None:
    config = TrainConfig(
        batch_size=16, epochs=50, lr=1000.0, optimizer="sgd", momentum=0.99, weight_decay=1.0
    )
    with pytest.raises(UserError, match="not finite"):
        fit(build_network(SMALL, game, 1), examples, game, config, 1, "cpu")


# --- precision ---


@pytest.mark.parametrize(
    "amx, avx, chosen",
    [
        (True, True, ["fp32", "bf16", "bf16"]),
        (False, True, ["fp32", "fp32", "bf16"]),
        (False, False, ["fp32", "fp32", "fp32"]),
    ],
)
def test_auto_precision_is_a_rule(
    monkeypatch: pytest.MonkeyPatch, amx: bool, avx: bool, chosen: list[str]
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx)
    assert [resolve_precision("auto", "cpu", channels) for channels in (31, 32, 64)] == chosen
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    assert resolve_precision("auto", "cuda", 8) == "bf16"
    assert resolve_precision("fp32", "cuda", 32) == "fp32" and resolve_precision("bf16", "cpu", 8) == "bf16"


def test_a_torch_that_cannot_tell_trains_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported")
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    assert resolve_precision("auto", "cpu", 256) == "fp32"


def test_bf16_on_the_cpu_repeats_bit_for_bit(game: Game, examples: Examples) -> None:
    network, config = build_network(SMALL, game, 1), TrainConfig(batch_size=16, precision="bf16")
    one, other = (fit(network, examples, game, config, 1, "cpu") for _ in range(2))
    assert one.precision == "bf16" and same(one.network, other.network)


def test_a_value_that_is_sure_and_wrong_learns_in_bf16_too(game: Game) -> None:
    """tanh 5 is 0.99991, in bf16 1 without slope. d/dx (tanh x + 1)^2 = 2 (tanh x + 1) (1 - tanh^2 x)."""
    trainer = Trainer(build_network(SMALL, game, 1), TrainConfig(precision="bf16"), "cpu", None)
    output = trainer.network.value_head.output
    with torch.no_grad():
        output.weight.zero_()
        output.bias.fill_(5.0)
    target = torch.full((4, 9), 1 / 9)
    legal_mask = torch.ones(4, 9, dtype=torch.bool)
    planes = torch.rand(4, 2, 3, 3)
    batch = Batch(planes, legal_mask, target, -torch.ones(4), torch.zeros(4), torch.zeros(4, 0))
    trainer.losses(trainer.network, batch)[1]["loss/value"].backward()
    assert output.bias.grad is not None
    assert output.bias.grad.item() == pytest.approx(2 * (np.tanh(5) + 1) * (1 - np.tanh(5) ** 2), rel=2**-7)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("parts", [{}, {"value_output": "wdl"}])
def test_training_on_a_gpu_learns_repeats_and_guards(
    game: Game, examples: Examples, optimizer: str, parts: dict[str, Any]
) -> None:
    network = build_network(replace(SMALL, blocks=2, channels=16, **parts), game, 1)
    config = TrainConfig(
        optimizer=optimizer, lr=0.01, batch_size=64, epochs=150, schedule="cosine", symmetries=False
    )
    one, other = (fit(network, examples, game, config, 1, "cuda") for _ in range(2))
    assert one.scalars["train/policy_agreement"] > 0.95 and same(one.network, other.network)
    value_target = examples.value_target.copy()
    value_target[5] = np.nan
    bad = fit(
        network,
        examples._replace(value_target=value_target),
        game,
        replace(config, batch_size=4, epochs=3),
        1,
        "cuda",
    )
    assert bad.skipped == 3
    with pytest.raises(UserError):
        fit(network, examples._replace(value_target=value_target * np.nan), game, config, 1, "cuda")
