"""The comparison with other programs: last lines, medians, ratios; the programs say what they take."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from forks import forked
from places import SCRIPTS

PEERS = SCRIPTS / "peers"
sys.path.insert(0, str(PEERS))
import compare  # noqa: E402

RATES = {
    compare.AZERO: [100.0, 120.0, 90.0],
    "pgx + mctx, fp32": [10.0, 10.0, 10.0],
    "pgx + mctx, bf16": [20.0, 5.0, 15.0],
    "OpenSpiel, one process": [1.0, 2.0, 3.0],
}


def test_the_figure_stands_on_the_last_line() -> None:
    assert compare.last_stat("round 1: 3 simulations/s\nsimulations_per_second=1234\n") == 1234.0
    for output in (
        "",
        "simulations_per_second=\n",
        "simulations_per_second=5\nTraceback",
        "simulations_per_second=-5",
    ):
        with pytest.raises(ValueError, match="last line"):
            compare.last_stat(output)


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """Over fp32: 10, 12, 9. Over bf16: 5, 24, 6. Over OpenSpiel: 100, 60, 30."""
    lines = compare.table(RATES).splitlines()
    assert lines[2:] == [
        "| azero, whole stage | 100 |  |",
        "| pgx + mctx, fp32 | 10 | 10.0 |",
        "| pgx + mctx, bf16 | 15 | 6.0 |",
        "| OpenSpiel, one process | 2 | 60.0 |",
    ]


def test_a_peer_is_judged_by_its_fastest_way_in_each_round() -> None:
    """pgx: 20, 10, 15 of the two precisions, so 5, 12, 6."""
    assert compare.smallest_ratio(RATES, "pgx") == 6.0
    assert compare.smallest_ratio(RATES, "OpenSpiel") == 60.0


def test_every_environment_pins_all_it_names() -> None:
    for name in {program.environment for program in compare.PROGRAMS} - {""}:
        lines = (PEERS / f"requirements-{name}.txt").read_text().splitlines()
        assert all("==" in line for line in lines if not line.startswith("#")), name


@pytest.mark.parametrize("script, needs", [("pgx_mctx", "pgx"), ("openspiel_mcts", "pyspiel")])
def test_help_is_printed(script: str, needs: str) -> None:
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed here")
    done = subprocess.run(forked(script, "--help"), cwd=PEERS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "--network" in done.stdout
