"""How every program starts: Hydra composes the config, a mistake becomes one sentence, and the exit status tells."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from azero.config import Config, UserError, check

WRONG_INPUT = 2  # exit status after a UserError


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
    ConfigStore.instance().store(name="schema", node=schema)


def to_config(composed: Any) -> Config:
    """The frozen, checked config of what Hydra composed."""
    from omegaconf import OmegaConf

    refuse_added_keys(OmegaConf.to_container(composed), Config())
    config = OmegaConf.to_object(composed)
    assert isinstance(config, Config)
    check(config)
    return config


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
        return to_config(hydra.compose("config", overrides=list(overrides)))


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
    plain = re.fullmatch(r"[^\W\d][\w.+-]*", text) and text.lower() not in ("null", "true", "false", "nan", "inf")
    return text if plain else f"'{text}'"


def asked_of_hydra() -> Asked:
    """What Hydra was asked for in this process."""
    from hydra.core.hydra_config import HydraConfig

    return Asked(tuple(HydraConfig.get().overrides.task), recipe_name())


def recipe_name() -> str:
    """The name of a run that is given none: its experiment's."""
    from hydra.core.hydra_config import HydraConfig

    return clean_name(HydraConfig.get().runtime.choices.get("experiment") or "default")


def clean_name(name: str) -> str:
    """A name without what a folder's name had better not hold."""
    return re.sub(r"[^\w.=,+-]", "_", name)


def run_name(config: Config) -> str:
    """The name of the run's folder: `run=`, else the experiment's name, in a multirun with the overrides behind it."""
    from hydra.core.hydra_config import HydraConfig

    if config.run:
        return config.run
    hydra_config = HydraConfig.get()
    name = recipe_name()
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
            more = (asked_of_hydra(),) if tell_asked else ()
            statuses.append(main(config, run_name(config), *more) or 0)
        except UserError as mistake:  # here, because Hydra would print lines of its own about it
            print(f"azero: {mistake}", file=sys.stderr)
            statuses.append(WRONG_INPUT)

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


def comes_from_hydra(failure: Exception) -> bool:
    """Whether Hydra or OmegaConf raised it, as an exception of theirs or as a plain one out of their code."""
    frames = list(traceback.walk_tb(failure.__traceback__))
    origins = (type(failure).__module__, str(frames[-1][0].f_globals.get("__name__")) if frames else "")
    return any(origin.split(".")[0] in ("hydra", "omegaconf") for origin in origins)


def group_sentence(arguments: list[str]) -> str:
    """One sentence for a group, such as `search`, that was set to something that is no name; Hydra does not say which."""
    for argument in arguments:
        group, equals, name = argument.partition("=")
        folder = conf_folder() / group
        if equals and group and folder.is_dir() and not (folder / f"{name}.yaml").exists():
            return f"{argument} does not exist; there are {', '.join(sorted(path.stem for path in folder.glob('*.yaml')))}."
    return f"{' '.join(arguments)} cannot be read; settings are written key=value."


def sentence(failure: Exception) -> str:
    """One sentence for a config that Hydra or OmegaConf refuses."""
    while failure.__cause__ is not None and isinstance(failure.__cause__, Exception):
        failure = failure.__cause__
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    text = lines[0] if lines else type(failure).__name__
    key = getattr(failure, "full_key", None)
    if missing := re.search(r"Could not find '([^']+)'", text):
        group, _, name = missing[1].rpartition("/")
        there = sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))
        return f"{group}={name} does not exist; there are {', '.join(there)}."
    if "Key" in text and "not in" in text and key:
        return f"{key} is no setting; --cfg job prints all settings there are."
    if "Config group override must be" in text:
        return group_sentence(sys.argv[1:])
    if "parsing override" in text:
        return f"{text.rstrip('.')}; settings are written key=value."
    if "Ambiguous value" in text:
        return f"{text.rstrip('.')}; several values need -m, and a list is written [1,2]."
    return f"{key}: {text.rstrip('.')}." if key else f"{text.rstrip('.')}."
