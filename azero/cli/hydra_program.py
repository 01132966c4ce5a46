"""Start a program with a run: compose its config with Hydra, and report a mistake as one sentence."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from azero.cli.help import run_help
from azero.cli.overrides import (
    as_typed,
    conf_folder,
    hydra_text,
    missing_sentence,
    read_arguments,
    read_overrides,
)
from azero.cli.programs import answers_flag, refuse
from azero.config.checks import check
from azero.config.schema import EMPTY_TREES, OPENSPIEL, Config, GameConfig, UserError, flatten, settings
from azero.process.ending import end_quietly, report_crash

LONGEST_VALUE = 24  # characters of a value in the name of a run
SEQUENTIAL = "evaluate.gate", ("sequential",)
READ_WITH = {  # settings that are read only where another one has certain values
    **{f"evaluate.{name}": SEQUENTIAL for name in ("elo0", "elo1", "error", "most_games")},
    "evaluate.threshold": ("evaluate.gate", ("score",)),
    **{f"train.{name}": ("train.schedule", ("step",)) for name in ("decay_factor", "milestones")},
    "train.momentum": ("train.optimizer", ("sgd",)),
}
NOT_READ_AT_ZERO = {  # settings that are not read while another one is 0
    "search.exact_nodes": "search.exact_plies",
    "search.dirichlet_alpha": "search.dirichlet_fraction",
    "selfplay.opening_plies": "selfplay.opening_fraction",
    "selfplay.opening_plies_share": "selfplay.opening_fraction",
    "selfplay.opening_plies_final": "selfplay.opening_plies_share",
    "evaluate.anchors": "evaluate.anchor_games",
    "oracle.num_simulations": "oracle.positions",
}
SIGNALLED = 128  # exit statuses above it are of a process that was stopped by a signal


@functools.cache
def store_schema() -> None:
    """Give Hydra the dataclasses as the schema. `search.tree_reuse` goes by `search.kind`.

    Frozen dataclasses are read-only at first, which would refuse the first override.
    """
    from hydra.core.config_store import ConfigStore  # here, because --help does not need it

    from azero.cli.recipe_files import SCHEMA, check_files_for_hydra

    check_files_for_hydra()
    schema = OmegaConf.structured(Config)
    for node in (schema, *(part for part in schema.values() if isinstance(part, DictConfig))):
        OmegaConf.set_readonly(node, None)
    for part in (
        schema.game,
        schema.search,
        schema.network,
    ):  # each choice has its own options
        OmegaConf.set_struct(part.options, False)
    OmegaConf.register_new_resolver("keeps_tree", lambda kind: kind not in EMPTY_TREES, replace=True)
    OmegaConf.update(schema, "search.tree_reuse", "${keeps_tree:${search.kind}}")
    ConfigStore.instance().store(name=SCHEMA, node=schema)


def settle(composed: Any) -> None:
    """Give `search.tree_reuse` the value that the search algorithm implies."""
    OmegaConf.set_struct(composed, False)
    OmegaConf.update(composed, "search.tree_reuse", composed.search.tree_reuse)


def to_config(composed: Any) -> Config:
    """Return the frozen, checked config of what Hydra composed.

    Raises:
        UserError: a value is impossible.
    """
    from azero.search.algorithm import check as check_algorithm  # here, because the room imports Numba

    try:
        settle(composed)
        config = OmegaConf.to_object(composed)
    except OmegaConfBaseException as failure:
        raise UserError(sentence(failure)) from failure
    assert isinstance(config, Config)
    check(config)
    check_algorithm(config.search)
    return with_whole_paths(replace(config, game=settled(config.game)))


def with_whole_paths(config: Config) -> Config:
    """Return the config with paths of a person's own files that hold in every folder."""

    def whole(value: str) -> str:
        return absolute(value) if value.endswith(".py") else value

    return replace(
        config,
        network=replace(config.network, file=config.network.file and absolute(config.network.file)),
        search=replace(config.search, kind=whole(config.search.kind)),
        train=replace(config.train, optimizer=whole(config.train.optimizer)),
        metrics=whole(config.metrics),
    )


def settled(game: GameConfig) -> GameConfig:
    """Return the game under its one name, independent of the folder and of how the user named it."""
    if game.name.endswith(".py"):
        return replace(game, name=absolute(game.name))
    if game.engine == "openspiel" or game.name.startswith(OPENSPIEL):
        return replace(game, name=OPENSPIEL + game.name.removeprefix(OPENSPIEL), engine="openspiel")
    return game


def absolute(path: str) -> str:
    """Return a path that holds in every folder."""
    return os.path.abspath(os.path.expanduser(path))


def compose(*overrides: str) -> Config:
    """Return the config that the programs would see with these overrides, for scripts and tests.

    Raises:
        UserError: the config is not possible.
    """
    return to_config(compose_raw(overrides))


def compose_raw(overrides: Sequence[str], with_hydra: bool = False) -> Any:
    """Return what Hydra composes, with its own settings too if `with_hydra`.

    Raises:
        UserError: Hydra refuses.
    """
    import hydra

    words = read_overrides(overrides)
    with one_sentence_of_hydra(), hydra.initialize_config_dir(str(conf_folder()), version_base="1.3"):
        store_schema()
        return hydra.compose("config", overrides=words, return_hydra_config=with_hydra)


def help_of(name: str, words: Sequence[str]) -> str:
    """Return the help of a program with the values of a command line, or the default ones if it is wrong."""
    try:
        composed = compose_raw([word for word in words if not word.startswith("-")], with_hydra=True)
    except UserError:
        composed = compose_raw([], with_hydra=True)
    recipe = composed.hydra.runtime.choices.experiment
    settle(composed)
    shown = {key: OmegaConf.select(composed, key) for key in settings()}
    plain = {
        key: OmegaConf.to_container(each) if OmegaConf.is_config(each) else each
        for key, each in shown.items()
    }
    return run_help(name, recipe, plain)


@dataclass(frozen=True)
class CommandLine:
    """What a person typed behind a program's name.

    Attributes:
        overrides: such as ("experiment=smoke", "seed=3"); in a multirun those of one run.
        default_name: the run's name if `run=` does not set it.
        recipe: in force; "" for none.
    """

    overrides: tuple[str, ...] = ()
    default_name: str = ""
    recipe: str = ""

    def is_one_of_many(self, name: str) -> bool:
        """Return whether a multirun has added settings to the name of this run."""
        is_given = any(each.startswith("run=") for each in self.overrides)
        return name.startswith(f"{self.default_name}-") and not is_given

    def again(self, name: str, **settings: object) -> str:
        """Return the arguments, quoted for a shell, that repeat the run of this name with other settings."""
        changed = {"run", *settings}
        words = [
            each for each in as_typed(self.overrides) if each.lstrip("+~").partition("=")[0] not in changed
        ]
        if name != self.default_name:
            words.append(f"run={hydra_text(name)}")
        words += [f"{key}={value}" for key, value in settings.items()]
        return " ".join(map(shell_text, words))


def shell_text(word: str) -> str:
    """Return a word as a shell reads it, in double quotes if it holds single ones and nothing special."""
    return f'"{word}"' if "'" in word and not re.search(r'["$`\\!]', word) else shlex.quote(word)


def default_name(game: GameConfig, asked: Any) -> str:
    """Return the name of a run without `run=`: its recipe's, then the game's if the user named both.

    asked: Hydra's own configuration.
    """
    recipe = asked.runtime.choices.get("experiment")
    keys = {override.partition("=")[0].lstrip("+") for override in asked.overrides.task}
    title = game.stem if "game.name" in keys else asked.runtime.choices.get("game") or game.stem
    if recipe in (None, "plain", title):
        return clean_name(title)
    return clean_name(f"{recipe}-{title}" if keys & {"game", "game.name"} else recipe)


def clean_name(name: str) -> str:
    """Return a name with `_` for each character that is not a letter, a digit, `-` or `_`."""
    return re.sub(r"[^\w-]", "_", name)


def values_of(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each override of a multirun by its key; none of a range, which has no list."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep

    found = dict[str, list[str]]()
    for override in OverridesParser.create().parse_overrides(list(words)):
        values = [] if override.is_sweep_override() else [""]
        if isinstance(override.value(), ChoiceSweep):
            values = list(override.sweep_string_iterator())
        found[override.get_key_element().lstrip("+~")] = values
    return found


def suffix_of(base: str, overrides: Sequence[str], values: Mapping[str, Sequence[str]]) -> str:
    """Return what tells a run of a multirun apart, such as "-seed-1-c_puct-1_5": the settings that vary.

    Args:
        base: the run's default name, which mostly holds its recipe and its game.
        overrides: those of this run.
        values: see `values_of`.
    """
    suffix = ""
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        stems = [GameConfig(name=name.strip("'")).stem for name in values.get(key, ())]
        is_named = {
            "experiment": base == value or base.startswith(f"{value}-"),
            "game": True,
            "game.name": len(set(stems)) == len(stems),
        }
        if len(values.get(key, ())) != 1 and not is_named.get(key, False):
            suffix += f"-{clean_name(short_key(key))}-{short_value(value)}"
    return suffix


def short_key(key: str) -> str:
    """Return a setting's name without its group, unless another group has a setting of that name."""
    last = key.rpartition(".")[2]
    return last if sum(last == name.rpartition(".")[2] for name in settings()) <= 1 else key


def short_value(text: str) -> str:
    """Return a value for the name of a run, with a digest of it where different values could look alike."""
    text = text.strip("'\"")
    clean = clean_name(text).strip("_")
    if re.fullmatch(r"[\w.-]+", text) and len(text) <= LONGEST_VALUE:
        return clean
    return f"{clean[-LONGEST_VALUE:].strip('_')}-{hashlib.blake2b(text.encode(), digest_size=3).hexdigest()}"


def check_names(words: Sequence[str]) -> None:
    """Check the overrides of a multirun: each of its runs needs a name of its own.

    Raises:
        UserError: `run=` names several alike, or a setting has a value twice.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep

    several, names = 1, [""]
    for word, override in zip(words, OverridesParser.create().parse_overrides(list(words)), strict=True):
        key = override.get_key_element().lstrip("+~")
        swept = isinstance(override.value(), ChoiceSweep | RangeSweep)
        values = list(override.sweep_string_iterator()) if swept else [word.partition("=")[2]]
        if twice := [value for value in values if values.count(value) > 1]:
            raise UserError(f"{key}= has {twice[0]} twice; each run of a multirun needs settings of its own.")
        if key == "run":
            names = [value.strip("'\"") for value in values]
        else:
            several *= len(values)
    if several > 1 and names != [""] and not any("${" in name for name in names):
        raise UserError(f"run={','.join(names)} names several runs of this multirun alike; leave it out.")


def idle_texts(config: Config, words: Sequence[str]) -> list[str]:
    """Return one sentence for each override that sets what nothing reads, as c_puct with Gumbel search."""
    known, values, said = settings(), flatten(config), list[str]()
    for key in (word.partition("=")[0].lstrip("+") for word in words):
        only = known[key].only.lower() if key in known else ""
        other, read = ("search.kind", (only,)) if only else READ_WITH.get(key, ("", ()))
        reader = "train.optimizer" if key.startswith("train.") else other  # one's own may read all settings
        if other and values[other] not in read and not values[reader].endswith(".py"):
            where = "on training " if only else ""  # players may search otherwise than the run
            said.append(f"{key} has no effect {where}with {other}={values[other]}.")
            continue
        switch, is_search = NOT_READ_AT_ZERO.get(key), key.startswith("search.")
        if switch and not values[switch] and not (is_search and values["search.kind"].endswith(".py")):
            said.append(f"{key} has no effect {'on training ' * is_search}with {switch}=0.")
    return said


def name_run(config: Config, words: Sequence[str]) -> tuple[str, CommandLine]:
    """Return the name of the run and what a person asked for; in a multirun, print which run begins.

    The name is `run=` or the default name, to which a multirun appends the settings with several values.
    `words` are the overrides of the command line.
    """
    from hydra.core.hydra_config import HydraConfig

    hydra_config = HydraConfig.get()
    recipe = hydra_config.runtime.choices.get("experiment") or ""
    name = default_name(config.game, hydra_config)
    asked = CommandLine(tuple(hydra_config.overrides.task), name, recipe)
    in_multirun = hydra_config.mode and hydra_config.mode.name == "MULTIRUN"
    suffix = suffix_of(name, asked.overrides, values_of(words)) if in_multirun else ""
    name = config.run or asked.default_name + suffix
    if in_multirun:
        print(f"Run {hydra_config.job.num + 1} of the multirun: {name}", flush=True)
    return name, asked


class HydraJobs:
    """What Hydra starts: one run, or each of a multirun in turn.

    Attributes:
        statuses: how each of them ended.
        inside: whether one is under way.
    """

    def __init__(self, act: Callable[[Any], int]) -> None:
        """Prepare to do what `act` does with a config that Hydra composed."""
        self.statuses, self.inside = list[int](), False
        self._act = act

    def begin(self, composed: Any) -> None:
        """Do the next one."""
        self.inside = True
        try:
            self.statuses.append(self._act(composed))
        except UserError as mistake:  # here, because Hydra would print lines of its own about it
            self.statuses.append(refuse(mistake))
        except Exception as failure:
            end_quietly(failure)
            self.statuses.append(report_crash(failure))
        if max(self.statuses) > SIGNALLED:  # a multirun that is stopped begins no other run
            sys.exit(self.statuses[-1])
        self.inside = False


def print_config(composed: Any) -> int:
    """Print the settings that Hydra composed, as `--cfg job` asks."""
    settle(composed)
    print(OmegaConf.to_yaml(composed), end="")
    return 0


def program(
    name: str,
    act: Callable[..., int | None],
    arguments: Sequence[str] | None = None,
    *,
    pass_arguments: bool = False,
) -> int:
    """Run `act(config, run name)` with the config that the arguments ask for; return its status (None is 0).

    A UserError, or a config that Hydra refuses, is printed as one sentence and exits with WRONG_INPUT.

    Args:
        name: the program's, such as "loop".
        act: what it does.
        arguments: None for those of this process.
        pass_arguments: whether `act` takes a third argument, a `CommandLine`.
    """
    given, names = sys.argv[1:] if arguments is None else arguments, set[str]()

    def act_on_run(composed: Any) -> int:
        config = to_config(composed)
        run, asked = name_run(config, overrides)
        if run in names:
            raise UserError(f"{run} is the name of an earlier run of this multirun too.")
        names.add(run)
        return act(config, run, *([asked] if pass_arguments else [])) or 0

    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises instead of printing several lines
    with one_sentence():
        if answers_flag(given, lambda: help_of(name, given)):
            return 0
        words, shows_config = without_cfg(read_arguments(given))
        sys.argv = [f"azero {name}", *words]
        overrides = list(takewhile(lambda word: word[0] != "-", words))
        if {"--multirun", "-m", "hydra.mode=MULTIRUN"} & set(words):
            with one_sentence_of_hydra():
                check_names(overrides)
        import hydra

        jobs = HydraJobs(print_config if shows_config else act_on_run)
        compose = hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")
        start = compose(jobs.begin)
        with one_sentence_of_hydra(lambda: not jobs.inside):
            store_schema()
            start()
    return max(jobs.statuses, default=0)


def without_cfg(words: list[str]) -> tuple[list[str], bool]:
    """Return the words without `--cfg job`, which Hydra would answer unsettled, and whether it is there."""
    at = next((place for place, word in enumerate(words) if word in ("--cfg", "-c")), len(words))
    if words[at + 1 : at + 2] != ["job"] or {"--package", "-p"} & set(words):
        return words, False
    return [word for word in words[:at] + words[at + 2 :] if word != "--resolve"], True


@contextmanager
def one_sentence() -> Iterator[None]:
    """Print a UserError as one sentence and exit with WRONG_INPUT."""
    try:
        yield
    except UserError as mistake:
        sys.exit(refuse(mistake))


@contextmanager
def one_sentence_of_hydra(composing: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Turn what Hydra raises into a UserError. `composing` returns False while the program runs."""
    try:
        yield
    except (UserError, BrokenPipeError):
        raise
    except Exception as failure:
        if type(failure) is OSError or not composing():  # the output is full, or a fault of azero itself
            raise
        raise UserError(sentence(failure)) from failure


def causes(failure: BaseException) -> list[BaseException]:
    """Return an exception and those that led to it, the first one last."""
    chain = [failure]
    while (earlier := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(earlier)
    return chain


def sentence(failure: Exception) -> str:
    """Return one sentence for what Hydra refuses although each word and file has been checked."""
    for cause in causes(failure):
        if isinstance(cause, RecursionError):
            return "a file of settings is nested too deeply, or its defaults lead back to it."
        if missing := getattr(cause, "missing_cfg_file", None):
            group, _, name = missing.rpartition("/")
            if group.startswith("hydra"):
                return f"{group}={name} does not exist; a plugin of Hydra may be missing."
            return missing_sentence(group, name, f"a recipe names {missing}, which does not exist")
    key = next((key for cause in causes(failure) if (key := getattr(cause, "full_key", None))), "")
    said = str(causes(failure)[-1]).strip().partition("\n")[0].rstrip(".")
    return f"{key or 'these settings'} cannot be used: {said or type(failure).__name__}."
