"""What settings may be: choices, ranges, and what does not go together."""

from __future__ import annotations

import math

from azero.config import Config, EvaluateConfig, SearchConfig, SelfplayConfig, TrainConfig, UserError, flatten, is_certain

CHOICES = {
    "game.engine": ("azero", "openspiel"),
    "network.block": ("residual", "pyramid"),
    "network.head": ("convolutional", "pooled"),
    "network.policy_output": ("logits", "linear"),
    "network.value_output": ("scalar", "wdl"),
    "search.kind": ("puct", "gumbel"),
    "search.puct_visits": ("node", "children"),
    "search.fpu_mode": ("absolute", "parent", "explored"),
    "evaluate.gate": ("score", "sequential", "off"),
    "train.optimizer": ("sgd", "adam", "adamw"),
    "train.schedule": ("constant", "cosine", "step"),
    "train.policy_loss": ("cross_entropy", "mse"),
    "train.start_from": ("candidate", "champion"),
    "train.precision": ("auto", "fp32", "bf16"),
    "inference.backend": ("auto", "torch", "openvino"),
    "inference.precision": ("auto", "fp32", "bf16", "int8"),
    "device": ("auto", "cpu", "cuda"),
}

# key: (lowest, highest), both allowed
RANGES = {
    "network.blocks": (0, 100),
    "network.channels": (1, 4096),
    "network.pooling_every": (0, 100),
    "network.squeeze_ratio": (0, 4096),
    "network.value_hidden": (1, 65536),
    "search.num_simulations": (1, 1_000_000),
    "search.c_puct": (0.0, 1000.0),
    "search.c_puct_base": (0.0, 1e12),
    "search.c_puct_deviation": (0.0, 1.0),
    "search.fpu": (-2.0, 2.0),
    "search.dirichlet_alpha": (0.01, 1000.0),
    "search.dirichlet_fraction": (0.0, 1.0),
    "search.root_temperature": (0.01, 100.0),
    "search.root_temperature_final": (0.01, 100.0),
    "search.root_temperature_halflife": (0.01, 1e6),
    "search.forced_simulations": (0.0, 1000.0),
    "search.max_considered_actions": (1, 65_536),
    "search.maxvisit_init": (0.0, 1e6),
    "search.value_scale": (0.0, 1e6),
    "selfplay.games": (1, 10_000_000),
    "selfplay.temperature": (0.0, 100.0),
    "selfplay.temperature_plies": (0, 1_000_000),
    "selfplay.temperature_decay_plies": (0, 1_000_000),
    "selfplay.temperature_final": (0.0, 100.0),
    "selfplay.full_search_fraction": (0.01, 1.0),
    "selfplay.fast_simulations": (0, 1_000_000),
    "selfplay.surprise_share": (0.0, 1.0),
    "selfplay.fork_fraction": (0.0, 1.0),
    "selfplay.resign_threshold": (-1.0, 0.0),
    "selfplay.resign_play_on": (0.0, 1.0),
    "selfplay.opening_fraction": (0.0, 1.0),
    "selfplay.opening_fraction_cycles": (0, 1_000_000),
    "selfplay.opening_fraction_final": (0.0, 1.0),
    "selfplay.opening_plies": (0, 10_000),
    "selfplay.concurrent_games": (0, 65_536),
    "train.window": (1, 10**10),
    "train.window_beta": (0.0, 1.0),
    "train.window_alpha": (0.01, 1.0),
    "train.epochs": (1e-6, 1e6),
    "train.max_uses": (0.0, 1e6),
    "train.value_mix": (0.0, 1.0),
    "train.value_mix_cycles": (0, 1_000_000),
    "train.value_mix_final": (0.0, 1.0),
    "train.batch_size": (2, 10**7),
    "train.lr": (1e-12, 1000.0),
    "train.decay_factor": (0.0, 1.0),
    "train.warmup_steps": (0, 10**9),
    "train.momentum": (0.0, 0.9999),
    "train.weight_decay": (0.0, 1.0),
    "train.value_weight": (0.0, 1000.0),
    "train.soft_policy_weight": (0.0, 1000.0),
    "train.soft_policy_temperature": (1.0, 1000.0),
    "train.opponent_reply_weight": (0.0, 1000.0),
    "train.clip_norm": (0.0, 1e9),
    "train.ema_decay": (0.0, 0.999999),
    "evaluate.games": (0, 1_000_000),
    "evaluate.threshold": (0.0, 1.0),
    "evaluate.elo0": (-1000.0, 1000.0),
    "evaluate.elo1": (-1000.0, 1000.0),
    "evaluate.error": (1e-6, 0.4),
    "evaluate.most_games": (2, 1_000_000),
    "evaluate.temperature": (0.0, 100.0),
    "evaluate.temperature_plies": (0, 1_000_000),
    "evaluate.temperature_decay_plies": (0, 1_000_000),
    "evaluate.temperature_final": (0.0, 100.0),
    "evaluate.opening_plies": (0, 10_000),
    "evaluate.num_simulations": (0, 1_000_000),
    "evaluate.anchor_games": (0, 100_000),
    "inference.cache": (0, 2**28),
    "oracle.positions": (0, 1_000_000),
    "oracle.num_simulations": (0, 1_000_000),
    "seed": (0, 2**63 - 1),
    "cycles": (0, 1_000_000),
    "minutes": (0.0, 1e7),
    "lanes": (0, 1024),
    "keep": (0, 1_000_000),
}


def check(config: Config) -> None:
    """Refuse a config that cannot work.

    Raises:
        UserError: names the key, its value and what is allowed.
    """
    leaves = flatten(config)
    for key in CHOICES:
        check_choice(key, leaves[key])
    for key, (lowest, highest) in RANGES.items():
        value = leaves[key]
        if value is not None and not (math.isfinite(value) and lowest <= value <= highest):
            raise UserError(f"{key}={value} must lie between {lowest} and {highest}.")
    check_together(config)


def check_choice(key: str, value: object) -> None:
    """Refuse a value that a setting of CHOICES cannot have.

    Raises:
        UserError: names those that it can have.
    """
    if value not in CHOICES[key]:
        raise UserError(f"{key}={value} is not one of: {', '.join(CHOICES[key])}.")


def check_together(config: Config) -> None:
    """Refuse values that are possible alone but not beside each other."""
    check_search(config.search)
    if config.network.pooling_every and config.network.channels == 1:
        raise UserError("network.pooling_every pools some channels for the others; set network.channels to 2 or more.")
    if config.network.policy_output == "linear" and config.train.policy_loss == "cross_entropy":
        raise UserError("network.policy_output=linear learns by squared error only; set train.policy_loss=mse.")
    if config.selfplay.surprise_share and config.train.merge_equal:
        raise UserError(
            "selfplay.surprise_share weighs an example by drawing it more often, which train.merge_equal undoes; set one of the "
            "two off."
        )
    check_training(config.train)
    check_openings(config.selfplay)
    check_fast_searches(config.selfplay, config.search.num_simulations)
    check_matches(config.evaluate)


def check_search(search: SearchConfig) -> None:
    """Refuse what a kind of search has no use for."""
    if search.kind == "gumbel" and search.tree_reuse:
        raise UserError(
            "search.kind=gumbel shares out the visits of an empty tree; set search.tree_reuse=false, or take search=gumbel."
        )
    tries = (search.root_temperature, search.root_temperature_final, search.forced_simulations, search.c_puct_deviation)
    if search.kind == "gumbel" and tries != (1, 1, 0, 0):
        raise UserError(
            "search.kind=gumbel tries moves in its own way; leave search.root_temperature, search.forced_simulations and "
            "search.c_puct_deviation out."
        )


def check_training(train: TrainConfig) -> None:
    """Refuse a window that fills no batch, and schedules that never change anything."""
    if train.window < train.batch_size:
        raise UserError(f"train.window={train.window} is smaller than train.batch_size={train.batch_size}; enlarge the window.")
    if train.schedule == "step" and not train.milestones:
        raise UserError("train.schedule=step never falls without train.milestones; set them, such as [0.5,0.75].")
    if train.milestones and train.schedule != "step":
        raise UserError(
            f"train.milestones={train.milestones} mean nothing to train.schedule={train.schedule}; set it to step, or them to []."
        )
    if any(not 0.0 <= share <= 1.0 for share in train.milestones) or train.milestones != sorted(train.milestones):
        raise UserError(f"train.milestones={train.milestones} must be rising shares of a cycle, each between 0 and 1.")
    check_share("train.value_mix", train.value_mix_cycles, train.value_mix_final)


def check_openings(selfplay: SelfplayConfig) -> None:
    """Refuse random openings without plies."""
    check_share("selfplay.opening_fraction", selfplay.opening_fraction_cycles, selfplay.opening_fraction_final)
    some = selfplay.opening_fraction, selfplay.opening_fraction_final or 0.0
    if max(some) > 0 and selfplay.opening_plies == 0:
        key = "selfplay.opening_fraction" if some[0] else "selfplay.opening_fraction_final"
        raise UserError(f"{key} is above 0 but selfplay.opening_plies=0; set the most random plies of an opening.")


def check_fast_searches(selfplay: SelfplayConfig, num_simulations: int) -> None:
    """Refuse a share of fast searches without simulations, and simulations without such a share."""
    if selfplay.full_search_fraction < 1 and not 1 <= selfplay.fast_simulations <= num_simulations:
        raise UserError(
            f"selfplay.full_search_fraction={selfplay.full_search_fraction} leaves moves to a small search; set "
            f"selfplay.fast_simulations between 1 and search.num_simulations={num_simulations}."
        )
    if selfplay.fast_simulations and selfplay.full_search_fraction == 1:
        raise UserError(
            f"selfplay.fast_simulations={selfplay.fast_simulations} is for no move with selfplay.full_search_fraction=1; set the "
            "share of moves that are searched in full below 1."
        )


def check_matches(evaluate: EvaluateConfig) -> None:
    """Refuse matches whose colours cannot be swapped in pairs, or whose games would all be one."""
    if evaluate.games % 2:
        raise UserError(f"evaluate.games={evaluate.games} must be even, because games are played in pairs with colours swapped.")
    if evaluate.anchor_games % 2:
        raise UserError(f"evaluate.anchor_games={evaluate.anchor_games} must be even, because colours are swapped in pairs.")
    if any(simulations < 1 for simulations in evaluate.anchors) or evaluate.anchors != sorted(set(evaluate.anchors)):
        raise UserError(f"evaluate.anchors={evaluate.anchors} must be rising numbers of simulations, each 1 or more.")
    if evaluate.gate == "sequential":
        check_sequential(evaluate)
    if evaluate.games and is_certain(evaluate) and evaluate.opening_plies == 0:
        raise UserError(
            f"evaluate.temperature={evaluate.temperature:g} for evaluate.temperature_plies={evaluate.temperature_plies} without "
            "evaluate.opening_plies plays one game over and over; set what is 0 above 0."
        )


def check_sequential(evaluate: EvaluateConfig) -> None:
    """Refuse a sequential test that could not be held."""
    if not evaluate.games:
        raise UserError("evaluate.gate=sequential plays rounds of evaluate.games, which is 0; set it above 0, or the gate off.")
    if not evaluate.elo0 < evaluate.elo1:
        raise UserError(f"evaluate.elo0={evaluate.elo0} must lie below evaluate.elo1={evaluate.elo1}.")
    if evaluate.most_games % 2 or evaluate.most_games < evaluate.games:
        raise UserError(
            f"evaluate.most_games={evaluate.most_games} must be even and at least evaluate.games={evaluate.games}, a round."
        )


def check_share(key: str, cycles: int, final: float | None) -> None:
    """Refuse half of what lets a share move; as in `config.share_in`."""
    if (cycles > 0) != (final is not None):
        raise UserError(
            f"{key}_cycles={cycles} does not go with {key}_final={'null' if final is None else final}; set both, in how many "
            "cycles the share moves and where to, or neither."
        )
