"""Every benchmark says what it does when asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from forks import forked
from places import SCRIPTS

ASKED = (
    *(
        "bench_analysis.py",
        "bench_cluster.py",
        "bench_players.py",
        "bench_review.py",
        "bench_selfplay.py",
        "bench_studio.py",
        "bench_train.py",
        "connectx_games.py",
        "plot_growth.py",
        "peers/compare.py",
    ),
    *(
        "against_alpha_beta.py",
        "plot_strength.py",
        "against_gnugo.py",
    ),
    *(
        "experiments/alphazero_tictactoe.py",
        "experiments/budgets.py",
        "experiments/grouping.py",
        "experiments/othello_baselines.py",
        "experiments/tictactoe_baselines.py",
        "experiments/solve_hex.py",
        "experiments/ablation.py",
        "experiments/training_attempts.py",
        "experiments/training_precision.py",
    ),
)


WRONG = (
    (("bench_selfplay.py", "--game", "nope"), "nope"),
    (("bench_position.py", "--run", "nope"), "nope"),
    (("bench_search.py", "--game", "nope"), "nope"),
    (("against_alpha_beta.py", "--times", "0"), "--times"),
    (("against_gnugo.py", "--games", "3"), "--games 3"),
    (("plot_strength.py", "run", "--smooth", "4"), "--smooth 4"),
    (("experiments/ablation.py", "--seeds", "x"), "--seeds=x"),
    (("bench_players.py", "limits", "--moves", "0"), "--moves 0"),
    (("experiments/tictactoe_baselines.py", "--share", "-1"), "--share -1"),
    (("experiments/alphazero_tictactoe.py", "--run", "nope"), "nope"),
    (("check_estimate.py", "selfplay.games=-1"), "selfplay.games=-1"),
)

# Runs scripts one after another as Python does: their own words and folder, no module of another script. One
# process is enough for all of them.
ONE_AFTER_ANOTHER = """
import contextlib, io, json, os, runpy, sys
os.chdir(sys.argv[1])
base, ended, loaded = sys.path[1:], {}, set(sys.modules)
for words in json.load(sys.stdin):
    folder = os.path.dirname(words[0])
    sys.argv, sys.path[:], code = list(words), [folder, *base], 0
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
    for name in set(sys.modules) - loaded:
        if "scripts" in (getattr(sys.modules[name], "__file__", None) or "").split(os.sep):
            del sys.modules[name]
    ended[" ".join(words)] = code, output.getvalue(), errors.getvalue(), os.listdir()
json.dump(ended, sys.stdout)
"""


class Ended(NamedTuple):
    """How a script ended."""

    code: int
    output: str
    errors: str
    left: list[str]  # in the folder where it ran


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ended]:
    """Run all scripts with all words that are tested, in one process; return how one of them ended."""
    asked = [(script, "--help") for script in ASKED] + [words for words, _ in WRONG]
    folder, empty = (tmp_path_factory.mktemp(name) for name in ("scripts", "empty"))
    (folder / "one_after_another.py").write_text(ONE_AFTER_ANOTHER)
    done = subprocess.run(
        forked("one_after_another", str(empty)),
        input=json.dumps([(str(SCRIPTS / script), *rest) for script, *rest in asked]),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    known = json.loads(done.stdout)
    return lambda script, *rest: Ended(*known[" ".join([str(SCRIPTS / script), *rest])])


@pytest.mark.parametrize("script", ASKED)
def test_help_is_the_script_s_own_first_lines(script: str, ended: Callable[..., Ended]) -> None:
    done = ended(script, "--help")
    assert done.code == 0, done.errors
    first = (SCRIPTS / script).read_text().removeprefix('"""').splitlines()[0]
    assert first in done.output and not done.left


@pytest.mark.parametrize(
    "words, named", WRONG, ids=lambda words: words[0] if isinstance(words, tuple) else ""
)
def test_wrong_input_gets_one_sentence(
    words: tuple[str, ...], named: str, ended: Callable[..., Ended]
) -> None:
    done = ended(*words)
    assert done.code == 2
    (line,) = done.errors.splitlines()
    assert line.startswith("azero: ") and named in line


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("fails", [False, True])
def test_ci_installs_what_is_missing_and_says_what_it_cannot(tmp_path: Path, user: int, fails: bool) -> None:
    """On a machine with only node, npm, python3, sudo and an apt-get that writes down what it should do.

    In a checkout without anything built; its environment for kaggle-environments is a script that says yes.
    """
    shutil.copytree(SCRIPTS.parent / ".ci", tmp_path / "checkout" / ".ci")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f"#!{shutil.which('bash')}\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    mkdir, copy, touch = map(shutil.which, ("mkdir", "cp", "touch"))
    fakes = {
        "node": "exit 0",
        "npm": f"exit {int(fails)}",
        "python3": f'[ "$2" = venv ] && {mkdir} -p "$3" && {copy} -r bin "$3"; exit {int(fails)}',
        "touch": f'exec {touch} "$@"',
        "id": f"echo {user}",
        "env": 'shift; "$@"',
        "sudo": 'echo "sudo $1" >> asked; shift; "$@"',
        "apt-get": f'echo "$*" >> asked; [ {int(fails)} = 0 ]',
    }
    for name, body in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [shutil.which("bash") or "bash", str(tmp_path / "checkout" / ".ci" / "programs")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": str(tmp_path)},
        timeout=60,
    )
    games = ["gnugo", "fairy-stockfish"]
    wanted = [name for name in games if shutil.which(name, path="/usr/games") is None] + ["chromium"]
    lines = ["update", *(f"install --yes --no-install-recommends {package}" for package in wanted)]
    asked = [line for line in (tmp_path / "asked").read_text().splitlines() if line != "sudo -n"]
    assert asked == lines and done.returncode == 0 and done.stdout == ""
    said = [
        f"azero: apt-get cannot install {package} here; the tests that need it are skipped"
        for package in wanted
    ]
    said += ["azero: npm cannot install @sabaki/gtp here; the tests that need it are skipped"]
    said += ["azero: pip cannot install kaggle-environments here; the tests that need it are skipped"]
    assert done.stderr.splitlines() == (said if fails else [])
    assert ("sudo -n" in (tmp_path / "asked").read_text()) == (user != 0)
