"""The train stage: from the window and a network to a committed candidate, the same one each time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from azero.config.schema import Config, NetworkConfig, TrainConfig, UserError
from azero.games.game import Game
from azero.network.model import unpack_network
from azero.network.torch_inference import torch_threads
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord, examples_of, merge_equal, pairs_of, plies_of
from azero.replay.shards import write_games
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.run.state import format_state, parse_state
from azero.stages import initialize, train
from azero.training.fit import fit

SETTINGS = TrainConfig(batch_size=16, epochs=2, window=200)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with torch_threads(1):
        yield


class Told(NullReporter):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.cycle: dict[str, float] = {}
        self.train: dict[int, dict[str, float]] = {}
        self.messages: list[str] = []

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        self.cycle |= scalars

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        self.train[step] = dict(scalars)

    def message(self, text: str) -> None:
        self.messages.append(text)


def random_games(game: Game, count: int, seed: int = 1) -> list[GameRecord]:
    """Finished games of random moves, whose policy targets are those moves."""
    rng = np.random.default_rng(seed)
    records = []
    for number in range(count):
        states, actions, state = [], [], game.initial_state()
        while not game.is_terminal(state):
            states.append(state)
            actions.append(int(rng.choice(game.legal_actions(state))))
            state = game.step(state, actions[-1])
        plies = len(actions)
        outcome = game.outcome(state) * (1.0 if game.to_play(state) == 0 else -1.0)
        records.append(
            GameRecord(
                number=number,
                states=np.array(states),
                to_play=(np.arange(plies) % 2).astype(np.int8),
                actions=np.array(actions, np.int32),
                **pairs_of(np.eye(9)[actions]),
                root_value=np.zeros(plies, np.float32),
                searched=np.ones(plies, bool),
                first_outcome=outcome,
            )
        )
    return records


def config_in(folder: Path, settings: TrainConfig = SETTINGS) -> Config:
    return Config(
        checkpoints=str(folder / "checkpoints"),
        data=str(folder / "data"),
        network=NetworkConfig(blocks=1, channels=8),
        train=settings,
        device="cpu",
        seed=3,
    )


def begin(run: Run, game: Game, config: Config, cycles: int = 1) -> None:
    """A first network, and games of some cycles, so that train comes next."""
    initialize.run_stage(config, run, NullReporter(), StopSignal())
    for cycle in range(1, cycles + 1):
        shards = write_games(run, cycle, random_games(game, 20, seed=cycle), game.name)
        run.commit(replace(run.state, cycle=cycle - 1, stage="train", shards=[*run.state.shards, *shards]))


def trained(
    folder: Path, game: Game, settings: TrainConfig = SETTINGS, cycles: int = 1
) -> tuple[bytes, Told, Run]:
    """The candidate's file after one train stage in a new run, what was told, and the run, closed."""
    config, told = config_in(folder, settings), Told()
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config, cycles)
        train.run_stage(config, run, told, StopSignal())
        assert run.state.candidate is not None
        return run.read_file(run.state.candidate), told, run


def test_the_stage_commits_a_candidate_and_what_it_cost(tmp_path: Path, game: Game) -> None:
    data, told, run = trained(tmp_path, game)
    loaded = unpack_network(data, "candidate")
    examples = sum(shard.examples for shard in run.state.shards)
    steps = round(min(200, examples) * 2 / 16)
    assert run.state.stage == "evaluate" and run.state.champion is not None and run.state.champion.cycle == 0
    assert (loaded.cycle, loaded.train_steps, run.state.train_steps) == (1, steps, steps)
    assert loaded.optimizer_state is not None and loaded.optimizer_state["optimizer"] == "adamw"
    assert (
        told.cycle["replay/window_examples"] == min(200, examples)
        and told.cycle["replay/window_age_cycles"] == 0
    )
    assert told.cycle["replay/uses"] == steps * 16 / examples
    assert sorted(told.train) == list(told.train) and list(told.train)[-1] == steps
    assert {"loss/policy", "loss/value", "loss/total", "train/lr", "train/policy_entropy"} <= told.train[
        steps
    ].keys()


def test_the_same_run_trains_the_same_file_byte_for_byte(tmp_path: Path, game: Game) -> None:
    one, _, _ = trained(tmp_path / "one", game, cycles=2)
    other, _, _ = trained(tmp_path / "other", game, cycles=2)
    assert one == other


def test_an_interrupted_stage_keeps_nothing_and_repeated_ends_as_if_undisturbed(
    tmp_path: Path, game: Game
) -> None:
    expected, _, _ = trained(tmp_path / "undisturbed", game)
    config = config_in(tmp_path / "disturbed")
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config)
        before, stop = run.state, StopSignal()
        stop.requested = True
        with pytest.raises(Stopped):
            train.run_stage(config, run, NullReporter(), stop)
        assert run.state == before
    with Run.open(config, "toy", "test") as run:
        train.run_stage(config, run, NullReporter(), StopSignal())
        assert run.state.candidate is not None and run.read_file(run.state.candidate) == expected


@pytest.mark.parametrize("keep_optimizer", [True, False])
def test_the_next_cycle_goes_on_from_the_candidate(
    tmp_path: Path, game: Game, keep_optimizer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The champion stays the random network, and only the first cycle begins with it."""
    starts, settings = list[torch.Tensor](), replace(SETTINGS, keep_optimizer=keep_optimizer)

    def watched(network: Any, *others: Any, **named: Any) -> Any:
        starts.append(network.stem.weight.detach().clone())
        return fit(network, *others, **named)

    monkeypatch.setattr(train, "fit", watched)
    with Run.open(config := config_in(tmp_path, settings), "toy", "test") as run:
        begin(run, game, config)
        expected = [unpack_network(run.read_champion(), "champion").network.stem.weight]
        for _ in range(2):
            train.run_stage(config, run, Told(), StopSignal())
            run.commit(replace(run.state, stage="train", cycle=run.state.cycle + 1))
            loaded = unpack_network(run.read_candidate(), "candidate")
            expected.append(loaded.network.stem.weight)
            assert (loaded.optimizer_state is not None) == keep_optimizer
    assert [torch.equal(*pair) for pair in zip(starts, expected[:2], strict=True)] == [True, True]
    assert not torch.equal(starts[0], starts[1])


def test_averaged_candidates_keep_the_weights_that_training_goes_on_with(tmp_path: Path, game: Game) -> None:
    """Two stages in one process equal two processes; the weights in training are those without an average."""
    settings, files = replace(SETTINGS, ema_decay=0.95), []
    for folder, asked, reopen in (
        ("one", settings, False),
        ("two", settings, True),
        ("plain", SETTINGS, False),
    ):
        config = config_in(tmp_path / folder, asked)
        run = Run.open(config, "toy", "test")
        begin(run, game, config)
        for _ in range(2):
            train.run_stage(config, run, NullReporter(), StopSignal())
            run.commit(replace(run.state, stage="train", cycle=run.state.cycle + 1))
            if reopen:
                run.close()
                run = Run.open(config, "toy", "test")
        files.append(run.read_candidate())
        run.close()
    assert files[0] == files[1]
    averaged, plain = unpack_network(files[0], "averaged"), unpack_network(files[2], "plain")
    assert averaged.training is not None and plain.training is None
    pairs = zip(averaged.training.state_dict().values(), plain.network.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert not torch.equal(averaged.network.stem.weight, averaged.training.stem.weight)


def test_a_network_with_everything_is_trained_and_reads_back(tmp_path: Path, game: Game) -> None:
    settings = replace(SETTINGS, value_mix=0.5, ema_decay=0.9, merge_equal=True, max_uses=1.0)
    everything = NetworkConfig(blocks=1, channels=8, value_output="wdl", occupation=True)
    config, told = replace(config_in(tmp_path, settings), network=everything), Told()
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config)
        train.run_stage(config, run, told, StopSignal())
        loaded = unpack_network(run.read_candidate(), "candidate")
        assert loaded.network.config == everything and loaded.training is not None
        assert run.state.train_steps == round(sum(shard.examples for shard in run.state.shards) / 16)
    stats = told.train[run.state.train_steps]
    losses = [stats[f"loss/{head}"] for head in ("policy", "value", "occupation")]
    assert stats["loss/total"] == pytest.approx(sum(losses))
    first = next(iter(told.train.values()))
    assert stats["loss/occupation"] < first["loss/occupation"]


def test_the_stage_fits_mixed_and_merged_targets_and_goes_on_with_the_average(
    tmp_path: Path, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, window=10_000, value_mix=0.2, merge_equal=True)
    config = config_in(tmp_path, replace(settings, ema_decay=0.9))
    records = [
        game_record._replace(root_value=np.linspace(-0.5, 0.5, len(game_record.actions), dtype=np.float32))
        for game_record in [*random_games(game, 20, seed=1), *random_games(game, 20, seed=2)]
    ]
    fitted: list[tuple[Any, dict[str, Any]]] = []

    def watched(network: Any, examples: Any, *others: Any, **named: Any) -> Any:
        fitted.append((examples, named))
        return fit(network, examples, *others, **named)

    monkeypatch.setattr(train, "fit", watched)
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config, cycles=0)
        for cycle in (1, 2):
            shards = write_games(run, cycle, records[20 * cycle - 20 : 20 * cycle], game.name)
            run.commit(
                replace(run.state, cycle=cycle - 1, stage="train", shards=[*run.state.shards, *shards])
            )
            steps_before = run.state.train_steps
            before = unpack_network(run.read_candidate(), "candidate").network
            train.run_stage(config, run, NullReporter(), StopSignal())
    (examples, named), expected = fitted[1], merge_equal(examples_of(plies_of(records), 0.2))
    assert len(examples.states) < sum(len(each.actions) for each in records)
    for found, wanted in zip(examples, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert named["earlier"].steps == steps_before > 0
    assert torch.equal(named["earlier"].average.stem.weight, before.stem.weight)


def test_numbers_that_are_not_finite_stop_the_run_and_leave_the_last_good_state(
    tmp_path: Path, game: Game
) -> None:
    config = config_in(
        tmp_path, replace(SETTINGS, optimizer="sgd", lr=1000.0, momentum=0.99, weight_decay=1.0, epochs=30)
    )
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config)
        before = run.state
        with pytest.raises(UserError, match="not finite"):
            train.run_stage(config, run, NullReporter(), StopSignal())
        assert run.state == before


def test_a_damaged_candidate_is_named_and_the_champion_stands_in(tmp_path: Path, game: Game) -> None:
    config, told = config_in(tmp_path), Told()
    with Run.open(config, "toy", "test") as run:
        begin(run, game, config)
        train.run_stage(config, run, told, StopSignal())
        run.commit(replace(run.state, stage="train", cycle=1))
        assert run.state.candidate is not None
        damaged = run.state.candidate
        run.paths.of(damaged.file).write_bytes(b"damaged")
        train.run_stage(config, run, told, StopSignal())
        assert run.state.stage == "evaluate" and run.state.candidate != damaged
        assert [entry.file for entry in run.state.quarantine] == [damaged.file]
        assert sum(damaged.file in message and "is damaged" in message for message in told.messages) == 1


def test_the_age_of_the_window_is_the_mean_over_its_examples() -> None:
    assert train.mean_age([(2, 100), (1, 100), (0, 100)], 300) == 1.0
    assert train.mean_age([(2, 100), (1, 100), (0, 100)], 150) == pytest.approx(50 / 150)
    assert train.mean_age([(0, 10)], 10) == 0.0


def test_a_state_with_the_threads_of_earlier_versions_still_loads(tmp_path: Path, game: Game) -> None:
    _, _, run = trained(tmp_path, game)
    document = json.loads(format_state(run.state))
    del document["digest"]
    document["train_threads"] = 2
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    assert parse_state(json.dumps({"digest": digest, **document}).encode(), "old") == run.state


def test_the_stage_gives_the_thread_count_back(tmp_path: Path, game: Game) -> None:
    torch.set_num_threads(2)
    trained(tmp_path, game)
    assert torch.get_num_threads() == 2
