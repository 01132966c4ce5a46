"""Compare azero's self-play with other programs: same game, network and simulations, in one run.

    python scripts/peers/compare.py  # Connect Four, 6 x 64, 32 simulations a move
    python scripts/peers/compare.py --game tictactoe --network 4x32 --simulations 20

Each peer gets an environment of its own, made once in a cache folder (--folder) with pinned versions. Every
round runs all programs; medians are printed, and a ratio is the median of the rounds' ratios, azero's whole
stage with its cache off over the peer. Both peers count the same simulations as azero: descents from an
evaluated root.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LAST_LINE = re.compile(r"^simulations_per_second=([0-9.]+)$")
AZERO = "azero, whole stage"


class Program(NamedTuple):
    """One line of the table.

    Attributes:
        name: what it is called there.
        environment: the requirements file's last word, "" for the environment that this script runs in.
        script: relative to this folder.
        options: beyond game, network, simulations and rounds.
    """

    name: str
    environment: str
    script: str
    options: tuple[str, ...] = ()


PROGRAMS = (
    Program(AZERO, "", "../bench_selfplay.py"),
    Program("pgx + mctx, fp32", "pgx", "pgx_mctx.py", ("--precision", "fp32")),
    Program("pgx + mctx, bf16", "pgx", "pgx_mctx.py", ("--precision", "bf16")),
    Program("OpenSpiel, one process", "openspiel", "openspiel_mcts.py", ("--processes", "1")),
    Program(
        "OpenSpiel, a process a core",
        "openspiel",
        "openspiel_mcts.py",
        ("--processes", str(os.cpu_count() or 1)),
    ),
)


def cache_folder() -> Path:
    """Where environments are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "azero" / "peers"


def environment_python(name: str, folder: Path) -> Path:
    """Return the interpreter of a peer's environment; make it if it is missing or its requirements changed.

    The one for OpenSpiel sees this environment's packages behind its own: torch is large, and shall be the
    same.
    """
    place, requirements = folder / name, HERE / f"requirements-{name}.txt"
    python, stamp = place / "bin" / "python", place / "installed.txt"
    if stamp.is_file() and stamp.read_text() == requirements.read_text():
        return python
    print(f"making {place} (once)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)], check=True
    )
    if name == "openspiel":
        asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        own = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        (Path(own) / "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
    stamp.write_text(requirements.read_text())
    return python


def last_stat(output: str) -> float:
    """The number on a program's last line.

    Raises:
        ValueError: the last line is another.
    """
    lines = output.strip().splitlines() or [""]
    found = LAST_LINE.match(lines[-1])
    if not found:
        raise ValueError(f"the last line is {lines[-1]!r}, not simulations_per_second=N")
    return float(found[1])


def run(program: Program, words: Sequence[str], folder: Path) -> float:
    """Simulations a second of one round."""
    python = environment_python(program.environment, folder) if program.environment else Path(sys.executable)
    command = [str(python), str(HERE / program.script), *words, *program.options, "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    if done.returncode:
        raise SystemExit(f"{program.name}: {done.stderr}")
    return last_stat(done.stdout)


def table(rates: Mapping[str, Sequence[float]]) -> str:
    """Return a line for each program: median and ratio. `rates`: by name, one for each round."""
    lines = ["| program | simulations/s | azero over it |", "| --- | --- | --- |"]
    for name, rounds in rates.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(rates[AZERO], rounds, strict=True))
        lines.append(
            f"| {name} | {statistics.median(rounds):,.0f} | {'' if name == AZERO else f'{ratio:.1f}'} |"
        )
    return "\n".join(lines)


def smallest_ratio(rates: Mapping[str, Sequence[float]], beginning: str) -> float:
    """azero over the fastest of the programs whose names begin so: the median over rounds."""
    theirs = [
        max(rounds)
        for rounds in zip(*(rates[name] for name in rates if name.startswith(beginning)), strict=True)
    ]
    return statistics.median(ours / fastest for ours, fastest in zip(rates[AZERO], theirs, strict=True))


def main() -> None:
    """Print a line a round and program, the table, and the two ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="connect_four", choices=("connect_four", "tictactoe"))
    parser.add_argument("--network", default="6x64", help="blocks x channels")
    parser.add_argument("--simulations", type=int, default=32, help="simulations of a move")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--folder", type=Path, default=cache_folder(), help="folder of the peers' environments"
    )
    arguments = parser.parse_args()
    words = [
        "--game",
        arguments.game,
        "--network",
        arguments.network,
        "--simulations",
        str(arguments.simulations),
    ]
    rates: dict[str, list[float]] = {program.name: [] for program in PROGRAMS}
    for number in range(1, arguments.rounds + 1):
        for program in PROGRAMS:
            rates[program.name].append(run(program, words, arguments.folder))
            print(f"round {number}: {program.name} {rates[program.name][-1]:,.0f} simulations/s", flush=True)
    print(
        f"\n{arguments.game}, {arguments.network}, {arguments.simulations} simulations a "
        f"move\n\n{table(rates)}\n"
    )
    print(f"over_pgx_mctx={smallest_ratio(rates, 'pgx'):.1f}")
    print(f"over_openspiel={smallest_ratio(rates, 'OpenSpiel'):.1f}")


if __name__ == "__main__":
    main()
