"""Files of settings set values of azero and run nothing, whoever wrote them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from forks import azero_command

import azero
from azero.cli.hydra_program import compose
from azero.cli.overrides import conf_folder
from azero.cli.programs import WRONG_INPUT
from azero.cli.recipe_files import check_file
from azero.config.schema import UserError

GLOBAL = "# @package _global_\n"
# Hydra makes an object of it before a job: here one that writes a file.
TRAP = "{trap: {_target_: builtins.open, file: trapped, mode: w}}"
FILES = {
    "callbacks": f"{GLOBAL}hydra: {{callbacks: {TRAP}}}\n",
    "target": f"{GLOBAL}game:\n  options:\n    list: [1, {{a: {{_target_: os.system}}}}]\n",
    "folder": f"{GLOBAL}hydra:\n  run: {{dir: elsewhere}}\n  job: {{chdir: true}}\n",
    "environment": f"{GLOBAL}hydra: {{job: {{env_set: {{AZERO_X: 1}}}}}}\n",
    "quoted": f'{GLOBAL}"\\x68ydra": {{run: {{dir: elsewhere}}}}\n',
    "dotted": f"{GLOBAL}hydra.run.dir: elsewhere\n",
    "anchor": f"{GLOBAL}game: {{options: &a {{hydra: {{run: {{dir: elsewhere}}}}}}}}\n<<: *a\n",
    "package": f"# @package hydra\ncallbacks: {TRAP}\n",
    "inner_package": "# An own recipe.\n# @package hydra.job\nchdir: true\n",
    "odd_package": "#\u2028#  @package  _global_.hydra.job\nchdir: true\n",
    "override": f"{GLOBAL}defaults:\n  - override /hydra/job_logging: mine\n",
    "group": f"{GLOBAL}defaults:\n  - /hydra/callbacks/mine\n",
    "group_at": f"{GLOBAL}defaults:\n  - /trap@hydra.callbacks: mine\n",
    "group_above": f"{GLOBAL}defaults:\n  - ../hydra/callbacks/mine\n",
    "alias_of_defaults": f"{GLOBAL}game: {{options: {{a: &d [/hydra/callbacks/mine]}}}}\ndefaults: *d\n",
    "by_interpolation": f"{GLOBAL}defaults:\n  - /${{oc.decode:hyd}}ra/callbacks/mine\n",
    "resolver": f"{GLOBAL}run: ${{oc.env:HOME}}\n",
    "inner_resolver": f"{GLOBAL}run: ${{oc.dict.keys:${{game}}}}\n",
    "resolver_of_hydra": f"{GLOBAL}run: ${{hydra:runtime.cwd}}\n",
    "resolver_in_parts": f"{GLOBAL}run: ${{${{device}}.env:HOME}}\n",
    "tag": f"{GLOBAL}run: !!python/object/apply:os.getcwd []\n",
    "bomb": GLOBAL + "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
    "b: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n"
    "d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d]\n",
    "endless": f"{GLOBAL}a: &a [*a]\n",
    "circle": f"{GLOBAL}defaults:\n  - circle\n",
}  # fmt: skip


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / "conf" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AZERO_X", raising=False)
    for group in ("hydra/callbacks", "hydra/job_logging", "trap"):
        write(tmp_path, f"{group}/mine", TRAP)
    return tmp_path


def assert_nothing_ran(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["conf"]
    assert Path.cwd() == folder and "AZERO_X" not in os.environ


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_settings_that_speaks_to_hydra_runs_nothing(folder: Path, name: str) -> None:
    path = write(folder, f"experiment/{name}", FILES[name])
    with pytest.raises(UserError) as refused:
        compose(name)
    assert name == "circle" or str(path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert_nothing_ran(folder)


@pytest.mark.parametrize("group", ["game", "network", "search", "selfplay", "train", "evaluate"])
def test_a_file_of_any_group_is_held_to_it(folder: Path, group: str) -> None:
    path = write(folder, f"{group}/mine", f"{GLOBAL}hydra: {{callbacks: {TRAP}}}\n")
    with pytest.raises(UserError, match="'hydra'") as refused:
        compose(f"{group}=mine")
    assert str(path) in str(refused.value)
    other = write(folder, f"{group}/hydra", "# @package _name_\nrun: {dir: elsewhere}\n")
    with pytest.raises(UserError, match="hydra") as refused:
        compose(f"{group}=hydra")
    assert str(other) in str(refused.value)


def test_no_file_takes_the_place_of_the_settings_types(folder: Path) -> None:
    write(folder, "schema", "seed: words\n")
    write(folder, "config", f"hydra: {{callbacks: {TRAP}}}\n")
    assert compose("smoke").seed == 1
    assert_nothing_ran(folder)


@pytest.mark.parametrize(
    "words",
    [
        ["loop", "callbacks", "--cfg", "job"],
        ["loop", "callbacks", "--cfg", "all", "--resolve"],
        ["loop", "callbacks", "-m", "seed=1,2"],
        ["loop", "game=tictactoe", "hydra/callbacks=mine"],
        ["estimate", "callbacks"],
        ["correctness", "--config-dir", "other", "experiment=callbacks"],
    ],
)
def test_every_program_refuses_it_with_one_sentence(folder: Path, words: list[str]) -> None:
    write(folder, "experiment/callbacks", FILES["callbacks"])
    (folder / "other").symlink_to(folder / "conf")
    ended = subprocess.run(
        azero_command("", *words), capture_output=True, text=True, timeout=120, check=False
    )
    (folder / "other").unlink()
    assert ended.returncode == WRONG_INPUT and not ended.stdout
    assert len(ended.stderr.splitlines()) == 1 and ".yaml, line " in ended.stderr, ended.stderr
    assert_nothing_ran(folder)


def test_run_recipe_refuses_it_too(folder: Path) -> None:
    write(folder, "experiment/callbacks", FILES["callbacks"])
    with pytest.raises(UserError, match=r"callbacks\.yaml, line 2"):
        azero.run_recipe("callbacks")
    assert_nothing_ran(folder)


def test_the_command_line_may_set_hydra_and_a_file_may_refer_to_settings(folder: Path) -> None:
    write(folder, "experiment/mine", f"{GLOBAL}seed: 7\nrun: mine-${{seed}}\ndata: ${{checkpoints}}\n")
    config = compose("mine", "hydra.job.chdir=true")
    assert (config.run, config.data) == ("mine-7", "checkpoints")


@pytest.mark.parametrize(
    "text, said",
    [
        ("search:\n  c_puct: 1\n  c_puct: 2\n", "line 4: found duplicate key c_puct."),
        ("search:\n  ? [a, b]\n  : 2\n", "line 3: settings are written key: value."),
        ("search:\n  c_puct: !!int abc\n", "line 3: invalid literal"),
    ],
)
def test_a_wrong_line_of_a_file_is_named(folder: Path, text: str, said: str) -> None:
    path = write(folder, "experiment/mine", f"{GLOBAL}{text}")
    with pytest.raises(UserError, match=rf"mine\.yaml, {re.escape(said)}"):
        check_file(path, "experiment/mine")


def test_a_file_may_merge_keys_and_name_its_own_group(folder: Path) -> None:
    text = "# @package _group_\n<<: &base {c_puct: 2}\nnum_simulations: 7\n"
    check_file(write(folder, "search/mine", text), "search/mine")
    wrong = write(folder, "search/wrong", text.replace("c_puct", "c_putt"))
    with pytest.raises(UserError, match=r"line 2: unknown setting 'search\.c_putt'; did you mean"):
        check_file(wrong, "search/wrong")


def test_the_shipped_files_pass() -> None:
    files = [path for path in conf_folder().rglob("*.yaml") if path != conf_folder() / "config.yaml"]
    assert len(files) > 30
    for path in files:
        check_file(path, str(path.relative_to(conf_folder()).with_suffix("")))
