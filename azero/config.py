"""The configuration of a run: typed, checked, and the only source of every number a stage uses.

The dataclasses below are Hydra's schema. Hydra refuses unknown keys and wrong types, `config_checks.py` values that cannot work,
each with one sentence. Comments give the values of AlphaZero (Silver et al. 2018) and AlphaGo Zero (2017) where they have one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

OPENSPIEL = "openspiel:"  # before the name of a game whose rules are OpenSpiel's


class UserError(Exception):
    """A mistake a person can mend. Its text is one sentence: what is wrong, where, and what to do."""


@dataclass(frozen=True)
class GameConfig:
    """Which rules are played."""

    name: str = "tictactoe"  # a shipped game, the path of a Python file that defines `make_game`, or an installed one
    engine: str = "azero"  # azero | openspiel: the name is one of OpenSpiel's games, and is kept as openspiel:NAME
    options: dict[str, Any] = field(default_factory=dict)  # board size and the like; the game itself checks them


@dataclass(frozen=True)
class NetworkConfig:
    """The residual policy/value network."""

    blocks: int = 4  # residual blocks; AlphaZero 19
    channels: int = 32  # AlphaZero 256
    block: str = "residual"  # residual (He 2016: conv-BN-ReLU-conv-BN, add, ReLU) | pyramid (BN-conv-BN-ReLU-conv-BN, add)
    pooling_every: int = 0  # every so many blocks one pools globally; 0: none does; KataGo about 3
    squeeze_ratio: int = 0  # squeeze-excitation in all blocks, with channels / squeeze_ratio units; 0 for none; Hu et al. 2018 16
    head: str = "convolutional"  # convolutional (1x1 conv + dense, AlphaZero) | pooled (global average pooling + dense)
    policy_output: str = "logits"  # logits (softmax over legal moves) | linear (legal outputs over their sum)
    value_output: str = "scalar"  # scalar (tanh, squared error; AlphaZero) | wdl (win, draw, loss; cross-entropy; KataGo)
    soft_policy: bool = False  # a head for training only that learns the policy target softened (KataGo)
    opponent_reply: bool = False  # a head for training only that learns the policy target of the opponent's next ply (KataGo)
    value_hidden: int = 64  # hidden units of the convolutional value head; AlphaZero 256


@dataclass(frozen=True)
class SearchConfig:
    """PV-MCTS: what one search does before one move."""

    kind: str = "puct"  # puct (AlphaZero) | gumbel (Gumbel AlphaZero, Danihelka et al. 2022)
    num_simulations: int = 20  # new simulations a move; AlphaZero 800
    c_puct: float = 1.25  # puct, as all down to forced_simulations: exploration constant; AlphaZero 1.25
    c_puct_base: float = 19652.0  # grows c_puct by ln((1 + visits + base) / base); 0 keeps it constant; AlphaZero 19652
    c_puct_deviation: float = 0.0  # share of c_puct that follows the standard deviation of a node's values; KataGo 0.85
    puct_visits: str = "node"  # under the root sign: node (1 + children's visits) | children (first descent: first legal move)
    fpu_mode: str = "absolute"  # absolute (unvisited q = fpu) | parent (parent's q - fpu) | explored (KataGo: parent's q - fpu *
    # sqrt(prior of the visited), and parent's q at a root with noise)
    fpu: float = 0.0  # KataGo 0.2
    dirichlet_alpha: float = 1.0  # root noise; chess 0.3, shogi 0.15, Go 0.03 (about 10 / legal moves)
    dirichlet_fraction: float = 0.25  # share of noise in the root's prior; AlphaZero 0.25; 0 for none
    root_temperature: float = 1.0  # before the noise: exponent 1/temperature on the root's prior; KataGo 1.25
    root_temperature_final: float = 1.0  # to which it falls; KataGo 1.1
    root_temperature_halflife: float = 8.0  # plies that take it half of the way; KataGo the width of the board
    forced_simulations: float = 0.0  # of a visited root action: sqrt(this * prior * visits), then pruned from targets; KataGo 2
    solver: bool = False  # proofs end searches, decide moves, are targets (MCTS-solver, Winands et al. 2008); none under superko
    tree_reuse: bool = True  # keep the subtree of the move played
    max_considered_actions: int = 16  # gumbel: root actions that share the simulations; Gumbel AlphaZero 16
    maxvisit_init: float = 50.0  # gumbel: weight of values against the prior, and with value_scale; Gumbel AlphaZero 50
    value_scale: float = 0.1  # gumbel: of values stretched to [0, 1]; mctx 0.1


@dataclass(frozen=True)
class SelfplayConfig:
    """Games of the champion against itself, one stage of a cycle."""

    games: int = 500  # games a cycle; AlphaGo Zero 25,000 an iteration
    temperature: float = 1.0  # of a move. puct: exponent 1/temperature on visit counts; gumbel: scale of the root's noise
    temperature_plies: int = 1_000_000  # plies at full temperature; AlphaGo Zero 30
    temperature_decay_plies: int = 0  # then falls linearly to temperature_final over so many plies
    temperature_final: float = 0.0
    full_search_fraction: float = 1.0  # share of moves searched in full, the only ones trained on; KataGo 0.25
    fast_simulations: int = 0  # simulations of the other moves, in puct without noise (playout-cap randomization); KataGo 1/6
    surprise_share: float = 0.0  # of the examples' weight, given to a game's plies by KL(target || prior); KataGo 0.5
    fork_fraction: float = 0.0  # share of games that leave a game of the cycle before with another move; KataGo 0.05
    resign_threshold: float = -1.0  # who finds its search worth less resigns; -1: nobody; AlphaGo Zero: below 5 % false positives
    resign_play_on: float = 0.1  # share of games in which nobody resigns, to measure false positives; AlphaGo Zero 0.1
    opening_fraction: float = 0.0  # share of games that start from random plies, which are not trained on, in the first cycle
    opening_fraction_cycles: int = 0  # it moves to opening_fraction_final in equal steps over so many cycles; 0: it stays
    opening_fraction_final: float | None = None
    opening_plies: int = 0  # the most random plies of such an opening (uniform in 1..opening_plies)
    concurrent_games: int = 0  # games in flight in one lane = rows of a batch; 0 chooses


@dataclass(frozen=True)
class TrainConfig:
    """The replay window and the optimizer."""

    window: int = 50_000  # latest examples trained on; AlphaGo Zero 500,000 games; KataGo begins with 250,000
    window_beta: float = 0.0  # once it is full, how much a new example lengthens it; 0: not at all; KataGo 0.4
    window_alpha: float = 0.75  # exponent by which that slows down; KataGo 0.75
    epochs: float = 2.0  # passes over the window a cycle, after merge_equal
    max_uses: float = 0.0  # most draws a cycle for each of its new examples, else fewer passes; 0: no bound; KataGo 4
    batch_size: int = 256  # AlphaZero 4096
    optimizer: str = "adamw"  # sgd | adam | adamw; AlphaZero sgd
    lr: float = 0.002  # AlphaZero 0.2, then 0.02, 0.002, 0.0002
    schedule: str = "constant"  # constant | cosine (one fall to 0 each cycle) | step
    milestones: list[float] = field(default_factory=list)  # step: shares of the cycle after which lr is multiplied
    decay_factor: float = 0.1  # step: by this
    warmup_steps: int = 0
    momentum: float = 0.9  # sgd; AlphaZero 0.9
    weight_decay: float = 0.0001  # AlphaZero 0.0001
    decay_biases: bool = False  # decay biases and batch norm too
    policy_loss: str = "cross_entropy"  # cross_entropy | mse
    mask_illegal: bool = True  # softmax of the loss over legal moves only
    value_weight: float = 1.0  # weight of the value's loss; KataGo 1.5 with its cross-entropy
    value_mix: float = 0.0  # share of the search's root value in the value target, in the first cycle; AlphaZero 0, soft-Z 1
    value_mix_cycles: int = 0  # it moves to value_mix_final in equal steps over so many cycles; 0: it stays
    value_mix_final: float | None = None
    soft_policy_weight: float = 8.0  # of that head's loss; KataGo 8
    soft_policy_temperature: float = 4.0  # its target is the policy target to the power 1/temperature, over the sum; KataGo 4
    opponent_reply_weight: float = 0.15  # of that head's loss; KataGo 0.15
    merge_equal: bool = False  # one example for each distinct position of the window, with the mean of its targets
    symmetries: bool = True  # a random symmetry for every example drawn
    clip_norm: float = 0.0  # largest gradient norm; 0 for none
    start_from: str = "candidate"  # candidate (the last one, promoted or not; AlphaGo Zero and AlphaZero) | champion
    keep_optimizer: bool = True  # go on with the optimizer's moments
    ema_decay: float = 0.0  # a step keeps so much of the weights' average, which candidates are; 0 for none; KataGo 0.9997
    precision: str = "auto"  # auto | fp32 | bf16 (autocast)


@dataclass(frozen=True)
class EvaluateConfig:
    """The match of the candidate against the champion."""

    games: int = 40  # in pairs with colours swapped; AlphaGo Zero 400; 0 promotes without a match (AlphaZero)
    gate: str = "score"  # score (AlphaGo Zero) | sequential (rounds of `games` until they decide) | off (all are promoted)
    threshold: float = 0.5  # score: that of the candidate, draws half, must be above it; AlphaGo Zero 0.55
    distinct: bool = False  # pairs that repeat an earlier one move by move are not counted; never where nobody chooses by chance
    elo0: float = 0.0  # sequential: the champion stays at this Elo difference; fishtest 0
    elo1: float = 35.0  # sequential: the candidate is promoted at this one, which is a score of 0.55; fishtest 2; "not weaker": 0
    error: float = 0.05  # sequential: how often either may happen though the other is true; fishtest 0.05
    most_games: int = 400  # sequential: if undecided by then, the likelier of elo0 and elo1 decides
    temperature: float = 1.0  # moves of the match; 0 plays the most visited
    temperature_plies: int = 1_000_000
    temperature_decay_plies: int = 0
    temperature_final: float = 0.0
    opening_plies: int = 0  # random plies before both games of a pair
    num_simulations: int = 0  # 0: as in self-play
    anchor_games: int = 0  # each champion plays so many a cycle with each fixed opponent (exact play: once); 0 for none
    anchors: list[int] = field(default_factory=lambda: [10, 100, 1000])  # simulations of UCT, beside random and exact play


@dataclass(frozen=True)
class InferenceConfig:
    """How the network is computed on leaves."""

    backend: str = "auto"  # auto (the fastest here) | torch | openvino (CPU; pip install "azero[cpu]")
    precision: str = "auto"  # auto (fp32 or bf16) | fp32 | bf16 | int8 (OpenVINO, the blocks only)
    cache: int = 65_536  # evaluations remembered per lane and network (exact); 0 for none


@dataclass(frozen=True)
class OracleConfig:
    """What is asked of the champion after each cycle where exact scores are known: positions that come with azero, or your own.

    The answers are told and decide nothing. Besides, tic-tac-toe has its own table, and small Hex the openings that win.
    """

    file: str = ""  # positions that `python -m azero.oracle` made; "": those that come with azero (`azero/truth/shipped.py`)
    positions: int = 50  # of each of its sets; Connect Four has six, other boards one; 0 for none
    num_simulations: int = 64  # of the search that answers beside the raw policy; 0: the raw policy alone


@dataclass(frozen=True)
class Config:
    """One run."""

    game: GameConfig = field(default_factory=GameConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfplayConfig = field(default_factory=SelfplayConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)
    oracle: OracleConfig = field(default_factory=OracleConfig)
    run: str | None = None  # name of the run's folder; by default the recipe's or the game's
    seed: int = 1
    cycles: int = 10
    minutes: float = 0.0  # wall-clock bound; 0 for none
    device: str = "auto"  # auto | cpu | cuda
    lanes: int = 0  # threads that play; 0: one a core, two on a GPU
    init_from: str | None = None  # a run whose champion is the first network
    keep: int = 3  # candidates that lost and champions that were replaced, kept besides what is in use
    accept_previous: bool = False  # when the champion's file is damaged, go back to the one before
    checkpoints: str = "checkpoints"  # folder of all runs' networks and logs
    data: str = "data"  # folder of all runs' self-play shards


def flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    """Every leaf of a config by its dotted key, such as ``{"search.c_puct": 1.25}``."""
    leaves: dict[str, Any] = {}
    for part in fields(config):
        value = getattr(config, part.name)
        if is_dataclass(value):
            leaves |= flatten(value, f"{prefix}{part.name}.")
        else:
            leaves[prefix + part.name] = value
    return leaves


def share_in(cycle: int, first: float, cycles: int, final: float | None) -> float:
    """A share in a cycle, counted from 1: it moves from first to final in equal steps over so many cycles. None: it stays."""
    if final is None:
        return first
    return first + min(1.0, (cycle - 1) / cycles) * (final - first)


def is_certain(evaluate: EvaluateConfig) -> bool:
    """Whether nobody chooses by chance in a match once its openings are over."""
    temperature = evaluate.temperature, evaluate.temperature_plies, evaluate.temperature_decay_plies, evaluate.temperature_final
    return is_cold(*temperature, after=evaluate.opening_plies)


def is_cold(initial: float, plies: int, decay_plies: int, final: float, after: int = 0) -> bool:
    """Whether a temperature, its parts as in `root.Temperature`, is 0 at all plies from `after` on."""
    return final == 0 and not (initial > 0 and plies + decay_plies > after)
