"""The settings of a run: type, default, allowed values, what each does, and its published value.

The dataclasses below are Hydra's schema. Hydra checks keys and types, `checks.py` checks values.
The checks, every `--help` and `docs/settings.md` are made from the records here.
Published values are of AlphaZero (Silver et al. 2018), AlphaGo Zero (2017), KataGo (Wu 2019) and others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

DEVICES = ("auto", "cpu", "cuda", "mps")
# search.kind: its module, which ends with a `search.algorithm.SearchKind`; the command line needs the names
SEARCH_ALGORITHMS = {"puct": "azero.search.puct", "gumbel": "azero.search.gumbel"}
EMPTY_TREES = {"gumbel"}  # those that begin each search with an empty tree
OPENSPIEL = "openspiel:"  # before the name of a game whose rules are OpenSpiel's

T = TypeVar("T")


class UserError(ValueError):
    """A mistake that the user can fix. Its text is one sentence: what is wrong, where, and what to do."""


class BrokenGame(UserError):
    """The rules of a game do not hold together."""


@contextmanager
def explaining_failure(what: str) -> Iterator[None]:
    """Turn an OSError of the block into a UserError: `what`, such as "x cannot be read", and why."""
    try:
        yield
    except OSError as failure:
        raise UserError(f"{what}: {failure.strerror or failure}.") from failure


@dataclass(frozen=True)
class Setting:
    """What is known about a setting.

    Attributes:
        default: its value when nothing sets it.
        help: what it does. The first sentence is short enough for one line of --help.
        published: the value of a publication, such as "AlphaZero 800".
        between: the lowest and the highest number, both allowed.
        choices: the allowed values.
        own: what a Python file of a person's own defines, whose path is allowed beside the choices, such as
            "make_optimizer"; "": no file is.
        only: the one search algorithm that reads it, such as "PUCT"; "" for all other settings.
        kind: its type as text, such as "int | None"; `settings` fills it in.
    """

    default: Any
    help: str
    published: str = ""
    between: tuple[float, float] | None = None
    choices: Collection[Any] = ()
    own: str = ""
    only: str = ""
    kind: str = ""


def setting(default: T, help: str, **known: Any) -> T:
    """Return a dataclass field with this default; `help` and `known` are other attributes of `Setting`."""
    return field(
        default_factory=lambda: copy.copy(default), metadata={"setting": Setting(default, help, **known)}
    )


def puct(default: T, help: str, **known: Any) -> T:
    """Return a setting that only PUCT reads."""
    return setting(default, help, only="PUCT", **known)


@dataclass(frozen=True)
class Options:
    """The base of the options of a player or a game, which are fields made by `setting`.

    Attributes:
        prefix: what a person types before the name of an option, such as "first.".
    """

    prefix: str = ""

    def typed(self, name: str) -> str:
        """Return an option as a person types it, such as "first.table=0"."""
        return f"{self.prefix}{name}={value_text(getattr(self, name))}"

    def values(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in settings(type(self))}


@dataclass(frozen=True)
class GameConfig:
    """Which game is played."""

    name: str = setting(
        "tictactoe",
        "Name of the game. A shipped game, the path of a Python file that defines `make_game`, or a game "
        "that another package installs.",
    )
    engine: str = setting(
        "azero",
        "Whose rules are played. With openspiel, the name is one of OpenSpiel's games.",
        choices=("azero", "openspiel"),
    )
    options: dict[str, Any] = setting(
        {}, "Options of the game, such as its board size. The game checks them."
    )

    @property
    def stem(self) -> str:
        """Its name without folders, engine and parameters."""
        if self.name.endswith(".py"):
            return Path(self.name).stem
        return self.name.removeprefix(OPENSPIEL).partition("(")[0]


@dataclass(frozen=True)
class NetworkConfig:
    """The residual policy/value network."""

    blocks: int = setting(4, "Residual blocks.", between=(0, 100), published="AlphaZero 19")
    channels: int = setting(32, "Channels of each block.", between=(1, 4096), published="AlphaZero 256")
    block: str = setting(
        "residual",
        "Layers of a block. residual: conv-BN-ReLU-conv-BN, add, ReLU (He et al. 2016); "
        "pyramid: BN-conv-BN-ReLU-conv-BN, add.",
        choices=("residual", "pyramid"),
    )
    head: str = setting(
        "convolutional",
        "Heads. convolutional: 1x1 convolution and dense layer (AlphaZero); "
        "pooled: global average pooling and dense layer; "
        "spatial: outputs for each cell and dense layers on means and maxima, so that the weights fit a "
        "board of any size (after KataGo). It needs a game with a move, or several, for each cell.",
        choices=("convolutional", "pooled", "spatial"),
    )
    policy_output: str = setting(
        "logits",
        "Policy output. logits: softmax over legal moves; linear: legal outputs divided by their sum.",
        choices=("logits", "linear"),
    )
    value_output: str = setting(
        "scalar",
        "Value output. scalar: tanh and squared error (AlphaZero); "
        "wdl: win, draw, loss and cross-entropy (KataGo).",
        choices=("scalar", "wdl"),
    )
    occupation: bool = setting(
        False,
        "Train a head on the last position of the game: whose piece stands on each cell. Search does not use "
        "it. KataGo's ownership is like it, and gives empty territory to its owner.",
    )
    value_hidden: int = setting(
        64,
        "Hidden units of the value head and, for head=spatial, of moves without a cell. Not for head=pooled.",
        between=(1, 65536),
        published="AlphaZero 256",
    )
    file: str = setting(
        "",
        "A Python file that makes the network; docs/your_own_network.md shows one. Of the other settings of "
        "the network only value_output, policy_output and options count then.",
    )
    options: dict[str, Any] = setting({}, "Options of the network in network.file, such as its width.")


@dataclass(frozen=True)
class SearchConfig:
    """PV-MCTS: the search before each move."""

    kind: str = setting(
        "puct",
        "Search algorithm. puct: AlphaZero; gumbel: Gumbel AlphaZero (Danihelka et al. 2022).",
        choices=tuple(SEARCH_ALGORITHMS),
        own="KIND",
    )
    num_simulations: int = setting(
        20, "New simulations before each move.", between=(1, 1_000_000), published="AlphaZero 800"
    )
    solver: bool = setting(
        False,
        "Prove wins, draws and losses. Proofs end searches, decide moves and become targets "
        "(MCTS-Solver, Winands et al. 2008). It is off in games with superko.",
    )
    exact_plies: int = setting(
        0,
        "Solve a leaf from which the game must end within this many plies, by alpha-beta; 0: never. It needs "
        "search.solver, and a game with the rule plies_left.",
        between=(0, 1000),
    )
    exact_nodes: int = setting(
        1000,
        "Positions that this may look at. A leaf that needs more is evaluated by the network.",
        between=(1, 1_000_000),
    )
    forced_nodes: int = setting(
        0,
        "Positions of a search of any other leaf for a forced win or loss, in play and in matches, not in "
        "self-play; 0: none. It needs search.solver.",
        between=(0, 1_000_000),
    )
    tree_reuse: bool = setting(
        True, "Keep the subtree of the move played. Default with search.kind=gumbel: false, as it cannot."
    )
    options: dict[str, Any] = setting({}, "Settings of other search algorithms. The algorithm checks them.")
    c_puct: float = puct(1.25, "Exploration constant.", between=(0.0, 1000.0), published="AlphaZero 1.25")
    c_puct_base: float = puct(
        19652.0,
        "Visits over which c_puct grows; 0: constant. It grows by ln((1 + visits + base) / base).",
        between=(0.0, 1e12),
        published="AlphaZero 19652",
    )
    puct_visits: str = puct(
        "node",
        "Visits under the root sign. node: 1 + visits of the children; children: visits of the children, so "
        "that the first simulation takes the first legal move.",
        choices=("node", "children"),
    )
    fpu_mode: str = puct(
        "absolute",
        "Unvisited q. absolute: fpu; parent: the parent's q - fpu; "
        "explored: the parent's q - fpu * sqrt(prior of the visited moves), and the parent's q at a root "
        "with noise (KataGo).",
        choices=("absolute", "parent", "explored"),
    )
    fpu: float = puct(0.0, "First-play urgency, see fpu_mode.", between=(-2.0, 2.0), published="KataGo 0.2")
    dirichlet_alpha: float = puct(
        1.0,
        "Concentration of the root's Dirichlet noise. About 10 / legal moves.",
        between=(0.01, 1000.0),
        published="AlphaZero 0.3 in chess, 0.15 in shogi, 0.03 in Go",
    )
    dirichlet_fraction: float = puct(
        0.25, "Share of noise in the root's prior; 0: none.", between=(0.0, 1.0), published="AlphaZero 0.25"
    )
    max_considered_actions: int = setting(
        16, "Root moves that share the simulations.", between=(1, 65_536), only="Gumbel", published="mctx 16"
    )
    maxvisit_init: float = setting(
        50.0,
        "Weight of values against the prior. It is value_scale * (maxvisit_init + visits of the most visited "
        "move).",
        between=(0.0, 1e6),
        only="Gumbel",
        published="Gumbel AlphaZero 50",
    )
    value_scale: float = setting(
        0.1, "Scale of values stretched to [0, 1].", between=(0.0, 1e6), only="Gumbel", published="mctx 0.1"
    )


@dataclass(frozen=True)
class SelfplayConfig:
    """The games of the champion against itself in a cycle."""

    games: int = setting(
        500, "Games in a cycle.", between=(1, 10_000_000), published="AlphaGo Zero 25,000 an iteration"
    )
    temperature: float = setting(
        1.0,
        "Temperature of a move. PUCT: exponent 1 / temperature on visit counts; Gumbel: scale of the noise.",
        between=(0.0, 100.0),
    )
    temperature_plies: int = setting(
        1_000_000, "Plies at full temperature.", between=(0, 1_000_000), published="AlphaGo Zero 30"
    )
    temperature_decay_plies: int = setting(0, "Plies of its linear fall.", between=(0, 1_000_000))
    temperature_final: float = setting(0.0, "Temperature after the fall.", between=(0.0, 100.0))
    opening_fraction: float = setting(
        0.0,
        "Share of games with a random opening. The opening's plies are not trained on.",
        between=(0.0, 1.0),
    )
    opening_plies: int = setting(
        0, "Most plies of a random opening. Uniform in 1 to opening_plies.", between=(0, 10_000)
    )
    opening_plies_share: float = setting(
        0.0,
        "Share of the run with opening_plies, of its minutes or cycles, whichever ends first; 0: all. "
        "A run that has changed stays so.",
        between=(0.0, 1.0),
    )
    opening_plies_final: int = setting(
        0, "Most plies after opening_plies_share of the run.", between=(0, 10_000)
    )
    book: str = setting("", "File of openings, one a line. azero strength can write one.")
    book_fraction: float = setting(0.0, "Share of games that begin with one of book.", between=(0.0, 1.0))
    concurrent_games: int = setting(
        0,
        "Games in flight in a worker; 0: automatic. Also the rows of a batch. Not for trees=gpu.",
        between=(0, 65_536),
    )
    trees: str = setting(
        "auto",
        "Where self-play plays and searches. auto: on an NVIDIA GPU if it can (extra gpu13, or gpu12 for "
        "CUDA 12); gpu: stop if it cannot.",
        choices=("auto", "cpu", "gpu"),
    )


@dataclass(frozen=True)
class TrainConfig:
    """The replay window and the optimizer."""

    window: int = setting(
        50_000,
        "Newest examples that are trained on.",
        between=(1, 10**10),
        published="AlphaGo Zero 500,000 games; KataGo 250,000 at first",
    )
    epochs: float = setting(
        2.0, "Passes over the window in a cycle. Counted after merge_equal.", between=(1e-6, 1e6)
    )
    max_uses: float = setting(
        0.0,
        "Most draws per new example; 0: no limit. A cycle makes fewer passes if needed.",
        between=(0.0, 1e6),
        published="KataGo 4",
    )
    batch_size: int = setting(256, "Examples in a batch.", between=(2, 10**7), published="AlphaZero 4096")
    optimizer: str = setting(
        "adamw",
        "Optimizer.",
        choices=("sgd", "adam", "adamw"),
        own="make_optimizer",
        published="AlphaZero sgd",
    )
    lr: float = setting(
        0.002, "Learning rate.", between=(1e-12, 1000.0), published="AlphaZero 0.2, then 0.02, 0.002, 0.0002"
    )
    schedule: str = setting(
        "constant",
        "Schedule of lr. cosine: one fall to 0 in each cycle; step: falls at milestones.",
        choices=("constant", "cosine", "step"),
    )
    milestones: list[float] = setting([], "Shares of a cycle after which lr falls. For schedule=step.")
    decay_factor: float = setting(0.1, "Factor of each such fall.", between=(0.0, 1.0))
    warmup_steps: int = setting(0, "Steps in which lr rises linearly.", between=(0, 10**9))
    momentum: float = setting(0.9, "Momentum of SGD.", between=(0.0, 0.9999), published="AlphaZero 0.9")
    weight_decay: float = setting(0.0001, "Weight decay.", between=(0.0, 1.0), published="AlphaZero 0.0001")
    policy_loss: str = setting("cross_entropy", "Policy loss.", choices=("cross_entropy", "mse"))
    mask_illegal: bool = setting(True, "Softmax of the loss over legal moves only.")
    value_lambda: float = setting(
        1.0,
        "Lambda of the value target; 1: the outcome. From the end backwards, the next ply's return has this "
        "weight and the root value the rest.",
        between=(0.0, 1.0),
        published="TD(lambda), Sutton 1988",
    )
    value_mix: float = setting(
        0.0,
        "Share of the root value in the value target.",
        between=(0.0, 1.0),
        published="AlphaZero 0; soft-Z 1",
    )
    merge_equal: bool = setting(
        False, "Merge equal positions of the window. Each distinct position has the mean of its targets."
    )
    symmetries: bool = setting(True, "Turn or mirror each drawn example at random.")
    clip_norm: float = setting(0.0, "Largest gradient norm; 0: no limit.", between=(0.0, 1e9))
    keep_optimizer: bool = setting(True, "Keep the optimizer's moments between cycles.")
    ema_decay: float = setting(
        0.0,
        "Decay of the weights' average; 0: none. A step keeps this share of the average, and the average "
        "becomes the candidate.",
        between=(0.0, 0.999999),
        published="KataGo 0.9997",
    )
    precision: str = setting("auto", "Precision. bf16 is torch's autocast.", choices=("auto", "fp32", "bf16"))


@dataclass(frozen=True)
class EvaluateConfig:
    """The match of the candidate against the champion."""

    games: int = setting(
        40,
        "Games of the match; 0: promote without. They are played in pairs with colours swapped.",
        between=(0, 1_000_000),
        published="AlphaGo Zero 400; AlphaZero 0",
    )
    gate: str = setting(
        "score",
        "Who decides. score: the threshold (AlphaGo Zero); sequential: rounds of `games` until a sequential "
        "test decides; off: every candidate is promoted.",
        choices=("score", "sequential", "off"),
    )
    threshold: float = setting(
        0.5,
        "Score that the candidate must exceed. Draws count half. For gate=score.",
        between=(0.0, 1.0),
        published="AlphaGo Zero 0.55",
    )
    distinct: bool = setting(
        False, "Count repeated pairs of games once. Always on for deterministic players."
    )
    elo0: float = setting(
        0.0,
        "Elo difference at which the champion stays. For gate=sequential.",
        between=(-1000.0, 1000.0),
        published="fishtest 0",
    )
    elo1: float = setting(
        35.0,
        "Elo difference that promotes the candidate. For gate=sequential. 35 is a score of 0.55; 0 asks for "
        '"not weaker".',
        between=(-1000.0, 1000.0),
        published="fishtest 2",
    )
    error: float = setting(
        0.05,
        "Rate of wrong decisions of either kind. For gate=sequential.",
        between=(1e-6, 0.4),
        published="fishtest 0.05",
    )
    most_games: int = setting(
        400,
        "Most games of a sequential match. If undecided by then, the likelier of elo0 and elo1 decides.",
        between=(2, 1_000_000),
    )
    temperature: float = setting(1.0, "Temperature of a move; 0: the most visited.", between=(0.0, 100.0))
    temperature_plies: int = setting(1_000_000, "Plies at full temperature.", between=(0, 1_000_000))
    temperature_decay_plies: int = setting(0, "Plies of its linear fall.", between=(0, 1_000_000))
    temperature_final: float = setting(0.0, "Temperature after the fall.", between=(0.0, 100.0))
    opening_plies: int = setting(0, "Random plies before each pair of games.", between=(0, 10_000))
    num_simulations: int = setting(0, "Simulations of a move; 0: as in self-play.", between=(0, 1_000_000))
    anchor_games: int = setting(
        0,
        "Games with each fixed opponent; 0: none. A new champion plays them; with exact play once.",
        between=(0, 100_000),
    )
    anchors: list[int] = setting(
        [10, 100, 1000], "Simulations of the UCT opponents. The others are a random player and exact play."
    )


@dataclass(frozen=True)
class InferenceConfig:
    """How the network is computed in search."""

    backend: str = setting(
        "auto",
        'Backend. auto: the fastest on this machine; openvino: CPU only, pip install "azero[cpu]".',
        choices=("auto", "torch", "openvino"),
    )
    precision: str = setting(
        "auto",
        "Precision. auto: the fastest that is right; int8 then needs 64 channels and a clear gain. fp16: GPU "
        "only. int8: OpenVINO only, for the blocks.",
        choices=("auto", "fp32", "fp16", "bf16", "int8"),
    )
    cache: int = setting(
        65_536,
        "Evaluations, and results of exact play, that each worker keeps; 0: none. They change no game.",
        between=(0, 2**28),
    )


@dataclass(frozen=True)
class OracleConfig:
    """Positions with exact scores that a champion answers after each cycle. The answers decide nothing."""

    file: str = setting("", "File of positions; empty: those of azero. `azero oracle` makes such files.")
    positions: int = setting(
        50, "Positions of each set; 0: none. Connect Four has six sets, others one.", between=(0, 1_000_000)
    )
    num_simulations: int = setting(64, "Simulations a move; 0: raw policy only.", between=(0, 1_000_000))


@dataclass(frozen=True)
class ClusterConfig:
    """Self-play on many machines, with Ray; docs/cluster.md. Only `overlap` changes what is played."""

    address: str = setting(
        "",
        "Ray cluster; empty: this process alone. auto: the one of this machine; ray://host:10001: by Ray's "
        'client; local: processes on this machine. Needs pip install "azero[cluster]".',
    )
    cores: int = setting(0, "Cores of a worker process; 0: all of its machine.", between=(0, 4096))
    mixed: bool = setting(
        False, "Accept workers that compute the network differently. The run is marked as mixed."
    )
    overlap: bool = setting(
        False,
        "Play the next cycle's games while the head trains and holds the match, with the champion from "
        "before that match. This changes the games.",
    )
    tokens: bool = setting(True, "Refuse a cluster without tokens. Whoever reaches one can run code on it.")


@dataclass(frozen=True)
class Config:
    """The settings of the whole run."""

    game: GameConfig = field(default_factory=GameConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfplayConfig = field(default_factory=SelfplayConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)
    oracle: OracleConfig = field(default_factory=OracleConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    run: str | None = setting(None, "Name of the run. By default the name of the recipe or of the game.")
    seed: int = setting(1, "Seed of all random numbers.", between=(0, 2**63 - 1))
    cycles: int = setting(10, "Cycles to run.", between=(0, 1_000_000))
    minutes: float = setting(0.0, "Time limit in minutes; 0: none.", between=(0.0, 1e7))
    device: str = setting("auto", "Device of the network.", choices=DEVICES)
    workers: int = setting(
        0,
        "Threads that play; 0: automatic. One for each core; on a GPU half the cores, at least 2, at most 8.",
        between=(0, 1024),
    )
    init_from: str | None = setting(
        None,
        "Run whose champion is the first network. With network.head=spatial its board may have another size, "
        "and in Hex it may lack the swap.",
    )
    metrics: str = setting(
        "",
        "A Python file whose measure(champion, cycle) returns numbers by name, reported after each cycle; "
        "docs/lab/own_parts.md shows one.",
    )
    keep: int = setting(
        3, "Old networks to keep. Counts lost candidates and replaced champions each.", between=(0, 1_000_000)
    )
    accept_previous: bool = setting(False, "Take the champion before a damaged one.")
    checkpoints: str = setting("checkpoints", "Folder of networks and logs of all runs.")
    data: str = setting("data", "Folder of self-play games of all runs.")


def settings(schema: Any = Config, prefix: str = "") -> dict[str, Setting]:
    """Return every setting below a dataclass by its dotted key. The result is shared; don't change it."""
    return _settings(schema, prefix)


@cache
def _settings(schema: Any, prefix: str) -> dict[str, Setting]:
    known: dict[str, Setting] = {}
    for part in fields(schema):
        if "setting" in part.metadata:
            kind = part.type.__name__ if isinstance(part.type, type) else str(part.type)
            known[prefix + part.name] = replace(part.metadata["setting"], kind=kind)
        elif part.default_factory is not MISSING:
            known |= settings(part.default_factory, f"{prefix}{part.name}.")
    return known


def value_text(value: Any) -> str:
    """Return a value as the command line takes it."""
    if value == "":
        return '""'
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", False: "false", True: "true"}[value]
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def option_words(
    options: Mapping[str, Any], prefix: str = "game.options.", write: Callable[[Any], str] = value_text
) -> list[str]:
    """Return options as arguments of a command line; `write` writes their values, for Hydra `hydra_value`."""
    return [f"{prefix}{key}={write(value)}" for key, value in options.items()]


def flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    """Return every value of a config by its dotted key, such as ``{"search.c_puct": 1.25}``."""
    leaves: dict[str, Any] = {}
    for part in fields(config):
        value = getattr(config, part.name)
        if is_dataclass(value):
            leaves |= flatten(value, f"{prefix}{part.name}.")
        else:
            leaves[prefix + part.name] = value
    return leaves


def is_certain(evaluate: EvaluateConfig) -> bool:
    """Return whether both players of a match are deterministic after its openings."""
    temperature = (
        evaluate.temperature,
        evaluate.temperature_plies,
        evaluate.temperature_decay_plies,
        evaluate.temperature_final,
    )
    return is_cold(*temperature, after=evaluate.opening_plies)


def is_cold(initial: float, plies: int, decay_plies: int, final: float, after: int = 0) -> bool:
    """Return whether a temperature schedule is 0 at all plies from `after` on."""
    return final == 0 and not (initial > 0 and plies + decay_plies > after)
