"""Train the champions that come with azero, and write what docs/champions.md says of them.

    python scripts/train_champions.py                   # all of them, from nothing: days
    python scripts/train_champions.py --names hex5 go5
    python scripts/train_champions.py --names gardner --checkpoints DIR --only-ship

Each is the champion of a recipe with seed 1, in a run of its own. A stop costs nothing: the same command goes
on. azero/shipped keeps what a player needs: state.json without games and history, the last row of
metrics.csv, and the champion's weights in 16 bits. Strength is measured from those: a hundred games, the
champion with 400 simulations, against UCT with 10,000.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from azero.config.schema import Config, UserError
from azero.games import SHIPPED, make_game
from azero.network.model import pack_network, unpack_network
from azero.report.metrics_csv import read_stats
from azero.run.disk import digest
from azero.run.folder import SHIPPED_PREFIX, SHIPPED_RUNS, names_of_shipped
from azero.run.run import Run
from azero.run.state import FileEntry, StageName, State, format_state

# By name of a recipe: the one whose champion it begins with, "" for none; see docs/strength.md
RECIPES = {
    **dict.fromkeys(["tictactoe", "connect_four", "breakthrough6", "hex5", "othello6"], ""),
    **dict.fromkeys(["gomoku9", "go5", "go7", "gardner"], ""),
    **{"hex7": "hex5", "hex11": "hex7", "othello": "othello6", "gomoku": "gomoku9", "go9": "go7"},
    "breakthrough": "breakthrough6",
}
# Settings with which a small board's network fits the larger recipe that begins with it
FITTING = {"breakthrough6": ("network.blocks=6", "network.channels=64")}
PLACES = {"checkpoints": "checkpoints", "data": "data", "run": None}  # not those of the machine that trained
PAGE = Path(__file__).parent.parent / "docs" / "champions.md"
START, END = "<!-- table: scripts/train_champions.py -->\n", "<!-- end of the table -->"
HEAD = (
    "| name | trained by | cycles | minutes | million evaluations | against UCT 10,000 | SHA-256 begins |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)


def run_azero(*words: str) -> None:
    """Run a program of azero; stop if it fails."""
    print("azero", *words, flush=True)
    subprocess.run([sys.executable, "-m", f"azero.{words[0]}", *words[1:]], check=True)


def train(name: str, folders: list[str]) -> None:
    """Train a recipe to its end, or go on; first the one that it begins with."""
    words, first = [name, f"run={name}", "seed=1", *folders], RECIPES[name]
    if first:
        source = f"{first}-for-{name}" if first in FITTING else first
        run_azero("loop", first, f"run={source}", "seed=1", *FITTING.get(first, ()), *folders)
        words.append(f"init_from={source}")
    run_azero("loop", *words)


def ship(config: Config, name: str) -> None:
    """Write the champion of a run as `shipped/<name>`."""
    run = Run.read(config, name)
    had = run.state
    game = make_game(had.config["game.name"], **had.config["game.options"])
    if game.name not in SHIPPED:
        raise UserError(f"{game.name} does not come with azero.")
    loaded = unpack_network(run.read_champion(), name)
    data = pack_network(
        loaded.network, game=game, cycle=loaded.cycle, train_steps=loaded.train_steps, half=True
    )
    folder = SHIPPED_RUNS / name
    shutil.rmtree(folder, ignore_errors=True)
    entry = FileEntry(f"champion/{loaded.cycle:06d}.pt", digest(data), loaded.cycle)
    (folder / "champion").mkdir(parents=True)
    (folder / entry.file).write_bytes(data)
    state = State(
        name=f"{SHIPPED_PREFIX}{name}",
        seed=had.seed,
        cycle=loaded.cycle,
        stage=StageName.SELFPLAY,
        champion=entry,
        candidate=entry,
        champions=[entry],
        candidates=[entry],
        train_steps=loaded.train_steps,
        elapsed_seconds=had.elapsed_seconds,
        config={**had.config, **PLACES},
        recipe=had.recipe,
        git=had.git,
    )
    (folder / "state.json").write_bytes(format_state(state))
    lines = run.paths.metrics_csv.read_text().splitlines()
    (folder / "metrics.csv").write_text(f"{lines[0]}\n{lines[-1]}\n")


def measure(name: str, folder: Path) -> str:
    """Return the result of a hundred games against UCT, "wins–draws–losses"."""
    config = Run.read(Config(), f"{SHIPPED_PREFIX}{name}").state.config
    options = [f"game.options.{key}={value}" for key, value in config["game.options"].items() if value != ""]
    record = folder / f"{name}.jsonl"
    record.unlink(missing_ok=True)
    champion = ("first=pv_mcts", f"first.run={SHIPPED_PREFIX}{name}", "first.num_simulations=400")
    uct = ("second=uct", "second.num_simulations=10000", "games=100", "opening_plies=2", f"record={record}")
    run_azero("arena", f"game={config['game.name']}", *options, *champion, *uct)
    scores = [0, 0, 0]
    for line in record.read_text().splitlines():
        game = json.loads(line)
        side = 1 if game["players"][0].startswith("pv_mcts") else -1
        scores[1 - round(side * game["outcome"])] += 1
    return "–".join(map(str, scores))


def evaluations(config: Config, name: str) -> float:
    """Return how many positions the network judged in the self-play of a run."""
    run = Run.read(config, name)
    return sum(
        stats.get("selfplay/evaluations", 0.0)
        for stats in read_stats(run.paths.metrics_csv, run.state.cycle).values()
    )


def write_row(name: str, evaluated: float, result: str) -> None:
    """Write the row of a champion into the page; the others stay."""
    run = Run.read(Config(), f"{SHIPPED_PREFIX}{name}")
    state, page = run.state, PAGE.read_text()
    assert state.champion is not None
    first = state.config["init_from"]
    recipe = f"`{state.recipe}`, seed {state.seed}" + (f", from `{first}`" if first else "")
    cells = [
        f"`{run.name}`",
        recipe,
        str(state.cycle),
        f"{state.elapsed_seconds / 60:.0f}",
        f"{evaluated / 1e6:.2g}",
        result,
        state.champion.sha256[:12],
    ]
    before, rest = page.split(START)
    table, after = rest.split(END)
    rows = {line.split("|")[1]: line for line in table.splitlines()[2:]}
    rows[f" {cells[0]} "] = f"| {' | '.join(cells)} |"
    text = "".join(f"{rows[key]}\n" for key in sorted(rows))
    PAGE.write_text(f"{before}{START}{HEAD}{text}{END}{after}")


def main() -> None:
    """Train, ship and measure the champions that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", nargs="*", default=[*RECIPES], choices=[*RECIPES])
    parser.add_argument("--checkpoints", default="checkpoints")
    parser.add_argument("--data", default="data")
    parser.add_argument("--only-ship", action="store_true", help="the runs are trained already")
    arguments = parser.parse_args()
    folders = [f"checkpoints={arguments.checkpoints}", f"data={arguments.data}"]
    for name in arguments.names:
        if not arguments.only_ship:
            train(name, folders)
        config = replace(Config(), checkpoints=arguments.checkpoints, data=arguments.data)
        ship(config, name)
        Path(arguments.data).mkdir(parents=True, exist_ok=True)
        write_row(name, evaluations(config, name), measure(name, Path(arguments.data)))
    print("azero has", ", ".join(names_of_shipped()))


if __name__ == "__main__":
    main()
