"""How every program starts: Hydra composes the config, a mistake becomes one sentence, and the exit status tells."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from azero.config import OPENSPIEL, Config, GameConfig, UserError
from azero.config_checks import check
from azero.plugins import installed_games

WRONG_INPUT = 2  # exit status after a UserError
SIGNALLED = 128  # exit statuses above it are of a process that was stopped by a signal


def conf_folder() -> Path:
    """The recipes: inside the package when installed from a wheel, else beside it."""
    inside = Path(__file__).parent / "conf"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "conf"


def store_schema() -> None:
    """Give Hydra the dataclasses as the schema. Frozen ones are born read-only, which would refuse the first override."""
    from hydra.core.config_store import ConfigStore
    from omegaconf import DictConfig, OmegaConf

    schema = OmegaConf.structured(Config)
    for node in (schema, *(part for part in schema.values() if isinstance(part, DictConfig))):
        OmegaConf.set_readonly(node, None)
    OmegaConf.set_struct(schema.game.options, False)  # every game has options of its own
    ConfigStore.instance().store(name="schema", node=schema)


def to_config(composed: Any) -> Config:
    """The frozen, checked config of what Hydra composed."""
    from omegaconf import OmegaConf

    refuse_added_keys(OmegaConf.to_container(composed), Config())
    config = OmegaConf.to_object(composed)
    assert isinstance(config, Config)
    check(config)
    return replace(config, game=settled(config.game))


def settled(game: GameConfig) -> GameConfig:
    """The game under the one name that it has in all folders, and whichever way it was asked for."""
    if game.name.endswith(".py"):
        return replace(game, name=os.path.abspath(os.path.expanduser(game.name)))
    if game.engine == "openspiel" or game.name.startswith(OPENSPIEL):
        return replace(game, name=OPENSPIEL + game.name.removeprefix(OPENSPIEL), engine="openspiel")
    return game


def refuse_added_keys(composed: Any, schema: Any, prefix: str = "") -> None:
    """`+key=value` adds a key past Hydra's own check."""
    for key, value in composed.items():
        if not hasattr(schema, key):
            raise UserError(f"{prefix}{key} is no setting; --cfg job prints all settings there are.")
        if is_dataclass(getattr(schema, key)):
            refuse_added_keys(value, getattr(schema, key), f"{prefix}{key}.")


def compose(*overrides: str) -> Config:
    """The config that the programs would see with these arguments, for scripts and tests."""
    import hydra

    store_schema()
    with hydra.initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return to_config(hydra.compose("config", overrides=settle_game(overrides)))


def settle_game(arguments: Sequence[str]) -> list[str]:
    """Arguments as Hydra can read them, where `game=` may name what is no file of conf/game.

    `game=mine.py`, and a game that another package has installed, set `game.name`. With a game and no recipe, the recipe is the
    game's own or `plain`, because the default's numbers are tic-tac-toe's; with several games it is `plain` for all.
    """
    asked = dict(argument.partition("=")[::2] for argument in arguments)
    words = list(arguments)
    if "game" not in asked:
        return words
    if all(map(is_own_game, asked["game"].split(","))):
        words[words.index(f"game={asked['game']}")] = "game.name=" + ",".join(map(hydra_text, asked["game"].split(",")))
    if "experiment" not in asked:
        words.append(f"experiment={asked['game'] if has_file('experiment', asked['game']) else 'plain'}")
    return words


def has_file(group: str, name: str) -> bool:
    """Whether there is a file of settings of that name."""
    return (conf_folder() / group / f"{name}.yaml").is_file()


def is_own_game(name: str) -> bool:
    """Whether it is no shipped game and yet can be made: a file's path, an installed package's game, one of OpenSpiel's."""
    return not has_file("game", name) and (name.endswith(".py") or name.startswith(OPENSPIEL) or name in installed_games())


@dataclass(frozen=True)
class Asked:
    """What a person typed behind a program's name.

    Attributes:
        overrides: as typed, such as ("experiment=smoke", "seed=3"); those of one run where several were asked for.
        default_name: the name of a run that is given none with these overrides.
    """

    overrides: tuple[str, ...] = ()
    default_name: str = ""

    def again(self, name: str, **settings: object) -> str:
        """The arguments, quoted for a shell, that ask for the same but for some settings.

        Args:
            name: the run's name.
            settings: those that differ.
        """
        changed = {"run", *settings}
        kept = [override for override in self.overrides if override.lstrip("+~").partition("=")[0] not in changed]
        named = [] if name == self.default_name else [f"run={hydra_text(name)}"]
        return shlex.join([*kept, *named, *(f"{key}={value}" for key, value in settings.items())])


def hydra_text(text: str) -> str:
    """A value as Hydra reads it: in quotes if it could be taken for something else than the text."""
    plain = re.fullmatch(r"([a-z_]|\.{0,2}/)[\w.+:/-]*", text, re.ASCII | re.IGNORECASE)
    if plain and text.lower() not in ("null", "true", "false", "nan", "inf"):
        return text
    return "'" + text.replace("'", "\\'") + "'"


def asked_of_hydra(game: GameConfig) -> Asked:
    """What Hydra was asked for in this process."""
    from hydra.core.hydra_config import HydraConfig

    return Asked(tuple(HydraConfig.get().overrides.task), default_name(game))


def default_name(game: GameConfig) -> str:
    """The name of a run that is given none: its recipe's, with the game's behind it if that was asked for beside the recipe."""
    from hydra.core.hydra_config import HydraConfig

    asked = HydraConfig.get()
    recipe = asked.runtime.choices.get("experiment")
    keys = {override.partition("=")[0].lstrip("+") for override in asked.overrides.task}
    title = game_title(game) if "game.name" in keys else asked.runtime.choices.get("game") or game_title(game)
    if recipe in (None, "plain", title):
        return clean_name(title)
    return clean_name(f"{recipe}-{title}" if keys & {"game", "game.name"} else recipe)


def game_title(game: GameConfig) -> str:
    """A game's name without folders, engine and parameters."""
    return Path(game.name).stem if game.name.endswith(".py") else game.name.removeprefix(OPENSPIEL).partition("(")[0]


def clean_name(name: str) -> str:
    """A name without what a folder's name had better not hold."""
    return re.sub(r"[^\w.=,+-]", "_", name)


def run_name(config: Config) -> str:
    """The name of the run's folder: `run=`, else the recipe's or the game's name, in a multirun with the overrides behind it."""
    from hydra.core.hydra_config import HydraConfig

    if config.run:
        return config.run
    hydra_config = HydraConfig.get()
    name = default_name(config.game)
    if hydra_config.mode and hydra_config.mode.name == "MULTIRUN" and hydra_config.job.override_dirname:
        name += "-" + hydra_config.job.override_dirname
    return clean_name(name)


def program(main: Callable[..., int | None], *, tell_asked: bool = False) -> None:
    """Run `main(config, run name)` with the command line's config and exit with its status (None is 0).

    With `tell_asked` it is `main(config, run name, asked)`. A UserError, or a config that Hydra refuses, is printed as one
    sentence and exits with WRONG_INPUT.
    """
    import hydra

    statuses: list[int] = []

    def task(composed: Any) -> None:
        try:
            config = to_config(composed)
            more = (asked_of_hydra(config.game),) if tell_asked else ()
            statuses.append(main(config, run_name(config), *more) or 0)
            if statuses[-1] > SIGNALLED:  # a multirun that is stopped begins no other run
                sys.exit(statuses[-1])
        except UserError as mistake:  # here, because Hydra would print lines of its own about it
            print(f"azero: {mistake}", file=sys.stderr)
            statuses.append(WRONG_INPUT)

    sys.argv[1:] = settle_game(sys.argv[1:])
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises instead of printing several lines; `sentence` prints one
    store_schema()
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")(task)()
    except Exception as failure:
        if not comes_from_hydra(failure):
            raise
        print(f"azero: {sentence(failure)}", file=sys.stderr)
        statuses.append(WRONG_INPUT)
    sys.exit(max(statuses, default=0))


@contextmanager
def one_sentence() -> Iterator[None]:
    """For scripts: a UserError, or a config that Hydra refuses, is printed as one sentence and exits with WRONG_INPUT."""
    try:
        yield
    except Exception as failure:
        if not isinstance(failure, UserError) and not comes_from_hydra(failure):
            raise
        print(f"azero: {failure if isinstance(failure, UserError) else sentence(failure)}", file=sys.stderr)
        sys.exit(WRONG_INPUT)


def comes_from_hydra(failure: Exception) -> bool:
    """Whether Hydra or OmegaConf raised it, as an exception of theirs or as a plain one out of their code."""
    frames = list(traceback.walk_tb(failure.__traceback__))
    origins = (type(failure).__module__, str(frames[-1][0].f_globals.get("__name__")) if frames else "")
    return any(origin.split(".")[0] in ("hydra", "omegaconf") for origin in origins)


def group_sentence(arguments: list[str]) -> str:
    """One sentence for a group, such as `search`, that was set to something that is no name; Hydra does not say which."""
    for argument in arguments:
        group, equals, name = argument.partition("=")
        if equals and group and (conf_folder() / group).is_dir() and not has_file(group, name):
            return missing_sentence(group, name)
    return f"{' '.join(arguments)} cannot be read; settings are written key=value."


def missing_sentence(group: str, name: str) -> str:
    """One sentence for a file of settings that does not exist."""
    there = ", ".join(sorted(path.stem for path in (conf_folder() / group).glob("*.yaml")))
    also = ", and any path of a Python file of your own" if group == "game" else ""
    return f"{group}={name} does not exist; there are {there}{also}."


def sentence(failure: Exception) -> str:
    """One sentence for a config that Hydra or OmegaConf refuses."""
    while failure.__cause__ is not None and isinstance(failure.__cause__, Exception):
        failure = failure.__cause__
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    text = lines[0] if lines else type(failure).__name__
    key = getattr(failure, "full_key", None)
    if missing := re.search(r"Could not find '([^']+)'", text):
        group, _, name = missing[1].rpartition("/")
        return missing_sentence(group, name)
    if "Key" in text and "not in" in text and key:
        return f"{key} is no setting; --cfg job prints all settings there are."
    if "Config group override must be" in text:
        return group_sentence(sys.argv[1:])
    if "parsing override" in text:
        return f"{text.rstrip('.')}; settings are written key=value."
    if "Ambiguous value" in text:
        return f"{text.rstrip('.')}; several values need -m, and a list is written [1,2]."
    return f"{key}: {text.rstrip('.')}." if key else f"{text.rstrip('.')}."
