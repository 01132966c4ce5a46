"""Train the champions that come with azero, and write what docs/champions.md says of them.

    python scripts/train_champions.py                   # all of them, from nothing: days
    python scripts/train_champions.py --names hex5 go5
    python scripts/train_champions.py --names gardner --checkpoints DIR --only-ship
    python scripts/train_champions.py --pages           # only the pages of docs/pages, of all that azero has

Each is the champion of a recipe with seed 1, in a run of its own. A stop costs nothing: the same command goes
on. azero/shipped keeps what a player needs: state.json without games and history, its row of
metrics.csv, and the champion's weights in 16 bits. Strength is measured from those: a hundred games, the
champion with 400 simulations, against UCT with 10,000. It becomes columns of that row, of which the table is
made. Each has a page in docs/pages, and README.md a link to it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from azero.config.schema import Config, UserError
from azero.games import SHIPPED, game_of_settings
from azero.games.titles import game_title
from azero.network.model import pack_network, unpack_network
from azero.report.metrics_csv import read_stats
from azero.run.disk import digest
from azero.run.folder import SHIPPED_PREFIX, SHIPPED_RUNS, names_of_shipped
from azero.run.run import Run
from azero.run.state import FileEntry, StageName, State, format_state


class Training(NamedTuple):
    """How the champion of a recipe is trained."""

    first: str = ""  # the recipe whose champion it begins with
    fitting: tuple[str, ...] = ()  # with which the first one's network fits; none: its own champion does
    words: tuple[str, ...] = ()  # settings besides the recipe's


RECIPES = {
    **dict.fromkeys(["tictactoe", "connect_four", "breakthrough6", "hex5", "othello6"], Training()),
    **dict.fromkeys(["gomoku9", "go5", "go7", "gardner"], Training()),
    # a spatial head, so that this champion fits 11 x 11
    "hex7": Training(
        "hex5",
        ("network.head=spatial", "network.blocks=5", "network.channels=64", "network.value_output=wdl"),
        ("network.head=spatial",),
    ),
    "hex11": Training("hex7"),
    "othello": Training("othello6", ("network.head=spatial", "minutes=18")),
    "gomoku": Training("gomoku9", ("network.head=spatial", "minutes=22")),
    "go9": Training("go7"),
    "chess": Training("gardner"),
    "breakthrough": Training("breakthrough6", ("network.blocks=6", "network.channels=64")),
}
PLACES = {"checkpoints": "checkpoints", "data": "data", "run": None}  # not those of the machine that trained
ROOT = Path(__file__).parent.parent
PAGE, PAGES, README = ROOT / "docs" / "champions.md", ROOT / "docs" / "pages", ROOT / "README.md"
START, END = "<!-- table: scripts/train_champions.py -->\n", "<!-- end of the table -->"
HEAD = (
    "| name | trained by | cycles | minutes | million evaluations | against UCT 10,000 |\n"
    "| --- | --- | --- | --- | --- | --- |\n"
)
PLAY = "**Play it now**"  # begins the paragraph of README.md with a link to each page
# Columns of the row of metrics.csv
UCT = ("uct/wins", "uct/draws", "uct/losses")
EVALUATIONS = "shipped/evaluations"


def run_azero(*words: str) -> None:
    """Run a program of azero; stop if it fails."""
    print("azero", *words, flush=True)
    subprocess.run([sys.executable, "-m", f"azero.{words[0]}", *words[1:]], check=True)


def loops(name: str) -> list[tuple[str, ...]]:
    """Return the arguments of each `azero loop` that trains the champion of a recipe, in order."""
    first, fitting, words = RECIPES[name]
    own = (name, f"run={name}", "seed=1", *words)
    if not first:
        return [own]
    source = f"{first}-for-{name}" if fitting else first
    before = [(first, f"run={source}", "seed=1", *fitting)] if fitting else loops(first)
    return [*before, (*own, f"init_from={source}")]


def ship(config: Config, name: str) -> None:
    """Write the champion of a run as `shipped/<name>`."""
    run = Run.read(config, name)
    had = run.state
    game = game_of_settings(had.config)
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
    head, *rows = run.paths.metrics_csv.read_text().splitlines()
    (row,) = (row for row in rows if row.startswith(f"{loaded.cycle},"))  # not of a cycle under way
    (folder / "metrics.csv").write_text(f"{head}\n{row}\n")


def measure(name: str, folder: Path) -> dict[str, int]:
    """Return the wins, draws and losses of a hundred games against UCT, by their columns."""
    record = folder / f"{name}.jsonl"
    record.unlink(missing_ok=True)
    champion = ("first=pv_mcts", f"first.run={SHIPPED_PREFIX}{name}", "first.num_simulations=400")
    uct = ("second=uct", "second.num_simulations=10000", "games=100", "opening_plies=2", f"record={record}")
    run_azero("arena", f"game={name}", *champion, *uct)
    scores = [0, 0, 0]
    for line in record.read_text().splitlines():
        game = json.loads(line)
        side = 1 if game["players"][0].startswith("pv_mcts") else -1
        scores[1 - round(side * game["outcome"])] += 1
    return dict(zip(UCT, scores, strict=True))


def evaluations(config: Config, name: str) -> float:
    """Return how many positions the network judged in the self-play of a run."""
    run = Run.read(config, name)
    return sum(
        stats.get("selfplay/evaluations", 0.0)
        for stats in read_stats(run.paths.metrics_csv, run.state.cycle).values()
    )


def note(name: str, columns: Mapping[str, float]) -> None:
    """Add columns to the row of metrics.csv of a champion in azero/shipped."""
    path = SHIPPED_RUNS / name / "metrics.csv"
    head, row = path.read_text().splitlines()
    values = [f"{value:.0f}" for value in columns.values()]
    path.write_text(f"{','.join([head, *columns])}\n{','.join([row, *values])}\n")


def trained_by(name: str, state: State) -> str:
    """Return the recipe of a champion with the settings besides, the seed if not 1, what it began with."""
    training, first = RECIPES[name], state.config["init_from"]
    words = [word for word in training.words if word in (f"{key}={it}" for key, it in state.config.items())]
    text = f"`{' '.join([str(state.recipe), *words])}`" + f", seed {state.seed}" * (state.seed != 1)
    if not first:
        return text
    fitted = first.endswith(f"-for-{name}")
    return f"{text}, after `{' '.join([training.first, *training.fitting]) if fitted else first}`"


def row_of(name: str) -> str:
    """Return the row of the table for a champion in azero/shipped."""
    state = Run.read(Config(), f"{SHIPPED_PREFIX}{name}").state
    stats = read_stats(SHIPPED_RUNS / name / "metrics.csv", state.cycle)[state.cycle]
    scores = [round(stats[column]) for column in UCT]
    cells = [
        f"`{state.name}`",
        trained_by(name, state),
        str(state.cycle),
        f"{state.elapsed_seconds / 60:.0f}",
        f"{stats[EVALUATIONS] / 1e6:.2g}",
        "–".join(map(str, scores)) + (f" of {sum(scores)}" if sum(scores) != 100 else ""),
    ]
    return f"| {' | '.join(cells)} |\n"


def sum_of(name: str) -> str:
    """Return the SHA-256 of a champion's weights and their file, as sha256sum checks them."""
    champion = Run.read(Config(), f"{SHIPPED_PREFIX}{name}").state.champion
    assert champion is not None
    return f"{champion.sha256}  azero/shipped/{name}/{champion.file}\n"


def table() -> str:
    """Return the table of all champions in azero/shipped, and their sums."""
    names = [name.removeprefix(SHIPPED_PREFIX) for name in names_of_shipped()]
    return f"{HEAD}{''.join(map(row_of, names))}\n```text\n{''.join(map(sum_of, names))}```\n"


def link_of(page: Path) -> str:
    """Return the link to a page, such as [Hex 5](docs/pages/hex5.html)."""
    plain = page.stem.rstrip("0123456789")
    return f"[{f'{game_title(plain)} {page.stem.removeprefix(plain)}'.strip()}](docs/pages/{page.name})"


def write_docs() -> None:
    """Write the table into docs/champions.md, and a link to each page into README.md."""
    before, rest = PAGE.read_text().split(START)
    PAGE.write_text(f"{before}{START}{table()}{END}{rest.split(END)[1]}")
    links = ", ".join(map(link_of, sorted(PAGES.glob("*.html"))))
    README.write_text(re.sub(rf"(?m)^{re.escape(PLAY)}.*$", f"{PLAY}: {links}.", README.read_text()))


def main() -> None:
    """Train, ship and measure the champions that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", nargs="*", choices=[*RECIPES])
    parser.add_argument("--checkpoints", default="checkpoints")
    parser.add_argument("--data", default="data")
    parser.add_argument("--only-ship", action="store_true", help="the runs are trained already")
    parser.add_argument("--pages", action="store_true", help="only make the pages again")
    arguments = parser.parse_args()
    folders = (f"checkpoints={arguments.checkpoints}", f"data={arguments.data}")
    config = replace(Config(), checkpoints=arguments.checkpoints, data=arguments.data)
    has = [name.removeprefix(SHIPPED_PREFIX) for name in names_of_shipped()]
    for name in arguments.names or (has if arguments.pages else RECIPES):
        if not arguments.pages:
            for words in () if arguments.only_ship else loops(name):
                run_azero("loop", *words, *folders)
            ship(config, name)
            Path(arguments.data).mkdir(parents=True, exist_ok=True)
            note(name, {EVALUATIONS: evaluations(config, name), **measure(name, Path(arguments.data))})
        out = f"out={PAGES / name}.html"
        run_azero("export", f"run={SHIPPED_PREFIX}{name}", out, "overwrite=true")
        write_docs()
    print("azero has", ", ".join(names_of_shipped()))


if __name__ == "__main__":
    main()
