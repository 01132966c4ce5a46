"""Every benchmark says what it does when asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
ASKED = (
    *(
        "bench_analysis.py",
        "bench_cluster.py",
        "bench_players.py",
        "bench_selfplay.py",
        "bench_studio.py",
        "bench_train.py",
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


@pytest.mark.parametrize("script", ASKED)
def test_help_is_the_script_s_own_first_lines(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--help"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first = (SCRIPTS / script).read_text().removeprefix('"""').splitlines()[0]
    assert first in done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, named",
    [
        (("bench_selfplay.py", "--game", "nope"), "nope"),
        (("bench_position.py", "--run", "nope"), "nope"),
        (("bench_search.py", "--game", "nope"), "nope"),
        (("against_alpha_beta.py", "--times", "0"), "--times"),
        (("against_gnugo.py", "--games", "3"), "--games 3"),
        (("plot_strength.py", "run", "--smooth", "4"), "--smooth 4"),
        (("experiments/ablation.py", "--seeds", "x"), "--seeds x"),
        (("bench_players.py", "limits", "--moves", "0"), "--moves 0"),
        (("experiments/tictactoe_baselines.py", "--share", "-1"), "--share -1"),
        (("experiments/alphazero_tictactoe.py", "--run", "nope"), "nope"),
        (("check_estimate.py", "selfplay.games=-1"), "selfplay.games=-1"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_wrong_input_gets_one_sentence(words: tuple[str, ...], named: str, tmp_path: Path) -> None:
    script, *rest = words
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *rest],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("azero: ") and named in line


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("fails", [False, True])
def test_ci_installs_what_is_missing_and_says_what_it_cannot(tmp_path: Path, user: int, fails: bool) -> None:
    """On a machine with only node, npm, sudo and an apt-get that writes down what it is asked for."""
    fakes = {
        "node": "exit 0",
        "npm": f"exit {int(fails)}",
        "id": f"echo {user}",
        "env": 'shift; "$@"',
        "sudo": 'echo "sudo $1" >> asked; shift; "$@"',
        "apt-get": f'echo "$*" >> asked; [ {int(fails)} = 0 ]',
    }
    for name, body in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [shutil.which("bash") or "bash", str(SCRIPTS.parent / ".ci" / "programs")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": str(tmp_path)},
        timeout=60,
    )
    wanted = ["gnugo", "chromium"] if shutil.which("gnugo", path="/usr/games") is None else ["chromium"]
    lines = ["update", *(f"install --yes --no-install-recommends {package}" for package in wanted)]
    asked = [line for line in (tmp_path / "asked").read_text().splitlines() if line != "sudo -n"]
    assert asked == lines and done.returncode == 0 and done.stdout == ""
    said = [
        f"azero: apt-get cannot install {package} here; the tests that need it are skipped"
        for package in wanted
    ]
    if not (SCRIPTS.parent / "build" / "node" / "node_modules" / "@sabaki" / "gtp").is_dir():
        said += ["azero: npm cannot install @sabaki/gtp here; the tests that need it are skipped"]
    assert done.stderr.splitlines() == (said if fails else [])
    assert ("sudo -n" in (tmp_path / "asked").read_text()) == (user != 0)
