"""Run a recipe from Python, in a process of its own.

In this process a second Ctrl-C, or the end of azero's grace time after the first one, would end the caller's
program too, and torch would keep the threads that a run sets.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TextIO

from omegaconf import OmegaConf

import azero
from azero.champion.champion import Champion
from azero.cli.hydra_program import compose_raw, default_name, to_config
from azero.cli.overrides import conf_folder, hydra_text, hydra_value
from azero.cli.programs import WRONG_INPUT
from azero.config.schema import Config, UserError
from azero.report.console import LIVE, format_count
from azero.report.curves import curves, last_values
from azero.report.metrics_csv import read_stats
from azero.run.folder import paths_of
from azero.run.run import Run

CURVES = (  # that a notebook shows, as far as the run has them
    "loss/policy",
    "loss/value",
    "correctness/keeps_value_search",
    "oracle/keeps_value_search",
    "rating/elo",
)
LINES_KEPT = 20  # of the output, for the message after a crash


@dataclass(frozen=True)
class RecipeRun:
    """A run, to be read.

    Attributes:
        name: the run's, for the programs: `azero play opponent.run=NAME`.
        checkpoints, data: the folders of all runs.
        device: where networks are computed.
    """

    name: str
    checkpoints: str
    data: str
    device: str

    @property
    def folder(self) -> Path:
        """The folder of its networks and logs."""
        return paths_of(self._config, self.name).folder

    @property
    def games(self) -> Path:
        """The folder of its self-play."""
        return paths_of(self._config, self.name).data

    @property
    def cycles(self) -> int:
        """The number of finished cycles."""
        return self._read().state.cycle

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings by name, such as "train.lr"."""
        return dict(self._read().state.config)

    @property
    def stats(self) -> dict[int, dict[str, float]]:
        """What each finished cycle has measured, by cycle and by the names of `docs/metrics.md`."""
        run = self._read()
        return read_stats(run.paths.metrics_csv, run.state.cycle)

    @property
    def _config(self) -> Config:
        """Where all runs are."""
        return Config(checkpoints=self.checkpoints, data=self.data)

    def _read(self) -> Run:
        """Return the run as it is now."""
        return Run.read(self._config, self.name)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: curves of losses and strength, last values, the champion."""
        run = self._read()
        stats = read_stats(run.paths.metrics_csv, run.state.cycle)
        title = f"<p>run {escape(self.name)}, {format_count(run.state.cycle, 'cycles')}</p>"
        last = last_values(stats, CURVES)
        rows = "".join(f"<tr><td>{tag}</td><td>{value:.3g}</td></tr>" for tag, value in last.items())
        champion = self.champion()._repr_html_() if run.state.champion else ""
        return f"{title}{curves(stats, CURVES)}<table>{rows}</table>{champion}"

    def champion(self) -> Champion:
        """Return its champion."""
        return azero.load_champion(self.name, self.checkpoints, self.device)


def run_recipe(
    recipe: str, resume: bool, report: Callable[[str], object] | None, settings: Mapping[str, Any]
) -> RecipeRun:
    """Run a recipe to its end; `azero.run_recipe` documents it."""
    if not isinstance(recipe, str) or "=" in recipe:
        raise UserError(f"recipe={recipe!r} must be a name such as 'hex5'; write settings as run='mine'.")
    words = [*([recipe] if recipe else []), *words_of(settings)]
    composed = compose_raw(words, with_hydra=True)
    asked = composed.hydra
    OmegaConf.set_struct(composed, False)
    composed.pop("hydra")
    config = to_config(composed)
    name = config.run or default_name(config.game, asked)
    paths = paths_of(config, name)
    if not resume and paths.state.exists():
        raise UserError(f"There is a run {name} already; go on with resume=True, or choose another run=NAME.")
    words = [word for word in words if not word.startswith("run=")]
    follow(["loop", *words, f"run={hydra_text(name)}"], report or (lambda line: None))
    return RecipeRun(name, config.checkpoints, config.data, config.device)


def words_of(settings: Mapping[str, Any], group: str = "") -> list[str]:
    """Return settings as a command line has them. A dict holds the settings of a group.

    Raises:
        UserError: a value cannot be written on a command line.
    """
    words: list[str] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            words += words_of(value, f"{group}{key}.")
        elif value is not None:
            words.append(f"{group}{key}={value_of(f'{group}{key}', value)}")
    return words


def value_of(key: str, value: object) -> str:
    """Return a value as Hydra reads it."""
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    parts = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(part, str | int | float) for part in parts):
        raise UserError(f"{key}={value!r} must be a text, a number, True or False, a list or a dict.")
    is_group = (conf_folder() / key).is_dir()  # of files, such as game=mine.py, which are read as typed
    return value if is_group and isinstance(value, str) else hydra_value(value)


def is_notebook(stream: TextIO) -> bool:
    """Return whether a stream is that of a notebook, on Colab and Kaggle too."""
    return type(stream).__module__ == "ipykernel.iostream"


def follow(words: list[str], report: Callable[[str], object]) -> None:
    """Run a program in a process of its own to its end; report its lines. A notebook shows its live line too.

    Ctrl-C asks the program once to save and stop, and is raised again after its end.

    Raises:
        UserError: the program refused its input.
        RuntimeError: it failed.
    """
    source = str(Path(azero.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    last, interrupt = deque[str](maxlen=LINES_KEPT), None
    live = {LIVE: "1"} if report is print and is_notebook(sys.stdout) else {}
    with subprocess.Popen(
        [sys.executable, "-m", "azero.cli.beside", *words],
        stdin=subprocess.PIPE,  # its end stops the program; see `cli.beside`
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **live},
        start_new_session=True,  # else Ctrl-C of a terminal would reach it twice
    ) as process:
        assert process.stdout
        lines = io.TextIOWrapper(process.stdout, "utf-8", "replace", newline="")  # "\r" stays as it is
        while True:
            try:
                for line in lines:
                    if live and line.endswith("\r"):
                        print(line, end="", flush=True)
                        continue
                    last.append(line.rstrip("\r\n"))
                    report(last[-1])
                status = process.wait()
                break
            except KeyboardInterrupt as error:
                interrupt = error
                process.send_signal(signal.SIGINT)
    if interrupt is not None:
        raise interrupt
    if status == WRONG_INPUT:
        raise UserError(last[-1].removeprefix("azero: "))
    if status:
        raise RuntimeError(
            "\n".join([f"azero {words[0]} ended with status {status}; its last lines:", *last])
        )
