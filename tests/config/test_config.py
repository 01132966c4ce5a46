"""Every setting has a type and a range or choices, and impossible values are refused in one sentence."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from azero.cli.hydra_program import compose
from azero.cli.overrides import conf_folder
from azero.config.checks import check
from azero.config.schema import Config, EvaluateConfig, UserError, flatten, is_certain, settings

EXPERIMENTS = sorted(path.stem for path in (conf_folder() / "experiment").glob("*.yaml"))
PARTS = ("game", "network", "search", "selfplay", "train", "evaluate", "inference")


CHOICES = {key: known.choices for key, known in settings().items() if known.choices}
RANGES = {key: known.between for key, known in settings().items() if known.between}


def with_value(key: str, value: Any) -> Config:
    """Return the default config with one setting changed."""
    part, _, name = key.rpartition(".")
    config = Config()
    return replace(
        config, **{part: replace(getattr(config, part), **{name: value})} if part else {name: value}
    )


def refusal(config: Config) -> str:
    """Return the sentence with which a config is refused."""
    with pytest.raises(UserError) as mistake:
        check(config)
    return str(mistake.value)


def test_defaults_are_possible() -> None:
    check(Config())


def test_every_number_has_a_range_and_every_listed_key_exists() -> None:
    leaves = flatten(Config())
    numbers = {
        key for key, value in leaves.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
    assert numbers == RANGES.keys()
    assert CHOICES.keys() <= leaves.keys()
    assert all(leaves[key] in allowed for key, allowed in CHOICES.items())


@pytest.mark.parametrize("key", sorted(RANGES))
def test_a_value_out_of_its_range_is_refused_by_name(key: str) -> None:
    lowest, highest = RANGES[key]
    beyond = [lowest - 1, highest * 2 + 1]
    if isinstance(lowest, float):
        beyond += [math.nan, math.inf, -math.inf]
    for value in beyond:
        text = refusal(with_value(key, value)).replace(",", "").rstrip(".")
        found = re.fullmatch(r"(\S+)=(\S+) must be a (?:whole )?number from (\S+) to (\S+)", text)
        assert found and found[1] == key
        numbers = [float(each) for each in found.groups()[1:]]
        assert numbers == pytest.approx([value, lowest, highest], rel=1e-11, abs=0, nan_ok=True)


def test_a_range_is_written_plainly() -> None:
    assert refusal(with_value("minutes", -1.0)) == "minutes=-1 must be a number from 0 to 10,000,000."


@pytest.mark.parametrize("key", sorted(CHOICES))
def test_an_unknown_choice_is_refused_with_those_that_exist(key: str) -> None:
    text = refusal(with_value(key, "nonsense"))
    assert text.startswith(f"{key}=nonsense ") and all(choice in text for choice in CHOICES[key])


@pytest.mark.parametrize(
    "changes, certain",
    [
        ({}, False),
        ({"temperature": 0.0}, True),
        ({"temperature": 0.0, "temperature_final": 0.5}, False),
        # temperature 1 while random plies are played, 0 behind them; then for one ply more
        ({"temperature": 1.0, "temperature_plies": 4, "opening_plies": 4}, True),
        (
            {"temperature": 1.0, "temperature_plies": 2, "temperature_decay_plies": 3, "opening_plies": 4},
            False,
        ),
    ],
)
def test_a_match_is_certain_where_nobody_chooses_by_chance_behind_its_opening(
    changes: dict[str, Any], certain: bool
) -> None:
    assert is_certain(EvaluateConfig(**changes)) == certain


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"train.window": 100, "train.batch_size": 101}, ["train.window=100", "train.batch_size=101"]),
        ({"train.schedule": "step", "train.milestones": [0.7, 0.5]}, ["train.milestones"]),
        ({"train.schedule": "step", "train.milestones": [0.5, 1.5]}, ["train.milestones"]),
        ({"selfplay.opening_fraction": 0.5, "selfplay.opening_plies": 0}, ["selfplay.opening_plies"]),
        ({"selfplay.book_fraction": 0.1}, ["selfplay.book=", "selfplay.book_fraction=0.1"]),
        ({"selfplay.book": "lines.txt"}, ["selfplay.book=lines.txt", "selfplay.book_fraction=0"]),
        (
            {"selfplay.opening_plies": 3, "selfplay.opening_plies_final": 2},
            ["selfplay.opening_plies_final=2", "selfplay.opening_plies_share=0"],
        ),
        (
            {"selfplay.opening_plies_share": 0.5},
            ["selfplay.opening_plies_final=0", "selfplay.opening_plies_share=0.5"],
        ),
        ({"train.milestones": [0.5]}, ["train.milestones=[0.5]", "train.schedule=constant"]),
        ({"evaluate.games": 41}, ["evaluate.games=41", "even"]),
        (
            {"evaluate.temperature": 0.0, "evaluate.opening_plies": 0, "evaluate.games": 40},
            ["evaluate.temperature=0"],
        ),
        ({"evaluate.anchor_games": 3}, ["evaluate.anchor_games=3", "even"]),
        ({"evaluate.anchors": [100, 10]}, ["evaluate.anchors=[100, 10]", "rising"]),
        ({"evaluate.gate": "sequential", "evaluate.games": 0}, ["evaluate.gate=sequential", "the gate off"]),
        (
            {"evaluate.gate": "sequential", "evaluate.elo0": 35.0},
            ["evaluate.elo0=35.0", "below evaluate.elo1=35.0"],
        ),
        ({"evaluate.gate": "sequential", "evaluate.most_games": 401}, ["evaluate.most_games=401", "even"]),
        (
            {"evaluate.gate": "sequential", "evaluate.most_games": 38},
            ["evaluate.most_games=38", "evaluate.games=40"],
        ),
    ],
)
def test_values_that_cannot_stand_together_are_refused(settings: dict[str, Any], named: list[str]) -> None:
    config = Config()
    for key, value in settings.items():
        part, _, name = key.partition(".")
        config = replace(config, **{part: replace(getattr(config, part), **{name: value})})
    text = refusal(config)
    assert all(name in text for name in named)


@pytest.mark.parametrize(
    "config", [Config(), *(getattr(Config(), part) for part in PARTS)], ids=("whole", *PARTS)
)
def test_a_config_cannot_be_changed(config: Any) -> None:
    first = next(iter(vars(config)))
    with pytest.raises(FrozenInstanceError):
        setattr(config, first, None)


def test_flatten_names_every_leaf_by_its_dotted_key() -> None:
    leaves = flatten(with_value("search.c_puct", 3.5))
    assert leaves["search.c_puct"] == 3.5
    assert leaves["seed"] == 1
    assert not any(part in leaves for part in PARTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_recipe_is_possible_and_says_how_to_run_it(experiment: str) -> None:
    assert isinstance(compose(f"experiment={experiment}"), Config)
    text = (conf_folder() / "experiment" / f"{experiment}.yaml").read_text()
    assert f"# azero loop {experiment}\n" in text


def test_the_default_is_the_tictactoe_recipe() -> None:
    assert compose() == compose("experiment=tictactoe")


def test_an_override_beats_the_recipe_and_the_recipe_beats_the_default() -> None:
    assert compose("experiment=smoke").network.blocks != Config().network.blocks
    assert compose("experiment=smoke", "network.blocks=3").network.blocks == 3


def test_the_published_recipe_is_the_published_one() -> None:
    config = compose("experiment=published_tictactoe")
    assert (config.network.blocks, config.network.channels, config.network.block, config.network.head) == (
        16,
        128,
        "pyramid",
        "pooled",
    )
    assert (config.network.policy_output, config.train.policy_loss, config.train.mask_illegal) == (
        "linear",
        "mse",
        False,
    )
    assert (config.search.num_simulations, config.search.c_puct, config.search.c_puct_base) == (19, 1.0, 0.0)
    assert (config.search.dirichlet_fraction, config.search.puct_visits) == (0.0, "children")
    assert (config.selfplay.games, config.selfplay.temperature, config.train.window) == (500, 1.0, 5000)
    assert (config.train.epochs, config.train.batch_size, config.train.optimizer, config.train.lr) == (
        100,
        100,
        "adam",
        0.001,
    )
    assert (config.train.milestones, config.train.decay_factor, config.train.weight_decay) == (
        [0.5, 0.75],
        0.5,
        0.001,
    )
    assert not config.train.keep_optimizer
    assert (config.evaluate.games, config.evaluate.threshold, config.evaluate.temperature, config.cycles) == (
        100,
        0.5,
        1.0,
        10,
    )
    assert (config.train.precision, config.inference.precision) == ("fp32", "fp32")
