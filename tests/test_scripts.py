"""Every benchmark says what it does when asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
ASKED = (
    *(
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
        (("bench_selfplay.py", "bench_studio.py", "--game", "nope"), "nope"),
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
